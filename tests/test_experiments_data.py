"""Every file of an experiment can be run, and one with a mistake is refused."""

import re
from collections import Counter
from importlib import resources

import pytest

from dualprune.errors import InputError
from dualprune.experiments.experiment import SCALES, experiments, find_experiment, read
from dualprune.experiments.picture import DRAWINGS
from dualprune.method import needs, signals_for
from dualprune.run.signals import DEFAULT
from dualprune.signatures import check_knobs
from dualprune.train.order import steps_per_epoch

FILES = sorted((resources.files("dualprune.experiments") / "tables").iterdir())
ALL = list(experiments().values())

every_experiment = pytest.mark.parametrize("experiment", ALL, ids=lambda each: each.name)


def resolved(experiment):
    """Give scale, setting, row and method of each static cell but for its seed."""
    for scale in experiment.scales:
        grid = experiment.at(scale)
        for row in grid.rows:
            for share in grid.pruned:
                if not row.is_dynamic:
                    yield scale, grid.setting, row, row.method_at(grid.setting, share)


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
        known = {} if method.scorer is None else check_knobs(method.scorer, method.score_knobs)
        assert 2 <= known.get("window", 2) <= method.epochs, (scale, row.name)


@every_experiment
def test_what_a_row_reads_is_recorded_in_its_setting(experiment):
    for scale, setting, row, method in resolved(experiment):
        recorded = {*DEFAULT, *setting.also}
        assert recorded.issuperset(signals_for([method])), (scale, row.name)
        if "features" in needs([method]):
            assert (method.features or method.epochs) in setting.features, (scale, row.name)


@every_experiment
def test_cells_differ_by_their_names_and_in_the_paper_by_what_is_done(experiment):
    for scale in experiment.scales:
        keys = Counter(cell.key for cell in experiment.at(scale).cells())
        assert max(keys.values(), default=1) == 1
    done = Counter((c.settings, c.pruned, c.seed) for c in experiment.at("paper").cells())
    assert max(done.values(), default=1) == 1


def test_what_is_drawn_can_be_drawn():
    assert set(DRAWINGS) == {each.draw for each in ALL} - {None}


@pytest.mark.parametrize("scale", SCALES)
def test_equal_iterations_are_those_of_training_on_all_the_data(scale):
    grid = find_experiment("equal-iterations").at(scale)
    setting = grid.setting
    steps = steps_per_epoch(setting.samples or 50_000, setting.trained.batch_for(1.0))
    iterations = {row.train["iterations"] for row in grid.rows if row.train}
    assert iterations == {steps * setting.trained.epochs}


def test_a_row_of_its_own_window_keeps_it_where_the_setting_has_another():
    experiment = find_experiment("ablation-j")
    windows = [method.score_knobs["window"] for *_, method in resolved(experiment)]
    own = [row.score["window"] for scale in SCALES for row in experiment.at(scale).rows]
    assert sorted(set(windows)) == sorted(set(own))
    (dual, *_) = find_experiment("sampling-cifar10").rows
    assert dual.method_at(experiment.at("smoke").setting, 0.5).score_knobs == {"window": 3}


def test_values_depend_on_the_share_pruned():
    grid = find_experiment("sampling-cifar10").at("paper")
    shares, ccs = (0.3, 0.8, 0.9), grid.rows[1]
    cut_offs = [ccs.method_at(grid.setting, share).select_knobs["cut_off"] for share in shares]
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
    ('"dual"', '{ method = "dual", score = { j = 3 } }', "dual has no knob 'j'; it has window"),
    (
        '"dual"',
        '{ method = "dual", select = { c_d = 3 } }',
        "top has no knob 'c_d'; it has .*balance",
    ),
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
    assert [row.epochs for row in experiment.at("smoke").rows] == [3, "early"]
    assert [row.epochs for row in experiment.at("paper").rows] == ["early", "early"]


@pytest.mark.parametrize(("old", "new", "said"), WRONG, ids=[said for *_, said in WRONG])
def test_a_mistake_is_refused_with_the_file_and_what_is_possible(old, new, said):
    assert GOOD.count(old) == 1
    with pytest.raises(InputError, match=rf"(?s)^99-a-table\.toml.*{said}"):
        read("99-a-table.toml", GOOD.replace(old, new))


def test_two_rows_can_be_printed_together_where_they_are_compared():
    pair = GOOD.replace('"accuracy"', '"agreement"').replace('"DUAL" = [', '"IES & DUAL" = [')
    assert "IES & DUAL" in read("99-a-table.toml", pair).printed
    with pytest.raises(InputError, match="no row to print 'IES & DUAL'"):
        read("99-a-table.toml", pair.replace('"agreement"', '"accuracy"'))
