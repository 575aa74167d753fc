"""demo: the whole story on a small data set that everybody has."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from dualprune.data.digits import digits
from dualprune.experiments.grid import Cell
from dualprune.experiments.removed import removed_rows
from dualprune.experiments.runner import workplace
from dualprune.experiments.setting import Setting
from dualprune.experiments.table import Table, header
from dualprune.experiments.work import chosen, images_of, run_of
from dualprune.report.facts import gather
from dualprune.train import Watch, recipes
from dualprune.workflows.comparing import Comparison, grid_of, run_and_present
from dualprune.workflows.showing import describe, illustrate

_PRUNED = (0.5, 0.7, 0.9)
_METHODS = ("dual+beta", "random")
_WRONG = 0.1
_TITLE = f"digits, {_WRONG:.0%} of the labels wrong"


def demo(
    out: Path, *, seeds: int, processes: int | None, tell: Callable[[str], None], watch: Watch
) -> Comparison:
    """Prune the bundled digits, a tenth of them with wrong labels, and show what it saves."""
    images, test = digits(Path(), False)
    setting = Setting.of("demo", recipes()["digits"], images, test, seeds=seeds)
    grid = grid_of(setting, _METHODS, _PRUNED, title=_TITLE)
    grid = replace(grid, shift={"labels": _WRONG})
    comparison = run_and_present(grid, out, processes, tell, watch)
    pruned = [line for line in comparison.lines if line.row in _METHODS]
    removed = removed_rows(grid, pruned)
    table = Table("wrong labels that were pruned, in %", header(grid), removed)
    tables = [comparison.tables[0], table, comparison.tables[1]]
    figures = _show(Cell(grid, grid.rows[0], _PRUNED[1], 0), out, comparison)
    return replace(comparison, tables=tables, figures=figures)


def _show(cell: Cell, out: Path, comparison: Comparison) -> list[Path]:
    """Draw what is kept at the middle share, and write its page."""
    home, shifted = workplace(out), images_of(cell)
    run, coreset = run_of(cell.recordings[0], home), chosen(cell, home)
    facts = gather(run, coreset)
    setup = cell.setting.setup(shifted, cell.model, {})
    coreset = describe(coreset, facts, setup, _TITLE, cell.setting.record, workflow="demo")
    wrong = np.isin(np.arange(run.samples), shifted.wrong["labels"])
    marked = {"kept: 30 % (red)": coreset.mask, "wrong labels (red)": wrong}
    return illustrate(out, coreset, facts, shifted.images, marked, comparison.lines)
