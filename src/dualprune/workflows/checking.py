"""check: whether choosing was worth it, or random would have done."""

from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, stdev

import numpy as np

from dualprune.coreset import Coreset
from dualprune.files import write_json
from dualprune.select import random
from dualprune.signatures import Array
from dualprune.train import Setup, Watch, silent, train

__all__ = ["Check", "against_random"]

_SEEDS = 3


@dataclass(frozen=True)
class Check:
    """Accuracies after training on a coreset and on random ones of the same size."""

    coreset: list[float]
    random: list[float]
    epochs: int

    @property
    def verdict(self) -> str:
        """Which was better, if the seeds allow to say so.

        >>> Check([0.9, 0.91], [0.8, 0.82], epochs=30).verdict
        'the coreset was better'
        """
        difference = mean(self.coreset) - mean(self.random)
        if abs(difference) <= max(stdev(self.coreset), stdev(self.random)):
            return "no difference beyond the spread of the seeds"
        return "the coreset was better" if difference > 0 else "random was better"


def against_random(setup: Setup, coreset: Coreset, out: Path, *, watch: Watch = silent) -> Check:
    """Train briefly on a coreset and on random ones of the same size, judged on held-out images.

    The images to judge by are a tenth of the training images, which neither training sees; test
    images are not looked at.
    """
    setup = setup.judged_by_validation()
    epochs = min(setup.recipe.epochs, setup.recipe.record)
    others = np.setdiff1d(np.arange(len(setup.images)), setup.held_out)
    ids = np.setdiff1d(coreset.ids, setup.held_out)

    def accuracy(name: str, ids: Array, seed: int) -> float:
        title = f"{name}, seed {seed}"
        folder = out / f"{name}-{seed}"
        return train(setup, folder, ids=ids, epochs=epochs, seed=seed, tell=watch(title)).accuracy

    result = Check([], [], epochs)
    for seed in range(_SEEDS):
        drawn = others[random(setup.images.labels[others], k=len(ids), seed=seed)]
        result.coreset.append(accuracy("coreset", ids, seed))
        result.random.append(accuracy("random", drawn, seed))
    write_json(out / "check.json", {**asdict(result), "verdict": result.verdict})
    return result
