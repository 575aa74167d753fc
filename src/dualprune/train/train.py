"""Train on a coreset or on all the data, and measure the accuracy."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

from dualprune.arguments import build
from dualprune.coreset import digest
from dualprune.errors import InputError
from dualprune.files import read_json, reading, refuse_foreign, write_json, write_table
from dualprune.record.processes import processes
from dualprune.select.budget import share_of
from dualprune.signatures import Array
from dualprune.train.epoch import Dynamic, Plan
from dualprune.train.loop import Progress, Tell, fit, silent
from dualprune.train.order import steps_per_epoch
from dualprune.train.place import is_first
from dualprune.train.setup import Setup, check_training

FEWEST = 2
"""Samples below which there is no training."""


@dataclass(frozen=True)
class Result:
    """What a training reached; the accuracy is that of the last epoch, the best one is extra.

    `forward` and `backward` count the training images that went through the model, and `seconds` is
    the time of training itself, without evaluation.
    """

    accuracy: float
    best_accuracy: float
    best_epoch: int
    judged_on: str
    samples: int
    kept: int
    epochs: int
    forward: int
    backward: int
    seconds: float

    @staticmethod
    def load(folder: Path) -> "Result":
        """Read what a training left in `result.json`."""
        path = folder / "result.json"
        content = read_json(path)
        with reading(path):
            return build(Result, {field.name: content[field.name] for field in fields(Result)})


def train(
    setup: Setup,
    out: Path,
    *,
    ids: Array | None = None,
    epochs: int | None = None,
    iterations: int | None = None,
    seed: int = 0,
    dynamic: Callable[[int, int], Dynamic] | None = None,
    weights: Array | None = None,
    tell: Tell = silent(""),  # noqa: B008 - it has no state
) -> Result:
    """Train on these ids, or on all; writes `result.json`, and resumes if it was interrupted.

    Parameters
    ----------
    epochs, iterations
        Length of the schedule, at most one of the two; by default the recipe's.
    dynamic
        Makes a dynamic pruning method from the number of samples and of epochs; how often each
        sample was used is then written to `uses.parquet`.
    weights
        One per sample; the loss of a batch is multiplied by their mean over it, as TDDS trains.
    """
    refuse_foreign(out, "checkpoint")
    plan = _plan(setup, ids, epochs, iterations, seed)
    if dynamic is not None and processes()[1] > 1:
        raise InputError("dynamic pruning needs all losses, so it works in one process only")
    if dynamic is not None:
        plan = replace(plan, dynamic=dynamic(len(plan.ids), plan.epochs), schedule=plan.epochs)
    if weights is not None:
        plan = replace(plan, weights=torch.from_numpy(weights).float().to(setup.batches.device))
    settings = setup.settings(
        seed=seed,
        schedule=plan.schedule,
        kept=digest(plan.ids),
        judged=setup.test.fingerprint,
        dynamic=_identity(plan.dynamic),
        weights=None if weights is None else sha256(weights.tobytes()).hexdigest(),
    )
    fitted = fit(
        setup.fresh_model(seed),
        setup.batches,
        plan,
        folder=out / "checkpoint",
        settings=settings,
        test=setup.test_batches,
        tell=tell,
    )
    result = _result(setup, plan, fitted.history)
    if is_first():
        content = {**asdict(result), "settings": settings}
        if dynamic is not None:
            table = pa.table({"id": np.arange(len(fitted.uses)), "uses": fitted.uses})
            written = write_table(out / "uses.parquet", table)
            content["uses_sha256"] = sha256(written).hexdigest()
        write_json(out / "result.json", content)
    return result


def _plan(
    setup: Setup, ids: Array | None, epochs: int | None, iterations: int | None, seed: int
) -> Plan:
    check_training(seed, epochs, iterations)
    readable = setup.data.readable_ids
    chosen = readable if ids is None else np.intersect1d(_unique(ids, len(setup.data)), readable)
    kept = np.setdiff1d(chosen, setup.held_out)
    if len(kept) < FEWEST:
        raise InputError(f"{len(kept)} samples are left to train on; keep more")
    batch = setup.recipe.batch_for(share_of(len(chosen), len(readable)))
    steps = steps_per_epoch(len(kept), batch)
    if epochs is None:
        iterations = iterations or setup.recipe.iterations
    schedule = iterations / steps if iterations else epochs or setup.recipe.epochs
    return Plan(setup.recipe, kept, batch, math.ceil(schedule), schedule, seed)


def _unique(ids: Array, samples: int) -> Array:
    ids = np.asarray(ids)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise InputError(
            f"ids must be a one-dimensional array of integers, got {ids.dtype} {ids.shape}"
        )
    unique: Array = np.unique(ids)
    if len(unique) and not 0 <= unique[0] <= unique[-1] < samples:
        raise InputError(f"ids must be from 0 to {samples - 1}, got {unique[0]} to {unique[-1]}")
    return unique


def _identity(dynamic: Dynamic | None) -> list[str]:
    """Class and settings of a dynamic pruning method, without its state."""
    settings = {} if dynamic is None else vars(dynamic)
    knobs = [f"{n}={v}" for n, v in settings.items() if not isinstance(v, np.ndarray)]
    return [type(dynamic).__name__, *knobs]


def _result(setup: Setup, plan: Plan, history: list[Progress]) -> Result:
    accuracies = [row.accuracy or 0.0 for row in history]
    best = int(np.argmax(accuracies))
    return Result(
        accuracy=accuracies[-1],
        best_accuracy=accuracies[best],
        best_epoch=best + 1,
        judged_on="validation" if len(setup.held_out) else "test",
        samples=len(setup.data.readable_ids),
        kept=len(plan.ids),
        epochs=plan.epochs,
        forward=sum(row.forward for row in history),
        backward=sum(row.backward for row in history),
        seconds=sum(row.seconds for row in history),
    )
