"""Figures with matplotlib: each is a function of an Axes and arrays, and gives the Axes back."""

from dualprune.report.figures.bars import rank_correlation_bars, time_bars
from dualprune.report.figures.canvas import figure, save
from dualprune.report.figures.curves import (
    accuracy_by_images,
    accuracy_by_time,
    accuracy_curves,
    removed_curves,
    use_curves,
)
from dualprune.report.figures.densities import beta_densities
from dualprune.report.figures.gains import gain_map
from dualprune.report.figures.moon import draw_moons, moon
from dualprune.report.figures.panels import coresets, moon_evolution, selection, wrong_labels

__all__ = [
    "accuracy_by_images",
    "accuracy_by_time",
    "accuracy_curves",
    "beta_densities",
    "coresets",
    "draw_moons",
    "figure",
    "gain_map",
    "moon",
    "moon_evolution",
    "rank_correlation_bars",
    "removed_curves",
    "save",
    "selection",
    "time_bars",
    "use_curves",
    "wrong_labels",
]
