r"""The paper's theorem on two points and a linear model: which score changes its mind first.

The model :math:`y^{(i)} = \langle w, x_i \rangle` learns two points, both of label +1, from
:math:`w_0 = 0` on, by gradient descent on the exponential loss:

.. math:: w_{t+1} = w_t + \eta \, (e^{-y_t^{(1)}} x_1 + e^{-y_t^{(2)}} x_2)

Assumed is :math:`\|x_2\| > 1`, :math:`4 \|x_1\|^2 < 2 \langle x_1, x_2 \rangle < \|x_2\|^2` and
:math:`\langle x_1, x_2 \rangle < \|x_1\| \|x_2\|`. Then :math:`x_1` alone decides where the
boundary ends and is the point to keep, but :math:`x_2` has the higher scores at first.

With the deviation S and the mean :math:`\mu` of :math:`\sigma(y)` at the J times from t on,
:math:`T_v` is the first t with :math:`S^{(1)} > S^{(2)}` (Dyn-Unc turns to :math:`x_1`) and
:math:`T_{vm}` the first with :math:`S^{(1)} (1 - \mu^{(1)}) > S^{(2)} (1 - \mu^{(2)})` (DUAL does).
**The theorem: if** :math:`\eta` **is small enough,** :math:`T_{vm} < T_v`. The paper's main text
has the deviation, its appendix the variance :math:`S^2`, which leaves :math:`T_v` as it is and
can only delay :math:`T_{vm}`. A time is a number of updates; 0 is the untrained model.

Small enough depends on J, which the theorem does not say: a long window that starts at the
untrained model may hold the turns of both scores, and then both times are 0. With J = 100 that
happens near the limit of the proof (from half of it on), with J up to 20 nowhere below it.

Probabilities near 1 are not subtracted from each other anywhere: every difference is made from
the update itself, so that large learning rates can be looked at, too.

References
----------
Appendix D of Cho et al., 2025. arXiv:2502.06905
"""

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import expit

from dualprune.errors import InputError
from dualprune.signatures import Array

POINTS: Array = np.array([[0.1, 0.1], [10.0, 5.0]])
WINDOW = 10


class Path(NamedTuple):
    """How the model learned: what it was at each time, and what each update added."""

    weights: Array
    """Shape (updates + 1, dimensions)."""
    outputs: Array
    """y of both points, shape (updates + 1, 2)."""
    moves: Array
    """What each update adds to them, shape (updates, 2)."""


class Flips(NamedTuple):
    """When the scores first prefer the first point; None if not within the path."""

    v: int | None
    vm: int | None
    vm_variance: int | None


class Moon(NamedTuple):
    """Both points over all times so far, each of shape (updates + 1, 2)."""

    mean: Array
    deviation: Array
    dyn_unc: Array
    dual: Array


def learn(points: Array, eta: float, updates: int) -> Path:
    """Train on both points, all of them in every update.

    >>> learn(POINTS, eta=0.01, updates=1).outputs[1]
    array([0.0152, 1.265 ])
    """
    if points.ndim != 2 or len(points) != 2:
        raise InputError(f"points must have shape (2, dimensions), got {points.shape}")
    if not eta > 0 or updates < 1:
        raise InputError(f"eta must be above 0 and updates 1 or more, got {eta} and {updates}")
    weights = np.zeros((updates + 1, points.shape[1]))
    for t in range(updates):
        weights[t + 1] = weights[t] + eta * np.exp(-points @ weights[t]) @ points
    outputs = weights @ points.T
    return Path(weights, outputs, eta * np.exp(-outputs[:-1]) @ (points @ points.T))


def sigmoid_rise(z: Array, step: Array) -> Array:
    r"""Give :math:`\sigma(z + h) - \sigma(z) = \sigma(z + h) \, \sigma(-z) \, (1 - e^{-h})`.

    Nothing cancels there, however small the step h and however large z.

    >>> sigmoid_rise(np.array(50.0), np.array(1e-9))
    array(1.928749e-31)
    """
    low, high = z + np.minimum(step, 0), z + np.maximum(step, 0)
    rise = expit(high) * expit(-low) * -np.expm1(-np.abs(step))
    return np.asarray(np.copysign(rise, step))


