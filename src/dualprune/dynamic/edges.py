"""Checks of what a training loop and a checkpoint pass in."""

import warnings
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dualprune.arguments import LARGEST, as_array
from dualprune.errors import InputError
from dualprune.signatures import Array


def as_batch(ids: ArrayLike, losses: ArrayLike, samples: int) -> tuple[Array, Array]:
    """Check a batch; give int64 ids and float64 losses, NaN where a loss is not finite.

    >>> as_batch([2, 0], [0.5, 1.0], samples=3)
    (array([2, 0]), array([0.5, 1. ]))
    """
    where, values = as_array("ids", ids, "iu"), as_array("losses", losses)
    if where.ndim != 1 or values.shape != where.shape:
        raise InputError(
            f"ids have shape {where.shape}, losses {values.shape}; each id needs its own loss, "
            "such as that of a criterion with reduction='none'"
        )
    _check_ids(where, samples)
    where, values = where.astype(np.int64), values.astype(np.float64)
    missing = ~(np.abs(values) <= LARGEST)
    if missing.any():
        warnings.warn(
            f"{missing.sum()} losses are not finite or beyond {LARGEST:g}, the first is that of id "
            f"{where[missing][0]}; the earlier losses of these samples are discarded, so that they "
            "are trained on",
            RuntimeWarning,
            stacklevel=3,
        )
    return where, np.where(missing, np.nan, values)


def _check_ids(ids: Array, samples: int) -> None:
    wrong = ids[(ids < 0) | (ids >= samples)]
    if len(wrong):
        raise InputError(
            f"id {wrong[0]} is outside 0 to {samples - 1}; an id is the position in the dataset"
        )
    ordered = np.sort(ids)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(twice):
        raise InputError(
            f"id {twice[0]} occurs more than once among the {len(ids)} ids of one call; observe "
            "each of its losses in a call of its own, or only one of them"
        )


def check_samples(samples: int) -> None:
    """Refuse an empty dataset, and one that no machine can hold."""
    if not 1 <= samples <= 2**40:
        raise InputError(f"there must be from 1 to 2**40 samples, got {samples}")


def check_epoch(epoch: int) -> None:
    """Refuse an epoch before the first."""
    if epoch < 1:
        raise InputError(f"epochs are counted from 1, got {epoch}")


def exact(share: float) -> Fraction:
    """Give the decimal that was written, not the binary fraction closest to it.

    >>> int((1 - 0.9) * 10), int((1 - exact(0.9)) * 10)
    (0, 1)
    """
    return Fraction(repr(float(share)))


def read_state(state: Mapping[str, Any], now: Mapping[str, Array]) -> dict[str, Array]:
    """Give copies of the arrays of a state, in the order of those now.

    They must have the names and shapes of those now.
    """
    shapes = {name: np.shape(array) for name, array in state.items()}
    expected = {name: array.shape for name, array in now.items()}
    if shapes != expected:
        raise InputError(
            f"the state holds {shapes}, this needs {expected}; restore what state() gave for the "
            "same method and the same number of samples"
        )
    kinds = {name: "iu" if array.dtype.kind == "i" else "iuf" for name, array in now.items()}
    arrays = {name: as_array(name, state[name], kinds[name]) for name in now}
    return {name: arrays[name].astype(array.dtype) for name, array in now.items()}
