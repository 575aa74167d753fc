r"""How many labels are wrong, from the mean margins alone.

.. math:: f(m) = (1 - \pi) \, g(m) + \pi \, h(m)

`g` is the density of the right labels, `h` that of the wrong ones, a normal distribution. What
makes `h` a group of wrong labels, and not the hard half of the right ones, are its limits:

- it is about as wide as `g` to the left, so that one group at one place is never two;
- it stands apart: two widths below `g` (Ashman's D) or farther;
- it mirrors `g`: a model that prefers right labels by a margin prefers another class to wrong ones
  by about as much. Its mean is below zero by half the mean of `g` or more.

`g` is fitted in three shapes: as a normal distribution, as one with two widths, left and right of
its mode, and as Student's t, whose tails are heavy. The estimate is the mean of the three, the
interval holds their likelihood intervals: the shape that the right labels really have is not known,
and often matters more than chance. Where the shapes differ too much, nothing can be told.
"""

import numpy as np
from scipy.optimize import OptimizeResult, brentq, minimize
from scipy.special import expit, gammaln, logit

from dualprune.coreset import WrongLabels
from dualprune.signatures import Array

_FEW = 10  # samples of which nothing can be told
_CLEAN = 0.01  # of the samples: if not even so many may be wrong, none look wrong
_VAGUE = 5  # times the lower end: an interval with a higher upper end tells nothing
_BINS, _BELOW, _ABOVE = 128, 10.0, 4.0  # of the histogram, and how many spreads it reaches
_APART, _MIRRORED, _ALIKE = 2.0, 0.5, 0.15
_STARTS, _NONE, _MOST = (0.02, 0.1, 0.3), logit(1e-6), logit(0.6)
_LIKELY = 3.84 / 2  # how much log likelihood 95 % of the chi-squared distribution allow to lose


def count_wrong(margin: Array) -> WrongLabels:
    """Estimate how many labels are wrong from their mean margins, shape (samples,).

    >>> margin = np.concatenate([np.linspace(-5, -3, 20), np.linspace(2, 5, 80)])
    >>> count_wrong(margin).estimate, count_wrong(margin[20:]).estimate
    (20, 0)
    """
    known = margin[~np.isnan(margin)]
    if len(known) and known.min() >= 0:
        return WrongLabels(0, 0, 0)
    low, middle, high = np.quantile(known, [0.16, 0.5, 0.84]) if len(known) else np.zeros(3)
    spread = (high - low) / 2
    if len(known) < _FEW or spread == 0:
        return WrongLabels(None, 0, len(known))
    near = np.clip(known / spread - middle / spread, -_BELOW, _ABOVE) + middle / spread
    counts, edges = np.histogram(near, _BINS)
    at = (edges[1:] + edges[:-1]) / 2
    fits = [_Shape(counts, at, shape).interval() for shape in ("normal", "skewed", "heavy")]
    wrong, least, most = np.array(fits).T
    estimate, interval = round(wrong.mean()), (int(least.min()), int(np.ceil(most.max())))
    if interval[0] == 0 and interval[1] <= _CLEAN * len(known):
        return WrongLabels(0, *interval)
    return WrongLabels(estimate if interval[1] <= _VAGUE * interval[0] else None, *interval)


class _Shape:
    """The fit of one shape of `g` to a histogram.

    The parameters are: mode and log left width of `g`, log of right by left width, how far beyond
    its limits `h` lies (log), log of its width by the left one of `g`, log degrees of freedom of
    Student's t, logit of the wrong share.
    """

    def __init__(self, counts: Array, at: Array, shape: str) -> None:
        self.counts, self.at, self.heavy = counts, at, shape == "heavy"
        skew, tail = (-2, 2) if shape == "skewed" else (0, 0), (1, 5) if self.heavy else (3, 3)
        self.bounds = [(None, None), (-5, 5), skew, (-6, 3), (-1, 1), tail]
        middle = at[np.searchsorted(counts.cumsum(), counts.sum() / 2)]
        starts = (np.array([middle, 0, 0, -2, 0, 3, logit(share)]) for share in _STARTS)
        self.best = min((self._fit(start) for start in starts), key=lambda fit: float(fit.fun))

    def interval(self) -> tuple[float, float, float]:
        """Give the number of wrong labels and its likelihood interval."""
        share = self.best.x[-1]
        least, most = (self._end(share, limit) for limit in (_NONE, _MOST))
        wrong = self._count(self.best.x)[0]
        count, error = self._count(self._fit(self.best.x, most).x)
        high = max(wrong, count + 2 * error)
        if least == _NONE:
            return wrong, 0, high
        count, error = self._count(self._fit(self.best.x, least).x)
        return wrong, max(1, min(wrong, count - 2 * error)), high

    def _end(self, share: float, limit: float) -> float:
        """Give the wrong share between the best and a limit that is just likely enough."""

        def lost(value: float) -> float:
            return float(self._fit(self.best.x, value).fun - self.best.fun) - _LIKELY

        return limit if lost(limit) <= 0 else float(brentq(lost, share, limit, xtol=0.05))

    def _fit(self, start: Array, share: float | None = None) -> OptimizeResult:
        shares = (_NONE, _MOST) if share is None else (share, share)
        start = np.append(start[:-1], np.clip(start[-1], *shares))
        return minimize(self._loss, start, method="L-BFGS-B", bounds=[*self.bounds, shares])

    def _loss(self, parameters: Array) -> float:
        right, wrong = self._log_densities(parameters)
        unlike = (parameters[4] / _ALIKE) ** 2 / 2
        return float(unlike - self.counts @ np.logaddexp(right, wrong))

    def _count(self, parameters: Array) -> tuple[float, float]:
        """Give how many are wrong, and the deviation of that number."""
        right, wrong = self._log_densities(parameters)
        share = expit(wrong - right)
        return self.counts @ share, np.sqrt(self.counts @ (share * (1 - share)))

    def _log_densities(self, parameters: Array) -> tuple[Array, Array]:
        """Give log (1 - pi) g and log pi h, without their common constant."""
        mode, left, skew, beyond, alike, tail, share = parameters
        below, above, width = np.exp([left, left + skew, left + alike])
        mean = mode + (above - below) * np.sqrt(2 / np.pi)
        variance = (1 - 2 / np.pi) * (above - below) ** 2 + above * below
        apart = mean - _APART * np.sqrt((variance + width**2) / 2)
        lower = min(apart, -_MIRRORED * mean) - np.exp(beyond)
        side = np.where(self.at < mode, below, above)
        away = ((self.at - mode) / side) ** 2
        if self.heavy:  # Student's t
            freedom = np.exp(tail)
            rest = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - np.log(freedom / 2) / 2
            away = (freedom + 1) * np.log1p(away / freedom) - 2 * rest
        right = np.log(2 / (below + above)) - away / 2
        wrong = -np.log(width) - ((self.at - lower) / width) ** 2 / 2
        return right + np.log(expit(-share)), wrong + np.log(expit(share))
