"""One bar per method: its cost in time, and how well its scores agree between seeds.

Each method has an array with a number per seed, or per pair of seeds; a missing number is NaN.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dualprune.report.figures.canvas import BLUE, ORANGE, percent, plain, tidy
from dualprune.report.figures.seeds import mean_and_deviation, with_gaps
from dualprune.signatures import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_THICK = 0.6


def time_bars(
    axes: "Axes",
    recording: Mapping[str, Array],
    training: Mapping[str, Array],
    *,
    full: float,
    unit: str = "time",
) -> "Axes":
    """Stack the time of recording and of training, as shares of `full`, that of all the data.

    `unit` names what is counted, if it is not time.

    References
    ----------
    Figure 4 of Cho et al., 2025. arXiv:2502.06905
    """
    recorded, trained = (
        np.array([mean_and_deviation(times[name])[0] / full for name in training])
        for times in (recording, training)
    )
    rows, total = np.arange(len(training)), recorded + trained
    first = axes.barh(rows, recorded, _THICK, color=ORANGE)
    second = axes.barh(rows, trained, _THICK, left=recorded, color=BLUE)
    axes.bar_label(second, [f"{100 * share:.0f} %" for share in total], padding=4)
    whole = axes.axvline(1, color="black", linestyle="--", linewidth=1)
    axes.set_xlim(0, 1.15 * np.nanmax([1, *total]))
    axes.set_xlabel(f"{unit} (% of training on all the data)")
    axes.xaxis.set_major_formatter(percent)
    _name_rows(axes, {name: recording[name] + training[name] for name in training})
    _legend_above(axes, [first, second, whole], ["recording", "training", "all the data"])
    return axes


def rank_correlation_bars(axes: "Axes", correlations: Mapping[str, Array]) -> "Axes":
    """Draw how each seed's scores correlate with their mean over seeds: mean and deviation.

    References
    ----------
    Appendix B of Cho et al., 2025. arXiv:2502.06905
    """
    mean, deviation = np.array([mean_and_deviation(row) for row in correlations.values()]).T
    axes.barh(np.arange(len(mean)), mean, _THICK, xerr=deviation, color=BLUE, ecolor="black")
    axes.axvline(0, color="black", linewidth=0.8)
    low = np.nanmin([0, *(mean - np.nan_to_num(deviation))])
    axes.set(xlim=(1.05 * low, 1.02), xlabel="rank correlation with the mean")
    _name_rows(axes, correlations)
    return axes


def _name_rows(axes: "Axes", values: Mapping[str, Array]) -> None:
    names = [plain(with_gaps(*entry)) for entry in values.items()]
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(names) - 0.5, -0.5)  # the first one at the top
    tidy(axes)


def _legend_above(axes: "Axes", handles: list[Any], names: list[str]) -> None:
    axes.legend(
        handles,
        names,
        loc="lower right",  # so that it reaches over the names of the rows, where there is room
        bbox_to_anchor=(1, 1),
        ncols=len(names),
        columnspacing=1.0,
        handlelength=1.5,
        frameon=False,
    )
