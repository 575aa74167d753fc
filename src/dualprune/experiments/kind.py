"""Kind: what the cells of a grid measure, and how its lines become tables and figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dualprune.experiments.grid import Cell, Grid
from dualprune.experiments.results import Line
from dualprune.experiments.table import Entry
from dualprune.train import Watch

Rows = dict[str, list[Entry]]


@dataclass(frozen=True)
class Kind:
    """One way to look at what methods choose; each has a file of its own.

    Parameters
    ----------
    what
        What the numbers of its table are; empty where there is no table.
    measure
        Gives the numbers of a cell, by name, from the recordings in a folder.
    rows
        Brings lines together as the rows of a table.
    draw
        Draws the figures into a folder and gives their PNG files; may look at the recordings.
    whole
        Whether it compares with training on all the data.
    one_seed
        Whether one seed is all it needs.
    looks_back
        Whether it looks at recordings of finished cells again.
    trains
        Whether its cells train.
    """

    what: str
    measure: Callable[[Cell, Path, Watch], dict[str, Any]]
    rows: Callable[[Grid, Sequence[Line]], Rows]
    draw: Callable[[Grid, Sequence[Line], Path, Path], list[Path]]
    whole: bool = False
    one_seed: bool = False
    looks_back: bool = False
    trains: bool = False
