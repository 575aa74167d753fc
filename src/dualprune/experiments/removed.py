"""removed: how many of the samples that were damaged on purpose each row prunes."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dualprune.coreset import Coreset
from dualprune.data import CORRUPTIONS
from dualprune.experiments.grid import Cell, Grid
from dualprune.experiments.kind import Kind, Rows
from dualprune.experiments.results import Line, by_share, shares_of
from dualprune.experiments.table import by_row
from dualprune.experiments.work import chosen, identity, images_of
from dualprune.report.figures import figure, removed_curves, save
from dualprune.signatures import Array
from dualprune.train import Watch

_KINDS_OF = "DUAL"


def measure_damage(cell: Cell, coreset: Coreset) -> dict[str, Any]:
    """Give what is kept, and the share of the damaged samples that were pruned, by kind."""
    wrong = images_of(cell).wrong
    shares = {name: _pruned(ids, coreset.ids) for name, ids in wrong.items()}
    return identity(coreset) | ({"removed": shares} if shares else {})


def _pruned(wrong: Array, kept: Array) -> float:
    return float(1 - np.isin(wrong, kept).mean()) if len(wrong) else 0.0


def _measure(cell: Cell, home: Path, watch: Watch) -> dict[str, Any]:  # noqa: ARG001
    return measure_damage(cell, chosen(cell, home))


def removed_rows(grid: Grid, lines: Sequence[Line]) -> Rows:
    """Give the percentage of the damaged samples that each row prunes."""
    (damage,) = grid.shift
    return by_row(grid, lines, lambda line: 100 * float(line.values["removed"][damage]))


def _draw(grid: Grid, lines: Sequence[Line], folder: Path, home: Path) -> Iterator[Path]:  # noqa: ARG001
    """Draw how many damaged samples each row prunes, and how many of each kind DUAL does."""
    ((damage, share),) = grid.shift.items()
    what = {"labels": "wrong labels", "images": "corrupted images"}[damage]

    def save_curves(name: str, lines: Sequence[Line], removed: dict[str, Array]) -> Path:
        curves = figure(7, 4.5)
        removed_curves(curves.add_subplot(), shares_of(lines), removed, wrong=share, what=what)
        return save(curves, folder / name)[0]

    removed = _removed(lines, damage)
    yield save_curves("removed", lines, removed)
    if damage == "images" and _KINDS_OF in removed:
        same = [line for line in lines if line.row == _KINDS_OF]
        kinds = {kind: _removed(same, kind)[_KINDS_OF] for kind in CORRUPTIONS}
        yield save_curves("removed-kinds", same, kinds)


def _removed(lines: Sequence[Line], damage: str) -> dict[str, Array]:
    """Give the share of this damage that each row prunes, of shape (shares, seeds)."""
    return by_share(lines, lambda line: float(line.values["removed"][damage]))


REMOVED = Kind(_draw, _measure, removed_rows, "damaged samples that were pruned, in %")
