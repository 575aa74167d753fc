"""Nearest neighbours inside one set of features, exact, in bounded memory.

1. Centre the features, so that rounding is relative to their spread and not to their offset.
2. Block by block, one matrix product in float32 gives every squared distance up to a known bound
   on the rounding error; what may be among the k nearest within that bound is a candidate.
3. The distances to the candidates are computed again from the differences in float64, and the k
   smallest are the neighbours; equal distances are ordered by id.

With faiss (extra `knn`) the candidates come from its exact index instead, wherever the same bound
shows that it missed none; so the neighbours are the same with and without it.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from dualprune.errors import InputError
from dualprune.signatures import Array

CELLS = 2**22  # distances in memory at a time
CACHED = 2**17  # differences at a time, few enough to stay in the cache
SPARE = 16  # candidates that faiss gives beyond the neighbours


def nearest(features: Array, k: int) -> tuple[Array, Array]:
    """Give the distances and ids of the k nearest others of every sample, nearest first.

    A sample is no neighbour of itself, but its exact duplicates are. Where thousands coincide, all
    of them are candidates of each other, and the search is slower.

    >>> distances, ids = nearest(np.array([[0.0], [1.0], [3.0]]), 1)
    >>> distances.ravel().tolist(), ids.ravel().tolist()
    ([1.0, 1.0, 2.0], [1, 0, 1])
    """
    samples = len(features)
    if not 1 <= k < samples:
        raise InputError(f"k must be from 1 to {samples - 1}, the number of others; got {k}")
    distances, ids = np.empty((samples, k)), np.empty((samples, k), np.int64)
    for start, rows, others in _candidates(_centred(features), k):
        gaps = _distances(features, start + rows, others)
        order = np.lexsort((others, gaps, rows))
        first = np.flatnonzero(np.diff(rows, prepend=-1))  # of each row: the rows are sorted
        best = order[first[:, None] + np.arange(k)]
        part = slice(start, start + len(first))
        distances[part], ids[part] = gaps[best], others[best]
    return distances, ids


def graph(features: Array, k: int) -> tuple[Array, Array, Array]:
    """Join samples when either is among the k nearest of the other; k is cut to what there is.

    The neighbours of sample i are ``others[starts[i] : starts[i + 1]]``, sorted, and their
    distances stand at the same places.

    >>> starts, others, distances = graph(np.array([[0.0], [1.0], [3.0]]), 1)
    >>> starts.tolist(), others.tolist(), distances.tolist()
    ([0, 1, 3, 4], [1, 0, 2, 1], [1.0, 1.0, 2.0, 2.0])
    """
    samples = len(features)
    distances, ids = nearest(features, min(k, samples - 1))
    here, there = np.repeat(np.arange(samples), ids.shape[1]), ids.ravel()
    pairs = np.concatenate([here * samples + there, there * samples + here])
    pairs, first = np.unique(pairs, return_index=True)
    rows, others = np.divmod(pairs, samples)
    starts = np.searchsorted(rows, np.arange(samples + 1))
    return starts, others, distances.ravel()[first % distances.size]


def cosines(features: Array, k: int) -> tuple[Array, Array, Array]:
    """Give the graph of the k most similar by angle, with cosines in the place of distances.

    A row of zeros is at a right angle to all others.

    >>> starts, others, similar = cosines(np.array([[2.0, 0.0], [1.0, 0.0], [0.0, 3.0]]), 1)
    >>> others.tolist(), similar.tolist()
    ([1, 2, 0, 0], [1.0, 0.0, 1.0, 0.0])
    """
    lengths = np.linalg.norm(features.astype(np.float64), axis=1)
    units = features / np.where(lengths > 0, lengths, 1)[:, None]
    starts, others, distances = graph(units, k)
    ones = (lengths > 0).astype(np.float64)
    return starts, others, (np.repeat(ones, np.diff(starts)) + ones[others] - distances**2) / 2


def _centred(features: Array) -> Array:
    """Centre and scale to at most 1, which no square can overflow."""
    gaps: Array = features - features.mean(axis=0, dtype=np.float64)
    gaps /= max(gaps.max(), -gaps.min()) or 1.0
    return gaps.astype(np.float32)


def _candidates(points: Array, k: int) -> Iterator[tuple[int, Array, Array]]:
    """Per block: its first sample, and pairs of a row, sorted, and a sample that may be near."""
    squares, index = np.einsum("ij,ij->i", points, points), _index(points)
    step = max(1, CELLS // len(points))
    for start in range(0, len(points), step):
        block = slice(start, start + step)
        pairs = None if index is None else _from_faiss(index, points, squares, block, k)
        rows, others = pairs or np.nonzero(_near(points, squares, block, k))
        yield start, rows, others


def _error(points: Array) -> np.float32:
    """Bound the rounding of a squared distance, relative to the sum of the two squares."""
    return np.float32((points.shape[1] + 8) * np.finfo(np.float32).eps)


def _near(points: Array, squares: Array, block: slice, k: int) -> Array:
    """Mark whose squared distance may be among the k smallest of its row, despite rounding."""
    error, bound = _error(points), (-2 * points[block]) @ points.T
    bound += squares * (1 + error)
    rows = np.arange(len(bound))
    bound[rows, block.start + rows] = np.inf
    enough = _level(bound, k) + 2 * error * squares[block]
    bound -= 2 * error * squares
    return bound <= enough[:, None]


def _level(bound: Array, k: int) -> Array:
    """Give a level that at least k of each row reach: the kth smallest minimum of k or more parts.

    Minima of parts cost one pass, and then there is little left to partition.
    """
    size = max(1, min(32, bound.shape[1] // (8 * k)))
    parts = bound.shape[1] // size
    least = bound[:, : size * parts].reshape(len(bound), size, parts).min(axis=1)
    return np.partition(least, k - 1, axis=1)[:, k - 1]


def _index(points: Array) -> Any:
    """Give an exact index of faiss over the points, or None where it is not installed."""
    try:
        faiss = import_module("faiss")
    except ImportError:
        return None
    index = faiss.IndexFlatL2(points.shape[1])
    index.add(points)
    return index


def _from_faiss(
    index: Any, points: Array, squares: Array, block: slice, k: int
) -> tuple[Array, Array] | None:
    """Give the pairs that faiss finds, or None if rounding may have cost it a neighbour."""
    count = min(len(points), k + 1 + SPARE)
    gaps, ids = index.search(points[block], count)
    doubt = 2 * _error(points) * (squares[block] + squares.max())
    if count < len(points) and (gaps[:, -1] - gaps[:, k] <= doubt).any():
        return None
    rows, places = np.nonzero(ids != block.start + np.arange(len(ids))[:, None])
    return rows, ids[rows, places]


def _distances(features: Array, ones: Array, others: Array) -> Array:
    squares = np.empty(len(ones))
    step = max(1, CACHED // features.shape[1])
    for start in range(0, len(ones), step):
        part = slice(start, start + step)
        gaps = np.subtract(features[ones[part]], features[others[part]], dtype=np.float64)
        squares[part] = np.einsum("ij,ij->i", gaps, gaps)
    return np.sqrt(squares)
