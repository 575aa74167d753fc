"""Stratified sampling (CCS): drop the hardest, then cover all levels of the score evenly.

1. Drop the `cut_off` share with the lowest area under the margin: the hardest and mislabelled.
2. Divide the range of the remaining scores into strata of equal width.
3. Divide the budget evenly; a stratum that has less than its share gives all it has.
4. Draw uniformly inside each stratum.
"""

import numpy as np

from dualprune.arguments import checked
from dualprune.errors import InputError
from dualprune.select.candidates import Notes, Unscored, check_budget, hardest, remaining, scored
from dualprune.select.keys import STRATA, smallest_of_each, ties, uniform
from dualprune.select.quotas import even, numbered
from dualprune.signatures import Array


@checked
def stratified(
    scores: Array,
    aum: Array | None = None,
    *,
    k: int,
    seed: int,
    strata: int = 50,
    cut_off: float = 0.0,
    unscored: Unscored = "error",
    notes: Notes | None = None,
) -> Array:
    """Keep a draw that covers every level of the score, after cutting off the hardest samples.

    Parameters
    ----------
    scores
        What the strata divide, shape (samples,).
    aum
        High for hard, as `score.aum` gives it, shape (samples,); needed for a cut-off.
    strata
        Number of strata.
    cut_off
        Share of all samples to drop first: those with the highest `aum`, the hardest.
    unscored
        What to do with samples whose score is NaN.
    notes
        Receives facts about the choice, for the card and the table of all samples.

    Examples
    --------
    A hundred low scores and three high ones: all levels are covered.

    >>> scores = np.concatenate([np.linspace(0, 0.1, 100), [0.5, 0.7, 1.0]])
    >>> stratified(scores, k=6, seed=0, strata=10)[-3:].tolist()
    [100, 101, 102]

    Notes
    -----
    Time O(samples log samples); memory a few numbers per sample.

    The authors' code cuts off by margins of probabilities, here `aum` is of logits unless you pass
    another. Its highest stratum ends at 1.0001 times the maximum, so that the best sample is lost
    where scores are not positive; here it is in the last stratum. Its balanced path counts one
    class for all; no knob gives that. The CIFAR code of DUAL cuts the head of whatever order it is
    given. Published cut-offs: `ccs`, `ccs-cifar100`, `ccs-imagenet`.

    References
    ----------
    Zheng et al., 2023. Coverage-centric Coreset Selection for High Pruning Rates. arXiv:2210.15809
    """
    check_budget(k, scores, aum)
    notes = notes or Notes()
    notes.kept = "sampled"
    without, have, rest = scored(np.isnan(scores), k, unscored, notes)
    dropped = hardest(aum, cut_off, ties(seed, len(scores)))
    left = remaining(have, dropped, rest, cut_off, notes)
    levels, sizes = numbered(_levels(scores[left], strata))
    draws = uniform(seed, 0, len(scores), stream=STRATA)[left]
    chosen = left[smallest_of_each(draws, levels, even(sizes, rest), draws)]
    return np.sort(np.concatenate([without, chosen]))


def _levels(scores: Array, strata: int) -> Array:
    """Number the strata of equal width from 0; the highest score belongs to the last."""
    if not 1 <= strata <= 2**53:
        raise InputError(f"strata must be from 1 to 2**53, got {strata}")
    low, high = (scores.min(), scores.max()) if len(scores) else (0.0, 0.0)
    if low == high:
        return np.zeros(len(scores), np.int64)
    levels = (scores - low) / (high - low) * strata
    return np.minimum(levels.astype(np.int64), strata - 1)
