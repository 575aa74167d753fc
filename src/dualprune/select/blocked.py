"""Samples in blocks that can be kept, within a budget: what `candidates.py` is for whole arrays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dualprune.arguments import LARGEST, infinite
from dualprune.errors import InputError
from dualprune.select.candidates import (
    Balance,
    Unscored,
    check_count,
    check_floor,
    class_quotas,
    floor_quotas,
    rest_of_budget,
)
from dualprune.select.waves import (
    Block,
    Marks,
    Order,
    Waves,
    counted,
    difference,
    mark_smallest,
    nothing,
    union,
)
from dualprune.signatures import Array

_SCORING = ("scores", "confidence")  # what a weight is made of
_TABLE = 2**16  # values up to this are numbered by looking them up


@dataclass(frozen=True)
class Choice:
    """What is kept, and facts about it: what `Notes` are for whole arrays."""

    kept: Marks
    why: str
    reasons: dict[str, Marks] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Scored:
    """Which samples have a score, None if all, and how many of those to keep beside `kept`."""

    have: Marks | None
    reasons: dict[str, Marks]
    kept: Marks | None
    rest: int

    def with_kept(self, marks: Marks) -> Marks:
        """Add the samples that are kept without a score."""
        return marks if self.kept is None else union(marks, self.kept)


@dataclass(frozen=True)
class Facts:
    """Which samples have no score, None if all have, and the lowest score."""

    lacking: Marks | None
    lowest: float
    more: list[Any]
    """What else was found in each block."""


def facts_of(
    waves: Waves, names: Sequence[str], k: int, more: Callable[[Block], Any] | None = None
) -> Facts:
    """Look at these columns once, and at `more`; without any of them a sample has no score.

    Refuse a budget beyond the samples, and values that cannot be compared.
    """
    check_count(k, waves.samples)
    columns = zip(*waves.each(partial(_facts, names, more)), strict=True)
    infinities, lowest, lacking, others = map(list, columns)
    wrong = [found for block in infinities for found in block]
    for name in dict.fromkeys(name for name, _, _ in wrong):
        own = [(count, first) for column, count, first in wrong if column == name]
        raise InputError(infinite(name, sum(n for n, _ in own), waves.samples, own[0][1]))
    marks = None
    if any(bits is not None for bits in lacking):
        pairs = zip(waves.blocks, lacking, strict=True)
        marks = [nothing(block) if bits is None else bits for block, bits in pairs]
    return Facts(marks, min(lowest), others)


def _facts(
    names: Sequence[str], more: Callable[[Block], Any] | None, block: Block
) -> tuple[list[tuple[str, int, int]], float, Array | None, Any]:
    infinities, lowest, missing = [], np.inf, np.zeros(block.samples, bool)
    for name in names:
        values = block[name]
        if len(wrong := np.flatnonzero(np.abs(values) > LARGEST)):
            infinities.append((name, len(wrong), block.first + int(wrong[0])))
        if name in _SCORING:
            missing |= np.isnan(values)
        if name == "scores":
            lowest = float(np.fmin.reduce(values, initial=np.inf))
    bits = np.packbits(missing) if missing.any() else None
    return infinities, lowest, bits, None if more is None else more(block)


def scored_of(waves: Waves, lacking: Marks | None, k: int, unscored: Unscored) -> Scored:
    """Say which samples have a score, and how many of them to keep."""
    count = 0 if lacking is None else counted(lacking)
    rest = rest_of_budget(k, waves.samples, count, unscored)
    if lacking is None:
        return Scored(None, {}, None, rest)
    kept = lacking if unscored == "keep" else None
    return Scored(difference(waves.everything(), lacking), {"unscored": lacking}, kept, rest)


def choose_balanced(
    waves: Waves,
    order: Order,
    k: int,
    have: Marks | None = None,
    *,
    balance: Balance,
    floor: int | float,
) -> Marks:
    """Mark the k smallest among those of `have`, overall or balanced by class."""
    check_floor(balance, floor)
    if balance == "none" and floor == 0:
        return _smallest(waves, order, k, have)
    if not waves.has("labels"):
        raise InputError("balancing classes needs the labels")
    names, sizes = numbers(waves.each(_labels_of, have))
    by_class = Order(order.keys, order.seed, order.stream, partial(_classes, names))
    if balance != "none":
        return mark_smallest(waves, by_class, class_quotas(sizes, k, balance), sizes, have)
    quotas = floor_quotas(sizes, k, floor)
    return _with_floor(waves, by_class, k, have, quotas=quotas, sizes=sizes)


def _smallest(waves: Waves, order: Order, k: int, pool: Marks | None) -> Marks:
    alone = Order(order.keys, order.seed, order.stream)
    size = waves.samples if pool is None else counted(pool)
    return mark_smallest(waves, alone, np.array([k]), np.array([size]), pool)


def _with_floor(
    waves: Waves, order: Order, k: int, have: Marks | None, *, quotas: Array, sizes: Array
) -> Marks:
    best = _smallest(waves, order, k, have)
    kept = sum(waves.each(partial(_count_groups, order, len(quotas)), best))
    short = kept < quotas
    if not short.any():
        return best
    pool = waves.each(partial(_best_or_short, order, short), best, have)
    sure = mark_smallest(waves, order, quotas, np.where(short, sizes, kept), pool)
    rest = difference(best, sure)  # which holds the smallest of all others
    return union(sure, _smallest(waves, order, k - counted(sure), rest))


def _count_groups(order: Order, groups: int, block: Block, marks: Array) -> Array:
    assert order.groups is not None  # noqa: S101
    return np.bincount(order.groups(block.only(marks)), minlength=groups)


def _best_or_short(
    order: Order, short: Array, block: Block, best: Array, have: Array | None
) -> Array:
    assert order.groups is not None  # noqa: S101
    of_short = np.packbits(short[order.groups(block)])
    return best | (of_short if have is None else of_short & have)


def _labels_of(block: Block, have: Array | None) -> tuple[Array, Array]:
    return distinct(block.only(have)["labels"])


def _classes(names: Array, block: Block) -> Array:
    return numbered_by(names, block["labels"])


def distinct(values: Array) -> tuple[Array, Array]:
    """Give the different values, sorted, and how often each occurs; integers from -1 on.

    >>> distinct(np.array([4, -1, 4]))
    (array([-1,  4]), array([1, 2]))
    """
    if values.max(initial=0) >= _TABLE:
        names, counts = np.unique(values, return_counts=True)
        return names, counts
    counts = np.bincount(values.astype(np.int64) + 1)
    names = np.flatnonzero(counts)
    return names - 1, counts[names]


def numbers(parts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Put together what `distinct` gave of several blocks.

    >>> numbers([(np.array([1, 4]), np.array([2, 1])), (np.array([4]), np.array([5]))])
    (array([1, 4]), array([2, 6]))
    """
    names, where = np.unique(np.concatenate([names for names, _ in parts]), return_inverse=True)
    counts = np.concatenate([counts for _, counts in parts])
    sizes = np.zeros(len(names), np.int64)
    np.add.at(sizes, where, counts)
    return names, sizes


def numbered_by(names: Array, values: Array) -> Array:
    """Give for each value its position among the sorted names, where it has one.

    >>> numbered_by(np.array([-1, 4]), np.array([4, -1, 4])).tolist()
    [1, 0, 1]
    """
    if not len(names) or names[-1] >= _TABLE:
        return np.minimum(np.searchsorted(names, values), max(len(names) - 1, 0))
    table = np.zeros(max(int(names[-1]), int(values.max(initial=0))) + 2, np.int64)
    table[names] = np.arange(len(names))  # -1 is the last entry
    return table[values]
