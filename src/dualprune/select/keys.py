"""One key per sample, and the k smallest of them, overall or of each group.

Random keys are a pure function of (seed, id): a coreset does not depend on the order in which
samples are visited, on how they are divided into blocks, or on any global generator.
"""

from typing import Protocol

import numpy as np

from dualprune.arguments import check_seed
from dualprune.select.philox import philox
from dualprune.signatures import Array

BETA, RANDOM, STRATA, TIES, PARTS, PILOT, EASE = range(7)
"""Streams of random numbers, which are independent of each other."""

_WIDTH = 2**13  # few enough ids to stay in the cache


def uniform(seed: int, start: int, stop: int, *, stream: int = 0) -> Array:
    """Give a number strictly between 0 and 1 for each id in ``range(start, stop)``.

    >>> whole = uniform(7, 0, 1000)
    >>> bool((uniform(7, 513, 600) == whole[513:600]).all())
    True
    """
    first = start // 4  # Philox makes four numbers at a time
    generator = np.random.Philox(key=check_seed(seed) | stream << 64).advance(first)
    return _between(generator.random_raw(stop - 4 * first)[start - 4 * first :])


def uniform_at(seed: int, ids: Array, *, stream: int = 0) -> Array:
    """Give what `uniform` gives, for some ids far from each other.

    >>> whole = uniform(7, 0, 1000)
    >>> bool((uniform_at(7, np.array([3, 513])) == whole[[3, 513]]).all())
    True
    """
    bits = np.empty(len(ids), np.uint64)
    for start in range(0, len(ids), _WIDTH):
        part = slice(start, start + _WIDTH)
        bits[part] = philox(check_seed(seed), stream, ids[part])
    return _between(bits)


def _between(bits: Array) -> Array:
    """Give numbers strictly between 0 and 1 from random bits, in place."""
    bits >>= np.uint64(12)
    bits |= np.uint64(1023 << 52)  # as the fraction of a float between 1 and 2
    return bits.view(np.float64) - (1 - 2.0**-53)


def ties(seed: int, samples: int) -> Array:
    """Give the numbers by which samples that are otherwise equal are ordered.

    They are independent of what a selector draws with the same seed.

    >>> ties(0, 3).round(3).tolist()
    [0.475, 0.488, 0.555]
    """
    return uniform(seed, 0, samples, stream=TIES)


def smallest(keys: Array, k: int, ties: Array) -> Array:
    """Give the positions of the k smallest keys, sorted; equal ones by `ties`, then position.

    >>> smallest(np.array([3.0, 1.0, 2.0, 2.0]), 2, ties=np.array([0.5, 0.5, 0.9, 0.1])).tolist()
    [1, 3]
    """
    if k == 0:
        return np.empty(0, np.int64)
    below, equal = _below_and_equal(keys, k)
    return np.sort(np.concatenate([below, equal[_first(ties[equal], k - len(below))]]))


class Ties(Protocol):
    """Numbers by position that order equal keys: an array, or what draws them when asked."""

    def __getitem__(self, where: Array, /) -> Array: ...


def smallest_of_each(keys: Array, groups: Array, quotas: Array, ties: Ties) -> Array:
    """Give the positions of the ``quotas[g]`` smallest keys of each group g, sorted.

    Groups are counted from 0; one that is smaller than its quota gives all it has.

    >>> keys, groups = np.array([0.3, 0.1, 0.2, 0.9]), np.array([0, 0, 0, 1])
    >>> smallest_of_each(keys, groups, np.array([2, 2]), keys).tolist()
    [1, 2, 3]
    """
    if not quotas.any():
        return np.empty(0, np.int64)
    pool = _with_all_smallest(keys, groups, quotas)
    keys, groups = keys[pool], groups[pool]
    chosen, unsure, missing = _surely_smallest(keys, groups, quotas)
    groups = groups[unsure].astype(np.uint16 if len(quotas) <= 2**16 else np.int64)
    ends = np.cumsum(np.bincount(groups, minlength=len(quotas)))
    members_of_each = np.split(unsure[np.argsort(groups, kind="stable")], ends)[:-1]
    for members, k in zip(members_of_each, missing, strict=True):
        if k:
            below, equal = _below_and_equal(keys[members], k)
            chosen[members[below]] = True
            equal = members[equal]
            if (count := k - len(below)) < len(equal):
                equal = equal[_first(ties[pool[equal]], count)]
            chosen[equal] = True
    return pool[chosen]


def _with_all_smallest(keys: Array, groups: Array, quotas: Array) -> Array:
    """Give few positions that surely hold the smallest of each group, sorted.

    They are the smallest overall, twice as many as wanted, and all of a group with too few there.
    """
    count = 2 * int(quotas.sum())
    if 2 * count > len(keys):
        return np.arange(len(keys))
    enough = keys <= np.partition(keys, count)[count]
    short = np.bincount(groups[enough], minlength=len(quotas)) < quotas
    if short.any():
        enough |= short[groups]
    return np.flatnonzero(enough)


def _surely_smallest(keys: Array, groups: Array, quotas: Array) -> tuple[Array, Array, Array]:
    """Mark the surely smallest; also give which may be, and how many of them each group needs.

    A sort of 32 bits per sample, first the group and then the leading bits of the key, decides
    almost all; uncertain are only those that share these bits with the last one of their group.
    """
    shift = max(1, (len(quotas) - 1).bit_length())
    bits = np.empty(len(keys), np.uint32)
    for start in range(0, len(keys), 2**15):  # few enough to stay in the cache
        part = slice(start, start + 2**15)
        bits[part] = groups[part].astype(np.uint32) << (32 - shift)
        bits[part] |= _leading_bits(keys[part]) >> shift
    ordered = np.sort(bits)
    lowest = np.arange(len(quotas), dtype=np.uint32) << (32 - shift)
    starts = np.searchsorted(ordered, lowest)
    quotas = np.minimum(quotas, np.diff(starts, append=len(ordered)))
    levels = np.where(quotas > 0, ordered[starts + quotas - 1], lowest)
    missing = quotas - (np.searchsorted(ordered, levels) - starts)
    level = levels[groups]
    return bits < level, np.flatnonzero(bits == level), missing


def _leading_bits(keys: Array) -> Array:
    """Give 32 bits that are ordered like the keys, or equal where keys differ by little."""
    with np.errstate(over="ignore"):
        return ordered_bits(keys.astype(np.float32))


def ordered_bits(keys: Array) -> Array:
    """Give the bits of floats as whole numbers that are ordered like them.

    >>> ordered_bits(np.array([-1.0, -0.0, 0.0, 2.0])).argsort(stable=True).tolist()
    [0, 1, 2, 3]
    """
    floats = keys + 0  # -0 becomes 0
    size = 8 * floats.itemsize
    flipped = floats.view(f"i{floats.itemsize}") >> (size - 1)  # all bits of a negative number,
    flipped |= -(2 ** (size - 1))  # else only the sign
    bits: Array = floats.view(f"u{floats.itemsize}") ^ flipped.view(f"u{floats.itemsize}")
    return bits


def _below_and_equal(keys: Array, k: int) -> tuple[Array, Array]:
    """Give the positions of the keys below the kth smallest, and of those equal to it."""
    threshold = np.partition(keys, k - 1)[k - 1]
    return np.flatnonzero(keys < threshold), np.flatnonzero(keys == threshold)


def _first(ties: Array, count: int) -> Array:
    """Give the positions of the `count` smallest ties, equal ones by position."""
    below, equal = _below_and_equal(ties, count)
    return np.concatenate([below, equal[: count - len(below)]])
