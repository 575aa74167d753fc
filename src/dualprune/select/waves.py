"""The k smallest keys of samples that lie in blocks, found without all of them in one place.

Every step is one small function for a block, which any `Map` can call where the block is; only what
it gives comes together. A choice takes three such waves:

1. A few samples of every block show between which two keys the kth smallest probably is.
2. Each block marks the keys below these two, and gives those between them.
3. Those between decide. If the counts say that the kth smallest is elsewhere, the two keys move
   apart and the second wave is repeated; so the result never depends on the samples looked at.

Keys are compared first, then ties, then positions, as in `keys.py`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from dualprune.run.ranges import Map, threads
from dualprune.select.keys import PILOT, ordered_bits, smallest_of_each, uniform, uniform_at
from dualprune.signatures import Array

Marks: TypeAlias = list[Array]
"""Some of the samples: for every block one bit per sample, eight in a byte."""

FEW = 2**18
"""So many samples are compared in one place; of more, some are looked at first."""

_OF_GROUP = 2**10  # samples to look at for each group, besides
_APART = 4.0  # standard deviations from the expected rank to either end
_FAR = 16  # where fewer than one in so many is wanted, drawing each by itself is faster


@dataclass(frozen=True)
class Block:
    """Columns of samples that follow each other, or of those of them that are at `where`."""

    first: int
    """Position of the first sample."""
    samples: int
    columns: Mapping[str, Array]
    where: Array | None = None

    def __len__(self) -> int:
        return self.samples if self.where is None else len(self.where)

    def __getitem__(self, name: str) -> Array:
        return self.columns[name] if self.where is None else self.columns[name][self.where]

    def draws(self, seed: int, stream: int) -> Array:
        """Random numbers of these samples, see `keys.uniform`."""
        if self.where is not None and len(self.where) < self.samples // _FAR:
            return uniform_at(seed, self.first + self.where, stream=stream)
        draws = uniform(seed, self.first, self.first + self.samples, stream=stream)
        return draws if self.where is None else draws[self.where]

    def only(self, marks: Array | None) -> "Block":
        """Give those that are marked, or all."""
        return self if marks is None else replace(self, where=unpacked(marks, self.samples))


def draw(seed: int, stream: int, block: Block) -> Array:
    """Random numbers of the samples of a block, as keys."""
    return block.draws(seed, stream)


class Waves:
    """Blocks of samples, and what calls a function for each of them."""

    def __init__(self, blocks: Iterable[Block], map: Map = threads) -> None:
        self.blocks = list(blocks)
        self.samples = sum(block.samples for block in self.blocks)
        self._map = map

    def has(self, name: str) -> bool:
        """Whether the blocks have this column."""
        return name in self.blocks[0].columns

    def everything(self) -> Marks:
        """Mark all samples."""
        return [np.packbits(np.ones(block.samples, bool)) for block in self.blocks]

    def each(self, fn: Callable[..., Any], *arguments: Sequence[Any] | None) -> list[Any]:
        """What a function makes of every block and of its arguments; None is one for all."""
        columns = [[None] * len(self.blocks) if a is None else a for a in arguments]
        return list(self._map(partial(_call, fn), zip(self.blocks, *columns, strict=True)))


def _call(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    block, *others = arguments
    return fn(replace(block, columns=_Once(block.columns)), *others)


class _Once(Mapping[str, Array]):
    """Columns that are read once, and forgotten after the call."""

    def __init__(self, columns: Mapping[str, Array]) -> None:
        self._columns, self._read = columns, dict[str, Array]()

    def __getitem__(self, name: str) -> Array:
        if name not in self._read:
            self._read[name] = self._columns[name]
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def unpacked(marks: Array, samples: int) -> Array:
    """Positions in a block that are marked."""
    return np.flatnonzero(np.unpackbits(marks, count=samples))


def nothing(block: Block) -> Array:
    """Mark no sample of a block."""
    return np.zeros(-(-block.samples // 8), np.uint8)


def counted(marks: Marks) -> int:
    """How many samples are marked."""
    return sum(int(np.bitwise_count(block).sum()) for block in marks)


def difference(marks: Marks, others: Marks) -> Marks:
    """Give what is marked and not among others."""
    return [some & ~other for some, other in zip(marks, others, strict=True)]


def union(marks: Marks, others: Marks) -> Marks:
    """Give what is marked here or there."""
    return [some | other for some, other in zip(marks, others, strict=True)]


def positions(waves: Waves, marks: Marks) -> Array:
    """Positions of what is marked, sorted."""
    pairs = zip(waves.blocks, marks, strict=True)
    own = [block.first + unpacked(bits, block.samples) for block, bits in pairs]
    return np.concatenate([np.empty(0, np.int64), *own])


def _one_group(block: Block) -> Array:
    return np.zeros(len(block), np.int64)


@dataclass(frozen=True)
class Order:
    """By what samples are ordered: keys, then random numbers; by group, if there are any."""

    keys: Callable[[Block], Array]
    seed: int
    stream: int
    groups: Callable[[Block], Array] | None = None

    def ties(self, at: Array) -> Array:
        """Give the random numbers of samples at these positions."""
        return uniform_at(self.seed, at, stream=self.stream)


@dataclass(frozen=True)
class _Entries:
    """Samples that are ordered: their keys, groups, and positions among all samples."""

    keys: Array
    groups: Array
    at: Array

    @staticmethod
    def merge(parts: Iterable["_Entries"]) -> "_Entries":
        columns = zip(*((p.keys, p.groups, p.at) for p in parts), strict=True)
        return _Entries(*map(np.concatenate, columns))


class _Ties:
    """Ties of entries, drawn for those that are asked for: few have equal keys."""

    def __init__(self, order: Order, at: Array) -> None:
        self._order, self._at = order, at

    def __getitem__(self, where: Array) -> Array:
        return self._order.ties(self._at[where])


@dataclass(frozen=True)
class _Bracket:
    """Two keys with ties, of each group, between which its last chosen sample is."""

    low: Array
    low_ties: Array
    high: Array
    high_ties: Array

    @staticmethod
    def whole(groups: int) -> "_Bracket":
        ends = [np.full(groups, end) for end in (-np.inf, -1.0, np.inf, 2.0)]
        return _Bracket(*ends)


def mark_smallest(
    waves: Waves, order: Order, quotas: Array, sizes: Array, pool: Marks | None = None
) -> Marks:
    """Mark the ``quotas[g]`` smallest of each group g, among all samples or those of a pool.

    `sizes` says how many samples of each group there are; none may have the key NaN.

    >>> keys = np.array([0.3, 0.1, 0.2, 0.9])
    >>> waves = Waves([Block(0, 3, {"keys": keys[:3]}), Block(3, 1, {"keys": keys[3:]})])
    >>> order = Order(lambda block: block["keys"], seed=0, stream=0)
    >>> positions(waves, mark_smallest(waves, order, np.array([2]), np.array([4]))).tolist()
    [1, 2]
    """
    quotas, total = np.minimum(quotas, sizes), int(sizes.sum())
    apart, sample = np.full(len(quotas), _APART), None
    if total > FEW:
        looked_at = 2 * total ** (2 / 3)  # so that about as many are between the two keys
        every = max(1, int(total / (looked_at + _OF_GROUP * len(quotas))))
        sample = _sorted(order, _Entries.merge(waves.each(partial(_look, order, every), pool)))
    while True:
        bracket = _bracket(order, sample, quotas, sizes, apart)
        surveys = waves.each(partial(_survey, order, bracket), pool)
        below = sum(counts for _, counts, _ in surveys)
        entries = _Entries.merge(inside for _, _, inside in surveys)
        between = np.bincount(entries.groups, minlength=len(quotas))
        missed = (below > quotas) | (below + between < quotas)
        if not missed.any():
            break
        apart[missed] *= 8
    ties = _Ties(order, entries.at)
    chosen = smallest_of_each(entries.keys, entries.groups, quotas - below, ties)
    return _marked(waves, surveys, entries.at[chosen])


def _look(order: Order, every: int, block: Block, pool: Array | None) -> _Entries:
    """Give about one of `every` samples, drawn, so that no pattern in the ids matters."""
    members = np.arange(block.samples) if pool is None else unpacked(pool, block.samples)
    steps = np.arange(0, len(members), every)
    drawn = uniform(order.seed, block.first, block.first + len(steps), stream=PILOT)
    at = members[np.minimum(steps + (drawn * every).astype(np.int64), len(members) - 1)]
    rows = replace(block, where=at)
    groups = (order.groups or _one_group)(rows)
    return _Entries(order.keys(rows), groups, block.first + at)


def _sorted(order: Order, sample: _Entries) -> _Entries:
    """Order by group, key and tie: first all by as much as 64 bits hold, then those still equal."""
    shift = np.uint64(max(1, int(sample.groups.max(initial=0)).bit_length()))
    bits = sample.groups.astype(np.uint64) << (np.uint64(64) - shift)
    bits |= ordered_bits(sample.keys) >> shift
    by = np.argsort(bits)
    equal = bits[by[1:]] == bits[by[:-1]]
    if equal.any():
        where = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
        some = by[where]
        ties = order.ties(sample.at[some])
        by[where] = some[np.lexsort((ties, sample.keys[some], sample.groups[some]))]
    return _Entries(sample.keys[by], sample.groups[by], sample.at[by])


def _bracket(
    order: Order, sample: _Entries | None, quotas: Array, sizes: Array, apart: Array
) -> _Bracket:
    """Give the keys around the expected rank of each group's last chosen one."""
    ends = _Bracket.whole(len(quotas))
    if sample is not None:
        share = quotas / np.maximum(sizes, 1)
        starts = np.searchsorted(sample.groups, np.arange(len(quotas)))
        counts = np.diff(starts, append=len(sample.groups))
        rank, error = counts * share, np.sqrt(counts * share * (1 - share)) + 1
        low = np.floor(np.maximum(rank - apart * error, -1)).astype(np.int64)
        high = np.ceil(np.minimum(rank + apart * error, counts)).astype(np.int64)
        some, most = (low >= 0) & (low < counts), high < counts
        at = starts[some] + low[some]
        ends.low[some], ends.low_ties[some] = sample.keys[at], order.ties(sample.at[at])
        at = starts[most] + high[most]
        ends.high[most], ends.high_ties[most] = sample.keys[at], order.ties(sample.at[at])
    all_or_none = (quotas == 0) | (quotas == sizes)  # nothing is between
    ends.low[quotas == sizes], ends.low_ties[quotas == sizes] = np.inf, 2.0
    ends.low[quotas == 0], ends.low_ties[quotas == 0] = -np.inf, -1.0
    ends.high[all_or_none] = ends.low[all_or_none]
    ends.high_ties[all_or_none] = ends.low_ties[all_or_none]
    return ends


