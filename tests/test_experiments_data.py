"""Every file of an experiment can be run, and says nothing that means nothing."""

import re
import tomllib
from collections import Counter
from dataclasses import fields
from importlib import resources
from inspect import signature

import pytest

from dualprune.dynamic import DYNAMIC
from dualprune.experiments.contents import NAMES, contents, papers_title
from dualprune.experiments.cost import SETS
from dualprune.experiments.experiment import SCALES, experiments, find_experiment, read
from dualprune.experiments.grid import ANEW, SHORTER, WHOLE
from dualprune.experiments.kinds import KINDS
from dualprune.experiments.picture import DRAWINGS
from dualprune.experiments.setting import SHIFTS, settings
from dualprune.method import needs, signals_for
from dualprune.run.signals import DEFAULT
from dualprune.signatures import check_knobs
from dualprune.train import MODELS
from dualprune.train.order import steps_per_epoch
from dualprune.train.recipe import Recipe

FILES = sorted((resources.files("dualprune.experiments") / "tables").iterdir())
ALL = list(experiments().values())

every_experiment = pytest.mark.parametrize("experiment", ALL, ids=lambda each: each.name)


def resolved(experiment):
    """Give scale, setting, row and method of each static cell but for its seed."""
    for scale in experiment.scales:
        grid = experiment.at(scale)
        for row in grid.rows:
            for share in grid.pruned:
                if row.is_static:
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
    steps = steps_per_epoch(setting.samples or 50_000, setting.trained.batch)
    iterations = {row.train["iterations"] for row in grid.rows if row.train}
    assert iterations == {steps * setting.trained.epochs}


def test_a_row_of_its_own_window_keeps_it_where_the_setting_has_another():
    experiment = find_experiment("ablation-j")
    windows = [method.score_knobs["window"] for *_, method in resolved(experiment)]
    rows = [row for scale in SCALES for row in experiment.at(scale).rows if row.is_static]
    own = [row.score["window"] for row in rows]
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


# What the files say is what the paper did.


@every_experiment
def test_forgetting_counts_events_so_that_never_learned_is_zero(experiment):
    for scale, _, row, method in resolved(experiment):
        if method.score == "forgetting":
            assert method.score_knobs["never_learned"] == "zero", (scale, row.name)


@every_experiment
def test_what_is_cut_off_is_cut_off_by_margins_of_probabilities(experiment):
    for scale, _, row, method in resolved(experiment):
        if "cut_off" in method.select_knobs:
            assert method.reads == {"aum": "aum_prob"}, (scale, row.name)
        if row.name == "CCS":
            assert (method.score, method.selector) == ("aum_prob", "stratified"), scale


def test_three_seeds_where_the_paper_says_three():
    three = {each.name for each in ALL if each.at("paper").seeds == 3}
    tails = {f"long-tail-{data}-{ratio}" for data in ("cifar10", "cifar100") for ratio in (10, 100)}
    ablations = {"ablation-t", "ablation-cd", "ablation-j"}
    assert three == tails | ablations | {"imagenet", "label-noise-tiny", "corruption-tiny"}


def test_all_the_data_are_trained_on_for_as_many_iterations_as_a_coreset():
    recorded = {name for name, setting in settings().items() if setting.records_all}
    assert "imagenet" not in recorded
    assert {"cifar10", "cpu-fashion", "tiny-imagenet-noise"} <= recorded


@pytest.mark.parametrize(
    ("name", "scale", "title"),
    [
        ("cifar100", "cpu", "Static pruning of Fashion-MNIST, standing in for CIFAR-100"),
        ("cifar10", "cpu", "Static pruning of CIFAR-10"),
        ("cross-cnn-r18", "paper", "Chosen by a 3-layer CNN; trained with ResNet-18; CIFAR-100"),
        (
            "cross-cnn-r18",
            "cpu",
            "Chosen by cnn-small, standing in for a 3-layer CNN; trained with resnet8, standing in "
            "for ResNet-18; Fashion-MNIST, standing in for CIFAR-100",
        ),
    ],
)
def test_titles_say_what_is_run_and_what_it_stands_in_for(name, scale, title):
    assert find_experiment(name).at(scale).title == title


@every_experiment
def test_no_title_names_data_that_are_not_used(experiment):
    for scale in experiment.scales:
        grid = experiment.at(scale)
        named = grid.title.replace("standing in for ", "*")
        for data, name in NAMES.items():
            if data in SETS and data != grid.setting.data:
                assert not re.search(rf"(?<!\*){name}\b", named), (scale, grid.title)


