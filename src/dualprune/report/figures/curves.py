"""A curve per method: its results against the share pruned, and how it uses the samples.

Results are drawn as mean and deviation over seeds: each method has an array of shape
(shares, seeds), where a missing number is NaN.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from dualprune.report.figures.canvas import COLORS, REFERENCE, legend_beside, percent, ramp, tidy
from dualprune.report.figures.seeds import mean_and_deviation, with_gaps
from dualprune.signatures import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_MARKERS = "osD^vPX"  # not as many as colours, so that a repeated colour has another marker
_FAR = 0.1  # what is at most this far below the median of the methods is always shown


def accuracy_curves(
    axes: "Axes", pruned: Array, accuracy: Mapping[str, Array], *, full: float | None = None
) -> "Axes":
    """Draw accuracy against the share pruned, a colour per method; `full` is without pruning."""
    lines = _curves(axes, pruned, accuracy, cycle(COLORS))
    return _label_accuracy(axes, "share pruned (%)", lines, accuracy, full)


def accuracy_by_time(
    axes: "Axes",
    pruned: Array,
    accuracy: Mapping[str, Array],
    time: Mapping[str, Array],
    *,
    full: float | None = None,
    unit: str = "total time",
    to_beat: Collection[str] = (),
) -> "Axes":
    """Draw accuracy against the share pruned, coloured by the mean time that a method takes.

    `time` is that of recording and training, as a share of training on all the data; `unit`
    names what is counted, if it is not time. Methods `to_beat` are black and dashed: they train
    as long as the others at every share and record nothing.

    References
    ----------
    Figure 1 of Cho et al., 2025. arXiv:2502.06905
    """
    from matplotlib.cm import ScalarMappable  # noqa: PLC0415 - optional
    from matplotlib.ticker import FuncFormatter  # noqa: PLC0415

    means = np.array(
        [
            np.nan if method in to_beat else mean_and_deviation(np.ravel(time[method]))[0]
            for method in accuracy
        ]
    )
    scale = ScalarMappable(cmap=ramp())
    scale.set_array(means[np.isfinite(means)])
    scale.autoscale()
    colors = [scale.to_rgba(mean) if np.isfinite(mean) else REFERENCE for mean in means]
    lines = _curves(axes, pruned, accuracy, colors)
    for line, method in zip(lines, accuracy, strict=True):
        if method in to_beat:
            line.set(color="black", linestyle="--", zorder=3)
    _label_accuracy(axes, "share pruned (%)", lines, accuracy, full)
    axes.figure.colorbar(
        scale,
        ax=axes,
        location="bottom",
        label=f"{unit}\n(% of training on all the data)",
        format=FuncFormatter(percent),
        aspect=40,
    )
    return axes


def accuracy_by_images(
    axes: "Axes",
    images: Mapping[str, Array],
    accuracy: Mapping[str, Array],
    *,
    full: float | None = None,
) -> "Axes":
    """Draw accuracy against the images trained on, as a share of training on all the data.

    This compares dynamic pruning methods, which have no single share pruned.

    References
    ----------
    The comparison with dynamic pruning of Cho et al., 2025. arXiv:2502.06905
    """
    lines = []
    for method, color, marker in zip(accuracy, cycle(COLORS), cycle(_MARKERS), strict=False):
        trained_on, _ = mean_and_deviation(images[method])
        mean, deviation = mean_and_deviation(accuracy[method])
        order = np.argsort(trained_on, kind="stable")
        lines += axes.plot(trained_on[order], mean[order], color=color, marker=marker, markersize=5)
        axes.vlines(trained_on, mean - deviation, mean + deviation, color=color, alpha=0.5)
    label = "images trained on\n(% of training on all the data)"
    return _label_accuracy(axes, label, lines, accuracy, full)


def removed_curves(
    axes: "Axes",
    pruned: Array,
    removed: Mapping[str, Array],
    *,
    wrong: float,
    what: str = "wrong labels",
) -> "Axes":
    """Draw the share of wrong samples that is removed, beside a perfect and a random choice.

    `wrong` is their share among all samples: pruning just these would be perfect.

    References
    ----------
    Figure 5 of Cho et al., 2025. arXiv:2502.06905
    """
    lines = _curves(axes, pruned, removed, cycle(COLORS))
    lines += axes.plot(
        [0, wrong, 1], [0, 1, 1], color=REFERENCE, linestyle="--", linewidth=1, zorder=1
    )
    lines += axes.plot([0, 1], [0, 1], color=REFERENCE, linestyle=":", linewidth=1, zorder=1)
    axes.set(xlim=(0, 1), ylim=(-0.02, 1.02))
    axes.set(xlabel="share pruned (%)", ylabel=f"{what} removed (%)")
    _in_percent(axes)
    names = [with_gaps(method, values) for method, values in removed.items()]
    legend_beside(axes, lines, [*names, "perfect", "expected at random"])
    return axes


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


def _label_accuracy(
    axes: "Axes",
    across: str,
    lines: "list[Line2D]",
    accuracy: Mapping[str, Array],
    full: float | None,
) -> "Axes":
    names = [with_gaps(method, values) for method, values in accuracy.items()]
    if full is not None:
        lines.append(axes.axhline(full, color=REFERENCE, linestyle="--", linewidth=1, zorder=1))
        names.append("all the data")
    end, best = _lowest_shown(accuracy), axes.dataLim.y1
    for number, values in enumerate(accuracy.values()):
        mean, _ = mean_and_deviation(values)
        if (mean < end).any():
            names[number] += f"\ndown to {100 * np.nanmin(mean):.1f}"
            axes.set_ylim(end, best + (best - end) / 20)
    legend_beside(axes, lines, names)
    axes.set(xlabel=across, ylabel="accuracy (%)")
    _in_percent(axes)
    return axes


def _lowest_shown(accuracy: Mapping[str, Array]) -> float:
    """Give where the axis ends, if a method falls so far that it would press the others together.

    This is as far below the lowest median of the methods at a share as the best mean lies above it,
    and at least ten points.
    """
    means = np.stack([mean_and_deviation(values)[0] for values in accuracy.values()])
    known = means[:, np.isfinite(means).any(0)]
    if not known.size:
        return -np.inf
    middle = np.nanmedian(known, 0).min()
    return float(middle - max(np.nanmax(known) - middle, _FAR))


def _curves(
    axes: "Axes", shares: Array, values: Mapping[str, Array], colors: Iterable[Any]
) -> "list[Line2D]":
    """Draw a line per method with a band of the deviation; a bar if there is just one share."""
    order, lines = np.argsort(shares, kind="stable"), []
    for by_seed, color, marker in zip(values.values(), colors, cycle(_MARKERS), strict=False):
        mean, deviation = mean_and_deviation(by_seed[order])
        x, low, high = shares[order], mean - deviation, mean + deviation
        lines += axes.plot(x, mean, color=color, marker=marker, markersize=5)
        if len(x) == 1:
            axes.vlines(x, low, high, color=color, alpha=0.5)
        else:
            axes.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)
    return lines


def _in_percent(axes: "Axes") -> None:
    axes.xaxis.set_major_formatter(percent)
    axes.yaxis.set_major_formatter(percent)
    tidy(axes)
