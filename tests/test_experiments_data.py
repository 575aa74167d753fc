"""Every file of an experiment can be run, and one with a mistake is refused."""

import re
from collections import Counter
from importlib import resources

import pytest

from dualprune.errors import InputError
from dualprune.experiments.cells import cells
from dualprune.experiments.checked import DRAWINGS
from dualprune.experiments.experiment import SCALES, experiments, find_experiment, read
from dualprune.experiments.pictures import PICTURES
from dualprune.record.signals import DEFAULT
from dualprune.score import SCORES
from dualprune.signatures import inputs, knobs
from dualprune.train.order import steps_per_epoch
from dualprune.workflows.recording import signals_for

FILES = sorted((resources.files("dualprune.experiments") / "tables").iterdir())
ALL = list(experiments().values())

every_experiment = pytest.mark.parametrize("experiment", ALL, ids=lambda each: each.name)


def resolved(experiment):
    """Give scale, setting, row and method of each static cell but for its seed."""
    for scale in experiment.scales:
        setting = experiment.setting(scale)
        for row in experiment.rows_at(scale):
            for share in setting.pruned or experiment.pruned:
                if not row.is_dynamic:
                    yield scale, setting, row, row.found(setting, share)


# What the files say can be run.


def test_every_file_is_an_experiment_of_its_own():
    assert len(FILES) == len(ALL) > 50
    assert all(re.fullmatch(r"\d\d-[a-z0-9-]+\.toml", file.name) for file in FILES)
    assert len({file.name[:2] for file in FILES}) == len(FILES)


@every_experiment
def test_every_scale_is_there_and_one_run_is_enough_at_the_small_ones(experiment):
    assert list(experiment.scales) == list(SCALES)
    for scale, _, row, method in resolved(experiment):
        assert scale == "paper" or method.runs == 1, row.name


@every_experiment
def test_windows_fit_into_the_epochs_of_every_row(experiment):
    for scale, _, row, method in resolved(experiment):
        known = {} if method.score is None else knobs(SCORES[method.score])
        if "window" in known:
            window = method.score_knobs.get("window", known["window"].default)
            assert 2 <= window <= method.epochs, (scale, row.name)


@every_experiment
def test_what_a_row_reads_is_recorded_in_its_setting(experiment):
    for scale, setting, row, method in resolved(experiment):
        recorded = {*DEFAULT, *setting.also}
        assert recorded.issuperset(signals_for([row.method])), (scale, row.name)
        if any("features" in inputs(fn) for fn in method.functions):
            assert method.epochs in setting.features, (scale, row.name)


@every_experiment
def test_cells_differ_by_their_names_and_in_the_paper_by_what_is_done(experiment):
    for scale in experiment.scales:
        keys = Counter(cell.key for cell in cells(experiment, scale))
        assert max(keys.values(), default=1) == 1
    done = Counter((c.settings, c.pruned, c.seed) for c in cells(experiment, "paper"))
    assert max(done.values(), default=1) == 1


def test_what_is_drawn_can_be_drawn():
    assert set(DRAWINGS) == set(PICTURES) == {each.draw for each in ALL} - {None}


@pytest.mark.parametrize("scale", SCALES)
def test_equal_iterations_are_those_of_training_on_everything(scale):
    experiment = find_experiment("equal-iterations")
    setting = experiment.setting(scale)
    steps = steps_per_epoch(setting.samples or 50_000, setting.trained.batch_for(1.0))
    told = {row.train["iterations"] for row in experiment.rows_at(scale) if row.train}
    assert told == {steps * setting.trained.epochs}


def test_a_row_of_its_own_window_keeps_it_where_the_setting_has_another():
    experiment = find_experiment("ablation-j")
    windows = [found.score_knobs["window"] for scale, *_, found in resolved(experiment)]
    own = [row.score["window"] for scale in SCALES for row in experiment.rows_at(scale)]
    assert sorted(set(windows)) == sorted(set(own))
    (dual, *_) = find_experiment("sampling-cifar10").rows
    assert dual.found(experiment.setting("smoke"), 0.5).score_knobs == {"window": 3}


def test_values_depend_on_the_share_pruned():
    setting = find_experiment("sampling-cifar10").setting("paper")
    ccs = find_experiment("sampling-cifar10").rows[1]
    cut_offs = [ccs.found(setting, share).select_knobs["cut_off"] for share in (0.3, 0.8, 0.9)]
    assert cut_offs == [0.0, 0.1, 0.3]
    infobatch = find_experiment("dynamic-cifar10").rows[-2]
    assert [infobatch.at(share).train for share in (0.3, 0.9)] == [{"epochs": 200}, {"epochs": 29}]


# A file that says something else is refused.

GOOD = """
title = "A table"
source = "tab:a"
kind = "accuracy"
pruned = [0.5, 0.9]
scales = { paper = "cifar10", smoke = "smoke" }

[rows]
"DUAL" = "dual"
"IES" = { method = "ies", dynamic = { threshold = 0.1 } }

[rows_at.smoke]
"DUAL" = { epochs = 3 }

[printed]
everything = 95.3
"DUAL" = [95.0, nan]

[deviations]
"DUAL" = [0.1, nan]

[doubts]
"DUAL" = "why"
"""

