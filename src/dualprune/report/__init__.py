"""Figures and a page of what was recorded and what was kept."""
