"""One Parquet file: what one process saw in one epoch, sorted by id, each id once.

The name ends with a hash of the file's footer. The footer says which attempt, epoch and process it
belongs to, and the sum of the bits of every column of every row group, because a page's checksum
does not cover its own header. A row group holds the ids of one chunk, ``id // CHUNK``, so a reader
takes a range of ids out of every part without touching the rest.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dualprune.errors import DamagedError
from dualprune.files import Draft, Place, open_file, open_table, reading
from dualprune.run.signals import column_of
from dualprune.signatures import Array

CHUNK = 2**17

_MAGIC = b"PAR1"
_TAIL = 2**15  # bytes, more than most footers have


def write_rows(
    file: Draft, columns: Mapping[str, Array], order: Array, facts: Mapping[str, Any]
) -> str:
    """Write the rows at the positions `order`, which sorts them by a unique `id`, chunk by chunk.

    Gives the hash of the footer.
    """
    types = {name: column_of(name).dtype for name in columns}
    schema = pa.schema(
        [pa.field(n, pa.from_numpy_dtype(dtype), nullable=False) for n, dtype in types.items()]
    )
    ids = columns["id"][order]
    chunks = range(0, int(ids[-1]) + 1, CHUNK) if len(ids) else ()
    edges = [*np.unique(np.searchsorted(ids, chunks)).tolist(), len(ids)]
    spans, sums = [], {name: list[int]() for name in columns}
    with pq.ParquetWriter(
        pa.PythonFile(file, "w"),
        schema,
        compression="none",  # the mantissas of losses do not compress
        use_dictionary=False,
        column_encoding={n: "DELTA_BINARY_PACKED" for n, dtype in types.items() if "i" in dtype},
        write_statistics=False,
        write_page_checksum=True,
        store_schema=False,
    ) as writer:
        for start, stop in pairwise(edges):
            rows = {n: v[order[start:stop]].astype(types[n]) for n, v in columns.items()}
            writer.write_table(pa.table(rows, schema=schema), row_group_size=CHUNK)
            spans.append([int(rows["id"][0]), int(rows["id"][-1])])
            for name, values in rows.items():
                sums[name].append(bit_sum(values))
        content = {**facts, "spans": spans, "sums": sums}
        writer.add_key_value_metadata({"dualprune": json.dumps(content)})
    return _digest(file.tail(8 + _footer_size(file.tail(8)))[:-8])


def bit_sum(values: Array) -> int:
    """Add up the bits of all values, eight bytes at a time, modulo 2**64."""
    octets = values.view(np.uint8)
    whole = len(octets) // 8 * 8
    lanes, rest = octets[:whole].view(np.uint64), octets[whole:].tobytes()
    return (int(lanes.sum()) + int.from_bytes(rest, "little")) % 2**64


def _footer_size(tail: bytes) -> int:
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

    def makes_sense(self, samples: int) -> bool:
        one_chunk = self.first // CHUNK == self.last // CHUNK
        return one_chunk and 0 <= self.first <= self.last < samples and 0 < self.rows <= CHUNK


@dataclass(frozen=True)
class Part:
    """An opened part; its footer is known to be what was written."""

    path: Place
    size: int
    metadata: pq.FileMetaData
    facts: dict[str, Any]
    groups: dict[int, _Group]

    @staticmethod
    def open(path: Place, expected: Mapping[str, Any], samples: int) -> "Part":
        """Read and check the footer; `expected` are facts that the part must state."""
        with reading(path):
            size, metadata = _read_footer(path)
            facts = json.loads((metadata.metadata or {}).get(b"dualprune", b"{}"))
            for name, value in expected.items():
                if facts.get(name) != value:
                    raise DamagedError(
                        f"{path} belongs elsewhere: its {name} is {facts.get(name)}, not {value}"
                    )
            groups = [
                _Group(index, first, last, metadata.row_group(index).num_rows)
                for index, (first, last) in enumerate(facts["spans"])
            ]
            if not all(group.makes_sense(samples) for group in groups):
                raise DamagedError(f"{path} is damaged: it states ids that cannot be")
            chunks = {group.first // CHUNK: group for group in groups}
            return Part(path, size, metadata, facts, chunks)

    @property
    def digest(self) -> str:
        return self.path.stem.rpartition("-")[2]

    @property
    def features(self) -> tuple[Place, str]:
        """File of the features after this epoch, and its hash, if the part states one."""
        return self.path.with_name("features.parquet"), self.facts["features"]

    def read(self, chunk: int, names: list[str]) -> tuple[Array | slice, list[Array]]:
        """Positions in a chunk of `groups` that this part holds, and the values of each column."""
        group, start = self.groups[chunk], chunk * CHUNK
        if group.rows == group.last - group.first + 1:
            columns = self._columns(group, names)
            return slice(group.first - start, group.last - start + 1), columns
        ids, *columns = self._columns(group, ["id", *names])
        if ids[0] != group.first or ids[-1] != group.last or (np.diff(ids) <= 0).any():
            raise DamagedError(f"{self.path} is damaged: its ids are not sorted")
        return ids - start, columns

    def _columns(self, group: _Group, names: list[str]) -> list[Array]:
        with reading(self.path):
            with (
                open_table(self.path, self.size, lambda: self._span(group, names)) as source,
                pq.ParquetFile(
                    source,
                    metadata=self.metadata,
                    page_checksum_verification=True,
                    pre_buffer=False,
                ) as file,
            ):
                table = file.read_row_group(group.index, columns=names, use_threads=False)
            columns = [table.column(name).to_numpy() for name in names]
            for name, values in zip(names, columns, strict=True):
                stated = self.facts["sums"][name][group.index]
                if len(values) != group.rows or bit_sum(values) != stated:
                    raise DamagedError(f"{self.path} is damaged: {name} is not what was written")
            return columns

    def _span(self, group: _Group, names: list[str]) -> tuple[int, int]:
        """Where the columns lie in the file, if little else lies between them."""
        row_group = self.metadata.row_group(group.index)
        columns = [row_group.column(position) for position in range(row_group.num_columns)]
        wanted = [column for column in columns if column.path_in_schema in names]
        sizes = [column.total_compressed_size for column in wanted]
        starts = [column.data_page_offset for column in wanted]
        stops = map(sum, zip(starts, sizes, strict=True))
        start, stop = min(starts, default=0), max(stops, default=0)
        together = stop - start <= 2 * sum(sizes)
        return (start, min(stop, self.size)) if together else (0, 0)


def _read_footer(path: Place) -> tuple[int, pq.FileMetaData]:
    """Give the size of a file, and its footer, which is mostly read at once."""
    with open_file(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL))
        end = file.read()
        tail = end[-8:]
        length = _footer_size(tail)
        if len(tail) < 8 or tail[4:] != _MAGIC or length > size - 12:
            raise DamagedError(f"{path} is damaged: it does not end as a Parquet file ({size:,} B)")
        if length + 8 > len(end):
            file.seek(size - 8 - length)
            end = file.read()
    footer = end[-8 - length : -8]
    if not path.stem.endswith(_digest(footer)):
        raise DamagedError(f"{path} is damaged: its footer does not match its name")
    return size, pq.read_metadata(pa.BufferReader(_MAGIC + footer + tail))
