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
from dualprune.report.figures.canvas import REFERENCE, legend_beside, ramp, tidy
from dualprune.select.beta import log_density, parameters
from dualprune.signatures import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 500


def beta_densities(
    axes: "Axes",
    mu: float,
    *,
    pruned: float | Sequence[float],
    c_d: float | Sequence[float],
    concentration: float | Sequence[float] = 15.0,
) -> "Axes":
    """Draw one density per setting; knobs with several values vary and name the curves.

    References
    ----------
    Appendix C of Cho et al., 2025. arXiv:2502.06905
    """
    knobs = (pruned, c_d, concentration)
    varies = [np.ndim(value) > 0 for value in knobs]
    settings = list(np.broadcast(*knobs))
    # without 0 and 1, where the density can be infinite
    confidence = (np.arange(_POINTS) + 0.5) / _POINTS
    lines, names = [], []
    for setting, color in zip(settings, ramp()(np.linspace(0, 1, len(settings))), strict=True):
        lines += axes.plot(confidence, _density(confidence, mu, *setting), color=color)
        parts = (f"{100 * setting[0]:g} % pruned", f"c_D {setting[1]:g}", f"C {setting[2]:g}")
        names.append(", ".join(compress(parts, varies if any(varies) else (1, 1, 1))))
    lines.append(axes.axvline(mu, color=REFERENCE, linestyle=":", linewidth=1))
    axes.set(xlim=(0, 1), ylim=(0, None), xlabel="confidence", ylabel="density")
    tidy(axes)
    legend_beside(axes, lines, [*names, f"mu {mu:.3g}"])
    return axes


def _density(
    confidence: Array, mu: float, pruned: float, c_d: float, concentration: float
) -> Array:
    a, b = parameters(mu, pruned, c_d=c_d, concentration=concentration)
    if not b > 0:
        raise InputError(
            f"mu {mu} with the share {pruned} pruned has no density: all its mass is at "
            "confidence 1; both must be below 1"
        )
    density: Array = np.exp(log_density(confidence, a, b) + lgamma(a + b) - lgamma(a) - lgamma(b))
    return density
