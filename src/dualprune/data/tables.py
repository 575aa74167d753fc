"""Labelled rows of a table: numbers, categories and dates as inputs of a model."""

import hashlib
import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from dualprune.data.classes import find_classes
from dualprune.data.columns import Column, read_column
from dualprune.data.rows import Source, left_out, origin_of, path_and_digest, read_blocks
from dualprune.errors import InputError
from dualprune.signatures import Array

_SHOWN = 300  # characters
_AT_ONCE = 2**12  # rows


@dataclass(frozen=True, eq=False)
class Table:
    """Labelled rows in memory; a sample's id is its position here. Made with `table_from`.

    Parameters
    ----------
    labels
        int64, shape (samples,): positions in `class_names`.
    source
        int64, shape (samples,): the row of the file, or of the table, that each sample was.
    columns
        The columns that are used, as numbers (float64), texts or timestamps.
    numbers
        float32, shape (samples, m): the first m inputs.
    hot
        int32, shape (samples, categories): which of the other inputs are 1.
    width
        How many inputs there are.
    lines
        How every column was read.
    unreadable
        bool, shape (samples,): rows without a label; None if there are none.
    relabelled
        How many labels were corrected after loading.
    label
        Name of the column of labels.
    path, sha256
        The file and the hash of its bytes; None and empty for a table in memory.
    """

    kind: ClassVar[str] = "rows"
    recipe: ClassVar[str] = "table"

    labels: Array
    class_names: tuple[str, ...]
    source: Array
    columns: pa.Table
    numbers: Array
    hot: Array
    width: int
    lines: tuple[str, ...]
    names: tuple[str, ...] = ()
    unreadable: Array | None = None
    relabelled: int = 0
    label: str = ""
    path: Path | None = None
    sha256: str = ""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many inputs a row has."""
        return (self.width,)

    @property
    def nbytes(self) -> float:
        """Bytes in memory."""
        return float(self.columns.nbytes + self.numbers.nbytes + self.hot.nbytes)

    @cached_property
    def readable_ids(self) -> Array:
        """Ids of the samples that have a label."""
        ids = np.arange(len(self))
        return ids if self.unreadable is None else ids[~self.unreadable]

    def take(self, ids: Array) -> "Table":
        """Give these samples in this order; how columns are read stays as it is."""
        chosen = np.arange(len(self))[ids]
        return replace(
            self,
            labels=self.labels[chosen],
            source=self.source[chosen],
            columns=self.columns.take(pa.array(chosen)).combine_chunks(),
            numbers=self.numbers[chosen],
            hot=self.hot[chosen],
            unreadable=None if self.unreadable is None else self.unreadable[chosen],
        )

    def batch(self, ids: Array) -> Array:
        """Inputs of these rows as float32, shape (ids, width).

        >>> rows = {"x": ["a", "b"] * 5, "label": [0, 1] * 5}
        >>> table_from(pa.table(rows), label="label").batch(np.array([0, 1]))
        array([[1., 0.], [0., 1.]], dtype=float32)
        """
        inputs = np.zeros((len(ids), self.width), np.float32)
        inputs[:, : self.numbers.shape[1]] = self.numbers[ids]
        inputs[np.arange(len(ids))[:, None], self.hot[ids]] = 1
        return inputs

    def described(self) -> list[str]:
        """How every column was read, one line each."""
        return [*self.lines]

    def snippets(self, ids: Array) -> list[str]:
        """Names and values of the columns of each of these rows, cut to 300 characters."""
        columns = self.columns.take(pa.array(ids)).columns
        texts = [_as_texts(column) for column in columns]
        rows = (
            zip(self.columns.column_names, row, strict=True) for row in zip(*texts, strict=True)
        )
        shown = (", ".join(f"{name}: {value}" for name, value in row) for row in rows)
        return [text[:_SHOWN] + "…" * (len(text) > _SHOWN) for text in shown]

    def contents(self) -> Iterator[bytes]:
        """A digest of every row; that of rows with equal values in all used columns is equal."""
        for first in range(0, len(self), _AT_ONCE):
            part = self.columns.slice(first, _AT_ONCE)
            values = [_comparable(column).to_pylist() for column in part.columns]
            for row in zip(*values, strict=True):
                yield hashlib.sha256(repr(row).encode()).digest()

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of labels, class names, values and inputs; not of paths."""
        header = [self.kind, self.class_names, len(self), self.width, self.lines]
        content = hashlib.sha256(json.dumps(header).encode())
        content.update(np.ascontiguousarray(self.labels, "<i8").data)
        content.update(np.ascontiguousarray(self.numbers, "<f4").data)
        content.update(np.ascontiguousarray(self.hot, "<i4").data)
        for digest in self.contents():
            content.update(digest)
        return content.hexdigest()


