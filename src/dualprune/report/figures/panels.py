"""Moon plots side by side: two epochs, several methods, a selection; and one of wrong labels.

Variability and confidence have shape (samples,). Kept and mislabelled samples are given by ids.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dualprune.report.figures.canvas import BLUE, ORANGE, legend_beside, plain
from dualprune.report.figures.moon import align, mark, moon, paint
from dualprune.signatures import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def moon_evolution(
    axes: "Sequence[Axes]",
    places: Sequence[tuple[Array, Array]],
    scores: Sequence[Array],
    epochs: Sequence[int],
) -> "Sequence[Axes]":
    """Show where samples lie at two epochs, coloured by a score of the first and of the second.

    `places` are (variability, confidence) and `scores` are scores at these two `epochs`. The four
    panels are filled score by score; those whose score is of their own epoch have a heavy frame.

    References
    ----------
    Figures 2 and 3 of Cho et al., 2025. arXiv:2502.06905
    """
    for pair, score, scored in zip((axes[:2], axes[2:]), scores, epochs, strict=True):
        for panel, place, epoch in zip(pair, places, epochs, strict=True):
            points = paint(panel, *place, score)
            panel.set_title(f"samples at epoch {epoch}")
            if epoch == scored:
                panel.spines[:].set(visible=True, linewidth=2)
        panel.figure.colorbar(
            points, ax=list(pair), label=f"score of epoch {scored}", fraction=0.05, pad=0.02
        )
    align(axes)
    return axes


def coresets(
    axes: "Sequence[Axes]", variability: Array, confidence: Array, kept: Mapping[str, Array]
) -> "Sequence[Axes]":
    """Show what each method keeps, over what it prunes; one panel per method."""
    for panel, (method, ids) in zip(axes, kept.items(), strict=True):
        mask = _mask(ids, len(confidence))
        points = mark(panel, variability, confidence, mask, BLUE)
        panel.set_title(plain(f"{method}: {mask.sum():,} kept"))
    align(axes)
    legend_beside(axes[-1], points[::-1], ["kept", "pruned"], markers=2)
    return axes


def selection(
    axes: "Sequence[Axes]", variability: Array, confidence: Array, probability: Array, kept: Array
) -> "Sequence[Axes]":
    """Show how likely each sample was to be drawn first, which were kept and which pruned.

    To be kept is likelier: the more are drawn, the more alike the chances of all become.
    """
    mask = _mask(kept, len(confidence))
    moon(axes[0], variability, confidence, probability, "probability of the first draw")
    mark(axes[1], variability, confidence, mask, BLUE)
    mark(axes[2], variability, confidence, ~mask, ORANGE)
    axes[1].set_title(f"{mask.sum():,} kept")
    axes[2].set_title(f"{(~mask).sum():,} pruned")
    align(axes)
    return axes


def wrong_labels(axes: "Axes", variability: Array, confidence: Array, wrong: Array) -> "Axes":
    """Show where the samples lie that are known to be mislabelled."""
    mask = _mask(wrong, len(confidence))
    points = mark(axes, variability, confidence, mask, ORANGE)
    names = [f"wrong label: {mask.sum():,}", f"right label: {(~mask).sum():,}"]
    legend_beside(axes, points[::-1], names, markers=2)
    return axes


def _mask(ids: Array, samples: int) -> Array:
    mask = np.zeros(samples, bool)
    mask[ids] = True
    return mask
