"""Numbers that were measured with several seeds: their mean and deviation, and which are missing.

A missing number is NaN. It is left out, and the figure says how many are missing.
"""

import warnings

import numpy as np

from dualprune.signatures import Array


def mean_and_deviation(values: Array) -> tuple[Array, Array]:
    """Mean and standard deviation over the last axis without NaN; NaN where too few are left.

    >>> mean, deviation = mean_and_deviation(np.array([[0.8, 1.0], [0.5, np.nan]]))
    >>> mean.tolist(), deviation.round(4).tolist()
    ([0.9, 0.5], [0.1414, nan])
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # too few numbers
        return np.nanmean(values, -1), np.nanstd(values, -1, ddof=1)


def with_gaps(name: str, values: Array) -> str:
    """Add to a name how many of its numbers are missing, if any.

    >>> with_gaps("dual", np.array([0.9, np.nan])), with_gaps("dual", np.ones(2))
    ('dual (1 missing)', 'dual')
    """
    missing = int(np.isnan(values).sum())
    return f"{name} ({missing} missing)" if missing else name
