"""One Parquet file: what one process saw in one epoch, sorted by id, each id once.

The name ends with a hash of the file's footer; the footer says which attempt, epoch and process it
belongs to; every page has a checksum. A row group holds the ids of one chunk, ``id // CHUNK``, so a
reader takes a range of ids out of every part without touching the rest.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dualprune.arrays import Array
from dualprune.errors import DamagedError

__all__ = ["CHUNK", "Part", "encode"]

CHUNK = 2**17

_MAGIC = b"PAR1"
_TYPES = {"id": pa.int64(), "label": pa.int32(), "rival": pa.int32()}


def encode(columns: Mapping[str, Array], facts: Mapping[str, Any]) -> tuple[memoryview, str]:
    """Serialise columns that are sorted by a unique `id`; also give the hash of the footer."""
    integers = {name: "DELTA_BINARY_PACKED" for name in columns if name in _TYPES}
    schema = pa.schema(
        [pa.field(name, _TYPES.get(name, pa.float32()), nullable=False) for name in columns]
    )
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink,
        schema,
        compression="none",  # the mantissas of losses do not compress
        use_dictionary=False,
        column_encoding=integers or None,
        write_statistics=["id"],
        write_page_checksum=True,
        store_schema=False,
    ) as writer:
        table = pa.table(dict(columns), schema=schema)
        chunks = columns["id"] // CHUNK
        edges = [*np.flatnonzero(np.diff(chunks, prepend=-1)), len(chunks)]
        for start, stop in pairwise(edges):
            writer.write_table(table.slice(start, stop - start), row_group_size=CHUNK)
        writer.add_key_value_metadata({"dualprune": json.dumps(facts)})
    data = memoryview(sink.getvalue())
    return data, _digest(bytes(data[-8 - _footer_size(data[-8:]) : -8]))


def _footer_size(tail: memoryview | bytes) -> int:
    return int.from_bytes(tail[:4], "little")


def _digest(footer: bytes) -> str:
    return hashlib.sha256(footer).hexdigest()[:32]


@dataclass(frozen=True)
class _Group:
    """Where one chunk of ids lies in a part."""

    index: int
    first: int
    last: int
    rows: int

    @property
    def dense(self) -> bool:
        return self.rows == self.last - self.first + 1


@dataclass(frozen=True)
class Part:
    """An opened part; its footer is known to be what was written."""

    path: Path
    metadata: pq.FileMetaData
    facts: dict[str, Any]
    groups: dict[int, _Group]

    @staticmethod
    def open(path: Path, expected: Mapping[str, Any]) -> "Part":
        """Read and check the footer; `expected` are facts that the part must state."""
        metadata = _read_footer(path)
        facts = json.loads((metadata.metadata or {}).get(b"dualprune", b"{}"))
        for name, value in expected.items():
            if facts.get(name) != value:
                raise DamagedError(
                    f"{path} belongs elsewhere: its {name} is {facts.get(name)}, not {value}"
                )
        groups = (_group(metadata, index) for index in range(metadata.num_row_groups))
        return Part(path, metadata, facts, {group.first // CHUNK: group for group in groups})

    @property
    def digest(self) -> str:
        return self.path.stem.rpartition("-")[2]

    def holds_all(self, ids: range) -> bool:
        """Whether every id of a chunk is here."""
        group = self.groups.get(ids.start // CHUNK)
        return group is not None and group.rows == len(ids)

    def read(self, chunk: int, names: list[str]) -> tuple[Array | slice, list[Array]]:
        """Positions inside the chunk that this part holds, and the values of each column there."""
        group = self.groups.get(chunk)
        if group is None:
            return slice(0, 0), [np.empty(0, np.float32) for _ in names]
        start = chunk * CHUNK
        if group.dense:
            columns = self._columns(group, names)
            return slice(group.first - start, group.last - start + 1), columns
        ids, *columns = self._columns(group, ["id", *names])
        return ids - start, columns

    def _columns(self, group: _Group, names: list[str]) -> list[Array]:
        try:
            table = self._table(group.index, names)
        except (pa.ArrowException, OSError) as error:
            raise DamagedError(f"{self.path} is damaged: {error}") from error
        return [table.column(name).to_numpy() for name in names]

    def _table(self, group: int, names: list[str]) -> pa.Table:
        file = pq.ParquetFile(
            self.path, metadata=self.metadata, page_checksum_verification=True, pre_buffer=False
        )
        with file:
            return file.read_row_group(group, columns=names, use_threads=False)


def _read_footer(path: Path) -> pq.FileMetaData:
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - 8))
        tail = file.read(8)
        length = _footer_size(tail)
        if len(tail) < 8 or tail[4:] != _MAGIC or length > size - 12:
            raise DamagedError(f"{path} is damaged: it does not end as a Parquet file ({size:,} B)")
        file.seek(size - 8 - length)
        footer = file.read(length)
    if not path.stem.endswith(_digest(footer)):
        raise DamagedError(f"{path} is damaged: its footer does not match its name")
    return pq.read_metadata(pa.BufferReader(_MAGIC + footer + tail))


def _group(metadata: pq.FileMetaData, index: int) -> _Group:
    group = metadata.row_group(index)
    ids = group.column(0).statistics
    return _Group(index, ids.min, ids.max, group.num_rows)
