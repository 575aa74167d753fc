"""What methods gain over random, as a coloured table."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dualprune.report.figures.canvas import diverging, percent, plain
from dualprune.report.figures.seeds import mean_and_deviation, with_gaps
from dualprune.signatures import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FULL_COLOR = 0.03  # three points are a large gain; a loss of thirty must not hide it


def gain_map(axes: "Axes", pruned: Array, gains: Mapping[str, Array]) -> "Axes":
    """Write into each field how much a method gains over random, in points of accuracy.

    Gains are differences of accuracies, of shape (shares, seeds), NaN where one is missing. A field
    holds their mean and deviation over seeds.
    """
    order = np.argsort(pruned, kind="stable")
    fields = np.stack([by_seed[order] for by_seed in gains.values()])
    mean, deviation = mean_and_deviation(fields)
    axes.imshow(mean, cmap=diverging(), vmin=-_FULL_COLOR, vmax=_FULL_COLOR, aspect="auto")
    for row, column in np.argwhere(np.isfinite(mean)):
        text = _points(mean[row, column], deviation[row, column])
        axes.text(column, row, text, ha="center", va="center", fontsize="small")
    axes.set_yticks(range(len(gains)), [plain(with_gaps(*entry)) for entry in gains.items()])
    axes.set_xticks(range(len(order)), [percent(share) for share in pruned[order]])
    axes.set_xlabel("share pruned (%)")
    axes.set_title("points of accuracy over random", loc="right")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return axes


def _points(mean: float, deviation: float) -> str:
    """Write a difference of shares in percent.

    >>> _points(0.0204, 0.003), _points(-0.369, np.nan), _points(-0.0001, np.nan)
    ('+2.0 ± 0.3', '-36.9', '+0.0')
    """
    spread = "" if np.isnan(deviation) else f" ± {100 * deviation:.1f}"
    return f"{round(100 * mean, 1) + 0.0:+.1f}{spread}"  # no minus before zero
