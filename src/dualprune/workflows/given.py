"""What a caller may give as data: a path or name, tables in memory, datasets of torch."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa

from dualprune.data import NO_COLUMNS, Columns, Data, Images, Table, Texts, rows_from
from dualprune.errors import InputError
from dualprune.train.datasets import Samples


def given_data(data: Any, columns: Columns) -> str | Path | Data:
    """Give a path or name as it is, and what is in memory as labelled data.

    >>> given_data("digits", NO_COLUMNS), given_data([([0.0], 1), ([1.0], 0)], NO_COLUMNS).labels
    ('digits', array([1, 0]))
    """
    if isinstance(data, str):
        return data
    if isinstance(data, os.PathLike):
        return Path(data)
    if columns != NO_COLUMNS:
        return rows_from(_as_arrow(data), columns)
    return data if isinstance(data, Images | Texts | Table | Samples) else Samples.of(data)


def name_of(data: str | Path | Data) -> str:
    """Name data as messages and cards do."""
    return str(data) if isinstance(data, str | Path) else data.kind


def _as_arrow(data: Any) -> pa.Table:
    """Give a table of pandas, polars, Arrow or `datasets` as one of Arrow, without its index."""
    library = type(data).__module__.partition(".")[0]
    if library == "pandas":
        return pa.Table.from_pandas(data, preserve_index=False)
    if library == "datasets":
        return data.with_format("arrow")[:]
    if library == "polars":
        return data.to_arrow()
    if isinstance(data, pa.Table):
        return data
    raise InputError(
        f"text, label and ignore name columns of a file or of a table of pandas, polars, Arrow or "
        f"datasets; {type(data).__name__} is none: leave them out"
    )