WRONG = [
    ('"accuracy"', '"acuracy"', "no kind 'acuracy'; choose one of accuracy, removed"),
    ('title = "A table"', "", "does not say its 'title'"),
    ('title = "A', 'titel = "A', "no field 'titel'; choose one of title, source"),
    ("smoke = ", "smok = ", "no scale 'smok'; choose one of paper, cpu, smoke"),
    ('"cifar10"', '"cifar11"', "no setting 'cifar11'; choose one of cifar10,"),
    ('"dual"', '"duel"', "row 'DUAL' at paper: there is no method 'duel'; say a score"),
    ('"dual"', "{ epochs = 30 }", "row 'DUAL' does not say its method"),
    ('"dual"', '{ method = "dual", epoch = 3 }', "no field 'epoch'; choose one of method, epochs"),
    ('"dual"', '{ method = "dual", epochs = "late" }', "no name of epochs 'late'; .*early, el2n"),
    ('"dual"', '{ method = "dual", epochs = 201 }', "from 1 to 200.* got 201"),
    ('"dual"', '{ method = "dual", score = { j = 3 } }', "no knob of dual 'j'; .*window"),
    ('"dual"', '{ method = "dual", select = { c_d = 3 } }', "no knob of top 'c_d'; .*balance"),
    ('"dual"', '{ method = "dual", train = { speed = 3 } }', "no field of a recipe 'speed'"),
    ('"dual"', '{ method = "dual", dynamic = { threshold = 3 } }', "'threshold'; none is possible"),
    ('"dual"', '{ method = "dual", recorded = "resnet19" }', "no model 'resnet19'; choose one of"),
    ("threshold", "limit", "no knob of ies 'limit'; choose one of samples, threshold"),
    ("rows_at.smoke", "rows_at.small", "no scale 'small'; choose one of paper, cpu, smoke"),
    ("[rows_at.smoke]\n", '[rows_at.smoke]\n"EL2N" = { epochs = 3 }\n', "no row 'EL2N'; .*DUAL"),
    ("epochs = 3", "epoch = 3", "row 'DUAL': there is no field 'epoch'"),
    ("epochs = 3", "epochs = 6", "at smoke: epochs are from 1 to 5"),
    ("[0.5, 0.9]", "[0.5, 1.0]", "between 0 and 1, got 1.0"),
    ("pruned = [0.5, 0.9]", "", "has rows, so it must say which shares"),
    ("[95.0, nan]", "[95.0]", "'DUAL' needs 2 numbers, one per share pruned, got"),
    ("[95.0, nan]", "95.0", "'DUAL' needs 2 numbers"),
    ("95.3", "[95.3, 95.3]", "'everything' needs one number, got"),
    ("[0.1, nan]", "[0.1, 0.2, 0.3]", "'DUAL' needs 2 numbers"),
    ('"DUAL" = [95', '"DUEL" = [95', "no row to print 'DUEL'; choose one of DUAL, IES, everything"),
    ('"DUAL" = [0', '"IES" = [0', "no printed row that deviates 'IES'; choose one of everything"),
    ('"DUAL" = "why"', '"DUEL" = "why"', "no row to doubt 'DUEL'; choose one of"),
    ('kind = "accuracy"', 'kind = "picture"', "what to `draw`"),
    ('kind = "accuracy"', 'kind = "picture"\ndraw = "moons"', "no drawing 'moons'; .*coresets"),
    ('source = "tab:a"', 'source = "tab:a"\nshift = { noise = 0.2 }', "no shift 'noise'; .*labels"),
    ('source = "tab:a"', 'source = "tab:a"\nmodel = "vgg"', "no model 'vgg'; choose one of cnn"),
]


def test_a_file_without_mistakes_is_read():
    experiment = read("99-a-table.toml", GOOD)
    assert (experiment.name, [row.name for row in experiment.rows]) == ("a-table", ["DUAL", "IES"])
    assert [row.epochs for row in experiment.rows_at("smoke")] == [3, "early"]
    assert [row.epochs for row in experiment.rows_at("paper")] == ["early", "early"]


@pytest.mark.parametrize(("old", "new", "told"), WRONG, ids=[told for *_, told in WRONG])
def test_a_mistake_is_told_with_the_file_and_what_is_possible(old, new, told):
    assert GOOD.count(old) == 1
    with pytest.raises(InputError, match=rf"(?s)^99-a-table\.toml.*{told}"):
        read("99-a-table.toml", GOOD.replace(old, new))


def test_two_rows_can_be_printed_together_where_they_are_compared():
    pair = GOOD.replace('"accuracy"', '"agreement"').replace('"DUAL" = [', '"IES & DUAL" = [')
    assert "IES & DUAL" in read("99-a-table.toml", pair).printed
    with pytest.raises(InputError, match="no row to print 'IES & DUAL'"):
        read("99-a-table.toml", pair.replace('"agreement"', '"accuracy"'))
