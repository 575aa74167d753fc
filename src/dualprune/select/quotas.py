"""Divide samples into classes, and a budget among groups."""

from collections.abc import Callable

import numpy as np

from dualprune.signatures import Array


def even(sizes: Array, k: int) -> Array:
    """Divide k evenly; groups that are too small give all they have, larger ones share the rest.

    Groups are visited from the smallest to the largest; each gets its share of what is left among
    those not yet visited, rounded down, or all it has (the allocation of CCS).

    >>> even(np.array([100, 1, 10]), 30).tolist()
    [19, 1, 10]
    >>> even(np.array([3, 3, 3]), 7).tolist()
    [2, 2, 3]
    """
    order = np.argsort(sizes, kind="stable")
    quotas = sizes[order].astype(np.int64)
    left = k - (np.cumsum(quotas) - quotas)  # for this group and larger ones, if smaller give all
    waiting = np.arange(len(sizes), 0, -1)
    if len(large := np.flatnonzero(quotas > left // waiting)):
        first = large[0]
        share, more = divmod(left[first], waiting[first])
        quotas[first:] = share
        quotas[len(quotas) - more :] += 1
    quotas[order] = quotas.copy()
    return quotas


def proportional(sizes: Array, k: int) -> Array:
    """Divide k in proportion to sizes; the largest remainders get what rounding left.

    >>> proportional(np.array([50, 30, 20]), 5).tolist()
    [3, 1, 1]
    """
    quotas, remainders = np.divmod(sizes.astype(np.int64) * k, sizes.sum())
    most = np.argsort(-remainders, kind="stable")[: k - quotas.sum()]
    quotas[most] += 1
    return quotas


def parts_of_fair(sizes: Array, k: int, share: float) -> Array:
    """Give this share of each group's fair share, which is its part of k in proportion to size.

    It is rounded up, so that no group that is there gets nothing; where k is too small for that,
    down for those with the smallest remainders.

    >>> parts_of_fair(np.array([50, 30, 20, 1]), 20, 0.5).tolist()
    [5, 3, 2, 1]
    >>> parts_of_fair(np.array([5, 3, 2, 1]), 2, 0.5).tolist()
    [1, 1, 0, 0]
    """
    wanted = np.round(share * k / max(sizes.sum(), 1) * sizes, 6)  # 2.0000000004 is 2
    quotas: Array = np.floor(wanted).astype(np.int64)
    more = np.argsort(quotas - wanted, kind="stable")[: k - quotas.sum()]
    quotas[more] = np.ceil(wanted[more])
    return quotas


def classes(labels: Array | None, ids: Array) -> list[Array]:
    """Divide sorted ids by class; without labels all are of one.

    >>> [group.tolist() for group in classes(np.array([7, 2, 7, 2]), np.array([0, 1, 2]))]
    [[1], [0, 2]]
    """
    known = np.zeros(len(ids)) if labels is None else labels[ids]
    ends = np.cumsum(np.unique(known, return_counts=True)[1])
    return np.split(ids[np.argsort(known, kind="stable")], ends)[:-1]


def chosen_of_each(
    groups: list[Array],
    divide: Callable[[Array, int], Array],
    k: int,
    choose: Callable[[Array, int], Array | list[int]],
) -> list[Array]:
    """Give the k ids that are kept, by group, when `divide` makes the quotas.

    `choose` gives the positions of those to keep; it is asked only for part of a group.

    >>> groups = [np.array([4, 7]), np.array([1, 2, 3])]
    >>> [ids.tolist() for ids in chosen_of_each(groups, even, 4, lambda ids, k: [0, 2])]
    [[4, 7], [1, 3]]
    """
    quotas = divide(np.array([len(group) for group in groups], np.int64), k)
    return [
        group[choose(group, quota)] if 0 < quota < len(group) else group[:quota]
        for group, quota in zip(groups, quotas, strict=True)
    ]


def numbered(labels: Array) -> tuple[Array, Array]:
    """Number the classes from 0 in the order of their labels; also give their sizes.

    Small numbers stay as they are, which saves a sort; so a class between them may be empty.

    >>> numbered(np.array(["b", "a", "b"]))
    (array([1, 0, 1]), array([1, 2]))
    """
    labels = np.asarray(labels)
    if labels.dtype.kind in "iu" and len(labels) and labels.min() >= 0 and labels.max() < 2**16:
        groups = labels.astype(np.int64, copy=False)
        return groups, np.bincount(groups)
    _, groups, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    return groups, sizes
