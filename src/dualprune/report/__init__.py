"""Figures: what was recorded and what was kept, to look at."""

from dualprune.report.moon import draw_moons, moon

__all__ = ["draw_moons", "moon"]
