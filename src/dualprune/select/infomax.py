r"""InfoMax: samples with high scores that are not similar to each other, as one objective.

.. math::

    \max_{S,\, |S| = k} \; \sum_{i \in S} s_i
    - \alpha \sum_{i \ne j \in S} \max(0, \cos(h_i, h_j))

with scores scaled to s from 0 to 1, features h, and only pairs of which one is among the nearest
of the other by angle; all other pairs count 0.

1. Divide the samples at random into parts, and the budget in proportion.
2. In each part, start twice: with the sample that adds most again and again, and with the k
   largest x of the relaxed problem, where :math:`0 \le x \le 1` and :math:`\sum x = k`, after steps
   along its gradient, each projected back.
3. From either start, exchange a kept sample for one that is not, as long as any exchange raises the
   objective; keep the better end. So it is never below greedy or the relaxed gradient.

The objective, sparse similarities, parts and a gradient of the relaxed problem are the paper's. How
similarity is measured, the scale of s, the default knobs, how the gradient is followed, and the
exchanges are ours.
"""

from heapq import heapify, heappop, heappush

import numpy as np

from dualprune.arguments import checked
from dualprune.errors import InputError
from dualprune.select.candidates import Notes, Unscored, check_budget, scored
from dualprune.select.d2 import check_neighbours
from dualprune.select.keys import PARTS, smallest, ties, uniform
from dualprune.select.neighbours import cosines
from dualprune.select.quotas import chosen_of_each, proportional
from dualprune.signatures import Array

_GAIN = 1e-9  # smaller ones may be rounding
_STEPS = 100
_HALVINGS = 50
Graph = tuple[Array, Array, Array]


@checked
def infomax(
    scores: Array,
    features: Array,
    *,
    k: int,
    seed: int,
    alpha: float = 0.3,
    neighbours: int = 5,
    parts: int = 1,
    unscored: Unscored = "error",
    notes: Notes | None = None,
) -> Array:
    """Keep samples whose scores are high and whose similarities to each other are low in sum.

    No single exchange of a kept sample for another one of its part would be better. Ties are broken
    at random.

    Parameters
    ----------
    scores
        Shape (samples,). They are scaled so that the lowest is 0 and the highest 1.
    features
        What is compared by angle, such as the last layer's input, shape (samples, width). A row of
        zeros is at a right angle to all others.
    alpha
        How much similarity costs; both of a pair pay it. 0 keeps the highest scores.
    neighbours
        How many of the most similar samples each is compared with; it may be more, from their side.
    parts
        Into how many parts the samples are divided at random; nothing is compared across parts, so
        that more of them take less time.
    unscored
        What to do with samples whose score is NaN.
    notes
        Receives facts about the choice, for the card and the table of all samples.

    Examples
    --------
    The two best point the same way: one of them stands for both.

    >>> features = np.array([[1, 0], [1, 0], [0, 1], [1, 1]])
    >>> infomax(np.array([1.0, 0.9, 0.5, 0.0]), features, k=2, seed=0, neighbours=1).tolist()
    [0, 2]

    Notes
    -----
    Time O(samples^2 x width / parts) for the graph, then O(samples x neighbours) for each of 100
    steps of the gradient and, divided by the parts, for each exchange; memory the features, a block
    of distances, and the edges, at most 2 x samples x neighbours.

    No code of the authors is public. The paper takes any score; which one its tables have, its
    alpha, its number of neighbours and of parts could not be verified: the named method `infomax`
    has EL2N and the defaults here.

    References
    ----------
    Tan et al., 2025. Data Pruning by Information Maximization. arXiv:2506.01701
    """
    check_budget(k, scores, features=features)
    check_neighbours(neighbours)
    _check(alpha, parts)
    tie_keys = ties(seed, len(scores))
    kept, have, rest = scored(np.isnan(scores), k, unscored, notes or Notes())
    scaled = _scaled(scores)

    def choose(group: Array, quota: int) -> Array:
        own, edges = scaled[group], costs(features[group], neighbours, alpha)
        starts = [start(own, edges, tie_keys[group], quota) for start in (greedy, relaxed)]
        ends = [exchanged(own, edges, inside) for inside in starts]
        return np.flatnonzero(max(ends, key=lambda inside: objective(own, edges, inside)))

    groups = _divided(have, uniform(seed, 0, len(scores), stream=PARTS), parts)
    return np.sort(np.concatenate([kept, *chosen_of_each(groups, proportional, rest, choose)]))


def _check(alpha: float, parts: int) -> None:
    if not alpha >= 0:
        raise InputError(f"alpha must not be negative, got {alpha}")
    if parts < 1:
        raise InputError(f"parts must be at least 1, got {parts}")


