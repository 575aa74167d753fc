"""Score what is on disk, block by block, so that memory stays small whatever the dataset's size."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from dualprune.errors import InputError, MissingError
from dualprune.run import Run
from dualprune.score.observed import mean_observed
from dualprune.signatures import Array, inputs

__all__ = ["from_runs"]


def from_runs(
    fn: Callable[..., Array],
    *runs: Run,
    epochs: int | None = None,
    knobs: Mapping[str, Any] | None = None,
) -> Array:
    """Score every sample from the first `epochs` of a run; of several runs, take the mean.

    EL2N is published as the mean over five runs, Forgetting over several seeds.
    """
    for other in runs[1:]:
        _refuse_other_data(runs[0], other)
    scores = [_from_run(fn, run, epochs, knobs or {}) for run in runs]
    return scores[0] if len(scores) == 1 else mean_observed(np.stack(scores))


def _from_run(
    fn: Callable[..., Array], run: Run, epochs: int | None, knobs: Mapping[str, Any]
) -> Array:
    if run.epochs == 0:
        raise MissingError(f"{run.path} has no complete epoch yet")
    names = [name for name, required in inputs(fn).items() if required or run.has(name)]
    if "features" in names:  # not a signal: such a score looks at all samples together
        whole = {n: run.features(epochs) if n == "features" else run[n] for n in names}
        return fn(**whole, **knobs)
    scores = np.empty(run.samples)
    for ids, part in run.map(partial(fn, **knobs), names, epochs=epochs):
        scores[ids.start : ids.stop] = part
    return scores


def _refuse_other_data(one: Run, other: Run) -> None:
    before, now = one.description, other.description
    for name in ("samples", "classes", "mode"):
        if getattr(before, name) != getattr(now, name):
            raise InputError(
                f"{one.path} and {other.path} do not go together: {name} is "
                f"{getattr(before, name)} in one and {getattr(now, name)} in the other"
            )
    if before.data and now.data and before.data != now.data:
        raise InputError(f"{one.path} and {other.path} do not go together: their data differ")
    labels, others = one["labels"], other["labels"]
    if ((labels != others) & (labels >= 0) & (others >= 0)).any():
        raise InputError(f"{one.path} and {other.path} do not go together: their labels differ")
