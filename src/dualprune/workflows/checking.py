"""check: how training on a coreset compares with all the data and with what costs the same."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dualprune.coreset import Arm, Check, Coreset
from dualprune.coreset.worth import ALL, CORESET, RANDOM
from dualprune.errors import InputError
from dualprune.experiments.cost import passes
from dualprune.experiments.grid import ANEW, SHORTER, Grid, Row
from dualprune.experiments.results import Line
from dualprune.experiments.runner import missing
from dualprune.experiments.search import Known
from dualprune.experiments.setting import Setting
from dualprune.method import Method
from dualprune.select.budget import share_of
from dualprune.train import FEWEST, Setup
from dualprune.train.setup import hold_out
from dualprune.workflows.working import Work


def check(setup: Setup, coreset: Coreset, out: Path, seeds: int, work: Work) -> Check:
    """Train on a coreset and in four other ways, each as long as the recipe says; resumes.

    A tenth of the training data are held out, which no training sees; test data are not looked
    at.
    """
    grid = _grid(setup, coreset, seeds)
    count = work.at_a_time(grid.setting, seeds * len(grid.rows))
    if todo := missing(grid, out):
        amount = work.amount(setup, len(todo), sum(map(passes, todo)), count)
        work.tell(f"check: {amount}, with {seeds} seeds each")
        work.tell(f"check: {'; '.join(row.name for row in grid.rows)}")
    lines = replace(work, processes=count).run(grid, out)
    return Check(len(hold_out(setup.data)), [_arm(row, lines) for row in grid.rows])


def _arm(row: Row, lines: Sequence[Line]) -> Arm:
    own = [line.values for line in lines if line.row == row.name]
    return Arm(row.name, own[0]["forward"], [values["accuracy"] for values in own])


def _grid(setup: Setup, coreset: Coreset, seeds: int) -> Grid:
    held_out = hold_out(setup.data)
    others = np.setdiff1d(setup.data.readable_ids, held_out)
    ids = np.searchsorted(others, np.setdiff1d(coreset.ids, held_out))
    if len(ids) < FEWEST:
        raise InputError(
            f"the check holds out {len(held_out)} of {len(held_out) + len(others)} samples, which "
            f"leaves {len(ids)} of the {len(coreset)} that are kept; a training needs at least "
            f"{FEWEST}: keep more, or leave out the check"
        )
    chosen = coreset.card.ids_sha256[:16]
    part, test, recipe = setup.data.take(others), setup.data.take(held_out), setup.recipe
    setting = Setting.of(
        "check", recipe, part, test, seeds=seeds, model=setup.model, judged_on="validation"
    )
    return Grid(
        name="check",
        kind="accuracy",
        title="What was kept, and other ways to train",
        setting=replace(setting, train={"judge_every": recipe.epochs}),
        rows=(
            Row(CORESET, Method(None, Known(dict.fromkeys(range(seeds), ids)), name=chosen)),
            Row(RANDOM, "random"),
            Row(ALL, "random", pruned=0.0),
            SHORTER,
            ANEW,
        ),
        pruned=(share_of(len(ids), len(others)),),
        seeds=seeds,
        model=setup.model,
        scale=chosen,
    )
