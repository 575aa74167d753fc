"""Figures and a page of what was recorded and what was kept."""

from dualprune.report.figures import draw_moons, moon

__all__ = ["draw_moons", "moon"]
