"""Write the table and the figures of a grid."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from dualprune.experiments.grid import Grid
from dualprune.experiments.kinds import KINDS, tabulate
from dualprune.experiments.results import Line
from dualprune.experiments.table import as_latex, as_markdown
from dualprune.files import make_folders, write


def present(grid: Grid, lines: Sequence[Line], folder: Path, home: Path) -> list[Path]:
    """Write `table.md` and `table.tex` if there is a table; gives the PNG files of the figures."""
    make_folders(folder)
    table = tabulate(grid, lines)
    if table is not None:
        write(folder / "table.md", as_markdown(table).encode())
        write(folder / "table.tex", as_latex(table).encode())
    if find_spec("matplotlib") is None:
        return []
    return KINDS[grid.kind].draw(grid, lines, folder, home)
