"""Signals that are computed from recorded ones when read, in float64."""

from collections.abc import Callable

import numpy as np

from dualprune.run.exponential import exp_minus
from dualprune.signatures import Array


def target_prob(loss: Array) -> Array:
    """Probability of the label.

    >>> target_prob(np.log([2.0, 4.0], dtype=np.float32)).round(3).tolist()
    [0.5, 0.25]
    """
    return exp_minus(loss)


def correct(margin: Array) -> Array:
    """1 where the label has the highest logit, 0 where another class has, NaN where missing."""
    return np.where(np.isnan(margin), np.nan, margin > 0)


def prediction(label: Array, margin: Array, rival: Array) -> Array:
    """Class with the highest logit, -1 where missing."""
    return np.where(margin > 0, label, rival)


def prob_margin(loss: Array, margin: Array) -> Array:
    """Probability of the label minus that of the best other class.

    >>> prob_margin(np.log([2.0]), np.log([2.0])).round(3).tolist()
    [0.25]
    """
    margin = np.asarray(margin, np.float64)
    larger = exp_minus(np.maximum(loss + np.minimum(margin, 0), 0))
    difference: Array = np.copysign(larger * -np.expm1(-np.abs(margin)), margin)
    return difference


def grand_norm(error_norm: Array, feature_norm: Array) -> Array:
    """Length of the loss's gradient in the last layer's weights and biases, in closed form.

    That gradient is the outer product of p - onehot(label) and the features, and the former alone.

    >>> grand_norm(np.array([0.5]), np.array([3.0])).round(3).tolist()
    [1.581]
    """
    return np.multiply(error_norm, np.hypot(1.0, feature_norm), dtype=np.float64)


_FUNCTIONS = (target_prob, correct, prediction, prob_margin, grand_norm)
DERIVED: dict[str, Callable[..., Array]] = {fn.__name__: fn for fn in _FUNCTIONS}
"""Each reads the columns that its parameters are named after."""
