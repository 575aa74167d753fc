r"""Beta sampling: hard samples when much is kept, easier ones when little is.

.. math::

    b = C (1 - \mu)(1 - r^{c_D}), \quad a = C - b + 1, \qquad
    w_i = s_i \cdot \mathrm{BetaPDF}(\bar p_i; a, b)

where r is the share that is pruned, :math:`\bar p_i` the confidence over the same epochs as the
score, and :math:`\mu` the mean confidence of the ten best samples. The k kept samples are drawn one
after the other without replacement, with probabilities proportional to w. The k smallest of
:math:`\ln(-\ln u_i) - \ln w_i` with uniform u have exactly that law, and logarithms keep tiny
weights from becoming zero. With a larger c_D hard samples are preferred up to a
higher share pruned.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from dualprune.arguments import checked
from dualprune.errors import InputError
from dualprune.select.blocked import Choice, choose_balanced, facts_of, scored_of
from dualprune.select.candidates import Balance, Notes, Unscored, check_budget, choose
from dualprune.select.ease import find_c_d, sampled
from dualprune.select.keys import BETA, TIES, smallest, ties, uniform, uniform_at
from dualprune.select.waves import Block, Order, Waves, counted
from dualprune.signatures import Array

_STRETCH = 2**10
_NO_MU = "beta without scores needs mu, or anchors such as the DUAL scores"


@checked
def beta(
    scores: Array | None,
    confidence: Array,
    labels: Array | None = None,
    anchors: Array | None = None,
    *,
    k: int,
    seed: int,
    c_d: float | None = None,
    concentration: float = 15.0,
    anchor: int = 10,
    mu: float | None = None,
    balance: Balance = "none",
    floor: int | float = 0,
    unscored: Unscored = "error",
    notes: Notes | None = None,
) -> Array:
    """Keep a draw weighted by the score and a Beta density of the confidence that depends on k.

    Parameters
    ----------
    scores, confidence, labels
        Shape (samples,); scores must not be negative, None weighs by the density alone; labels are
        needed only to balance classes.
    anchors
        Scores whose best samples anchor mu, if not `scores`; shape (samples,).
    c_d
        The larger, the higher the share pruned up to which hard samples are preferred. Published
        with ResNets: 5.5 for CIFAR-10, 4 for CIFAR-100, 11 for ImageNet. None finds one from the
        confidences and the share (`dualprune.select.ease`).
    concentration
        C, how narrow the density is.
    anchor
        How many of the best samples mu is the mean confidence of.
    mu
        Where the density starts, instead of the anchor's mean confidence.
    balance
        Let every class keep the same share (proportional) or the same number (uniform).
    floor
        Keep at least this many of every class, or this share (0.5) of what it would have if all
        kept the same share; not together with balance.
    unscored
        What to do with samples whose score is NaN.
    notes
        Receives facts about the choice, for the card and the table of all samples.

    Examples
    --------
    Of two groups with the same score, the easy one is kept when most samples are pruned.

    >>> confidence = np.repeat([0.2, 0.8], 500)
    >>> kept = beta(np.ones(1000), confidence, k=50, seed=0, mu=0.25)
    >>> float(confidence[kept].mean().round(2))
    0.8

    Notes
    -----
    Time O(samples log samples) at most; memory a few numbers per sample.

    The authors' code draws by numpy's `choice`, which has the same law but is not seeded, and which
    fails where too few weights are positive. Here samples of weight zero come last; all of them
    have a score of 0, so ties between them are broken at random. Its a is C - b + 1 as here
    (Appendix C); equation 5 of the paper has C - b. It keeps one sample fewer at 80 and 90 % pruned
    of CIFAR, and takes confidence over 30 epochs whatever the score's. Its README passes a file of
    ids as scores, so that ids become weights. `scores=None` with `mu` is Random + Beta.

    References
    ----------
    Cho et al., 2025. Lightweight Dataset Pruning without Full Training via Example Difficulty and
    Prediction Uncertainty. arXiv:2502.06905
    """
    check_budget(k, scores, confidence, labels, anchors)
    lowest = 0.0 if scores is None else np.fmin.reduce(scores, initial=0.0)
    _check(lowest, c_d, concentration, mu)
    notes = notes or Notes()
    notes.kept, samples = "sampled", len(confidence)
    tie_keys = ties(seed, samples)
    best = scores if anchors is None else anchors
    if mu is None and best is not None:
        mu = anchor_confidence(best, confidence, tie_keys, anchor=anchor)
    if mu is None:
        raise InputError(_NO_MU)
    notes.values["mu"] = mu
    if c_d is None:
        at = sampled(0, samples, samples)
        part = None if scores is None else scores[at], confidence[at]
        c_d = notes.values["c_d"] = _suitable_c_d(*part, mu, k / samples, concentration)
    a, b = parameters(mu, 1 - k / samples, c_d=c_d, concentration=concentration)
    weights = log_weights(scores, confidence, a, b)
    keys = draw_keys(uniform(seed, 0, samples, stream=BETA), weights)
    ids = choose(
        keys,
        k,
        tie_keys,
        labels=labels,
        balance=balance,
        floor=floor,
        unscored=unscored,
        notes=notes,
    )
    if len(filled := ids[weights[ids] == -np.inf]):
        notes.reasons["filled"] = filled
    return ids


@checked
def beta_of_blocks(
    waves: Waves,
    *,
    k: int,
    seed: int,
    c_d: float | None = None,
    concentration: float = 15.0,
    anchor: int = 10,
    mu: float | None = None,
    balance: Balance = "none",
    floor: int | float = 0,
    unscored: Unscored = "error",
) -> Choice:
    """Keep what `beta` keeps, of samples in blocks."""
    best = next(filter(waves.has, ("anchors", "scores")), None)
    anchors = None
    if mu is None and best is not None:
        anchors = partial(_anchors, best, seed, _check_anchor(anchor))
    more = partial(_best_and_sampled, anchors, waves.samples if c_d is None else None)
    names = [*filter(waves.has, ("scores", "confidence", "anchors"))]
    facts = facts_of(waves, names, k, more)
    _check(facts.lowest, c_d, concentration, mu)
    values: dict[str, float] = {}
    mu = values["mu"] = _mu([best for best, _ in facts.more], anchor) if mu is None else mu
    if c_d is None:
        columns = [np.concatenate(part) for part in zip(*(p for _, p in facts.more), strict=True)]
        scores = columns[1] if len(columns) > 1 else None
        kept_share = k / waves.samples
        c_d = values["c_d"] = _suitable_c_d(scores, columns[0], mu, kept_share, concentration)
    a, b = parameters(mu, 1 - k / waves.samples, c_d=c_d, concentration=concentration)
    lacking = waves.everything() if np.isnan(mu) else facts.lacking
    scored = scored_of(waves, lacking, k, unscored)
    order = Order(partial(_keys, seed, a, b), seed, TIES)
    kept = choose_balanced(waves, order, scored.rest, scored.have, balance=balance, floor=floor)
    kept, reasons = scored.with_kept(kept), dict(scored.reasons)
    if facts.lowest == 0 and counted(filled := waves.each(_of_no_weight, kept)):
        reasons["filled"] = filled
    return Choice(kept, "sampled", reasons, values)


def _best_and_sampled(
    anchors: Callable[[Block], tuple[Array, Array, Array]] | None, samples: int | None, block: Block
) -> tuple[tuple[Array, Array, Array] | None, list[Array]]:
    """Give the best samples of a block, and the columns of those that stand for all `samples`."""
    best = None if anchors is None else anchors(block)
    if samples is None:
        return best, []
    at = sampled(block.first, block.first + block.samples, samples) - block.first
    return best, [block[n][at] for n in ("confidence", "scores") if n in block.columns]


def _mu(anchors: list[tuple[Array, Array, Array] | None], anchor: int) -> float:
    """Give what `anchor_confidence` gives, from the best samples of each block."""
    columns = [block for block in anchors if block is not None]
    if not columns:
        raise InputError(_NO_MU)
    return anchor_confidence(*map(np.concatenate, zip(*columns, strict=True)), anchor=anchor)


def _anchors(name: str, seed: int, anchor: int, block: Block) -> tuple[Array, Array, Array]:
    """Give scores, confidence and ties of samples among which the best of a block are."""
    scores = np.where(np.isnan(block["confidence"]), np.nan, block[name])
    at = np.flatnonzero(scores >= _reached(scores, anchor))
    ties = uniform_at(seed, block.first + at, stream=TIES)
    return scores[at], block["confidence"][at], ties


def _reached(scores: Array, count: int) -> float:
    """Give a score that at least `count` samples reach, if so many have one, and few others.

    So many of the highest scores of short stretches reach the lowest of these.

    >>> _reached(np.array([0.1, np.nan, 0.3]), 3)
    -inf
    """
    starts = np.arange(0, len(scores), _STRETCH)
    if not len(starts):
        return -np.inf
    best = np.fmax.reduceat(scores, starts)
    best = best[~np.isnan(best)]
    return float(np.partition(best, -count)[-count]) if count <= len(best) else -np.inf


def _keys(seed: int, a: float, b: float, block: Block) -> Array:
    scores = block["scores"] if "scores" in block.columns else None
    return draw_keys(block.draws(seed, BETA), log_weights(scores, block["confidence"], a, b))


def _of_no_weight(block: Block, kept: Array) -> Array:
    return kept & np.packbits(block["scores"] == 0)


def _suitable_c_d(
    scores: Array | None, confidence: Array, mu: float, kept: float, concentration: float
) -> float:
    """Give the c_D for keeping this share of all, from samples that stand for them."""
    share = kept * len(confidence)
    have = ~np.isnan(confidence if scores is None else scores + confidence)
    scores, confidence = None if scores is None else scores[have], confidence[have]
    if not len(confidence):
        return np.nan

    def weights_at(c_d: float) -> Array:
        a, b = parameters(mu, 1 - kept, c_d=c_d, concentration=concentration)
        return log_weights(scores, confidence, a, b)

    return find_c_d(weights_at, confidence, 1 - kept, share)


def _check(lowest: float, c_d: float | None, concentration: float, mu: float | None) -> None:
    if lowest < 0:
        raise InputError(
            f"beta needs scores that are not negative, the lowest is {lowest:g}; "
            "choose another score or shift this one"
        )
    if not ((c_d is None or c_d > 0) and concentration > 0):
        raise InputError(f"c_d and concentration must be positive, got {c_d} and {concentration}")
    if mu is not None and not 0 <= mu <= 1:
        raise InputError(f"mu is a confidence, from 0 to 1; got {mu}")


def anchor_confidence(scores: Array, confidence: Array, ties: Array, *, anchor: int = 10) -> float:
    """Mean confidence of the `anchor` best samples that have one, fewer if there are fewer.

    >>> scores, confidence = np.array([0.3, 0.1, 0.2]), np.array([0.2, 0.9, 0.4])
    >>> round(anchor_confidence(scores, confidence, ties(0, 3), anchor=2), 3)
    0.3
    """
    scores = np.where(np.isnan(confidence), np.nan, scores)
    have = len(scores) - int(np.isnan(scores).sum())
    best = smallest(-scores, min(_check_anchor(anchor), have), ties)
    return float(confidence[best].mean()) if have else float("nan")


def _check_anchor(anchor: int) -> int:
    if anchor < 1:
        raise InputError(f"anchor must be at least 1 sample, got {anchor}")
    return anchor


def parameters(
    mu: float, pruned: float, *, c_d: float, concentration: float
) -> tuple[float, float]:
    """Give a and b of the Beta density when the share `pruned` is removed.

    >>> a, b = parameters(0.325, 0.9, c_d=4, concentration=15)
    >>> round(a, 7), round(b, 7)
    (12.5180125, 3.4819875)
    """
    b = concentration * (1 - mu) * (1 - pruned**c_d)
    return concentration - b + 1, b


def log_weights(scores: Array | None, confidence: Array, a: float, b: float) -> Array:
    """Logarithm of score times Beta density, up to a constant; without scores of the density alone.

    A score of 0 has the weight 0, minus infinity here; one that is NaN has none.

    >>> log_weights(np.array([1.0, 2.0, 0.0]), np.full(3, 0.5), 3.0, 2.0).round(3).tolist()
    [-2.079, -1.386, -inf]
    """
    density = log_density(confidence, a, b)
    if scores is None:
        return density
    with np.errstate(divide="ignore"):
        density += np.log(scores)
    return density


def draw_keys(draws: Array, log_weights: Array) -> Array:
    """Keys ln(-ln u) - ln w, whose k smallest are drawn without replacement in proportion to w.

    >>> draw_keys(np.array([0.5, 0.5, 0.5]), np.log([1.0, 2.0, 4.0])).round(3).tolist()
    [-0.367, -1.06, -1.753]
    """
    keys: Array = np.log(draws)
    np.log(np.negative(keys, out=keys), out=keys)
    keys -= log_weights
    return keys


def log_density(confidence: Array, a: float, b: float) -> Array:
    """Logarithm of the Beta density, up to a constant; finite also at confidence 0 and 1.

    >>> log_density(np.array([0.0, 0.5, 1.0]), 3.0, 2.0).round(3).tolist()
    [-55.262, -2.079, -27.631]
    """
    p = np.clip(np.asarray(confidence, np.float64), 1e-12, 1 - 1e-12)
    density: Array = np.log(p)
    density *= a - 1
    np.log1p(np.negative(p, out=p), out=p)
    p *= b - 1
    density += p
    return density