def window_scores(path: Path, window: int = WINDOW) -> tuple[Array, Array]:
    """Give S and 1 - mu of both points, for the window that starts at each time.

    Both have shape (updates + 2 - window, 2); S has the denominator window - 1.
    """
    if not 2 <= window <= len(path.outputs):
        raise InputError(f"window must be from 2 to {len(path.outputs)} times, got {window}")
    rises = sliding_window_view(_rises(path), window - 1, axis=0)
    since_start = np.pad(np.cumsum(rises, axis=-1), ((0, 0), (0, 0), (1, 0)))
    doubts = sliding_window_view(expit(-path.outputs), window, axis=0)
    return since_start.std(axis=-1, ddof=1), doubts.mean(axis=-1)


def first_flip(scores: Array) -> int | None:
    """Give the first time at which the first point's score is the higher one.

    >>> first_flip(np.array([[1, 2], [2, 2], [3, 2]])), first_flip(np.array([[1, 2]]))
    (2, None)
    """
    times = np.flatnonzero(scores[:, 0] > scores[:, 1])
    return int(times[0]) if len(times) else None


def flips(path: Path, window: int = WINDOW) -> Flips:
    """Find T_v, and T_vm with the deviation and with the variance.

    >>> flips(learn(POINTS, eta=0.01, updates=200))
    Flips(v=98, vm=11, vm_variance=29)
    """
    deviation, doubt = window_scores(path, window)
    return Flips(
        first_flip(deviation), first_flip(deviation * doubt), first_flip(deviation**2 * doubt)
    )


def log_gamma_v(path: Path) -> Array:
    r"""Give the logarithm of :math:`\gamma_V(t)`, shape (updates,).

    .. math:: \gamma_V(t) = \frac{\sigma(y_{t+1}^{(1)}) - \sigma(y_t^{(1)})}
        {\sigma(y_{t+1}^{(2)}) - \sigma(y_t^{(2)})}
    """
    before, after = path.outputs[:-1], path.outputs[:-1] + path.moves
    log_rise = np.log(-np.expm1(-path.moves)) - np.logaddexp(0, -after) - np.logaddexp(0, before)
    return np.asarray(log_rise[:, 0] - log_rise[:, 1])


def mean_points(path: Path) -> tuple[Array, Array]:
    r"""Give :math:`\zeta` of the mean value theorem, and its distance from the interval's middle.

    .. math:: \sigma'(\zeta_t) (y_{t+1} - y_t) = \sigma(y_{t+1}) - \sigma(y_t)

    Both have shape (updates, 2); the distance is signed. With the middle m and half of the interval
    u the equation is :math:`1 + \cosh \zeta = (\cosh m + \cosh u) \, u / \sinh u`, which is a
    quadratic one in :math:`e^{\zeta - m} - 1`.
    """
    half = path.moves / 2
    middle = path.outputs[:-1] + half
    tail, lack = np.exp(-middle), _over_sinh_minus_1(half)
    free = lack * (1 + tail**2 + 2 * np.cosh(half) * tail) + 4 * np.sinh(half / 2) ** 2 * tail
    linear = -np.expm1(-2 * middle) - free
    distance = np.log1p(2 * free / (linear + np.sqrt(linear**2 + 4 * free)))
    return middle + distance, distance


def moon_path(path: Path, window: int = WINDOW) -> Moon:
    """Give where each point is in the moon plot at each time, and its scores until then.

    Mean and deviation (denominator: the number of times) are those of all probabilities so far, the
    scores the means over all windows so far; NaN before the first window has ended.
    """
    climb = np.pad(np.cumsum(_rises(path), axis=0), ((1, 0), (0, 0)))
    times = np.arange(1, len(climb) + 1)[:, None]
    mean = np.cumsum(climb, axis=0) / times
    variance = np.cumsum(climb**2, axis=0) / times - mean**2
    deviation, doubt = window_scores(path, window)
    dyn_unc, dual = (
        np.pad(
            np.cumsum(scores, axis=0) / times[: len(scores)],
            ((window - 1, 0), (0, 0)),
            constant_values=np.nan,
        )
        for scores in (deviation, deviation * doubt)
    )
    return Moon(0.5 + mean, np.sqrt(np.maximum(variance, 0)), dyn_unc, dual)


def _rises(path: Path) -> Array:
    return sigmoid_rise(path.outputs[:-1], path.moves)


def _over_sinh_minus_1(u: Array) -> Array:
    """Give u / sinh(u) - 1, by its series where the subtraction would lose digits."""
    square = u**2
    series = square * (-1 / 6 + square * (7 / 360 + square * (-31 / 15120 + square * 127 / 604800)))
    return np.asarray(np.where(u < 0.1, series, u / np.sinh(u) - 1))
