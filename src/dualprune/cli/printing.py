"""Print lines, paths and tables; control characters in a name never reach the terminal."""

import os
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Column
from rich.table import Table as RichTable
from rich.text import Text

if TYPE_CHECKING:
    from dualprune.coreset import Card
    from dualprune.experiments.table import Table
    from dualprune.files import Place


_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)  # but for tabs and ends of lines; the later ones change the direction of writing


def visible(text: str) -> str:
    r"""Show characters that would control a terminal as escapes.

    >>> print(visible("\x1b]0;title\x07 \u202egnp.exe"))
    \x1b]0;title\x07 \u202egnp.exe
    """
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def say(line: str, *, err: bool = False) -> None:
    """Print a line for people."""
    typer.echo(visible(line), err=err)


def kept_lines(card: "Card") -> Iterator[str]:
    """Say what was kept, and give the hash that identifies it."""
    share = f"{card.k / card.readable:.1%}"
    yield f"kept       {card.k:,} of {card.readable:,} ({share}) with {card.chosen_by}"
    if unreadable := card.samples - card.readable:
        kind = "files" if card.training is None or card.training.size else card.training.kind
        some = f"{unreadable:,} of {card.samples:,} {kind}"
        yield f"unreadable {some}: they keep their ids and are never kept"
    yield f"coreset    sha256 {card.ids_sha256[:16]}, seed {card.seed}"


def print_path(path: "Place") -> None:
    """Print a path: byte for byte into a pipe, for the next command; elsewhere with escapes."""
    piped = hasattr(sys.stdout, "buffer") and not sys.stdout.isatty()
    typer.echo(os.fsencode(str(path)) if piped else visible(str(path)))


def print_table(table: "Table") -> None:
    """Print a table with its title and notes; names are never cut short."""
    first, *shares = table.header
    names = Column(first, no_wrap=True)
    title, notes = _text(table.title, "table.title"), "\n".join(table.notes)
    shown = RichTable(names, *shares, title=title, caption=_text(notes, "table.caption"))
    for name, row in table.rows.items():
        shown.add_row(_text(name), *map(str, row))
    Console().print(shown)


def _text(text: str, style: str = "") -> Text:
    return Text(visible(text), style)
