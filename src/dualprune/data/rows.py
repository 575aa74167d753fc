"""Rows of CSV, TSV, JSONL and Parquet files, or of an Arrow table, read in blocks.

A row's number is its position among all rows of the file, as pandas counts them: header and blank
lines do not count.
"""

import hashlib
import json
import os
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dualprune.data.images import IN_MEMORY
from dualprune.data.lines import csv_records, find_delimiter, json_records
from dualprune.errors import InputError, MissingError, did_you_mean
from dualprune.files import open_file, reading
from dualprune.signatures import Array

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
"""What a file holds, by its suffix."""

Source: TypeAlias = str | os.PathLike[str] | pa.Table

T = TypeVar("T")

_BLOCK = 2**12  # rows
_BLOCK_BYTES = 2**24
_NAMED_AT_MOST = 20


def read_blocks(
    source: Source, need: Sequence[str], *, only: bool, ignore: Collection[str] = ()
) -> Iterator[pa.Table]:
    """Give the rows in blocks with the columns `need`, and unless `only` those, all others.

    Cells of CSV and JSONL are text as it stands there; nested JSON is its own text, a key that an
    object does not have is null. What would not fit into `IN_MEMORY` bytes is refused when so many
    were read.
    """
    size = 0
    for block in _blocks(source, need, only=only, ignore=ignore):
        size += block.nbytes
        if size > IN_MEMORY:
            raise InputError(
                f"{origin_of(source)}: what is used of it takes more than {IN_MEMORY:,} bytes of "
                "memory; take a part of the rows, or fewer columns"
            )
        yield block


def _blocks(
    source: Source, need: Sequence[str], *, only: bool, ignore: Collection[str]
) -> Iterator[pa.Table]:
    if isinstance(source, pa.Table):
        chosen = _chosen(source.column_names, need, only=only, ignore=ignore, origin="the table")
        yield from map(_as_table, source.select(chosen).to_batches(max_chunksize=_BLOCK))
        return
    path = Path(source)
    with open_file(path) as file:
        if format_of(path) == "parquet":
            yield from _parquet_blocks(file, path, need, only=only, ignore=ignore)
        elif format_of(path) == "csv":
            yield from _csv_blocks(file, path, need, only=only, ignore=ignore)
        else:
            yield from _json_blocks(file, path, need, only=only, ignore=ignore)


def _as_table(batch: pa.RecordBatch) -> pa.Table:
    """Give a block whose texts all have one type, and whose dictionaries are their values."""
    return pa.table([_plain(column) for column in batch.columns], batch.schema.names)


def _plain(column: pa.Array) -> pa.Array:
    values = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    is_text = pa.types.is_string(values.type) or pa.types.is_string_view(values.type)
    return values.cast(pa.large_string()) if is_text else values


def _parquet_blocks(
    file: BinaryIO, path: Path, need: Sequence[str], *, only: bool, ignore: Collection[str]
) -> Iterator[pa.Table]:
    with reading(path):
        parquet = pq.ParquetFile(file, page_checksum_verification=True, pre_buffer=False)
        names = parquet.schema_arrow.names
    chosen = _chosen(names, need, only=only, ignore=ignore, origin=path)
    with reading(path):
        yield from map(_as_table, parquet.iter_batches(_BLOCK, columns=chosen, use_threads=False))


def _csv_blocks(
    file: BinaryIO, path: Path, need: Sequence[str], *, only: bool, ignore: Collection[str]
) -> Iterator[pa.Table]:
    records = csv_records(file, path, delimiter_of(file, path))
    _, _, header = next(records, (0, b"", []))
    names = names_in(header)
    chosen = _chosen(names, need, only=only, ignore=ignore, origin=path)
    place_of = {name: place for place, name in enumerate(names)}
    for rows in _in_blocks(
        (raw, _full(line, cells, len(names), path)) for line, raw, cells in records
    ):
        cells = ([row[place_of[name]] for row in rows] for name in chosen)
        yield pa.table([pa.array(column, pa.large_string()) for column in cells], chosen)


