"""The moon plot: the confidence in each label against its variability over epochs.

Easy samples lie at the top left, samples that were never learned or are mislabelled at the bottom
left, and uncertain ones at the right end of the moon.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dualprune.files import write
from dualprune.report.figures.canvas import GREY, figure, plain, ramp, render, tidy
from dualprune.signatures import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

_POINTS = 20_000  # more cannot be told apart
_RED = "#d1495b"


def moon(axes: "Axes", variability: Array, confidence: Array, color: Array, title: str) -> "Axes":
    """Scatter samples; `color` is a number per sample, or a mask of those to mark."""
    if color.dtype == bool:
        mark(axes, variability, confidence, color, _RED)
    else:
        points = paint(axes, variability, confidence, color)
        axes.figure.colorbar(points, ax=axes, fraction=0.05)
    axes.set_title(plain(title))
    return axes


def draw_moons(
    path: Path, variability: Array, confidence: Array, panels: Mapping[str, Array]
) -> None:
    """Write a PNG with one moon plot per panel, each coloured by its own values."""
    canvas = figure(5 * len(panels), 4.2)
    axes = canvas.subplots(1, len(panels), squeeze=False)[0]
    for panel, (title, color) in zip(axes, panels.items(), strict=True):
        moon(panel, variability, confidence, color, title)
    align(axes)
    write(path, render(canvas, "png"))


def mark(
    axes: "Axes", variability: Array, confidence: Array, marked: Array, color: str
) -> "tuple[PathCollection, PathCollection]":
    """Scatter the marked samples over the others, which are grey; gives the grey points first."""
    observed = np.isfinite(variability + confidence)
    _name_axes(axes, {"never seen": ~observed})
    return (
        _scatter(axes, variability, confidence, _draw(observed & ~marked), GREY),
        _scatter(axes, variability, confidence, _draw(observed & marked), color),
    )


def paint(axes: "Axes", variability: Array, confidence: Array, score: Array) -> "PathCollection":
    """Scatter samples coloured by score, high ones on top; those without a score are grey."""
    observed, scored = np.isfinite(variability + confidence), np.isfinite(score)
    unscored = observed & ~scored
    if not scored.all():
        _scatter(axes, variability, confidence, _draw(unscored), GREY)
    ids = _draw(observed & scored)
    ids = ids[np.argsort(score[ids], kind="stable")]
    _name_axes(axes, {"without a score: grey": unscored, "never seen": ~observed})
    points = _scatter(axes, variability, confidence, ids, score[ids])
    low, high = (score[scored].min(), score[scored].max()) if scored.any() else (0, 1)
    points.set(cmap=ramp(), clim=(low, high))  # of all, so that panels are comparable
    return points


def align(axes: "Sequence[Axes]") -> None:
    """Give panels the same range of x, and name the y axis of the first column only."""
    right = max(panel.get_xlim()[1] for panel in axes)
    for panel in axes:
        panel.set_xlim(-0.02 * right, right)
        place = panel.get_subplotspec()
        if place is not None and not place.is_first_col():
            panel.set_ylabel("")
            panel.tick_params(labelleft=False)


def _scatter(
    axes: "Axes", variability: Array, confidence: Array, ids: Array, color: str | Array
) -> "PathCollection":
    return axes.scatter(
        variability[ids], confidence[ids], c=color, s=6, linewidths=0, rasterized=True
    )


def _draw(mask: Array) -> Array:
    """Ids of the samples in a mask in a random order, at most `_POINTS` of them."""
    return np.random.default_rng(0).permutation(np.flatnonzero(mask))[:_POINTS]


def _name_axes(axes: "Axes", left_out: Mapping[str, Array]) -> None:
    """Name the axes, and say below how many samples are left out and why."""
    notes = "; ".join(f"{mask.sum():,} {why}" for why, mask in left_out.items() if mask.any())
    across = "variability (std of p over epochs)" + (f"\n({notes})" if notes else "")
    axes.set(xlabel=across, ylabel="confidence (mean p over epochs)", ylim=(-0.02, 1.02))
    tidy(axes)