def table_from(source: Source, *, label: str, ignore: Sequence[str] = ()) -> Table:
    """Read a CSV, TSV, JSONL or Parquet file, or an Arrow table, with one column of labels.

    `dualprune.data.columns` says how the others become inputs; a warning names those that are left
    out. Rows without a label keep their id and are `unreadable`; a warning counts them.

    Parameters
    ----------
    label
        Name of the column of labels: texts or numbers, but no regression target.
    ignore
        Names of columns that are not to be used.

    Examples
    --------
    >>> rows = pa.table({"age": [3.5, 8.25, 2.0, 1.0] * 5, "kind": ["cat", "dog"] * 10})
    >>> data = table_from(rows, label="kind")
    >>> data.shape, data.described(), data.snippets(np.array([1]))
    ((1,), ['age: number'], ['age: 8.25'])
    """
    if label in ignore:
        raise InputError(f"{label!r} is the label and cannot be ignored")
    path, sha256 = path_and_digest(source)
    rows = _gathered(source, label, ignore)
    classes, class_names = find_classes(rows[label], label, origin_of(source))
    columns, lines = _columns(rows.drop_columns(label), origin_of(source))
    numbers = [part for column in columns.values() for part in column.numbers]
    coded = [column for column in columns.values() if column.codes is not None]
    ends = np.cumsum([len(numbers), *(column.levels for column in coded)])
    hot = [column.codes + first for column, first in zip(coded, ends, strict=False)]
    return Table(
        labels=np.maximum(classes, 0),
        class_names=class_names,
        source=np.arange(len(classes)),
        columns=pa.table({name: column.values for name, column in columns.items()}),
        numbers=np.array(numbers, np.float32).reshape(-1, len(rows)).T.copy(),
        hot=np.array(hot, np.int32).reshape(-1, len(rows)).T.copy(),
        width=int(ends[-1]),
        lines=lines,
        unreadable=left_out(classes, "a label", origin_of(source)),
        label=label,
        path=path,
        sha256=sha256,
    )


def _gathered(source: Source, label: str, ignore: Sequence[str]) -> pa.Table:
    blocks = [*read_blocks(source, [label], only=False, ignore=ignore)]
    if not blocks:
        raise InputError(f"{origin_of(source)} has no rows")
    return pa.concat_tables(blocks, promote_options="default")


def _columns(rows: pa.Table, origin: str) -> tuple[dict[str, Column], tuple[str, ...]]:
    """Give the columns that are used, by name, and a line for every column."""
    columns = {name: read_column(rows[name]) for name in rows.column_names}
    used = {name: column for name, column in columns.items() if isinstance(column, Column)}
    against = {name: reason for name, reason in columns.items() if isinstance(reason, str)}
    listed = "; ".join(f"{name!r} ({reason})" for name, reason in against.items())
    if not used:
        raise InputError(f"{origin} has no column to learn from: {listed or 'only the label'}")
    if against:
        warnings.warn(f"left out columns of {origin}: {listed}", stacklevel=3)
    lines = {name: f"left out, {reason}" for name, reason in against.items()}
    lines |= {name: column.described for name, column in used.items()}
    return used, tuple(f"{name}: {lines[name]}" for name in columns)


def _as_texts(column: pa.ChunkedArray) -> list[str]:
    """Values as a person reads them: numbers with six digits, nothing for what is missing."""
    if pa.types.is_floating(column.type):
        return ["" if value is None else f"{value:.6g}" for value in column.to_pylist()]
    texts: list[str] = column.cast(pa.large_string()).fill_null("").to_pylist()
    return texts


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give timestamps as numbers, of which Python has more than years."""
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
