r"""Which confidence Beta sampling prefers, and how that moves with the share that is pruned.

.. math:: f(p) = \frac{\Gamma(a + b)}{\Gamma(a) \Gamma(b)} p^{a - 1} (1 - p)^{b - 1}

with a and b as in `dualprune.select.beta`.
"""

from collections.abc import Sequence
from itertools import compress
from math import lgamma
from typing import TYPE_CHECKING

import numpy as np

from dualprune.errors import InputError
from dualprune.report.figures.canvas import REFERENCE, key_beside, ramp, tidy
from dualprune.select.beta import log_density, parameters
from dualprune.signatures import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["beta_densities"]

_POINTS = 500


def beta_densities(
    axes: "Axes",
    mu: float,
    *,
    pruned: float | Sequence[float],
    c_d: float | Sequence[float],
    concentration: float | Sequence[float] = 15.0,
) -> "Axes":
    """Draw one density per setting; what is given as several numbers varies and names the curves.

    References
    ----------
    Appendix C of Cho et al., 2025. arXiv:2502.06905
    """
    given = (pruned, c_d, concentration)
    varies = [np.ndim(value) > 0 for value in given]
    settings = list(np.broadcast(*given))
    confidence = (np.arange(_POINTS) + 0.5) / _POINTS  # not 0 and 1, where it can be infinite
    lines, names = [], []
    for setting, color in zip(settings, ramp()(np.linspace(0, 1, len(settings))), strict=True):
        lines += axes.plot(confidence, _density(confidence, mu, *setting), color=color)
        told = (f"{100 * setting[0]:g} % pruned", f"c_D {setting[1]:g}", f"C {setting[2]:g}")
        names.append(", ".join(compress(told, varies if any(varies) else (1, 1, 1))))
    lines.append(axes.axvline(mu, color=REFERENCE, linestyle=":", linewidth=1))
    axes.set(xlim=(0, 1), ylim=(0, None), xlabel="confidence", ylabel="density")
    tidy(axes)
    key_beside(axes, lines, [*names, f"mu {mu:.3g}"])
    return axes


def _density(
    confidence: Array, mu: float, pruned: float, c_d: float, concentration: float
) -> Array:
    a, b = parameters(mu, pruned, c_d=c_d, concentration=concentration)
    if not b > 0:
        raise InputError(
            f"mu {mu} with the share {pruned} pruned has no density, for all of it is at "
            "confidence 1; both must be below 1"
        )
    density: Array = np.exp(log_density(confidence, a, b) + lgamma(a + b) - lgamma(a) - lgamma(b))
    return density
