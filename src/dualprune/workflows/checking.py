"""check: whether choosing was worth it, or random would have done."""

from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

import numpy as np

from dualprune.coreset import Coreset
from dualprune.experiments.grid import Grid, Row
from dualprune.experiments.results import read
from dualprune.experiments.runner import InThisProcess, run
from dualprune.experiments.setting import Setting
from dualprune.method import Method
from dualprune.signatures import Array
from dualprune.train import Setup, Watch, silent
from dualprune.train.setup import hold_out

_SEEDS = 3
_ROWS = ("coreset", "random")


@dataclass(frozen=True)
class Check:
    """Accuracies after training on a coreset and on random ones of the same size."""

    coreset: list[float]
    random: list[float]

    @property
    def verdict(self) -> str:
        """Which was better, if the seeds allow to say so.

        >>> Check([0.9, 0.91], [0.8, 0.82]).verdict
        'the coreset was better'
        """
        difference = mean(self.coreset) - mean(self.random)
        if abs(difference) <= max(stdev(self.coreset), stdev(self.random)):
            return "no difference beyond the spread of the seeds"
        return "the coreset was better" if difference > 0 else "random was better"

    def __str__(self) -> str:
        means = [
            f"{name} {mean(accuracies):.1%} ± {stdev(accuracies):.1%}"
            for name, accuracies in vars(self).items()
        ]
        return f"{', '.join(means)} ({len(self.coreset)} seeds): {self.verdict}"


def against_random(setup: Setup, coreset: Coreset, out: Path, *, watch: Watch = silent) -> Check:
    """Train briefly on a coreset and on random ones of the same size, and evaluate both.

    A tenth of the training images are held out, which neither training sees; test images are not
    looked at.
    """
    held_out = hold_out(setup.images)
    others = np.setdiff1d(setup.images.readable_ids, held_out)
    ids = np.searchsorted(others, np.setdiff1d(coreset.ids, held_out))

    def coreset_ids(labels: Array) -> Array:  # noqa: ARG001 - how many there are is all they say
        return ids

    part, test = setup.images.take(others), setup.images.take(held_out)
    setting = Setting.of(
        "check", setup.recipe, part, test, seeds=_SEEDS, model=setup.model, judged_on="validation"
    )
    epochs = min(setup.recipe.epochs, setup.recipe.record)
    brief = {"epochs": epochs, "judge_every": epochs}
    grid = Grid(
        name="check",
        kind="accuracy",
        title="What was kept and random samples",
        setting=setting,
        rows=(
            Row(_ROWS[0], Method(None, coreset_ids), train=brief),
            Row(_ROWS[1], "random", train=brief),
        ),
        pruned=(1 - len(ids) / len(others),),
        seeds=_SEEDS,
        model=setup.model,
    )
    run(grid, out, pool=InThisProcess(), watch=watch)
    return read_check(out)


def read_check(out: Path) -> Check:
    """Read what a check measured."""
    lines = read(out / "results.jsonl")
    return Check(*([line.values["accuracy"] for line in lines if line.row == row] for row in _ROWS))
