r"""D2 pruning: hard samples that are not close to one another, by messages between neighbours.

Samples i and j are joined when either is among the nearest of the other, at distance d_ij.

1. Forward, a sample receives the scores of its neighbours:
   :math:`u_i = s_i + \sum_j e^{-d_{ij}} \max(s_j, 10^{-7})`.
2. Again and again the highest u_i is kept, and its neighbours lose
   :math:`e^{-\gamma d_{ij}} u_i`. Once the highest u is negative, this raises them.

This is the form of the authors' code; that the paper squares the distances is unverified.
"""

from heapq import heapify, heappop, heappush
from typing import Literal

import numpy as np

from dualprune.arguments import checked
from dualprune.errors import InputError
from dualprune.select.candidates import Notes, Unscored, check_budget, hardest, remaining, scored
from dualprune.select.keys import ties
from dualprune.select.neighbours import graph
from dualprune.select.quotas import chosen_of_each, classes, even
from dualprune.signatures import Array

Scope = Literal["class", "global"]
Graph = tuple[Array, Array, Array]


@checked
def d2(
    scores: Array,
    features: Array,
    labels: Array | None = None,
    aum: Array | None = None,
    *,
    k: int,
    seed: int,
    neighbours: int = 5,
    gamma: float = 0.1,
    cut_off: float = 0.0,
    scope: Scope = "class",
    unscored: Unscored = "error",
    notes: Notes | None = None,
) -> Array:
    """Keep high scores in dense places, each kept sample lowering those of its neighbours.

    A class whose share is all it has is kept whole. In a class of no more than `neighbours` samples
    all are neighbours. Ties are broken at random.

    Parameters
    ----------
    scores, labels
        Shape (samples,); labels are needed to divide the budget and the graph by class.
    features
        What distances are taken between, such as the last layer's input, shape (samples, width).
    aum
        High for hard, as `score.aum` gives it, shape (samples,); needed for a cut-off.
    neighbours
        How many nearest samples each is joined to; it may have more, joined from their side.
    gamma
        How fast the penalty fades with distance; 0 is the same penalty for all neighbours.
    cut_off
        Share of all samples to drop first: those with the highest `aum`, the hardest.
    scope
        One graph per class and the same number of each class, or one graph over all samples.
    unscored
        What to do with samples whose score is NaN.
    notes
        Receives facts about the choice, for the card and the table of all samples.

    Examples
    --------
    The two best are near each other: one of them stands for both.

    >>> scores, features = np.array([4.0, 3.9, 1.0]), np.array([[0.0], [0.1], [5.0]])
    >>> d2(scores, features, k=2, seed=0, neighbours=1, scope="global").tolist()
    [0, 2]

    Notes
    -----
    Time O(samples^2 x width) inside each class for the exact graph, then a heap; memory the
    features, a block of distances, and the edges, at most 2 x samples x neighbours.

    The authors' code holds all distances of a class. Its graph over all classes (`scope="global"`)
    is not symmetric where neighbours come from a file. Its example has 5 neighbours, gamma 0.1 and
    a cut-off of 0.4; other published values are unverified. Subtracting without fading is
    `gamma=0`; its product form has no knob. Depending on its mode a high AUM is hard or easy; here
    `scores` are high for what is kept. Its features are of images without the normalisation used in
    training.

    References
    ----------
    Maharana et al., 2024. D2 Pruning: Message Passing for Balancing Diversity and Difficulty in
    Data Pruning. arXiv:2310.07931
    """
    check_budget(k, scores, labels, aum, features=features)
    check_neighbours(neighbours)
    _check(labels, gamma, scope)
    notes, tie_keys = notes or Notes(), ties(seed, len(scores))
    kept, have, rest = scored(np.isnan(scores), k, unscored, notes)
    left = remaining(have, hardest(aum, cut_off, tie_keys), rest, cut_off, notes)

    def choose(group: Array, quota: int) -> list[int]:
        edges = graph(features[group], neighbours)
        values = forward(scores[group], edges)
        return greedy(values, edges, tie_keys[group], quota, gamma=gamma)

    groups = classes(labels if scope == "class" else None, left)
    return np.sort(np.concatenate([kept, *chosen_of_each(groups, even, rest, choose)]))


def _check(labels: Array | None, gamma: float, scope: str) -> None:
    if scope == "class" and labels is None:
        raise InputError("d2 by class needs the labels; give them or choose scope='global'")
    if not gamma >= 0:
        raise InputError(f"gamma must not be negative, got {gamma}")


def check_neighbours(neighbours: int) -> None:
    """Refuse a graph without edges."""
    if neighbours < 1:
        raise InputError(f"neighbours must be at least 1, got {neighbours}")


def forward(scores: Array, edges: Graph) -> Array:
    """Add the messages of its neighbours to the score of every sample.

    >>> edges = graph(np.array([[0.0], [1.0], [3.0]]), 1)
    >>> forward(np.array([1.0, 2.0, 4.0]), edges).round(4).tolist()
    [1.7358, 2.9092, 4.2707]
    """
    starts, others, distances = edges
    rows = np.repeat(np.arange(len(scores)), np.diff(starts))
    heard = np.exp(-distances) * np.maximum(scores[others], 1e-7)
    return scores + np.bincount(rows, heard, minlength=len(scores))


def greedy(values: Array, edges: Graph, ties: Array, k: int, *, gamma: float) -> list[int]:
    """Give the positions of k samples in the order in which they are kept.

    A value can rise as well as fall, so every change is pushed and outdated entries are skipped.

    >>> edges = graph(np.array([[0.0], [1.0], [3.0]]), 1)
    >>> greedy(np.array([1.7358, 2.9092, 4.2707]), edges, np.zeros(3), 3, gamma=0.1)
    [2, 0, 1]
    """
    starts, others, distances = edges
    fading, tie_keys = np.exp(-gamma * distances), ties.tolist()
    values, waiting = values.copy(), np.ones(len(values), bool)
    heap = list(zip((-values).tolist(), tie_keys, range(len(values)), strict=True))
    heapify(heap)
    chosen: list[int] = []
    while len(chosen) < k:
        value, _, best = heappop(heap)
        if not waiting[best] or value != -values[best]:
            continue
        chosen.append(best)
        waiting[best] = False
        near = slice(starts[best], starts[best + 1])
        values[others[near]] -= fading[near] * values[best]
        for other in others[near][waiting[others[near]]].tolist():
            heappush(heap, (-float(values[other]), tie_keys[other], other))
    return chosen
