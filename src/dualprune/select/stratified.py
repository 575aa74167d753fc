"""Stratified sampling (CCS): drop the hardest, then cover all levels of the score evenly.

1. Drop the `cut_off` share with the lowest area under the margin: the hardest and mislabelled.
2. Divide the range of the remaining scores into strata of equal width.
3. Divide the budget evenly; a stratum that has less than its share gives all it has.
4. Draw uniformly inside each stratum.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from dualprune.arguments import checked
from dualprune.errors import InputError
from dualprune.select.blocked import Choice, distinct, facts_of, numbered_by, numbers, scored_of
from dualprune.select.candidates import (
    Notes,
    Unscored,
    check_budget,
    check_cut_off,
    check_remaining,
    hardest,
    hardest_first,
    remaining,
    scored,
    shares,
)
from dualprune.select.keys import STRATA, TIES, smallest_of_each, ties, uniform
from dualprune.select.quotas import even, numbered
from dualprune.select.waves import (
    Block,
    Marks,
    Order,
    Waves,
    counted,
    difference,
    draw,
    mark_smallest,
)
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
    levels, sizes = numbered(_levels(scores[left], *_ends(scores[left]), _check(strata)))
    draws = uniform(seed, 0, len(scores), stream=STRATA)[left]
    chosen = left[smallest_of_each(draws, levels, even(sizes, rest), draws)]
    return np.sort(np.concatenate([without, chosen]))


@checked
def stratified_of_blocks(
    waves: Waves,
    *,
    k: int,
    seed: int,
    strata: int = 50,
    cut_off: float = 0.0,
    unscored: Unscored = "error",
) -> Choice:
    """Keep what `stratified` keeps, of samples in blocks."""
    facts = facts_of(waves, [*filter(waves.has, ("scores", "aum"))], k)
    scored = scored_of(waves, facts.lacking, k, unscored)
    left, reasons = _left(waves, seed, cut_off, scored.have, scored.rest)
    ends = np.array(waves.each(_ends_of, left))
    level = partial(_level, float(ends[:, 0].min()), float(ends[:, 1].max()), _check(strata))
    names, sizes = numbers(waves.each(partial(_sizes, level), left))
    order = Order(partial(draw, seed, STRATA), seed, STRATA, partial(_numbered, level, names))
    kept = mark_smallest(waves, order, even(sizes, scored.rest), sizes, left)
    return Choice(scored.with_kept(kept), "sampled", scored.reasons | reasons)


def _left(
    waves: Waves, seed: int, cut_off: float, have: Marks | None, rest: int
) -> tuple[Marks | None, dict[str, Marks]]:
    """Give the samples that the cut-off leaves, None if all, and those that it drops."""
    check_cut_off(cut_off, waves.has("aum"))
    size = np.array([waves.samples])
    if not (quota := shares(cut_off, size)).any():
        return have, {}
    dropped = mark_smallest(waves, Order(_hardness, seed, TIES), quota, size)
    have = have or waves.everything()
    left = difference(have, dropped)
    check_remaining(rest, counted(have), counted(left), cut_off)
    return left, {"cut_off": cut} if counted(cut := difference(have, left)) else {}


def _hardness(block: Block) -> Array:
    return hardest_first(block["aum"])


def _ends_of(block: Block, left: Array | None) -> tuple[float, float]:
    scores = block.only(left)["scores"]
    return float(scores.min(initial=np.inf)), float(scores.max(initial=-np.inf))


def _level(low: float, high: float, strata: int, block: Block) -> Array:
    return _levels(block["scores"], low, high, strata)


def _sizes(
    level: Callable[[Block], Array], block: Block, left: Array | None
) -> tuple[Array, Array]:
    return distinct(level(block.only(left)))


def _numbered(level: Callable[[Block], Array], names: Array, block: Block) -> Array:
    return numbered_by(names, level(block))


def _ends(scores: Array) -> tuple[float, float]:
    return (scores.min(), scores.max()) if len(scores) else (0.0, 0.0)


def _check(strata: int) -> int:
    if not 1 <= strata <= 2**53:
        raise InputError(f"strata must be from 1 to 2**53, got {strata}")
    return strata


def _levels(scores: Array, low: float, high: float, strata: int) -> Array:
    """Number the strata of equal width from 0; the highest score belongs to the last."""
    if low >= high:
        return np.zeros(len(scores), np.int64)
    levels = (scores - low) / (high - low) * strata
    return np.minimum(levels.astype(np.int64), strata - 1)
