"""Figures: what was recorded and what was kept, to look at."""

from dualprune.report.figures import draw_moons, moon

__all__ = ["draw_moons", "moon"]
