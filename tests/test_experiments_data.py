"""Every file of an experiment can be run, and says nothing that means nothing."""

import re
import tomllib
from collections import Counter
from dataclasses import fields
from importlib import resources
from inspect import signature

import pytest

from dualprune.dynamic import DYNAMIC
from dualprune.experiments.experiment import SCALES, experiments, find_experiment, read
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


# What the files say is known: a name that means nothing would be ignored or fail in mid-run.


@every_experiment
def test_kinds_settings_shifts_models_and_drawings_exist(experiment):
    assert experiment.kind in KINDS
    assert set(experiment.scales.values()) <= settings().keys()
    assert set(experiment.shift) <= set(SHIFTS)
    assert (experiment.draw in DRAWINGS) == (experiment.kind == "picture")
    assert {experiment.at(scale).model for scale in experiment.scales} <= MODELS["images"].keys()


@every_experiment
def test_rows_have_shares_and_only_rows_change_at_a_scale(experiment):
    assert bool(experiment.rows) <= bool(experiment.pruned)
    assert all(0 < share < 1 for share in experiment.pruned)
    names = {row.name for row in experiment.rows}
    assert {scale for scale, _ in experiment.rows_at} <= set(SCALES)
    assert {name for _, name in experiment.rows_at} <= names


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
    assert experiment.doubts.keys() <= known
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
    assert [row.epochs for row in experiment.at("smoke").rows] == [3, "early"]
    assert [row.epochs for row in experiment.at("paper").rows] == ["early", "early"]