def _scaled(scores: Array) -> Array:
    known = scores[~np.isnan(scores)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    return np.asarray((scores - low) / ((high - low) or 1.0))


def _divided(ids: Array, keys: Array, parts: int) -> list[Array]:
    """Divide sorted ids into parts of almost equal size, in the order of their keys."""
    order = ids[np.argsort(keys[ids], kind="stable")]
    return [np.sort(part) for part in np.array_split(order, parts) if len(part)]


def costs(features: Array, neighbours: int, alpha: float) -> Graph:
    """Give the graph of similar samples, with what a pair costs when both are kept."""
    starts, others, similar = cosines(features, neighbours)
    return starts, others, 2 * alpha * np.maximum(similar, 0)


def objective(scores: Array, edges: Graph, inside: Array) -> float:
    """Sum the scores of what is kept, minus what its pairs cost.

    >>> edges = np.array([0, 1, 2, 2]), np.array([1, 0]), np.array([0.6, 0.6])
    >>> objective(np.array([1.0, 0.9, 0.5]), edges, np.array([True, True, False]))
    1.3
    """
    return float((scores - _paid(edges, inside.astype(np.float64)) / 2)[inside].sum())


def _paid(edges: Graph, amounts: Array) -> Array:
    """Give what every sample pays when of each sample this amount is kept."""
    starts, others, cost = edges
    rows = np.repeat(np.arange(len(amounts)), np.diff(starts))
    return np.bincount(rows, cost * amounts[others], minlength=len(amounts))


def greedy(scores: Array, edges: Graph, ties: Array, k: int) -> Array:
    """Mark k samples, each the one that adds most to those before it.

    >>> edges = np.array([0, 1, 2, 2]), np.array([1, 0]), np.array([0.6, 0.6])
    >>> greedy(np.array([1.0, 0.9, 0.5]), edges, np.zeros(3), 2).tolist()
    [True, False, True]
    """
    starts, others, cost = edges
    values, inside = scores.copy(), np.zeros(len(scores), bool)
    heap = list(zip((-values).tolist(), ties.tolist(), range(len(values)), strict=True))
    heapify(heap)
    for _ in range(k):
        value, tie, best = heappop(heap)
        while value != -values[best]:  # it has fallen since
            heappush(heap, (-float(values[best]), tie, best))
            value, tie, best = heappop(heap)
        inside[best] = True
        near = slice(starts[best], starts[best + 1])
        values[others[near]] -= cost[near]
    return inside


def relaxed(scores: Array, edges: Graph, ties: Array, k: int) -> Array:
    """Mark the k largest amounts after projected gradient steps, from equal amounts on."""
    starts, _, cost = edges
    ends = np.cumsum(np.append(0.0, cost))[starts]
    steep = max(float(np.diff(ends).max()), _GAIN)  # bounds how fast the gradient changes
    amounts = np.full(len(scores), k / len(scores))
    for _ in range(_STEPS):
        amounts = _projected(amounts + (scores - _paid(edges, amounts)) / steep, k)
    inside = np.zeros(len(scores), bool)
    inside[smallest(-amounts, k, ties)] = True
    return inside


def _projected(amounts: Array, k: int) -> Array:
    """Give the nearest amounts from 0 to 1 whose sum is k: all are lowered alike, then clipped."""
    low, high = float(amounts.min()) - 1, float(amounts.max())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if np.clip(amounts - middle, 0, 1).sum() > k:
            low = middle
        else:
            high = middle
    return np.clip(amounts - high, 0, 1)


def exchanged(scores: Array, edges: Graph, inside: Array) -> Array:
    """Exchange marked samples for others until no exchange of two raises the objective.

    The lowest value that is kept and the highest that is not are tried first; when they gain
    nothing, only neighbours can, since they no longer cost each other anything.
    """
    starts, others, cost = edges
    rows = np.repeat(np.arange(len(scores)), np.diff(starts))
    values, inside = scores - _paid(edges, inside.astype(np.float64)), inside.copy()
    while True:
        out = int(np.where(inside, values, np.inf).argmin())
        into = int(np.where(inside, -np.inf, values).argmax())
        if not values[into] - values[out] > _GAIN:
            gains = np.where(
                inside[rows] & ~inside[others], values[others] - values[rows] + cost, 0
            )
            best = int(gains.argmax())
            if not gains[best] > _GAIN:
                return inside
            out, into = int(rows[best]), int(others[best])
        for sample, sign in ((out, 1), (into, -1)):
            near = slice(starts[sample], starts[sample + 1])
            values[others[near]] += sign * cost[near]
            inside[sample] = sign < 0