def _survey(
    order: Order, bracket: _Bracket, block: Block, pool: Array | None
) -> tuple[Array, Array, _Entries]:
    """Mark the samples below a bracket, count them by group, and give those inside."""
    rows = block.only(pool)
    keys, groups = order.keys(rows), None if order.groups is None else order.groups(rows)
    own: Array | int = 0 if groups is None else groups
    below = keys < bracket.low[own]
    near = np.flatnonzero(~below & (keys <= bracket.high[own]))
    at = block.first + (near if rows.where is None else rows.where[near])
    of = np.zeros(len(near), np.int64) if groups is None else groups[near]
    lower, upper = _beyond(order, bracket, keys[near], of, at)
    below[near[lower]] = True
    inside = ~lower & ~upper
    entries = _Entries(keys[near[inside]], of[inside], at[inside])
    marks = below
    if rows.where is not None:
        marks = np.zeros(block.samples, bool)
        marks[rows.where[below]] = True
    if groups is None:
        return np.packbits(marks), below.sum(keepdims=True), entries
    return np.packbits(marks), np.bincount(groups[below], minlength=len(bracket.low)), entries


def _beyond(
    order: Order, bracket: _Bracket, keys: Array, groups: Array, at: Array
) -> tuple[Array, Array]:
    """Say which samples have the lower key and a tie below it, or the upper key and one above."""
    lower, upper = keys == bracket.low[groups], keys == bracket.high[groups]
    if len(ends := np.flatnonzero(lower | upper)):
        ties, own = order.ties(at[ends]), groups[ends]
        lower[ends] &= ties < bracket.low_ties[own]
        upper[ends] &= ties > bracket.high_ties[own]
    return lower, upper


def _marked(waves: Waves, surveys: list[Any], chosen: Array) -> Marks:
    """Add to the marks of every block the samples that were chosen among the entries of all."""
    ends = np.searchsorted(chosen, [block.first + block.samples for block in waves.blocks])
    by_block = np.split(chosen, ends[:-1])
    marks = []
    for block, (bits, _, _), more in zip(waves.blocks, surveys, by_block, strict=True):
        at, kept = more - block.first, bits.copy()  # what another process gave may be read-only
        np.bitwise_or.at(kept, at // 8, np.uint8(128) >> (at % 8).astype(np.uint8))
        marks.append(kept)
    return marks
