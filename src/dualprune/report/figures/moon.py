"""The moon plot: how sure the model was of each label, against how much that moved.

Easy samples lie at the top left, samples it never learned or that are mislabelled at the bottom
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

__all__ = ["align", "draw_moons", "mark", "moon", "paint"]

_POINTS = 20_000  # more do not show more
_RED = "#d1495b"


def moon(axes: "Axes", variability: Array, confidence: Array, color: Array, title: str) -> "Axes":
    """Scatter samples; `color` is a number per sample, or whether something is true of it."""
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
    drawn = figure(5 * len(panels), 4.2)
    axes = drawn.subplots(1, len(panels), squeeze=False)[0]
    for panel, (title, color) in zip(axes, panels.items(), strict=True):
        moon(panel, variability, confidence, color, title)
    align(axes)
    write(path, render(drawn, "png"))


def mark(
    axes: "Axes", variability: Array, confidence: Array, which: Array, color: str
) -> "tuple[PathCollection, PathCollection]":
    """Scatter the samples that are meant over the others, which are grey; gives the grey first."""
    seen = _seen(variability, confidence)
    _name_axes(axes, [_count(~seen, "never seen")])
    return (
        _scatter(axes, variability, confidence, seen & ~which, GREY),
        _scatter(axes, variability, confidence, seen & which, color),
    )


def paint(axes: "Axes", variability: Array, confidence: Array, score: Array) -> "PathCollection":
    """Scatter samples coloured by score, high ones on top; those without a score are grey."""
    seen, scored = _seen(variability, confidence), np.isfinite(score)
    if not scored.all():
        _scatter(axes, variability, confidence, seen & ~scored, GREY)
    ids = _some(seen & scored)
    ids = ids[np.argsort(score[ids], kind="stable")]
    _name_axes(axes, [_count(seen & ~scored, "without a score: grey"), _count(~seen, "never seen")])
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
    """Give panels the same range; what is left of them is named once, what is below tells gaps."""
    right = max(panel.get_xlim()[1] for panel in axes)
    for panel in axes:
        panel.set_xlim(-0.02 * right, right)
        place = panel.get_subplotspec()
        if place is not None and not place.is_first_col():
            panel.set_ylabel("")
            panel.tick_params(labelleft=False)


def _scatter(
    axes: "Axes", variability: Array, confidence: Array, which: Array, color: str
) -> "PathCollection":
    ids = _some(which)
    return axes.scatter(
        variability[ids], confidence[ids], c=color, s=6, linewidths=0, rasterized=True
    )


def _seen(variability: Array, confidence: Array) -> Array:
    seen: Array = np.isfinite(variability) & np.isfinite(confidence)
    return seen


def _some(which: Array) -> Array:
    """Ids of the samples that are meant, in a random order, no more than can be told apart."""
    return np.random.default_rng(0).permutation(np.flatnonzero(which))[:_POINTS]


def _count(which: Array, what: str) -> str:
    return f"{which.sum():,} {what}" if which.any() else ""


def _name_axes(axes: "Axes", left_out: Sequence[str]) -> None:
    notes = "; ".join(filter(None, left_out))
    axes.set_xlabel("deviation of the label's probability" + (f"\n({notes})" if notes else ""))
    axes.set_ylabel("mean of the label's probability")
    axes.set_ylim(-0.02, 1.02)
    tidy(axes)
