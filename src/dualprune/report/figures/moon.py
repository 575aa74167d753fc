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
    observed = _observed(variability, confidence)
    _name_axes(axes, [_count(~observed, "never seen")])
    return (
        _scatter(axes, variability, confidence, observed & ~marked, GREY),
        _scatter(axes, variability, confidence, observed & marked, color),
    )


def paint(axes: "Axes", variability: Array, confidence: Array, score: Array) -> "PathCollection":
    """Scatter samples coloured by score, high ones on top; those without a score are grey."""
    observed, scored = _observed(variability, confidence), np.isfinite(score)
    unscored = observed & ~scored
    if not scored.all():
        _scatter(axes, variability, confidence, unscored, GREY)
    ids = _draw(observed & scored)
    ids = ids[np.argsort(score[ids], kind="stable")]
    _name_axes(axes, [_count(unscored, "without a score: grey"), _count(~observed, "never seen")])
    return axes.scatter(
        variability[ids],
        confidence[ids],
        c=score[ids],
        cmap=ramp(),
        vmin=score[scored].min() if scored.any() else 0,  # of all, so that panels are comparable
        vmax=score[scored].max() if scored.any() else 1,
        s=6,
        linewidths=0,
        rasterized=True,
    )


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
    axes: "Axes", variability: Array, confidence: Array, mask: Array, color: str
) -> "PathCollection":
    ids = _draw(mask)
    return axes.scatter(
        variability[ids], confidence[ids], c=color, s=6, linewidths=0, rasterized=True
    )


def _observed(variability: Array, confidence: Array) -> Array:
    observed: Array = np.isfinite(variability) & np.isfinite(confidence)
    return observed


def _draw(mask: Array) -> Array:
    """Ids of the samples in a mask in a random order, at most `_POINTS` of them."""
    return np.random.default_rng(0).permutation(np.flatnonzero(mask))[:_POINTS]


def _count(mask: Array, description: str) -> str:
    return f"{mask.sum():,} {description}" if mask.any() else ""


def _name_axes(axes: "Axes", left_out: Sequence[str]) -> None:
    notes = "; ".join(filter(None, left_out))
    axes.set_xlabel("variability (std of p over epochs)" + (f"\n({notes})" if notes else ""))
    axes.set_ylabel("confidence (mean p over epochs)")
    axes.set_ylim(-0.02, 1.02)
    tidy(axes)
