"""What a caller may give as data: a path or name, tables in memory, datasets of torch."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa

from dualprune.data import NO_COLUMNS, Columns, Data, Images, Table, Texts, rows_from
from dualprune.errors import InputError
from dualprune.train.datasets import Samples

_HUGGING_FACE = "datasets.arrow_dataset"  # anybody may have a file datasets.py with a Dataset
_TABLES = {
    "pandas": "DataFrame",
    "polars": "DataFrame",
    _HUGGING_FACE: "Dataset",
    "pyarrow": "Table",
}
_FIRST = {
    "LazyFrame": "call .collect() first",
    "DatasetDict": "choose one of its parts, such as data['train']",
    "IterableDataset": "make a Dataset of it first, which has a length",
    "RecordBatch": "make a table of it first: pyarrow.Table.from_batches([data])",
    "dict": "make a table of its columns first, such as pandas.DataFrame(data)",
}


def given_data(data: Any, columns: Columns) -> str | Path | Data:
    """Give a path or name as it is, and what is in memory as labelled data.

    >>> given_data("digits", NO_COLUMNS), given_data([([0.0], 1), ([1.0], 0)], NO_COLUMNS).labels
    ('digits', array([1, 0]))
    """
    if isinstance(data, str):
        return data
    if isinstance(data, os.PathLike):
        return Path(data)
    kinds = [kind.__name__ for kind in type(data).__mro__]
    if first := next(filter(None, map(_FIRST.get, kinds)), None):
        raise InputError(f"{type(data).__name__} is no table that can be read: {first}")
    if columns != NO_COLUMNS or _library(data) is not None:
        return rows_from(_as_arrow(data, columns), columns)
    return data if isinstance(data, Images | Texts | Table | Samples) else Samples.of(data)


def name_of(data: str | Path | Data) -> str:
    """Name data as messages and cards do."""
    return str(data) if isinstance(data, str | Path) else data.kind


def _library(data: Any) -> str | None:
    """Name whose table this is; None if it is none."""
    kinds = [(f"{kind.__module__}.", kind.__name__) for kind in type(data).__mro__]
    found = (
        library
        for library, table in _TABLES.items()
        if any(name == table and module.startswith(f"{library}.") for module, name in kinds)
    )
    return next(found, None)


def _as_arrow(data: Any, columns: Columns) -> pa.Table:
    """Give a table of pandas, polars, Arrow or `datasets` as one of Arrow, without its index."""
    library = _library(data)
    if library == "pandas":
        return _from_pandas(data, columns)
    if library == _HUGGING_FACE:
        return data.with_format("arrow")[:]
    if library == "polars":
        return data.to_arrow()
    if library == "pyarrow":
        return data
    raise InputError(
        f"text, label and ignore name columns of a file or of a table of pandas, polars, Arrow or "
        f"datasets; {type(data).__name__} is none: leave them out"
    )


def _from_pandas(frame: Any, columns: Columns) -> pa.Table:
    """Give the columns that are used, and nulls in place of the others, which may hold anything."""
    names = [str(name) for name in frame.columns]
    only = [*names] if columns.text is None else [columns.text, columns.label]
    arrays = [
        _from_series(frame.iloc[:, place], name)
        if name in only and name not in columns.ignore
        else pa.nulls(len(frame))
        for place, name in enumerate(names)
    ]
    return pa.table(arrays, names)


def _from_series(series: Any, name: str) -> pa.Array | pa.ChunkedArray:
    """Give a column of pandas; intervals, as pandas.cut makes them, and periods become texts."""
    kind = getattr(series.dtype, "categories", series).dtype
    if str(kind).startswith(("interval", "period")):
        series = series.map(str, na_action="ignore")
    try:
        return pa.Array.from_pandas(series)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
        raise InputError(
            f"the column {name!r} of the table, of type {series.dtype}, cannot be read: {error}; "
            "make all its values texts, numbers or dates, or leave it out with ignore"
        ) from error
