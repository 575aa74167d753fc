"""Divide a budget among groups."""

import numpy as np

from dualprune.arrays import Array

__all__ = ["even", "proportional"]


def even(sizes: Array, k: int) -> Array:
    """Give every group the same, as far as it has that many; the larger ones share what is left.

    Groups are visited from the smallest to the largest; each gets its share of what is left among
    those not yet visited, rounded down, or all it has (the allocation of CCS).

    >>> even(np.array([100, 1, 10]), 30).tolist()
    [19, 1, 10]
    >>> even(np.array([3, 3, 3]), 7).tolist()
    [2, 2, 3]
    """
    quotas = np.zeros(len(sizes), np.int64)
    for visited, group in enumerate(np.argsort(sizes, kind="stable")):
        quotas[group] = min(sizes[group], (k - quotas.sum()) // (len(sizes) - visited))
    return quotas


def proportional(sizes: Array, k: int) -> Array:
    """Give every group its share of the whole; the largest remainders get what rounding left.

    >>> proportional(np.array([50, 30, 20]), 5).tolist()
    [3, 1, 1]
    """
    quotas, remainders = np.divmod(sizes.astype(np.int64) * k, sizes.sum())
    most = np.argsort(-remainders, kind="stable")[: k - quotas.sum()]
    quotas[most] += 1
    return quotas
