"""check: how training on a coreset compares with all the data and with what costs the same."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path

import numpy as np
import torch

from dualprune.coreset import Arm, Check, Coreset
from dualprune.coreset.worth import ALL, ANEW, CORESET, RANDOM, SHORTER
from dualprune.experiments.cost import passes
from dualprune.experiments.grid import Grid, Row
from dualprune.experiments.results import Line
from dualprune.experiments.runner import missing, run_loaded, workers
from dualprune.experiments.setting import Setting
from dualprune.method import Method
from dualprune.signatures import Array
from dualprune.train import Setup, Watch
from dualprune.train.order import steps_per_epoch
from dualprune.train.place import useful_threads
from dualprune.train.setup import hold_out


@dataclass(frozen=True, eq=False)
class _Known:
    """A selector of ids that are known; an object, so that other processes can be given it."""

    ids: Array

    def __call__(self, labels: Array) -> Array:  # noqa: ARG002 - how many is all they say
        return self.ids


def check(
    setup: Setup,
    coreset: Coreset,
    out: Path,
    *,
    seeds: int,
    seconds: float,
    processes: int | None,
    tell: Callable[[str], None],
    watch: Watch,
) -> Check:
    """Train on a coreset and in four other ways, each as long as the recipe says; resumes.

    A tenth of the training data are held out, which no training sees; test data are not looked
    at. `seconds` is what a sample took while recording, NaN if that is not known.
    """
    grid = _grid(setup, coreset, seeds)
    count = min(workers(grid.setting, processes), seeds * len(grid.rows))
    if todo := missing(grid, out):
        one = next(setup.batches.inputs([torch.from_numpy(coreset.ids[:1])]))
        threads = useful_threads(setup.fresh_model(0), one, setup.recipe.batch)
        each = seconds * threads / count if count > 1 else seconds
        minutes = each * sum(passes(cell) for cell in todo) * len(setup.data.readable_ids) / 60
        about = "" if isnan(minutes) else f", about {max(1, round(minutes))} min"
        tell(f"check: {len(todo)} trainings{about} ({count} at a time), with {seeds} seeds each")
        tell(f"check: {'; '.join(row.name for row in grid.rows)}")
    lines = run_loaded(grid, out, processes=count, tell=tell, watch=watch)
    return Check(len(hold_out(setup.data)), [_arm(row, lines) for row in grid.rows])


def _arm(row: Row, lines: Sequence[Line]) -> Arm:
    own = [line.values for line in lines if line.row == row.name]
    return Arm(row.name, own[0]["forward"], [values["accuracy"] for values in own])


def _grid(setup: Setup, coreset: Coreset, seeds: int) -> Grid:
    held_out = hold_out(setup.data)
    others = np.setdiff1d(setup.data.readable_ids, held_out)
    ids = np.searchsorted(others, np.setdiff1d(coreset.ids, held_out))
    part, test, recipe = setup.data.take(others), setup.data.take(held_out), setup.recipe
    setting = Setting.of(
        "check", recipe, part, test, seeds=seeds, model=setup.model, judged_on="validation"
    )
    changes = {"judge_every": recipe.epochs, "size": recipe.size}
    passed = recipe.passes(len(ids), len(others))
    steps = round(passed * steps_per_epoch(len(others), recipe.batch))
    return Grid(
        name="check",
        kind="accuracy",
        title="What was kept, and other ways to train",
        setting=replace(setting, train=changes),
        rows=(
            Row(CORESET, Method(None, _Known(ids))),
            Row(RANDOM, "random"),
            Row(ALL, "random", pruned=0.0),
            Row(SHORTER, "random", pruned=0.0, train={"iterations": max(1, steps)}),
            Row(ANEW, "random-dynamic", train={"epochs": round(passed * len(others) / len(ids))}),
        ),
        pruned=(1 - len(ids) / len(others),),
        seeds=seeds,
        model=setup.model,
        scale=coreset.card.ids_sha256[:16],
    )
