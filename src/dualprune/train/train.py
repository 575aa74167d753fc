"""Train on a coreset or on everything, and say how good the model got."""

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

from dualprune.arrays import Array
from dualprune.coreset import digest
from dualprune.errors import InputError
from dualprune.files import write_json
from dualprune.train.loop import Plan, Progress, Tell, fit, silent
from dualprune.train.order import steps_per_epoch
from dualprune.train.place import is_first
from dualprune.train.setup import Setup

__all__ = ["Result", "train"]


@dataclass(frozen=True)
class Result:
    """What a training reached: the accuracy is the last epoch's, the best is only told beside it.

    `seconds` is the time of training itself, without evaluation.
    """

    accuracy: float
    best_accuracy: float
    best_epoch: int
    judged_on: str
    samples: int
    kept: int
    epochs: int
    steps: int
    seconds: float


def train(
    setup: Setup,
    out: Path,
    *,
    ids: Array | None = None,
    epochs: int | None = None,
    iterations: int | None = None,
    seed: int = 0,
    tell: Tell = silent(""),  # noqa: B008 - it has no state
) -> Result:
    """Train on these ids, or on all; writes `result.json` and goes on where it was interrupted.

    Parameters
    ----------
    epochs, iterations
        Length of the schedule, one of the two; else the recipe's.
    """
    plan = _plan(setup, ids, epochs, iterations, seed)
    settings = setup.settings(
        seed=seed,
        steps=plan.steps,
        kept=digest(torch.nonzero(plan.keep).flatten().numpy()),
        judged=digest(setup.held_out),
    )
    history = fit(
        setup.fresh_model(seed),
        setup.data,
        plan,
        folder=out / "checkpoint",
        settings=settings,
        test=setup.test,
        tell=tell,
    )
    result = _result(setup, plan, history)
    if is_first():
        write_json(out / "result.json", {**asdict(result), "settings": settings})
    return result


def _plan(
    setup: Setup, ids: Array | None, epochs: int | None, iterations: int | None, seed: int
) -> Plan:
    samples = len(setup.images)
    chosen = np.arange(samples) if ids is None else ids
    keep = torch.zeros(samples, dtype=torch.bool)
    keep[torch.from_numpy(np.setdiff1d(chosen, setup.held_out))] = True
    kept = int(keep.sum())
    if kept < 2:
        raise InputError(f"{kept} samples are left to train on; keep more")
    for name, value in (("epochs", epochs), ("iterations", iterations)):
        if value is not None and value < 1:
            raise InputError(f"{name} must be at least 1, got {value}")
    batch = setup.recipe.batch_for(len(chosen) / samples)
    each = steps_per_epoch(kept, batch)
    if epochs is None:
        iterations = iterations or setup.recipe.iterations
    steps = iterations or (epochs or setup.recipe.epochs) * each
    return Plan(setup.recipe, keep, batch, -(-steps // each), steps, seed)


def _result(setup: Setup, plan: Plan, history: list[Progress]) -> Result:
    accuracies = [row.accuracy or 0.0 for row in history]
    best = int(np.argmax(accuracies))
    return Result(
        accuracy=accuracies[-1],
        best_accuracy=accuracies[best],
        best_epoch=best + 1,
        judged_on="validation" if len(setup.held_out) else "test",
        samples=len(setup.images),
        kept=int(plan.keep.sum()),
        epochs=plan.epochs,
        steps=plan.steps,
        seconds=sum(row.seconds for row in history),
    )
