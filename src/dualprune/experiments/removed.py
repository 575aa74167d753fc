"""removed: how many of the samples that were damaged on purpose each row prunes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dualprune.coreset import Coreset
from dualprune.data import CORRUPTIONS
from dualprune.experiments.grid import Cell, Grid
from dualprune.experiments.kind import Kind, Rows
from dualprune.experiments.lines import by_share
from dualprune.experiments.results import Line
from dualprune.experiments.table import by_row
from dualprune.experiments.work import chosen, images_of
from dualprune.report.figures import figure, removed_curves, save
from dualprune.signatures import Array
from dualprune.train import Watch

_KINDS_OF = "DUAL"


def removed_from(cell: Cell, coreset: Coreset) -> dict[str, Any]:
    """Give the share of the damaged samples that were pruned, by kind of damage."""
    wrong = images_of(cell).wrong
    shares = {name: _removed(coreset.ids, ids) for name, ids in wrong.items()}
    return {"removed": shares} if shares else {}


def _removed(kept: Array, wrong: Array) -> float:
    return float(1 - np.isin(wrong, kept).mean()) if len(wrong) else 0.0


def _measure(cell: Cell, home: Path, watch: Watch) -> dict[str, Any]:  # noqa: ARG001
    coreset = chosen(cell, home)
    values = {"kept": len(coreset), "ids_sha256": coreset.card.ids_sha256}
    return values | removed_from(cell, coreset)


def _rows(grid: Grid, lines: Sequence[Line]) -> Rows:
    (damage,) = grid.shift
    return by_row(grid, lines, lambda line: 100 * float(line.values["removed"][damage]))


def _draw(grid: Grid, lines: Sequence[Line], folder: Path, home: Path) -> list[Path]:  # noqa: ARG001
    """Draw how many damaged samples each row prunes, and how many of each kind DUAL does."""
    ((damage, share),) = grid.shift.items()
    what = {"labels": "wrong labels", "images": "corrupted images"}[damage]

    def save_curves(name: str, lines: Sequence[Line], removed: dict[str, Array]) -> Path:
        shares, curves = np.array(sorted({line.pruned for line in lines})), figure(7, 4.5)
        removed_curves(curves.add_subplot(), shares, removed, wrong=share, what=what)
        return save(curves, folder / name)[0]

    removed = by_share(lines, lambda line: float(line.values["removed"][damage]))
    drawn = [save_curves("removed", lines, removed)]
    if damage == "images" and _KINDS_OF in removed:
        same = [line for line in lines if line.row == _KINDS_OF]
        kinds = {kind: _of_kind(same, kind) for kind in CORRUPTIONS}
        drawn.append(save_curves("removed-kinds", same, kinds))
    return drawn


def _of_kind(lines: Sequence[Line], kind: str) -> Array:
    """Give what one row prunes of a kind of corruption, of shape (shares, seeds)."""
    (removed,) = by_share(lines, lambda line: line.values["removed"][kind]).values()
    return removed


REMOVED = Kind("damaged samples that were pruned, in %", _measure, _rows, _draw)