def test_the_list_has_the_titles_of_the_paper():
    for name, content in contents().items():
        assert papers_title(content) == find_experiment(name).at("paper").title


# What the files say is known: a name that means nothing would be ignored or fail in mid-run.


@every_experiment
def test_kinds_settings_shifts_models_and_drawings_exist(experiment):
    assert experiment.kind in KINDS
    assert set(experiment.scales.values()) <= settings().keys()
    assert set(experiment.shift) <= set(SHIFTS)
    assert (experiment.draw in DRAWINGS) == (experiment.kind == "picture")
    assert {experiment.at(scale).model for scale in experiment.scales} <= MODELS["images"].keys()


@every_experiment
def test_rows_have_shares_and_change_at_known_scales(experiment):
    assert bool(experiment.rows) <= bool(experiment.pruned)
    assert all(0 < share < 1 for share in experiment.pruned)
    assert experiment.rows_at.keys() <= set(SCALES)


@every_experiment
def test_rows_that_a_setting_names_are_run_and_rows_of_one_scale_have_a_method(experiment):
    for scale in experiment.scales:
        grid = experiment.at(scale)
        assert {*(grid.setting.rows or ())} <= {row.name for row in grid.rows}
        assert all(row.method or row in (WHOLE, SHORTER) for row in grid.rows), scale


@every_experiment
def test_epochs_models_and_knobs_of_every_row_exist_at_every_scale(experiment):
    recipe = {field.name for field in fields(Recipe)}
    for scale in experiment.scales:
        setting = experiment.at(scale).setting
        for row in experiment.at(scale).rows:
            known = range(1, setting.record + 1) if isinstance(row.epochs, int) else setting.epochs
            assert row.epochs in known, (scale, row.name)
            assert setting.stand_in(row.recorded) in MODELS["images"], (scale, row.name)
            assert row.train.keys() <= recipe, (scale, row.name)
            possible = signature(DYNAMIC[row.method]).parameters if row.is_dynamic else {}
            assert row.dynamic.keys() <= possible.keys(), (scale, row.name)


@every_experiment
def test_numbers_and_doubts_are_of_rows_and_there_is_one_number_per_share(experiment):
    rows = [row.name for row in experiment.rows]
    known = {*rows, "everything"}
    assert experiment.doubts.keys() <= known.union(*experiment.rows_at.values())
    if experiment.kind == "agreement":
        known |= {f"{one} & {other}" for one in rows for other in rows}
    assert experiment.deviations.keys() <= experiment.printed.keys() <= known
    for name, numbers in [*experiment.printed.items(), *experiment.deviations.items()]:
        if name == "everything":
            assert isinstance(numbers, float)
        else:
            assert len(numbers) == len(experiment.pruned), name


def test_a_row_may_change_at_a_scale():
    content = tomllib.loads(
        """
        title = "A table"
        source = "tab:a"
        kind = "accuracy"
        pruned = [0.5, 0.9]
        scales = { paper = "cifar10", smoke = "smoke" }
        rows = { "DUAL" = "dual", "IES" = { method = "ies", dynamic = { threshold = 0.1 } } }
        rows_at.smoke = { "DUAL" = { epochs = 3 } }
        """
    )
    experiment = read("a-table", content)
    assert (experiment.name, [row.name for row in experiment.rows]) == ("a-table", ["DUAL", "IES"])
    assert [row.epochs for row in experiment.at("smoke").rows[:2]] == [3, "early"]
    assert [row.epochs for row in experiment.at("paper").rows[:2]] == ["early", "early"]
    assert experiment.at("paper").rows[2:] == (SHORTER, ANEW)


def test_a_scale_may_add_rows_and_a_setting_may_leave_some_out():
    grid = find_experiment("cifar10").at("cpu-full")
    names = [row.name for row in grid.rows]
    assert {"Entropy", "TDDS"}.isdisjoint(names)
    assert names[-4:] == ["DUAL+beta, c_D found", "InfoMax", SHORTER.name, ANEW.name]
    assert "EL2N, here: method el2n" in grid.notes, "what changes at `cpu` changes here, too"
    assert not [note for note in grid.notes if note.startswith("TDDS")]
    knobs = {row.name: row.method_at(grid.setting, 0.9).select_knobs for row in grid.rows[:-2]}
    assert knobs["DUAL+beta"]["c_d"] == 3
    assert "c_d" not in knobs["DUAL+beta, c_D found"]
