"""Write some rows of the file that they come from again, with labels that were corrected."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dualprune.data.classes import find_classes
from dualprune.data.lines import csv_records, json_records
from dualprune.data.rows import delimiter_of, format_of, names_in, path_and_digest, read_blocks
from dualprune.errors import DamagedError, InputError
from dualprune.files import draft, make_folders, open_file
from dualprune.signatures import Array

T = TypeVar("T")

GROUP = 2**16
"""Rows that are written at once."""

_BETWEEN = " \t\r\n,:"  # the keys and values of a JSON object


class Kept(Protocol):
    """Texts or a table, as far as writing some of its rows again needs to know it."""

    @property
    def labels(self) -> Array: ...
    @property
    def class_names(self) -> tuple[str, ...]: ...
    @property
    def relabelled(self) -> int: ...
    @property
    def source(self) -> Array: ...
    @property
    def label(self) -> str: ...
    @property
    def path(self) -> Path | None: ...
    @property
    def sha256(self) -> str: ...


def write_kept(data: Kept, ids: Array, target: Path) -> None:
    """Write these samples' rows of the file that they come from, in its order and its format.

    Rows of CSV and JSONL are the very bytes, a Parquet file keeps its schema. Where a label was
    corrected, the row has the label as another row of the file spells it. A file that changed
    since it was read is refused.
    """
    if data.path is None:
        raise InputError("this table was not read from a file; take its rows by coreset.ids")
    path, digest = path_and_digest(data.path)
    if digest != data.sha256:
        raise DamagedError(
            f"{path} is not what it was when it was read: its bytes changed. Start again with the "
            "file as it is now, or put the old one back"
        )
    if target.resolve() == data.path.resolve():
        raise InputError(f"{target} is the file that rows are taken from; choose another place")
    rows, like = np.sort(data.source[ids]), _corrected(data, data.path) if data.relabelled else {}
    make_folders(target.parent)
    with open_file(data.path) as file, draft(target.parent, target.name) as out:
        if format_of(data.path) == "parquet":
            _write_parquet(file, rows, out, data.label, like)
        else:
            lines = _csv_bytes if format_of(data.path) == "csv" else _json_bytes
            for line in lines(file, data.path, rows, data.label, like):
                out.write(line)


def _corrected(data: Kept, path: Path) -> dict[int, int]:
    """Give every row whose label is another now, and a row that has this label in the file."""
    column = pa.concat_tables(read_blocks(path, [data.label], only=True))[data.label]
    classes, names = find_classes(column, data.label, str(path))
    wanted = np.array([names.index(name) for name in data.class_names])[data.labels]
    first = np.array([np.argmax(classes == place) for place in range(len(names))])
    differs = (classes[data.source] >= 0) & (classes[data.source] != wanted)
    return dict(zip(data.source[differs].tolist(), first[wanted[differs]].tolist(), strict=True))


def _csv_bytes(
    file: BinaryIO, path: Path, rows: Array, label: str, like: Mapping[int, int]
) -> Iterator[bytes]:
    """Give the header and the records of these rows."""
    mark = delimiter_of(file, path)
    records = csv_records(file, path, mark)
    names = names_in(next(records)[2])
    models = {row: cells for row, (_, _, cells) in _at(_needed(like), records)}
    file.seek(0)
    records = csv_records(file, path, mark)
    yield next(records)[1]
    for row, (_, raw, cells) in _at(rows, records):
        if row in like:
            place = names.index(label)
            cells[place] = models[like[row]][place]
            yield _csv_line(cells, mark, raw)
        else:
            yield raw


def _csv_line(cells: list[str], mark: str, before: bytes) -> bytes:
    """Give a record that ends as it ended before."""
    line, end = io.StringIO(), before[len(before.rstrip(b"\r\n")) :].decode()
    csv.writer(line, delimiter=mark).writerow(cells)  # which quotes the line ends that it writes
    return (line.getvalue().removesuffix("\r\n") + end).encode()


def _json_bytes(
    file: BinaryIO, path: Path, rows: Array, label: str, like: Mapping[int, int]
) -> Iterator[bytes]:
    """Give the lines of these rows."""
    records = json_records(file, path)
    models = {row: raw.decode() for row, (_, raw, _) in _at(_needed(like), records)}
    file.seek(0)
    for row, (_, raw, _) in _at(rows, json_records(file, path)):
        if row in like:
            text, model = raw.decode(), models[like[row]]
            here, there = _value_in(text, label), _value_in(model, label)
            yield (text[: here.start] + model[there] + text[here.stop :]).encode()
        else:
            yield raw


def _needed(like: Mapping[int, int]) -> Array:
    return np.unique(np.array([*like.values()], int))


def _at(rows: Array, records: Iterator[T]) -> Iterator[tuple[int, T]]:
    """Give these rows, which are sorted, of all records.

    >>> list(_at(np.array([1, 3]), iter("abcd")))
    [(1, 'b'), (3, 'd')]
    """
    number = -1
    for row in rows.tolist():
        yield row, next(islice(records, row - number - 1, None))
        number = row


def _value_in(text: str, key: str) -> slice:
    """Give where the value of a key stands in the text of a JSON object; its last, as for JSON.

    >>> text = '{"a": [1, 2], "b": 1.50}'
    >>> text[_value_in(text, "b")]
    '1.50'
    """
    decoder, found = json.JSONDecoder(), slice(0, 0)
    at = _skip(text, text.index("{") + 1)
    while text[at] != "}":
        name, at = decoder.raw_decode(text, at)
        first = _skip(text, at)
        _, last = decoder.raw_decode(text, first)
        found = slice(first, last) if name == key else found
        at = _skip(text, last)
    return found


def _skip(text: str, at: int) -> int:
    return next(place for place in range(at, len(text)) if text[place] not in _BETWEEN)


def _write_parquet(
    file: BinaryIO, rows: Array, out: Any, label: str, like: Mapping[int, int]
) -> None:
    parquet, first = pq.ParquetFile(file, pre_buffer=False), 0
    codec = parquet.metadata.row_group(0).column(0).compression
    codec = codec.replace("UNCOMPRESSED", "NONE")  # read by one name, written by another
    labels = _labels(parquet, label, like) if like else None
    place = parquet.schema_arrow.get_field_index(label)
    with pq.ParquetWriter(out, parquet.schema_arrow, compression=codec) as writer:
        for batch in parquet.iter_batches(GROUP, use_threads=False):
            here = pa.array(rows[(rows >= first) & (rows < first + len(batch))] - first)
            kept = pa.record_batch([_taken(column, here) for column in batch], batch.schema)
            if labels is not None:
                corrected = _taken(labels.slice(first, len(batch)), here)
                kept = kept.set_column(place, batch.schema.field(place), corrected)
            writer.write_batch(kept)
            first += len(batch)


def _labels(parquet: pq.ParquetFile, label: str, like: Mapping[int, int]) -> pa.Array:
    """Give the column of labels as it was corrected."""
    column = parquet.read([label], use_threads=False)[label].combine_chunks()
    places = np.arange(len(column))
    places[[*like]] = [*like.values()]
    return _taken(column, pa.array(places))


def _taken(column: pa.Array, places: pa.Array) -> pa.Array:
    """Give the values at these places; Arrow itself takes none of texts and bytes in views."""
    if pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type):
        return column.cast(pa.large_binary()).take(places).cast(column.type)
    return column.take(places)
