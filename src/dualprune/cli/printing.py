"""Print a table of an experiment in a terminal."""

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Column
from rich.table import Table as RichTable
from rich.text import Text

if TYPE_CHECKING:
    from dualprune.experiments.table import Table


def print_table(table: "Table") -> None:
    """Print a table with its title and notes; names are never cut short."""
    first, *shares = table.header
    names = Column(first, no_wrap=True)
    shown = RichTable(names, *shares, title=table.title, caption="\n".join(table.notes))
    for name, row in table.rows.items():
        shown.add_row(Text(name), *map(str, row))
    Console().print(shown)
