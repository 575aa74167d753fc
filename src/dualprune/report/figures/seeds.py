"""Numbers that were measured with several seeds: their mean and deviation, and which are missing.

A missing number is NaN. It does not spoil the others, and what is drawn says how many are missing.
"""

import numpy as np

from dualprune.signatures import Array

__all__ = ["mean_and_deviation", "with_gaps"]


def mean_and_deviation(values: Array) -> tuple[Array, Array]:
    """Over the last axis, of what is there; NaN where that is nothing, or one for the deviation.

    >>> mean, deviation = mean_and_deviation(np.array([[0.8, 1.0], [0.5, np.nan]]))
    >>> mean.tolist(), deviation.round(4).tolist()
    ([0.9, 0.5], [0.1414, nan])
    """
    there = ~np.isnan(values)
    count = there.sum(-1)
    with np.errstate(invalid="ignore"):  # 0 / 0 is how nothing becomes NaN
        mean = np.where(there, values, 0).sum(-1) / count
        squares = np.where(there, values - mean[..., None], 0) ** 2
        return mean, np.sqrt(squares.sum(-1) / np.maximum(count - 1, 0))


def with_gaps(name: str, values: Array) -> str:
    """Say beside a name how many of its numbers are missing.

    >>> with_gaps("dual", np.array([0.9, np.nan])), with_gaps("dual", np.ones(2))
    ('dual (1 missing)', 'dual')
    """
    missing = int(np.isnan(values).sum())
    return f"{name} ({missing} missing)" if missing else name
