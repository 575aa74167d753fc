"""Whether one training that prunes itself by DUAL gets ahead of those that cost the same.

    python -m studies.while_training OUT [SETTING ...]
    python -m studies.while_training

The first trains in one thread on each setting (by default `cpu-fashion` and `cpu-cifar10`) and adds
a line per training to `studies/while_training.jsonl`; what is there is skipped. The second
prints that file as a table, `docs/while_training.md` has it. No setting was chosen by them.
"""

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from dualprune.dynamic import InfoBatch, Plan, RandomEveryEpoch
from dualprune.dynamic.plan import NOTHING, uniforms
from dualprune.experiments.setting import Setting, settings
from dualprune.score import confidence, dual, dyn_unc
from dualprune.select import Notes, beta
from dualprune.select.beta import log_weights, parameters
from dualprune.signatures import Array
from dualprune.train import Setup, train
from studies.lines import append_line, by_key, read_lines, with_deviation

RESULTS = Path(__file__).with_suffix(".jsonl")
KEY = ("setting", "seed", "name")
RECORDED, KEEP, UNTIL, SEEDS = 10, 0.5, 0.875, 3
LEAST = 1 / 4
"""The smallest probability of being drawn, as a part of the mean: no weight is above 8."""


class DrawnByScore:
    """Train on all samples for some epochs, then on draws by a score, and on all again at the end.

    A sample that is drawn with probability q weighs 1 / q, so that the expected gradient of an
    epoch is that of all samples.
    """

    def __init__(
        self, samples: int, epochs: int, seed: int, weigh: Callable[[Array, int], Array]
    ) -> None:
        self._samples, self._seed, self._last = samples, seed, int(UNTIL * epochs)
        self._weigh, self._losses, self._seen = weigh, np.full((RECORDED, samples), np.nan), 0
        self._chances = np.ones(0)

    def plan(self, epoch: int) -> Plan:
        """Give the samples of an epoch, counted from 1."""
        if not RECORDED < epoch <= self._last:
            return Plan(np.arange(self._samples), np.ones(self._samples), NOTHING)
        if not len(self._chances):
            weights = self._weigh(np.exp(-self._losses), round(KEEP * self._samples))
            self._chances = chances(weights, KEEP * self._samples)
        drawn = np.flatnonzero(uniforms(self._seed, epoch, self._samples) < self._chances)
        return Plan(drawn, 1 / self._chances[drawn], NOTHING)

    def observe(self, ids: ArrayLike, losses: ArrayLike) -> None:
        """Record the losses of the first epochs."""
        if self._seen < RECORDED:
            self._losses[self._seen, ids] = losses
        self._seen += 1

    def state(self) -> dict[str, Array]:
        """Give what a checkpoint has to store."""
        return {"losses": self._losses, "seen": np.array(self._seen)}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Resume from a `state`."""
        self._losses, self._seen = state["losses"].copy(), int(state["seen"])


def chances(weights: Array, k: float) -> Array:
    """Give probabilities proportional to the weights, from `LEAST` of their mean to 1, of sum k."""
    least, low, high = LEAST * k / len(weights), 0.0, len(weights) / weights.max() * 1e6
    for _ in range(200):
        middle = (low + high) / 2
        below = np.clip(middle * weights, least, 1).sum() < k
        low, high = (middle, high) if below else (low, middle)
    return np.clip(high * weights, least, 1)


def by_dual_beta(p: Array, k: int) -> Array:
    """Weigh as DUAL with Beta sampling does, with the c_D that it finds."""
    scores, sure, notes = dual(p), confidence(p), Notes()
    beta(scores, sure, k=k, seed=0, notes=notes)
    c_d, mu = notes.values["c_d"], notes.values["mu"]
    logs = log_weights(scores, sure, *parameters(mu, 1 - KEEP, c_d=c_d, concentration=15.0))
    return np.exp(logs - logs.max())


def by_dyn_unc(p: Array, k: int) -> Array:  # noqa: ARG001
    """Weigh by Dyn-Unc."""
    return dyn_unc(p)


def arms(seed: int) -> dict[str, Any]:
    """Give the ways to train that are dynamic, by name."""
    score = {"DUAL+beta": by_dual_beta, "Dyn-Unc": by_dyn_unc}
    return {
        "InfoBatch": lambda samples, epochs: InfoBatch(samples, epochs=epochs, seed=seed),
        **{
            f"drawn by {name}, weighted": lambda samples, epochs, weigh=weigh: DrawnByScore(
                samples, epochs, seed, weigh
            )
            for name, weigh in score.items()
        },
    }


def study(out: Path, setting: Setting) -> None:
    """Train what is not in the file yet; the last two cost as much as those that they stand for."""
    for seed in range(SEEDS):
        shifted = setting.images({}, seed)
        setup = setting.setup(shifted, setting.model, {})
        for name, dynamic in arms(seed).items():
            measure(out, setting, setup, seed, name, dynamic=dynamic)
        for name in ("InfoBatch", "drawn by DUAL+beta, weighted"):
            cost = results()[setting.name, seed, name]["cost"]
            steps = -(-len(setup.data) // setup.recipe.batch) * setup.recipe.epochs
            label = f"all the data, shorter, as long as {name.split(',')[0]}"
            measure(out, setting, setup, seed, label, iterations=round(cost * steps))
        anew = lambda samples, epochs: RandomEveryEpoch(samples, keep=round(cost, 4), seed=seed)  # noqa: B023, ARG005, E731
        measure(out, setting, setup, seed, "a new random part every epoch", dynamic=anew)


def measure(out: Path, setting: Setting, setup: Setup, seed: int, name: str, **how: Any) -> None:
    """Train, unless it is there."""
    if (setting.name, seed, name) in results():
        return
    folder = out / f"{setting.name}-{seed}-{name.replace(' ', '-')}"
    shutil.rmtree(folder, ignore_errors=True)  # what was interrupted is trained anew
    result = train(setup, folder, seed=seed + 100_000, **how)
    line = {"setting": setting.name, "seed": seed, "name": name, "accuracy": result.accuracy}
    line["cost"] = result.forward / (setup.recipe.epochs * len(setup.data))
    append_line(RESULTS, line)


def results() -> dict[tuple[Any, ...], dict[str, Any]]:
    """Give the lines that are there, by training."""
    return by_key(read_lines(RESULTS), KEY)


def table() -> Iterator[str]:
    """Give a row per way to train: cost and accuracy, mean and deviation over seeds."""
    names = dict.fromkeys(line["setting"] for line in results().values())
    yield f"| | {' | '.join(f'{name}: cost | accuracy' for name in names)} |"
    yield "|---" * (1 + 2 * len(names)) + "|"
    for row in dict.fromkeys(line["name"] for line in results().values()):
        entries = []
        for name in names:
            own = [results().get((name, seed, row)) for seed in range(SEEDS)]
            known = [line for line in own if line]
            reached = with_deviation([line["accuracy"] for line in known], unit=100)
            entries.append(f"{mean(line['cost'] for line in known):.2f} | {reached}")
        yield f"| {row} | {' | '.join(entries)} |"


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print("\n".join(table()))
    else:
        torch.set_num_threads(1)
        for name in sys.argv[2:] or ["cpu-fashion", "cpu-cifar10"]:
            study(Path(sys.argv[1]), settings()[name])
