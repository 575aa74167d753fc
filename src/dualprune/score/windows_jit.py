"""The kernel of `windows`, compiled: the same operations in the same order, a few at a time.

Rows are sliced before the inner loops so that the compiler sees contiguous memory and uses SIMD.
"""

import numpy as np
from numba import njit

from dualprune.signatures import Array

_WIDTH = 128  # samples whose state stays in the first-level cache


@njit(nogil=True, cache=True)
def roll(
    values: Array, start: int, stop: int, window: int, weights: Array, hard: bool
) -> tuple[Array, Array]:
    """Roll the window over the samples from `start` to `stop`."""
    total = np.empty(stop - start)
    smallest_step = np.full(stop - start, np.inf, values.dtype)
    mean, squares = np.empty(_WIDTH), np.empty(_WIDTH)
    for low in range(start, stop, _WIDTH):
        n = min(_WIDTH, stop - low)
        result = total[low - start : low - start + n]
        first = values[0, low : low + n]
        for j in range(n):
            mean[j], squares[j] = first[j], 0.0
        for t in range(1, window):
            row, share = values[t, low : low + n], 1.0 / (t + 1)
            for j in range(n):
                value = np.float64(row[j])
                delta = value - mean[j]
                mean[j] += delta * share
                squares[j] += delta * (value - mean[j])
        for j in range(n):
            result[j] = weights[0] * (1.0 - mean[j] if hard else 1.0) * np.sqrt(squares[j])
        share = 1.0 / window
        for k in range(1, len(weights)):
            entering, leaving = values[k + window - 1, low : low + n], values[k - 1, low : low + n]
            for j in range(n):
                new, old, before = np.float64(entering[j]), np.float64(leaving[j]), mean[j]
                delta = new - old
                moved = before + delta * share
                square = squares[j] + delta * ((new - moved) + (old - before))
                square = 0.0 if square < 0.0 else square
                mean[j], squares[j] = moved, square
                result[j] += weights[k] * (1.0 - moved if hard else 1.0) * np.sqrt(square)
    for t in range(0, len(values) - 1, window - 1):
        row, following = values[t, start:stop], values[t + 1, start:stop]
        for j in range(stop - start):
            size = abs(following[j] - row[j])
            smallest_step[j] = size if size < smallest_step[j] else smallest_step[j]
    return total, smallest_step
