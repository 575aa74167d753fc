r"""BWS: of all windows of equally hard samples, the one that a linear model learns most from.

1. Sort each class by score, the hardest first, and divide the budget among the classes.
2. A window w leaves out the share w of the hardest of each class and takes the budget from there;
   w = 0, step, 2 step, ... as far as there are samples left to take.
3. Fit a ridge regression from the features, with a constant 1 before them, to the classes:

   .. math:: W = (X^T X + \lambda I)^{-1} X^T \mathrm{onehot}(y)

   on the window, and count the samples of the whole set for which :math:`\arg\max_c (x W)_c = y`.
4. Keep the window with the highest count.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil

import numpy as np

from dualprune.arguments import checked
from dualprune.errors import InputError
from dualprune.select.candidates import Notes, Unscored, check_budget, scored
from dualprune.select.keys import ties
from dualprune.select.quotas import proportional
from dualprune.signatures import Array

_BLOCK = 4096  # samples at a time


@checked
def bws(
    scores: Array,
    features: Array,
    labels: Array,
    *,
    k: int,
    seed: int,
    step: float = 0.05,
    ridge: float = 1.0,
    judged: float = 1.0,
    unscored: Unscored = "error",
    notes: Notes | None = None,
) -> Array:
    """Keep the window of scores that a linear model on the features learns most from.

    Of windows that do equally well the hardest is kept. Published, the features come from a model
    that is trained for 20 epochs on a random subset of k samples, anew for each k; here they are
    those of the recorded run.

    Parameters
    ----------
    scores
        High for hard, such as `score.forgetting` or `score.el2n`, shape (samples,); ties are broken
        at random.
    features
        Shape (samples, numbers).
    labels
        Shape (samples,), of any kind; each class keeps its share of the budget.
    step
        From one window to the next, as a share of the class, at least 1e-4.
    ridge
        Weight of the penalty on the squared weights, that of the constant too.
    judged
        Share of each class to count in, its easiest samples; 0.5 is published for noisy labels.
    unscored
        What to do with samples whose score is NaN; they are neither fitted nor counted.
    notes
        Receives facts about the choice, for the card and the table of all samples.

    Examples
    --------
    The hardest sample of each class is mislabelled, so the next window is the better one.

    >>> features = np.array([1.0, -1, -1, -1, -1, -1, 1, 1, 1, 1])[:, None]
    >>> scores, labels = np.array([5, 4, 3, 2, 1] * 2), np.repeat([0, 1], 5)
    >>> bws(scores, features, labels, k=2, seed=0, step=0.2).tolist()
    [1, 6]

    Notes
    -----
    Time O(samples x width^2) for all fits, and O(samples x width x classes + width^3) per window;
    memory the features and a block of 4,096 samples in float64.

    The authors' code trains a model for 20 epochs on a random balanced subset for each share kept;
    `bws-20` takes features of the recorded run after 20 epochs. It breaks ties with noise, and
    rounds the budget of each class; here seed and id decide, and the budgets sum to k. With noisy
    labels it counts in the easiest half: `judged=0.5`.

    References
    ----------
    Choi et al., 2024. BWS: Best Window Selection Based on Sample Scores for Data Pruning across
    Broad Ranges. arXiv:2406.03057
    """
    check_budget(k, scores, labels, features=features)
    _check(step, ridge, judged)
    tie_keys = ties(seed, len(scores))
    without, have, rest = scored(np.isnan(scores), k, unscored, notes or Notes())
    if rest == 0:
        return without
    if len(have) < len(scores):
        features = features[have]
    _, groups, sizes = np.unique(labels[have], return_inverse=True, return_counts=True)
    ranks = _ranks(-scores[have], groups, sizes, tie_keys[have])
    easiest = np.array([ceil(Fraction(str(judged)) * int(size)) for size in sizes])
    counted = np.flatnonzero(ranks >= (sizes - easiest)[groups])
    windows = _windows(ranks, groups, sizes, proportional(sizes, rest), step)
    chosen = have[_best(features, groups, windows, counted, ridge)]
    return np.sort(np.concatenate([without, chosen]))


def _check(step: float, ridge: float, judged: float) -> None:
    if not (1e-4 <= step <= 1 and 0 < judged <= 1):
        raise InputError(
            f"step and judged are shares up to 1, step from 1e-4; got {step} and {judged}"
        )
    if not ridge > 0:
        raise InputError(f"ridge must be positive, got {ridge}")


def _ranks(keys: Array, groups: Array, sizes: Array, ties: Array) -> Array:
    """Give each sample's place in its class, from 0 for the smallest key."""
    ranks = np.empty(len(keys), np.int64)
    order = np.lexsort((ties, keys, groups))
    ranks[order] = np.arange(len(keys)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return ranks


def _windows(
    ranks: Array, groups: Array, sizes: Array, quotas: Array, step: float
) -> Iterator[Array]:
    """Masks of the windows, from the hardest to the easiest, without repeats."""
    exact, left = Fraction(str(step)), 1 - Fraction(int(quotas.sum()), len(ranks))
    starts = [
        [int(exact * window * int(size) + Fraction(1, 2)) for size in sizes]
        for window in range(int(left / exact) + 1)
    ]
    for start in np.unique(np.minimum(starts, sizes - quotas), axis=0):
        yield (ranks >= start[groups]) & (ranks < (start + quotas)[groups])


def _best(
    features: Array, groups: Array, windows: Iterator[Array], counted: Array, ridge: float
) -> Array:
    """Give the members of the best window; sums are updated from one window to the next."""
    gram = ridge * np.eye(features.shape[1] + 1)
    cross = np.zeros((len(gram), groups.max() + 1))
    before, best, most = np.zeros(len(groups), bool), np.empty(0, np.int64), -1
    for inside in windows:
        for sign, moved in ((1, inside & ~before), (-1, before & ~inside)):
            for x, y in _blocks(features, groups, np.flatnonzero(moved)):
                gram += sign * (x.T @ x)
                cross += sign * (x.T @ np.eye(cross.shape[1])[y])
        weights = _solved(gram, cross, ridge)
        blocks = _blocks(features, groups, counted)
        right = sum(int(((x @ weights).argmax(1) == y).sum()) for x, y in blocks)
        if right > most:
            best, most = np.flatnonzero(inside), right
        before = inside
    return best


def _solved(gram: Array, cross: Array, ridge: float) -> Array:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve  # noqa: PLC0415 - slow to load

    try:
        weights: Array = cho_solve(cho_factor(gram), cross)
    except LinAlgError:
        raise InputError(
            f"ridge={ridge} is lost beside features with squares up to {gram.diagonal().max():g}; "
            "choose a larger ridge or smaller features"
        ) from None
    return weights


def _blocks(features: Array, groups: Array, ids: Array) -> Iterator[tuple[Array, Array]]:
    """Blocks of features in float64 after a constant 1, and of classes."""
    for start in range(0, len(ids), _BLOCK):
        part = ids[start : start + _BLOCK]
        yield np.column_stack([np.ones(len(part)), features[part]]), groups[part]
