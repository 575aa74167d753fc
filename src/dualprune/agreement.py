"""How much two ways to choose agree: on what they keep, and on how they rank."""

from itertools import combinations

import numpy as np

from dualprune.signatures import Array

__all__ = ["mean_overlap", "overlap", "rank_correlation"]


def overlap(one: Array, other: Array) -> float:
    """Share of the smaller coreset that the other one keeps, too.

    >>> overlap(np.array([0, 1, 2, 3]), np.array([2, 3, 4, 5]))
    0.5
    """
    return len(np.intersect1d(one, other)) / min(len(one), len(other))


def mean_overlap(coresets: list[Array]) -> float:
    """Mean over all pairs, such as the coresets of several seeds."""
    return float(np.mean([overlap(one, other) for one, other in combinations(coresets, 2)]))


def rank_correlation(scores: list[Array]) -> float:
    """Spearman's correlation, mean over all pairs; samples that one of them did not score are out.

    >>> rank_correlation([np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 25.0])])
    1.0
    """
    from scipy.stats import rankdata  # noqa: PLC0415 - slow to load

    everywhere = ~np.isnan(scores).any(axis=0)
    ranks = [rankdata(column[everywhere]) for column in scores]
    pairs = np.corrcoef(ranks)[np.triu_indices(len(scores), 1)]
    return float(np.mean(pairs))
