r"""exp(-x) for recorded losses, from additions, multiplications and bit shifts alone.

.. math:: e^{-x} = 2^n e^r, \qquad n = \mathrm{round}(-x / \ln 2), \quad |r| \le \tfrac12 \ln 2

with the Taylor series of :math:`e^r` up to the 13th power, summed in pairs so that the terms do not
wait for each other; right within two units in the last place. IEEE arithmetic gives the same bits
on every CPU, with numba and without, which a library's `exp` does not; so do scores made from it.
"""

from importlib.util import find_spec
from math import factorial

import numpy as np

from dualprune.signatures import Array

JIT_FROM = 2**20
"""Number of values from which numba saves more time than loading it costs."""

SMALLEST = -708.0  # exp of less is not a normal float; it becomes exp(-708), 3e-308
ROUND = 1.5 * 2.0**52  # adding it leaves the nearest integer in the low bits
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # n * LN2_HIGH is exact
LOG2E = 1.4426950408889634
T = tuple(1 / factorial(power) for power in range(14))

_WIDTH = 2**13


def exp_minus(x: Array) -> Array:
    """Give exp(-x) in float64 for x >= 0; NaN stays NaN.

    >>> exp_minus(np.log([2.0, 4.0])).round(15).tolist()
    [0.5, 0.25]
    """
    result = np.empty(x.shape)
    if x.size >= JIT_FROM and find_spec("numba") is not None:
        from dualprune.run.exponential_jit import fill  # noqa: PLC0415 - optional, slow to load

        for row, target in zip(np.atleast_2d(x), np.atleast_2d(result), strict=True):
            fill(row, target)
    else:
        values, flat = x.reshape(-1), result.reshape(-1)
        for start in range(0, x.size, _WIDTH):
            flat[start : start + _WIDTH] = _exp_minus(values[start : start + _WIDTH])
    return result


def _exp_minus(x: Array) -> Array:
    power = np.maximum(np.negative(x, dtype=np.float64), SMALLEST)
    rounded = power * LOG2E + ROUND
    n = rounded - ROUND
    r = (power - n * LN2_HIGH) - n * LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    a = (T[0] + T[1] * r) + (T[2] + T[3] * r) * r2
    b = (T[4] + T[5] * r) + (T[6] + T[7] * r) * r2
    c = (T[8] + T[9] * r) + (T[10] + T[11] * r) * r2
    series: Array = (a + b * r4) + (c + (T[12] + T[13] * r) * r4) * (r4 * r4)
    series *= ((rounded.view(np.int64) + 1023) << 52).view(np.float64)
    return series
