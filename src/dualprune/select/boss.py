r"""BOSS: samples of the wanted difficulty that also represent the others of their class.

Inside every class, after the hardest are cut off:

1. Scores are scaled to e from 0 to 1; the importance is :math:`g_b = e^{\alpha-1}(1-e)^{\beta-1}`,
   a Beta density up to a factor that changes nothing.
2. Sample b represents a as well as :math:`s_{ab} = (\frac12 + \frac12 \cos(h_a, h_b))\, g_b`.
3. The sample that adds most to :math:`\sum_a \max_{b\ \mathrm{kept}} s_{ab}` is kept, again and
   again.

What a sample adds only falls as others are kept, so it is computed again only for the current best.
"""

from heapq import heappop, heappush

import numpy as np

from dualprune.arguments import checked
from dualprune.errors import InputError
from dualprune.select.candidates import Notes, Unscored, check_budget, hardest, remaining, scored
from dualprune.select.d2 import check_neighbours
from dualprune.select.keys import ties
from dualprune.select.neighbours import cosines
from dualprune.select.quotas import chosen_of_each, classes, proportional
from dualprune.signatures import Array


@checked
def boss(
    scores: Array,
    features: Array,
    labels: Array,
    aum: Array | None = None,
    *,
    k: int,
    seed: int,
    alpha: float = 2.0,
    beta: float = 2.0,
    cut_off: float = 0.0,
    neighbours: int = 50,
    unscored: Unscored = "error",
    notes: Notes | None = None,
) -> Array:
    """Keep samples that together represent their class, those of the wanted difficulty first.

    Here, unlike in the paper, a sample represents only itself and those it is a neighbour of or
    that are neighbours of it: similarity to others counts as 0, which bounds the memory. With as
    many neighbours as the largest class has samples nothing is left out. Every class keeps the same
    share of what its cut-off left. Samples that add nothing are kept last. Ties are broken at
    random.

    Parameters
    ----------
    scores, labels
        Shape (samples,). In a class whose scores are all equal, all samples are equally important.
    features
        What is compared by angle, such as the last layer's input, shape (samples, width). A row of
        zeros is at a right angle to all others.
    aum
        High for hard, as `score.aum` gives it, shape (samples,); needed for a cut-off.
    alpha, beta
        Shape of the importance, each at least 1: a larger alpha prefers high scores, a larger beta
        low ones.
    cut_off
        Share of every class to drop first: those with the highest `aum`, the hardest.
    neighbours
        How many of the most similar samples each is compared with.
    unscored
        What to do with samples whose score is NaN.
    notes
        Receives facts about the choice, for the card and the table of all samples.

    Examples
    --------
    Two directions, and of each the sample with the middle score.

    >>> features = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3)
    >>> scores = np.array([0.0, 0.5, 0.9, 0.1, 0.5, 1.0])
    >>> boss(scores, features, np.zeros(6), k=2, seed=0).tolist()
    [1, 4]

    Notes
    -----
    Time O(samples^2 x width) inside each class for the graph, then a lazy greedy; memory the
    features, a block of distances, and the edges, at most 2 x samples x neighbours.

    The authors' code compares all pairs of a class: as many neighbours as the class has. It cuts
    off by margins of probabilities, with a table of cut-offs per dataset; here `aum` is of logits
    unless you pass another. Its script sums EL2N over 6 epochs, its function's default is 10
    (`boss-10`). Its example for Tiny-ImageNet has alpha and beta of 2; those for other shares are
    not public.

    References
    ----------
    Acharya et al., 2024. Balancing Feature Similarity and Label Variability for Optimal Size-Aware
    One-shot Subset Selection. ICML
    """
    check_budget(k, scores, labels, aum, features=features)
    check_neighbours(neighbours)
    if not (alpha >= 1 and beta >= 1):
        raise InputError(f"alpha and beta must be at least 1, got {alpha} and {beta}")
    notes, tie_keys = notes or Notes(), ties(seed, len(scores))
    kept, have, rest = scored(np.isnan(scores), k, unscored, notes)
    dropped = hardest(aum, cut_off, tie_keys, labels=labels)
    left = remaining(have, dropped, rest, cut_off, notes)

    def choose(group: Array, quota: int) -> list[int]:
        importance = _importance(scores[group], alpha, beta)
        edges = _similar(features[group], neighbours)
        return _representatives(importance, edges, tie_keys[group], quota)

    chosen = chosen_of_each(classes(labels, left), proportional, rest, choose)
    return np.sort(np.concatenate([kept, *chosen]))


def _importance(scores: Array, alpha: float, beta: float) -> Array:
    above = scores - scores.min()
    scaled = above / above.max() if above.any() else np.full(len(above), 0.5)
    return scaled ** (alpha - 1) * (1 - scaled) ** (beta - 1)


def _similar(features: Array, neighbours: int) -> tuple[Array, Array, Array]:
    """Give the graph over angles, with every sample also its own neighbour, and similarities."""
    starts, others, similar = cosines(features, neighbours)
    others = np.insert(others, starts[:-1], np.arange(len(features)))
    similar = np.insert(similar, starts[:-1], features.any(axis=1))
    return starts + np.arange(len(starts)), others, 0.5 + 0.5 * similar


def _representatives(
    importance: Array, edges: tuple[Array, Array, Array], ties: Array, k: int
) -> list[int]:
    """Give the positions of k samples in the order in which they are kept, by lazy greedy."""
    starts, others, similarities = edges
    offered = similarities * np.repeat(importance, np.diff(starts))
    reached = np.zeros(len(importance))
    heap = sorted((-np.inf, tie, sample) for sample, tie in enumerate(ties.tolist()))
    chosen: list[int] = []
    while len(chosen) < k:
        _, tie, sample = heappop(heap)
        near = slice(starts[sample], starts[sample + 1])
        added = np.maximum(offered[near] - reached[others[near]], 0)
        now = (-float(added.sum()), tie, sample)
        if heap and now > heap[0]:
            heappush(heap, now)
            continue
        chosen.append(sample)
        reached[others[near]] = np.maximum(reached[others[near]], offered[near])
    return chosen
