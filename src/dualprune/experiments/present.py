"""The table and the figures of a grid, whatever it measures."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from dualprune.experiments.accuracy import auto_notes, cost_notes, whole_data
from dualprune.experiments.grid import Grid
from dualprune.experiments.kinds import KINDS
from dualprune.experiments.results import Line
from dualprune.experiments.table import Table, as_latex, as_markdown, header, seeds_of, shows_paper
from dualprune.files import make_folders, write


def tabulate(grid: Grid, lines: Sequence[Line]) -> Table | None:
    """Bring the lines of a grid together as a table; None where it has none."""
    kind, setting = KINDS[grid.kind], grid.setting
    if kind.table is not None:
        return kind.table(grid)
    if kind.rows is None or not lines:
        return None
    what, rows = kind.what, kind.rows(grid, lines)
    if kind.trains:
        what = f"{setting.judged_on} {what}"
    paper = "; the paper's numbers in brackets" if shows_paper(rows) else ""
    model = grid.model if isinstance(grid.model, str) else type(grid.model).__name__
    how = f"{setting.about}, {model}, {seeds_of(lines)}"
    return Table(
        title=f"{grid.title}: {what}; {how}{paper}{whole_data(grid, lines)}",
        header=header(grid),
        rows=rows,
        notes=(*grid.notes, *cost_notes(grid, rows), *auto_notes(lines)),
    )


def present(grid: Grid, lines: Sequence[Line], folder: Path, home: Path) -> list[Path]:
    """Write `table.md` and `table.tex` if there is a table; gives the PNG files of the figures."""
    make_folders(folder)
    table = tabulate(grid, lines)
    if table is not None:
        write(folder / "table.md", as_markdown(table).encode())
        write(folder / "table.tex", as_latex(table).encode())
    if find_spec("matplotlib") is None:
        return []
    return list(KINDS[grid.kind].draw(grid, lines, folder, home))