def names_in(header: Sequence[str]) -> list[str]:
    """Give the names of columns, for those that have none their number."""
    return [name or f"column {place}" for place, name in enumerate(header, 1)]


def _in_blocks(records: Iterable[tuple[bytes, T]]) -> Iterator[list[T]]:
    """Give the rows in lists that are short, also where rows are long."""
    rows: list[T] = []
    size = 0
    for raw, row in records:
        rows.append(row)
        size += len(raw)
        if len(rows) == _BLOCK or size > _BLOCK_BYTES:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def _full(line: int, cells: list[str], width: int, path: Path) -> list[str]:
    if len(cells) != width:
        raise InputError(
            f"{path} cannot be read: the row that begins at line {line} has {len(cells)} cells, "
            f"the header has {width}; a cell that holds the delimiter or a line end needs quotes"
        )
    return cells


def _json_blocks(
    file: BinaryIO, path: Path, need: Sequence[str], *, only: bool, ignore: Collection[str]
) -> Iterator[pa.Table]:
    present: dict[str, None] = {}
    for rows in _in_blocks((raw, row) for _, raw, row in json_records(file, path)):
        present |= dict.fromkeys(name for row in rows for name in row)
        names = need if only else dict.fromkeys([*need, *present])
        chosen = [name for name in names if name not in ignore]
        cells = ([_as_text(row.get(name)) for row in rows] for name in chosen)
        yield pa.table([pa.array(column, pa.large_string()) for column in cells], chosen)
    _chosen([*present], need, only=only, ignore=ignore, origin=path)


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _chosen(
    names: Sequence[str],
    need: Sequence[str],
    *,
    only: bool,
    ignore: Collection[str],
    origin: str | Path,
) -> list[str]:
    """Give the columns to read; refuse those that are not there, or there twice."""
    listed = ", ".join(map(repr, names[:_NAMED_AT_MOST]))
    for name in (*need, *ignore):
        if name not in names:
            more = ", ..." if len(names) > _NAMED_AT_MOST else ""
            raise MissingError(
                f"{origin} has no column {name!r}; it has {listed or 'none'}{more}."
                f"{did_you_mean(name, names)}"
            )
    chosen = [name for name in (need if only else names) if name not in ignore]
    counts = Counter(names)
    twice = [name for name in dict.fromkeys(chosen) if counts[name] > 1]
    if twice:
        raise InputError(
            f"{origin} has several columns of the same name: {', '.join(map(repr, twice))}; "
            "rename them"
        )
    return chosen


def format_of(path: Path) -> str:
    """Say what a file holds by its suffix; an unknown one is refused."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            f"{path} is none of the files whose rows can be read: {', '.join(FORMATS)}; "
            "save it as one of these"
        )
    return FORMATS[path.suffix.lower()]


def delimiter_of(file: BinaryIO, path: Path) -> str:
    """Give what stands between the cells of a CSV or TSV file."""
    return "\t" if path.suffix.lower() == ".tsv" else find_delimiter(file, path)


def left_out(classes: Array, what: str, origin: str) -> Array | None:
    """Mark the rows without a class and count them in a warning; None if there are none."""
    missing: Array = classes < 0
    if not missing.any():
        return None
    rows = np.flatnonzero(missing)
    more = ", ..." if len(rows) > _NAMED_AT_MOST else ""
    warnings.warn(
        f"{origin}: left out {len(rows):,} of {len(missing):,} rows, which are without {what}: "
        f"{', '.join(map(str, rows[:_NAMED_AT_MOST]))}{more} (counted from 0)",
        stacklevel=3,
    )
    return missing


def origin_of(source: Source) -> str:
    """Name a source in messages."""
    return "the table" if isinstance(source, pa.Table) else str(source)


def path_and_digest(source: Source) -> tuple[Path | None, str]:
    """Give the path of a file and the SHA-256 of its bytes; of a table in memory None and ""."""
    if isinstance(source, pa.Table):
        return None, ""
    path = Path(source)
    format_of(path)
    with open_file(path) as file, reading(path):
        digest = hashlib.sha256()
        for part in iter(partial(file.read, _BLOCK_BYTES), b""):
            digest.update(part)
        return path, digest.hexdigest()
