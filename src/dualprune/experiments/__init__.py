"""The paper's tables and figures, and the one grid of trainings that runs them."""

from typing import Literal

__all__ = ["Scale"]

Scale = Literal["paper", "cpu", "cpu-full", "smoke"]
