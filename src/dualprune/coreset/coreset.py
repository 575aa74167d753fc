"""Coreset: the ids to keep, and a card that says where they come from."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dualprune.coreset.card import Card
from dualprune.errors import DamagedError, InputError, MissingError
from dualprune.files import make_folders, read_json, read_table, write_json, write_table
from dualprune.signatures import Array


def digest(ids: Array) -> str:
    """SHA-256 of sorted ids as little-endian int64: equal for equal coresets on any machine."""
    return sha256(np.asarray(ids, "<i8").tobytes()).hexdigest()


@dataclass(frozen=True, repr=False)
class Coreset:
    """The ids to keep, sorted, and a card: method, knobs, seed, where the scores come from.

    `columns` may hold more about every sample, kept or not; they are saved beside the ids.
    """

    ids: Array
    card: Card
    columns: Mapping[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        card = self.card
        return f"Coreset({len(self):,} of {card.samples:,}: {card.method}, seed {card.seed})"

    @property
    def mask(self) -> Array:
        """Whether each sample is kept, shape (samples,)."""
        kept = np.zeros(self.card.samples, bool)
        kept[self.ids] = True
        return kept

    def to_arrow(self) -> pa.Table:
        """Give one row per sample: `id`, the columns, and whether it is `kept`."""
        return pa.table({"id": np.arange(self.card.samples), **self.columns, "kept": self.mask})

    def to_pandas(self) -> Any:
        """Give the same table as a DataFrame; needs pandas."""
        return self.to_arrow().to_pandas()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write `coreset.parquet` (one row per sample) and `card.json` into a folder."""
        folder = Path(path)
        if (folder / "card.json").exists():
            raise InputError(f"{folder} already holds a coreset; choose another folder")
        make_folders(folder)
        data = write_table(folder / "coreset.parquet", self.to_arrow())
        checksum = {"file_sha256": sha256(data).hexdigest()}
        write_json(folder / "card.json", asdict(self.card) | checksum)
        return folder

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "Coreset":
        """Read what `save` wrote."""
        folder = Path(path)
        if not (folder / "card.json").is_file():
            raise MissingError(f"there is no coreset at {folder}: it has no card.json")
        content, file = read_json(folder / "card.json"), folder / "coreset.parquet"
        if not file.is_file():
            raise DamagedError(f"{folder} is damaged: coreset.parquet is missing")
        data = file.read_bytes()
        if sha256(data).hexdigest() != content.pop("file_sha256", None):
            raise DamagedError(f"{file} is damaged: its bytes do not match the card")
        table = read_table(pa.BufferReader(data))
        columns = {name: table.column(name).to_numpy() for name in table.column_names}
        ids = np.flatnonzero(columns.pop("kept"))
        del columns["id"]
        return Coreset(ids, Card.from_json(content), columns)

    def apply(self, data: Any) -> Any:
        """Give the kept part of an array, a tensor or a map-style dataset."""
        if len(data) != self.card.samples:
            raise InputError(
                f"this coreset is of {self.card.samples} samples, the data has {len(data)}"
            )
        if hasattr(data, "__array__"):
            return data[self.ids]
        return Subset(data, self.ids)


class Subset:
    """The kept samples of a dataset, which keeps `targets` and `classes`."""

    def __init__(self, dataset: Any, indices: Array) -> None:
        self.dataset = dataset
        self.indices = indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[int(self.indices[index])]

    @property
    def targets(self) -> Any:
        targets = self.dataset.targets
        if hasattr(targets, "__array__"):
            return targets[self.indices]
        return [targets[index] for index in self.indices]

    @property
    def classes(self) -> Any:
        return self.dataset.classes
