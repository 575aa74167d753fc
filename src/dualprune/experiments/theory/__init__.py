"""theory: the paper's theorem on two points and a linear model, and its figures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dualprune.experiments.grid import Cell, Grid
from dualprune.experiments.kind import Kind
from dualprune.experiments.results import Line
from dualprune.experiments.theory.figures import draw_theory
from dualprune.train import Watch

__all__ = ["THEORY"]


def _measure(cell: Cell, home: Path, watch: Watch) -> dict[str, Any]:  # noqa: ARG001
    return {}  # there is nothing to train


def _draw(grid: Grid, lines: Sequence[Line], folder: Path, home: Path) -> list[Path]:  # noqa: ARG001
    return [path for path in draw_theory(folder) if path.suffix == ".png"]


THEORY = Kind("", _measure, lambda grid, lines: {}, _draw)  # noqa: ARG005
