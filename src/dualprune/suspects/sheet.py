"""CSV files that are safe to open in a spreadsheet, and what a person made of them there."""

import csv
import io
from collections.abc import Mapping

from dualprune.errors import InputError
from dualprune.files import Place, make_folders, read, write
from dualprune.signatures import Array

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # what spreadsheets would compute


def write_sheet(path: Place, columns: Mapping[str, Array]) -> None:
    """Write columns of the same length."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in zip(*(column.tolist() for column in columns.values()), strict=True):
        writer.writerow(map(_harmless, row))
    make_folders(path.parent)
    write(path, text.getvalue().encode())


def read_sheet(path: Place) -> list[dict[str, str]]:
    """Give the rows by the names of the columns, as a spreadsheet saves them: also with ``;``."""
    try:
        text = read(path).decode("utf-8-sig")
        delimiter = ";" if ";" in "".join(text.splitlines()[:1]) else ","
        lines = io.StringIO(text, newline="")  # splitlines() would also split inside of cells
        rows = list(csv.DictReader(lines, delimiter=delimiter, restkey="", restval=""))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as CSV in UTF-8: {error}; save it so") from error
    return [{name: _plain(cell) for name, cell in row.items() if name} for row in rows]


def _harmless(cell: object) -> object:
    """Put a quote before text that a spreadsheet would take for a formula; `_plain` undoes that.

    >>> [_harmless("=1+1"), _harmless("'=1+1"), _harmless("cat"), _harmless(-1)]
    ["'=1+1", "''=1+1", 'cat', -1]
    """
    is_formula = isinstance(cell, str) and cell.lstrip("'").startswith(_FORMULA)
    return f"'{cell}" if is_formula else cell


def _plain(cell: str) -> str:
    return cell[1:] if cell[:1] == "'" and cell.lstrip("'").startswith(_FORMULA) else cell
