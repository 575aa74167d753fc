"""The moon plot: how sure the model was of each label, against how much that moved.

Easy samples lie at the top left, samples it never learned or that are mislabelled at the bottom
left, and uncertain ones at the right end of the moon.
"""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dualprune.arrays import Array
from dualprune.errors import MissingError
from dualprune.files import write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_moons", "moon"]

_POINTS = 20_000  # more do not show more


def moon(axes: "Axes", variability: Array, confidence: Array, color: Array, title: str) -> "Axes":
    """Scatter samples; `color` is a number per sample, or whether something is true of it."""
    shown = np.random.default_rng(0).permutation(len(color))[:_POINTS]
    if color.dtype == bool:
        for value, paint in ((False, "#c3c9d4"), (True, "#d1495b")):
            part = shown[color[shown] == value]
            axes.scatter(variability[part], confidence[part], s=6, c=paint, linewidths=0)
    else:
        order = shown[np.argsort(color[shown], kind="stable")]
        points = axes.scatter(
            variability[order], confidence[order], s=6, c=color[order], linewidths=0
        )
        axes.figure.colorbar(points, ax=axes, fraction=0.05)
    axes.set(title=title, ylim=(-0.02, 1.02), xlabel="deviation of the label's probability")
    return axes


def draw_moons(
    path: Path, variability: Array, confidence: Array, panels: Mapping[str, Array]
) -> None:
    """Write a PNG with one moon plot per panel, each coloured by its own values."""
    figure = _figure(figsize=(5 * len(panels), 4.2), layout="constrained")
    for position, (title, color) in enumerate(panels.items(), 1):
        axes = moon(
            figure.add_subplot(1, len(panels), position), variability, confidence, color, title
        )
        if position == 1:
            axes.set_ylabel("mean of the label's probability")
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=150)
    write(path, image.getvalue())


def _figure(**settings: Any) -> Any:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional
    except ImportError as error:
        raise MissingError("figures need matplotlib: pip install 'dualprune[plot]'") from error
    return Figure(**settings)
