"""Coreset: the ids to keep, and a card that says where they come from."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa

from dualprune.arguments import checked
from dualprune.coreset.card import Card
from dualprune.coreset.columns import Columns, Ids, SavedColumns, SavedIds
from dualprune.coreset.ids import check_ids
from dualprune.coreset.taking import count, take
from dualprune.coreset.worth import Check
from dualprune.errors import DamagedError, InputError, MissingError
from dualprune.files import (
    Place,
    exists,
    make_folders,
    place,
    read,
    read_json,
    read_table,
    reading,
    table_bytes,
    write,
    write_json,
)
from dualprune.signatures import Array
from dualprune.urls import AnyPath

FORMAT = 2
_FILE = re.compile(r"coreset\.parquet(/\d{12}\.parquet)?")
PART = 2**24
"""Samples per file."""
WHY = pa.dictionary(pa.int8(), pa.string())
"""Type of the column `why`: few different words."""
_NUMBERS = (pa.int64(), pa.float64(), pa.bool_())  # which do not repeat, or are small
EDITED = ", edited by hand"


def digest(ids: Array) -> str:
    """SHA-256 of sorted ids as little-endian int64: equal for equal coresets on any machine."""
    return digest_of_parts([ids])


def digest_of_parts(parts: Iterable[Array]) -> str:
    """Give the same for ids that come part by part."""
    total = sha256()
    for ids in parts:
        total.update(np.ascontiguousarray(ids, "<i8").data)
    return total.hexdigest()


@dataclass(frozen=True, repr=False, eq=False)
class Coreset:
    """The ids to keep, sorted, and a card: method, knobs, seed, where the scores come from.

    `columns` may hold more about every sample, kept or not; they are saved beside the ids. Of a
    coreset that was written in parts, ids and columns are read when they are asked for. Two are
    equal if they keep the same ids of as many samples, however these were chosen.
    """

    ids: Array
    card: Card
    columns: Mapping[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.card.k

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Coreset) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[str, int]:
        return self.card.ids_sha256, self.card.samples

    def parts(self) -> Iterator[Array]:
        """Give the ids file by file, where there are several; not all of them need fit in memory.

        >>> import dualprune
        >>> coreset = dualprune.choose("tests/runs/digits", keep=0.3)
        >>> [len(ids) for ids in coreset.parts()]
        [431]
        """
        return Ids.parts(self)

    def __repr__(self) -> str:
        card = self.card
        return f"Coreset({len(self):,} of {card.readable:,}: {card.method}, seed {card.seed})"

    @property
    def mask(self) -> Array:
        """Whether each sample is kept, shape (samples,)."""
        kept = np.zeros(self.card.samples, bool)
        kept[self.ids] = True
        return kept

    def to_arrow(self) -> pa.Table:
        """Give one row per sample: `id`, the columns, and whether it is `kept`."""
        columns = dict(self.columns.held if isinstance(self.columns, Columns) else self.columns)
        if isinstance(columns.get("why"), np.ndarray):  # few different words: a byte per sample
            columns["why"] = pa.array(columns["why"], type=WHY)
        return pa.table({"id": np.arange(self.card.samples), **columns, "kept": self.mask})

    def to_pandas(self) -> Any:
        """Give the same table as a DataFrame; needs pandas."""
        return self.to_arrow().to_pandas(use_threads=False)

    @checked
    def save(self, path: AnyPath) -> Place:
        """Write `card.json`, and `coreset.parquet` (one row per sample) into a folder.

        The folder may be a URL. Very many samples become several files, by ranges of ids, in a
        folder `coreset.parquet`.
        """
        folder = place(path)
        refuse_coreset(folder)
        make_folders(folder)
        table, name = self.to_arrow(), "coreset.parquet"
        parts = {name: table}
        if len(table) > PART:
            make_folders(folder / name)
            starts = range(0, len(table), PART)
            parts = {part_name(start): table.slice(start, PART) for start in starts}
        files = {name: save_rows(folder / name, part) for name, part in parts.items()}
        save_card(folder, self.card, files)
        return folder

    def save_check(self, path: AnyPath, check: Check) -> "Coreset":
        """Add a check to the card of this coreset in a folder, and give the coreset with it."""
        file = place(path) / "card.json"
        write_json(file, read_json(file) | {"check": asdict(check)})
        return replace(self, card=replace(self.card, check=check))

    @staticmethod
    @checked
    def load(path: AnyPath) -> "Coreset":
        """Read what `save` wrote, from a folder or URL, also in format 1."""
        folder = place(path)
        if not exists(folder / "card.json"):
            raise MissingError(f"there is no coreset at {folder}: it has no card.json")
        content = read_json(folder / "card.json")
        version = content.pop("format", 1)
        if isinstance(version, int) and version > FORMAT:
            raise InputError(
                f"{folder} has format {version}, this dualprune reads formats 1 to {FORMAT}; "
                "pip install -U dualprune"
            )
        with reading(folder / "card.json"):
            files = content.pop("files", None) or {"coreset.parquet": content.pop("file_sha256")}
            card = Card.from_json(content)
            if not all(map(_FILE.fullmatch, files)):
                raise DamagedError(f"{folder} is damaged: its card names other files")
            paths = {folder / name: sha for name, sha in sorted(files.items())}
        table = pa.concat_tables([read_table(file, sha256=sha) for file, sha in paths.items()])
        return _with_ids(folder, card, table)

    def with_ids(self, ids: Array) -> "Coreset":
        """Give a coreset of ids chosen by hand; `why` says which of them were added or dropped."""
        if not len(ids):
            raise InputError("nothing would be kept; give at least one id")
        ids = np.unique(check_ids(ids, self.card.samples))
        changes = {"added": np.setdiff1d(ids, self.ids), "dropped": np.setdiff1d(self.ids, ids)}
        why = np.array(self.columns.get("why", np.full(self.card.samples, "")), object)
        if (why[changes["added"]] == "unreadable").any():
            raise InputError("some of these ids could not be read; they cannot be kept")
        for change, members in changes.items():
            why[members] = change
        counts = {change: len(members) for change, members in changes.items()}
        counts["unreadable"] = self.card.samples - self.card.readable
        card = replace(
            self.card,
            method=f"{self.card.method.removesuffix(EDITED)}{EDITED}",
            selector="by hand",
            k=len(ids),
            ids_sha256=digest(ids),
            select_knobs={},
            reads={},
            values={},
            reasons={reason: count for reason, count in counts.items() if count},
            short=[],
            check=None,
            training=None,
            search=None,
            shares=None,
        )
        return Coreset(ids, card, {**self.columns, "why": why})

    def apply(self, data: Any) -> Any:
        """Give the kept part of the data that was recorded, as the same kind, by position.

        A list or tuple, an array or tensor, a scipy sparse matrix, a DataFrame or Series of pandas
        or polars, a Table or Array of pyarrow, a `datasets.Dataset`, or any dataset with a length
        and positions, which stays where it is.
        """
        samples = count(data)
        if samples != self.card.samples:
            raise InputError(
                f"this coreset is of {self.card.samples} samples, the data has "
                f"{'no length' if samples < 0 else samples}"
            )
        return take(data, self.ids)


Coreset.ids = Ids()  # type: ignore[assignment] # gives an array, read when it is asked for


def in_files(folder: Place, card: Card, parts: Iterable[range], names: Sequence[str]) -> Coreset:
    """Give a coreset whose ids and columns stay in the files of a folder."""
    files = {ids.start: folder / part_name(ids.start) for ids in parts if ids}
    ids: Any = SavedIds(files)
    return Coreset(ids, card, SavedColumns(list(files.values()), names))


def refuse_coreset(folder: Place) -> None:
    """Refuse a folder that holds a coreset."""
    if exists(folder / "card.json"):
        raise InputError(f"{folder} already holds a coreset; choose another folder")


def part_name(start: int) -> str:
    """Give the file of the samples from an id on, where a coreset has several files."""
    return f"coreset.parquet/{start:012d}.parquet"


def save_rows(path: Place, table: pa.Table) -> str:
    """Write rows of a coreset, durably, unless they are there; gives the hash of the file."""
    kinds = {field.name: field.type for field in table.schema}
    data = table_bytes(
        table,
        {n: "none" if kind == pa.float64() else "zstd" for n, kind in kinds.items()},
        use_dictionary=[name for name, kind in kinds.items() if kind not in _NUMBERS],
        column_encoding={"id": "DELTA_BINARY_PACKED"},
        write_statistics=["id"],
    )
    if not (exists(path) and read(path) == data):
        write(path, data)
    return sha256(data).hexdigest()


def save_card(folder: Place, card: Card, files: Mapping[str, str]) -> None:
    """Write the card, which makes the files, given with their hashes, a coreset."""
    content = {"format": FORMAT, **asdict(card), "files": dict(files)}
    write_json(folder / "card.json", content)


def _with_ids(folder: Place, card: Card, table: pa.Table) -> Coreset:
    """Give the coreset of a table whose bytes are known to be what was written."""
    with reading(folder / "coreset.parquet"):
        columns = {name: _held(table.column(name)) for name in table.column_names}
        ids = np.flatnonzero(columns.pop("kept"))
        if digest(ids) != card.ids_sha256 or len(columns.pop("id")) != card.samples:
            raise DamagedError(f"{folder} is damaged: its ids are not those that its card states")
        if card.score is not None and "score" not in columns:
            raise DamagedError(f"{folder} is damaged: its card states a score, but it has none")
        return Coreset(ids, card, Columns(columns))


def _held(column: pa.ChunkedArray) -> Array | pa.ChunkedArray:
    return column if pa.types.is_dictionary(column.type) else column.to_numpy()
