r"""The sliding-window kernel that DUAL, Dyn-Unc and TDDS share.

.. math:: \sum_k w_k \, h_{ik} \sqrt{M_{ik}}

where :math:`M_{ik}` is the sum of squared deviations of sample i in the window that starts at its
k-th observed value, and :math:`h_{ik}` is 1 minus the window's mean, or just 1.

Each step replaces one value of the window (Welford), so the cost does not depend on its length.
The rounding error that a large spread leaves behind only matters in a window of almost no spread,
so the few samples that have one are summed again, window by window. With numba and without it the
same operations run in the same order and give exactly the same result.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from dualprune.run.ranges import cores
from dualprune.score.observed import check_epochs, check_probabilities, check_sums
from dualprune.signatures import Array

JIT_FROM = 2**20
"""Inputs with fewer values are done before numba has loaded."""

_WIDTH = 2**15  # samples per task: a block stays small, and threads seldom wait for each other

_FEW = 2**10  # samples per task when all windows of each are laid out
_STILL = 1.5e-5  # a window with less than 1e-10 of squares holds no step larger than this

Kernel = Callable[[Array, int, int, int, Array, bool], tuple[Array, Array]]


def mean_spread(values: Array, window: int, *, hard: bool) -> Array:
    """Mean of the windows' standard deviations; if `hard`, each times 1 minus the window's mean.

    >>> mean_spread(np.array([[0.0], [1.0], [0.0]]), 2, hard=False).round(3).tolist()
    [0.707]
    """
    return weighted_spread(
        values, window, weights=lambda n: np.full(n, 1 / n / np.sqrt(window - 1)), hard=hard
    )


def weighted_spread(
    values: Array,
    window: int,
    *,
    weights: Callable[[int], Array],
    hard: bool = False,
    largest: float = 1.0,
) -> Array:
    """Sum over all windows of `window` values the weighted root of their squared deviations.

    Parameters
    ----------
    values
        Shape (epochs, samples); NaN is missing, and windows slide over what was observed.
    weights
        Gives the weights of n windows, oldest first.
    hard
        Multiply each root by 1 minus the window's mean.
    largest
        A bound on the values; if it is 1 they are checked to be probabilities.
    """
    check_epochs(values, window)
    kernel = _kernel(values.size)
    total: Array = np.empty(values.shape[1])
    doubtful = np.zeros(values.shape[1], bool)

    def roll(values: Array, ids: slice) -> tuple[Array, Array]:
        shares = weights(len(values) - window + 1)
        with np.errstate(over="ignore", invalid="ignore"):
            sums, step = kernel(*_ready(values, ids), window, shares, hard)
        return sums, step < _STILL * largest

    def first(start: int) -> None:
        ids = slice(start, min(start + _WIDTH, len(total)))
        if largest == 1:
            check_probabilities(values[:, ids])
        sums, still = roll(values, ids)
        total[ids], doubtful[ids] = sums, still | ~np.isfinite(sums)  # NaN if a value is missing

    def again(ids: Array) -> None:
        for group, observed in _observed(values, ids, window):
            sums, still = roll(observed, slice(0, len(group)))
            shares = weights(len(observed) - window + 1)
            with np.errstate(over="ignore", invalid="ignore"):
                sums[still] = _one_by_one(observed[:, still], window, shares, hard=hard)
            total[group] = np.nan_to_num(sums, nan=np.inf)  # what was observed has a sum

    _in_threads(first, range(0, len(total), _WIDTH))
    rest = np.flatnonzero(doubtful)
    _in_threads(again, [rest[start : start + _FEW] for start in range(0, len(rest), _FEW)])
    check_sums(total)
    return total


def _in_threads(task: Callable[[Any], None], parts: Sequence[Any]) -> None:
    if len(parts) < 2 or cores() == 1:
        for part in parts:
            task(part)
    else:
        with ThreadPoolExecutor(cores()) as pool:
            list(pool.map(task, parts))


def _ready(values: Array, ids: slice) -> tuple[Array, int, int]:
    """Give an array that kernels can read, and the range of these samples in it."""
    if values.flags.c_contiguous and values.dtype in (np.float32, np.float64):
        return values, ids.start, ids.stop
    return values[:, ids].astype(np.float64, "C"), 0, ids.stop - ids.start


def _observed(values: Array, ids: Array, window: int) -> Iterator[tuple[Array, Array]]:
    """Group samples by how many values they have; gives their ids and those values."""
    block = values[:, ids].astype(np.float64)
    present = ~np.isnan(block)
    counts = present.sum(axis=0)
    for count in np.unique(counts[counts >= window]):
        group = np.flatnonzero(counts == count)
        observed = block.T[group][present.T[group]].reshape(len(group), count)
        yield ids[group], np.ascontiguousarray(observed.T)


def _kernel(size: int) -> Kernel:
    """Give the fastest kernel for this many values."""
    if size < JIT_FROM or find_spec("numba") is None:
        return _roll
    from dualprune.score.windows_jit import roll  # noqa: PLC0415 - numba is optional, slow to load

    return roll


def _roll(
    values: Array, start: int, stop: int, window: int, weights: Array, hard: bool
) -> tuple[Array, Array]:
    """Give the weighted sums, and the smallest of some steps, one of which lies in every window."""
    block = values[:, start:stop]
    steps = np.abs(block[1 :: window - 1] - block[: len(block) - 1 : window - 1])
    values = block.astype(np.float64)
    mean, squares = values[0].copy(), np.zeros(stop - start)
    for t in range(1, window):
        delta = values[t] - mean
        mean += delta * (1.0 / (t + 1))
        squares += delta * (values[t] - mean)
    total: Array = weights[0] * (1.0 - mean if hard else 1.0) * np.sqrt(squares)
    for k in range(1, len(weights)):
        entering, leaving = values[k + window - 1], values[k - 1]
        delta = entering - leaving
        moved = mean + delta * (1.0 / window)
        squares += delta * ((entering - moved) + (leaving - mean))
        np.maximum(squares, 0.0, out=squares)
        mean = moved
        total += weights[k] * (1.0 - mean if hard else 1.0) * np.sqrt(squares)
    return total, steps.min(axis=0)


def _one_by_one(values: Array, window: int, weights: Array, *, hard: bool) -> Array:
    """Sum the windows by definition; in C order, so that no sum depends on other samples."""
    parts = sliding_window_view(values, window, axis=0)
    parts = np.subtract(parts, parts[..., :1], order="C")  # what never moves is exactly zero
    middle = parts.mean(axis=-1)
    spread = np.sqrt(np.square(parts - middle[..., None]).sum(axis=-1))
    if hard:
        spread *= 1.0 - (values[: len(weights)] + middle)
    total: Array = np.zeros(values.shape[1])
    for weight, row in zip(weights, spread, strict=True):
        total += weight * row
    return total
