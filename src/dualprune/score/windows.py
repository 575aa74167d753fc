r"""The sliding-window kernel that DUAL, Dyn-Unc and TDDS share.

.. math:: \sum_k w_k \, h_{ik} \sqrt{M_{ik} / d}

where :math:`M_{ik}` is the sum of squared deviations of sample i in the window that starts at its
k-th observed value, and :math:`h_{ik}` is 1 minus the window's mean, or just 1.

Each step replaces one value of the window (Welford), so the cost does not depend on its length.
Sums of squares would lose the spread of confident samples; this does not. With numba and without it
the same operations run in the same order and give the same bits.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import numpy as np

from dualprune.arrays import Array
from dualprune.errors import InputError

__all__ = ["weighted_spread"]

JIT_FROM = 2**20
"""Inputs with fewer values are done before numba has loaded."""

_WIDTH = 2**14  # samples per task: a block stays small, and threads seldom wait for each other

Weights = Callable[[int], Array]
Kernel = Callable[[Array, int, int, int, Array, bool], Array]


def weighted_spread(
    values: Array, window: int, *, weights: Weights, divisor: float, hard: bool
) -> Array:
    """Sum the spread of every window of `window` values, weighted.

    Parameters
    ----------
    values
        Shape (epochs, samples); NaN is missing, and windows slide over what was observed.
    weights
        Gives the weights of n windows, oldest first.
    divisor
        What the sum of squared deviations is divided by.
    hard
        Multiply each spread by 1 minus the window's mean.
    """
    values = np.asarray(values)
    _check(values, window)
    kernel = _kernel(values.size)
    total: Array = np.empty(values.shape[1])

    def work(start: int) -> None:
        stop = min(start + _WIDTH, len(total))
        total[start:stop] = _spread(values, start, stop, window, weights, kernel, hard=hard)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(work, range(0, len(total), _WIDTH)))
    total /= np.sqrt(divisor)
    return total


def _check(values: Array, window: int) -> None:
    if values.ndim != 2:
        raise InputError(f"values must have shape (epochs, samples), got {values.shape}")
    if window < 2:
        raise InputError(f"a window needs at least 2 values to have a spread, got {window}")
    if len(values) < window:
        raise InputError(
            f"a window of {window} needs at least {window} epochs, got {len(values)}; record more "
            "epochs or choose a shorter window"
        )


def _kernel(size: int) -> Kernel:
    """Give the fastest kernel for this many values."""
    if size < JIT_FROM or find_spec("numba") is None:
        return _roll
    from dualprune.score.windows_jit import roll  # noqa: PLC0415 - numba is optional, slow to load

    return roll


def _spread(
    values: Array,
    start: int,
    stop: int,
    window: int,
    weights: Weights,
    kernel: Kernel,
    *,
    hard: bool,
) -> Array:
    if not values.flags.c_contiguous or values.dtype not in (np.float32, np.float64):
        values, start, stop = values[:, start:stop].astype(np.float64, "C"), 0, stop - start
    total = kernel(values, start, stop, window, weights(len(values) - window + 1), hard)
    gaps = np.flatnonzero(np.isnan(total))  # one missing value makes the whole sum NaN
    if len(gaps):
        total[gaps] = _compacted(values[:, start + gaps], window, weights, kernel, hard=hard)
    return total


def _compacted(block: Array, window: int, weights: Weights, kernel: Kernel, *, hard: bool) -> Array:
    """Score each column from its observed values alone; NaN where they do not fill a window."""
    total = np.full(block.shape[1], np.nan)
    seen = ~np.isnan(block)
    counts = seen.sum(axis=0)
    for count in np.unique(counts[counts >= window]):
        group = np.flatnonzero(counts == count)
        observed = block.T[group][seen.T[group]].reshape(len(group), count)
        values = np.ascontiguousarray(observed.T)
        total[group] = kernel(values, 0, len(group), window, weights(int(count) - window + 1), hard)
    return total


def _roll(
    values: Array,
    start: int,
    stop: int,
    window: int,
    weights: Array,
    hard: bool,
) -> Array:
    values = values[:, start:stop].astype(np.float64)
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
    return total
