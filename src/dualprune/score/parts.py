"""Files of scores: one, or for very many samples a folder with one for every range of ids.

Each file says in its metadata what the scores are, and carries the hash of its values. A file in
the folder appears when it is complete, so it is the mark that its range is done.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dualprune.errors import DamagedError, InputError, MissingError
from dualprune.files import (
    Place,
    entries,
    exists,
    is_folder,
    make_folders,
    open_file,
    read_table,
    reading,
    seal,
    write,
)
from dualprune.signatures import Array

_NAME = re.compile(r"\d{12}\.parquet")


def write_scores(path: Place, values: Array, card: Mapping[str, Any], first: int = 0) -> None:
    """Write `id` and `score` of samples from `first` on, with a card in the metadata."""
    table = pa.table({"id": np.arange(first, first + len(values)), "score": values})
    content = {**card, "scores_sha256": sha256(np.ascontiguousarray(values).data).hexdigest()}
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, compression="none", store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"dualprune": json.dumps({**content, "seal": seal(content)})})
    write(path, memoryview(sink.getvalue()))


def read_scores(path: Place) -> tuple[dict[str, Any], Array]:
    """Read the card and the values that `write_scores` wrote."""
    table = read_table(path)
    with reading(path):
        values: Array = table.column("score").to_numpy()
        card = json.loads((table.schema.metadata or {})[b"dualprune"])
        stated, sha = card.pop("seal"), sha256(np.ascontiguousarray(values).data).hexdigest()
        if seal(card) != stated or card.pop("scores_sha256") != sha:
            raise DamagedError(f"{path} is damaged: it does not match its checksums")
        return card, values


@dataclass(frozen=True)
class ScoreParts:
    """A folder of scores: what they are of, as a card, and how many samples there are."""

    folder: Place
    card: Mapping[str, Any]
    samples: int

    def file(self, first: int) -> Place:
        """Give the file of the range that starts with this id."""
        return self.folder / f"{first:012d}.parquet"

    def prepare(self) -> None:
        """Make the folder, or refuse one that holds anything but parts."""
        foreign = [e.name for e in entries(self.folder) if not _NAME.fullmatch(e.name)]
        foreign = [name for name in foreign if not name.endswith(".tmp")]  # of killed workers
        if foreign or (exists(self.folder) and not is_folder(self.folder)):
            what = f"holds {foreign[0]}" if foreign else "is a file"
            raise InputError(f"{self.folder} {what}; these scores need a new or empty folder")
        make_folders(self.folder)

    def has(self, ids: range) -> bool:
        """Whether the file of a range is there; one that holds something else is refused."""
        return exists(self.file(ids.start)) and bool(len(self._values(ids)))

    def write(self, ids: range, values: Array) -> None:
        """Write the file of a range, atomically."""
        write_scores(self.file(ids.start), values, self._card(ids), ids.start)

    def read(self, ids: range) -> Array:
        """Read the scores of these samples, from as many files as have them."""
        values = np.empty(len(ids))
        for own in self._files():
            start, stop = max(own.start, ids.start), min(own.stop, ids.stop)
            if start < stop:
                part = self._values(own)[start - own.start : stop - own.start]
                values[start - ids.start : stop - ids.start] = part
        return values

    def _files(self) -> list[range]:
        """Give the ranges that the files are of, by their names."""
        starts = [int(e.name[:12]) for e in entries(self.folder) if _NAME.fullmatch(e.name)]
        return [range(*ends) for ends in zip(starts, [*starts[1:], self.samples], strict=True)]

    def check(self) -> None:
        """Read every file, one after the other; a damaged one is an error that names it."""
        for ids in self._files():
            self._values(ids)

    def _values(self, ids: range) -> Array:
        path = self.file(ids.start)
        card, values = read_scores(path)
        if card != self._card(ids) or len(values) != len(ids):
            raise InputError(
                f"{path} holds other scores, or others are missing beside it; score again into "
                "a new folder"
            )
        return values

    def _card(self, ids: range) -> dict[str, Any]:
        return {**self.card, "samples": self.samples, "ids": [ids.start, ids.stop]}

    @staticmethod
    def open(folder: Place) -> "ScoreParts":
        """Open a folder in which no range is missing."""
        names = [e.name for e in entries(folder) if _NAME.fullmatch(e.name)]
        if not names:
            raise MissingError(f"there are no scores in {folder}")
        cards = {name: _card_of(folder / name) for name in names}
        with reading(folder / names[0]):
            spans = [card.pop("ids") for card in cards.values()]
            card = dict(cards[names[0]])
            samples, done = card.pop("samples"), sum(stop - start for start, stop in spans)
        if done != samples or any(other != cards[names[0]] for other in cards.values()):
            raise MissingError(
                f"{folder} has the scores of {done:,} samples of {samples:,}; score again: what "
                "is there is not computed again"
            )
        return ScoreParts(folder, card, samples)


def _card_of(path: Place) -> dict[str, Any]:
    """Give what a file says of its scores, without reading them."""
    with open_file(path) as file, reading(path):
        card = json.loads((pq.read_metadata(file).metadata or {})[b"dualprune"])
        if not isinstance(card, dict) or card.pop("seal") != seal(card):
            raise DamagedError(f"{path} is damaged: it does not match its checksums")
        del card["scores_sha256"]
        return card
