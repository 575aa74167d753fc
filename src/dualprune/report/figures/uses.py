"""How often a training used each sample."""

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from dualprune.report.figures.canvas import COLORS, legend_beside, percent, tidy
from dualprune.signatures import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def use_curves(axes: "Axes", uses: Mapping[str, Array]) -> "Axes":
    """Draw how often each sample was used, the most used at the left; 1 is the mean.

    `uses` holds for each method how often every sample was used, or evenly spaced quantiles of it.

    References
    ----------
    The comparison with dynamic pruning of Cho et al., 2025. arXiv:2502.06905
    """
    lines = []
    for counts, color in zip(uses.values(), cycle(COLORS), strict=False):
        relative = np.sort(counts)[::-1] / counts.mean()
        lines += axes.plot(np.linspace(0, 1, len(relative)), relative, color=color)
    axes.set(xlabel="samples, the most used first (%)", ylabel="times used / mean")
    axes.xaxis.set_major_formatter(percent)
    legend_beside(axes, lines, uses)
    tidy(axes)
    return axes
