r"""Which c_D suits a recording: the one whose choice is about as easy as what is worth keeping.

.. math::

    \bar p_{kept} = m' + \tfrac14 r^2 (1 - m'), \qquad
    m' = \frac{m - d e}{1 - d}, \quad d = \min(r, \tfrac34 R)

where r is the share that is pruned, m the mean confidence of all samples, R the share of those that
the model knew from the beginning (a mean confidence above 0.97) and e their mean confidence. So m'
is the mean confidence once up to three quarters of these, which teach it little, are gone. The less
is kept, the easier it must be. With wrong labels hardly any sample is known from the beginning, and
what is kept is a little easier than all the data: a choice that is much harder loses to a random
one, with two classes or wrong labels by tens of points. Which c_D gives a choice depends on the
data, the model and the share. docs/ease.md has what the rule was made from, its gains and losses.

A sample with weight w is among those drawn with a probability of about 1 - exp(-t w), where t is
such that as many as wanted are expected; this gives the mean confidence of a choice without a draw.
"""

from collections.abc import Callable

import numpy as np

from dualprune.select.keys import EASE, uniform_at
from dualprune.signatures import Array

ENOUGH = 2**14
"""So many samples stand for all."""

SLOPE = 1 / 4
KNOWN = 0.97
"""Above this mean confidence the model knew a sample from the beginning."""
SPARE = 3 / 4
"""So many of those can go first."""
LIMITS = 0.1, 10.0
"""The smallest and the largest c_D that may be found; others were not tried."""
STEPS = 12

_MOST_STEPS, _NEAR = 100, 1e-9
_LARGE = 100.0  # more than any exponent that makes a difference


def sampled(first: int, stop: int, samples: int) -> Array:
    """Give which of the samples from `first` to `stop` stand for all: one of every stretch.

    >>> sampled(0, 3, 3), len(sampled(0, 10**6, 10**6))
    (array([0, 1, 2]), 16384)
    """
    if samples <= ENOUGH:
        return np.arange(first, stop)
    stretches = np.arange(first * ENOUGH // samples, -(-stop * ENOUGH // samples))
    starts, stops = (-(-ends * samples // ENOUGH) for ends in (stretches, stretches + 1))
    places = uniform_at(0, stretches, stream=EASE) * (stops - starts)
    ids: Array = starts + places.astype(np.int64)
    return ids[(ids >= first) & (ids < stop)]


def target(confidence: Array, pruned: float) -> float:
    """Give the mean confidence that a choice should have.

    >>> target(np.array([0.2, 0.8]), 0.9), target(np.array([0.2, 0.8]), 0.0)
    (0.60125, 0.5)

    Three of four samples that were known from the beginning can go first:

    >>> target(np.array([0.2, 0.8, 1.0, 1.0, 1.0, 1.0]), 0.5)
    0.6875
    """
    known = confidence > KNOWN
    gone = min(pruned, SPARE * known.mean())
    of_known = confidence @ known / max(known.sum(), 1)
    rest = (confidence.mean() - gone * of_known) / (1 - gone)
    return float(rest + SLOPE * pruned**2 * (1 - rest))


def expected_confidence(log_weights: Array, confidence: Array, k: float) -> float:
    """Give the mean confidence that k samples drawn with these weights have, about.

    >>> weights, confidence = np.log([1.0, 1.0, 3.0, 3.0]), np.array([0.2, 0.2, 0.6, 0.6])
    >>> round(expected_confidence(weights, confidence, 1), 2)
    0.5
    """
    have = log_weights > -np.inf
    if k >= have.sum():
        return float(confidence[have].mean() if have.any() else confidence.mean())
    log_weights, confidence = log_weights[have], confidence[have]
    chances = -np.expm1(-_times(log_weights, k))
    return float(chances @ confidence / chances.sum())


def _times(log_weights: Array, k: float) -> Array:
    """Give t w with sum(1 - exp(-t w)) = k, by Newton's steps for ln t between two bounds."""
    log_weights = log_weights - log_weights.max()
    count = len(log_weights)
    low = np.log(k / np.exp(log_weights).sum())
    high = np.log(-np.log1p(-k / count)) - log_weights.min()
    at = low
    for _ in range(_MOST_STEPS):
        times: Array = np.exp(np.minimum(at + log_weights, _LARGE))
        left = np.exp(-times)
        missing = k - (count - left.sum())
        if abs(missing) <= _NEAR * k:
            break
        low, high = (at, high) if missing > 0 else (low, at)
        slope = times @ left
        at = at + missing / slope if slope > 0 else high
        if not low < at < high:
            at = (low + high) / 2
    return times


def find_c_d(
    weights_at: Callable[[float], Array], confidence: Array, pruned: float, k: float
) -> float:
    """Give the c_D, with two digits, whose k samples have about the confidence they should have.

    Parameters
    ----------
    weights_at
        Gives the logarithms of the weights with a c_D; the larger, the harder what they prefer.

    Examples
    --------
    Weights that prefer a confidence of 1 / c_D:

    >>> confidence = np.linspace(0, 1, 1000)
    >>> weights_at = lambda c_d: -200 * (confidence - 1 / c_d) ** 2
    >>> round(1 / find_c_d(weights_at, confidence, 0.9, 100), 2), round(target(confidence, 0.9), 2)
    (0.6, 0.6)
    """
    wanted, (easy, hard) = target(confidence, pruned), np.log2(LIMITS)
    for _ in range(STEPS):
        middle = (easy + hard) / 2
        is_easier = expected_confidence(weights_at(2**middle), confidence, k) > wanted
        easy, hard = (middle, hard) if is_easier else (easy, middle)
    return float(f"{2 ** ((easy + hard) / 2):.2g}")
