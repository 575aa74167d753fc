"""Greedy k-centre: cover the features with k balls as small as possible.

1. The first centre is the sample nearest the mean.
2. The next is always the sample farthest from all centres so far.

The largest distance left is at most twice the smallest possible one. The distance to the nearest
centre only falls as centres are added, so it is updated only for the current best.
"""

from heapq import heapify, heappop, heappush

import numpy as np

from dualprune.arguments import checked
from dualprune.errors import InputError
from dualprune.select.candidates import Balance, Notes, check_budget
from dualprune.select.keys import ties
from dualprune.select.quotas import chosen_of_each, classes, even, proportional
from dualprune.signatures import Array


@checked
def k_center(
    features: Array,
    labels: Array | None = None,
    *,
    k: int,
    seed: int,
    balance: Balance = "none",
    notes: Notes | None = None,
) -> Array:
    """Keep the centres that leave no sample far from the nearest one; ties are broken at random.

    Parameters
    ----------
    features
        What distances are taken between, such as the last layer's input, shape (samples, width).
    labels
        Shape (samples,); needed only to balance classes, each of which then has its own centres.
    balance
        Let every class keep the same share (proportional) or the same number (uniform).
    notes
        Receives facts about the choice, for the card and the table of all samples.

    Examples
    --------
    The middle first, then the ends.

    >>> k_center(np.array([[0.0], [1.0], [2.0], [3.1], [4.1]]), k=3, seed=0).tolist()
    [0, 2, 4]

    Notes
    -----
    Time O(samples x width x k) at most; memory a float64 copy of the features, of one class at a
    time if balanced, and of the centres.

    Public implementations were not compared.

    References
    ----------
    Sener and Savarese, 2018. Active Learning for Convolutional Neural Networks: A Core-Set
    Approach. arXiv:1708.00489
    """
    check_budget(k, labels, features=features)
    if balance != "none" and labels is None:
        raise InputError("balancing classes needs the labels")
    (notes or Notes()).kept = "chosen"
    tie_keys = ties(seed, len(features))

    def centres(group: Array, quota: int) -> Array:
        return _farthest_first(features[group], tie_keys[group], quota)

    groups = classes(None if balance == "none" else labels, np.arange(len(features)))
    divide = even if balance == "uniform" else proportional
    return np.sort(np.concatenate(chosen_of_each(groups, divide, k, centres)))


def _farthest_first(features: Array, ties: Array, k: int) -> Array:
    """Give the positions of k centres in the order in which they are chosen."""
    points = features - features.mean(axis=0, dtype=np.float64)
    squares = np.einsum("ij,ij->i", points, points)
    first = np.lexsort((ties, squares))[0]
    centres, places = np.full(k, first), np.tile(points[first], (k, 1))
    heap = [(-np.inf, tie, i) for i, tie in enumerate(ties.tolist()) if i != first]
    heapify(heap)
    met, count = np.zeros(len(points), np.int64), 1
    while count < k:
        far, tie, i = heappop(heap)
        if met[i] == count:
            centres[count], places[count] = i, points[i]
            count += 1
            continue
        new = slice(met[i], count)
        gaps = squares[i] + squares[centres[new]] - 2 * (places[new] @ points[i])
        heappush(heap, (max(far, -max(float(gaps.min()), 0.0)), tie, i))
        met[i] = count
    return centres
