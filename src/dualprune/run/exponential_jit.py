"""The same operations as in `exponential`, compiled."""

import numpy as np
from numba import njit

from dualprune.run.exponential import LN2_HIGH, LN2_LOW, LOG2E, ROUND, SMALLEST, T
from dualprune.signatures import Array


@njit(nogil=True, cache=True)
def fill(x: Array, result: Array) -> None:
    """Write exp(-x) into `result`."""
    for i in range(len(x)):
        exact = -np.float64(x[i])
        power = SMALLEST if exact < SMALLEST else exact  # NaN stays
        rounded = power * LOG2E + ROUND
        n = rounded - ROUND
        r = (power - n * LN2_HIGH) - n * LN2_LOW
        r2 = r * r
        r4 = r2 * r2
        a = (T[0] + T[1] * r) + (T[2] + T[3] * r) * r2
        b = (T[4] + T[5] * r) + (T[6] + T[7] * r) * r2
        c = (T[8] + T[9] * r) + (T[10] + T[11] * r) * r2
        series = (a + b * r4) + (c + (T[12] + T[13] * r) * r4) * (r4 * r4)
        exponent = (np.float64(rounded).view(np.int64) + 1023) << 52
        result[i] = series * np.int64(exponent).view(np.float64)
