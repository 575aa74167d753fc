"""One key per sample, and the k smallest of them, overall or by class.

Random keys are a pure function of (seed, id): a coreset does not depend on the order in which
samples are visited, on how they are divided into blocks, or on any global generator.
"""

from typing import Literal

import numpy as np

from dualprune.errors import InputError
from dualprune.select.quotas import even, proportional
from dualprune.signatures import Array, check_choice

__all__ = [
    "Balance",
    "Unscored",
    "check_budget",
    "choose",
    "scored",
    "smallest",
    "smallest_of_each",
    "uniform",
]

Balance = Literal["none", "proportional", "uniform"]
Unscored = Literal["error", "keep", "drop"]


def uniform(seed: int, start: int, stop: int, *, stream: int = 0) -> Array:
    """Give a number strictly between 0 and 1 for each id in ``range(start, stop)``.

    Selectors that draw rather than break ties have a stream each: what one of them keeps says
    nothing of what another one keeps with the same seed.

    >>> whole = uniform(7, 0, 1000)
    >>> bool((uniform(7, 513, 600) == whole[513:600]).all())
    True
    """
    if not 0 <= seed < 2**64:
        raise InputError(f"seed must be from 0 to 2**64 - 1, got {seed}")
    first = start // 4  # Philox makes four numbers at a time
    generator = np.random.Philox(key=seed | stream << 64).advance(first)
    bits = generator.random_raw(stop - 4 * first)[start - 4 * first :]
    bits >>= np.uint64(12)
    bits |= np.uint64(1023 << 52)  # as the fraction of a float between 1 and 2
    return bits.view(np.float64) - (1 - 2.0**-53)


def check_budget(k: int, *arrays: Array | None) -> None:
    """Refuse to keep nothing or more than there is, and arrays that do not go together."""
    lengths = [len(array) for array in arrays if array is not None]
    if len(set(lengths)) > 1:
        raise InputError(f"the arrays have {lengths} entries; each needs one per sample")
    if not 1 <= k <= lengths[0]:
        raise InputError(f"k must be from 1 to {lengths[0]}, the number of samples; got {k}")


def smallest(keys: Array, k: int, ties: Array) -> Array:
    """Give the positions of the k smallest keys, sorted; equal keys fall by `ties`, then position.

    >>> smallest(np.array([3.0, 1.0, 2.0, 2.0]), 2, ties=np.array([0.5, 0.5, 0.9, 0.1])).tolist()
    [1, 3]
    """
    if k == 0:
        return np.empty(0, np.int64)
    threshold = np.partition(keys, k - 1)[k - 1]
    below, level = np.flatnonzero(keys < threshold), np.flatnonzero(keys == threshold)
    lucky = level[np.argsort(ties[level], kind="stable")[: k - len(below)]]
    return np.sort(np.concatenate([below, lucky]))


def smallest_of_each(keys: Array, groups: Array, quotas: Array, ties: Array) -> Array:
    """Give the positions of the ``quotas[g]`` smallest keys of each group g, sorted."""
    order = np.lexsort((ties, keys, groups))
    starts = np.searchsorted(groups[order], np.arange(len(quotas)))
    rank = np.arange(len(order)) - starts[groups[order]]
    return np.sort(order[rank < quotas[groups[order]]])


def choose(
    keys: Array,
    k: int,
    ties: Array,
    *,
    labels: Array | None = None,
    balance: Balance = "none",
    floor: int = 0,
    unscored: Unscored = "error",
) -> Array:
    """Give the ids of the k smallest keys, sorted, with each class getting its share.

    A key that is NaN belongs to a sample without a score: an error, or kept before all others, or
    dropped. `floor` first takes that many of each class (all of a smaller one) and then the rest
    regardless of class.

    >>> keys, labels = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0, 0, 0, 1])
    >>> choose(keys, 2, keys, labels=labels, floor=1).tolist()
    [0, 3]
    """
    check_budget(k, keys, labels)
    check_choice("balance", balance, Balance)
    missing = np.isnan(keys)
    if not missing.any():
        return _balanced(keys, k, ties, labels, balance, floor)
    without, have, rest = scored(missing, k, unscored)
    labels = None if labels is None else labels[have]
    chosen = have[_balanced(keys[have], rest, ties[have], labels, balance, floor)]
    return np.sort(np.concatenate([without, chosen]))


def scored(missing: Array, k: int, unscored: Unscored) -> tuple[Array, Array, int]:
    """Give the ids kept without a score, the ids that have one, and how many of those to keep.

    >>> scored(np.array([False, True, False]), 2, "keep")
    (array([1]), array([0, 2]), 1)
    """
    check_choice("unscored", unscored, Unscored)
    without, have = np.flatnonzero(missing), np.flatnonzero(~missing)
    if len(without) and unscored == "error":
        raise InputError(
            f"{len(without)} of {len(missing)} samples have no score (too few epochs saw them); "
            "choose unscored='keep' to keep all of them or unscored='drop' to keep none"
        )
    kept = without if unscored == "keep" else without[:0]
    if not 0 <= k - len(kept) <= len(have):
        raise InputError(
            f"cannot keep {k} of {len(missing)} samples with unscored={unscored!r}: "
            f"{len(without)} of them have no score"
        )
    return kept, have, k - len(kept)


def _balanced(
    keys: Array, k: int, ties: Array, labels: Array | None, balance: Balance, floor: int
) -> Array:
    if balance == "none" and floor == 0:
        return smallest(keys, k, ties)
    if labels is None:
        raise InputError("balancing classes needs the labels")
    if balance != "none" and floor:
        raise InputError(f"choose balance={balance!r} or floor={floor}, not both")
    if floor < 0:
        raise InputError(f"floor must not be negative, got {floor}")
    _, groups, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if balance != "none":
        quotas = proportional(sizes, k) if balance == "proportional" else even(sizes, k)
        return smallest_of_each(keys, groups, quotas, ties)
    return _with_floor(keys, k, ties, groups, np.minimum(sizes, floor))


def _with_floor(keys: Array, k: int, ties: Array, groups: Array, quotas: Array) -> Array:
    if quotas.sum() > k:
        raise InputError(
            f"a floor of {quotas.max()} per class needs {quotas.sum()} samples, k is {k}; "
            "lower the floor or keep more"
        )
    sure = smallest_of_each(keys, groups, quotas, ties)
    rest = np.setdiff1d(np.arange(len(keys)), sure, assume_unique=True)
    return np.sort(np.concatenate([sure, rest[smallest(keys[rest], k - len(sure), ties[rest])]]))
