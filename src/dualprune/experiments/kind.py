"""Kind: what the cells of a grid measure, and how its lines become tables and figures."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dualprune.experiments.grid import Cell, Grid
from dualprune.experiments.results import Line
from dualprune.experiments.table import Entry, Table
from dualprune.experiments.work import chosen, identity
from dualprune.train import Watch

Rows = dict[str, list[Entry]]


def measure_choice(cell: Cell, home: Path, watch: Watch) -> dict[str, Any]:  # noqa: ARG001
    """Give what a cell keeps, without training on it."""
    return identity(chosen(cell, home))


@dataclass(frozen=True)
class Kind:
    """One way to look at what methods choose; each has a file of its own.

    Parameters
    ----------
    draw
        Draws the figures into a folder and gives their PNG files; may look at the recordings.
    measure
        Gives the numbers of a cell, by name, from the recordings in a folder.
    rows
        Brings lines together as the rows of a table, if there is one.
    what
        What the numbers of that table are.
    table
        Gives the table instead, where it needs no lines.
    one_seed
        Whether one seed is all it needs.
    looks_back
        Whether it looks at recordings of finished cells again.
    trains
        Whether its cells train, and are compared with training on all the data.
    """

    draw: Callable[[Grid, Sequence[Line], Path, Path], Iterable[Path]]
    measure: Callable[[Cell, Path, Watch], dict[str, Any]] = measure_choice
    rows: Callable[[Grid, Sequence[Line]], Rows] | None = None
    what: str = ""
    table: Callable[[Grid], Table] | None = None
    one_seed: bool = False
    looks_back: bool = False
    trains: bool = False
