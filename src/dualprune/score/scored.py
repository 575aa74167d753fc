"""Scored: scores together with what they were made of, in memory and on disk."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dualprune.arrays import Array
from dualprune.errors import DamagedError, MissingError
from dualprune.files import make_folder, seal, write

__all__ = ["Scored"]


@dataclass(frozen=True)
class Scored:
    """One number per sample; the score, its knobs, its epochs, and the runs' fingerprints."""

    values: Array
    score: str
    knobs: dict[str, Any]
    epochs: int
    runs: list[str]

    @property
    def card(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "values"}

    @property
    def file_name(self) -> str:
        return f"{self.score}-{seal(self.card)[:12]}.parquet"

    def save(self, path: Path) -> None:
        """Write `id` and `score`; the card goes into the file's metadata."""
        table = pa.table({"id": np.arange(len(self.values)), "score": self.values})
        table = table.replace_schema_metadata({"dualprune": json.dumps(self.card)})
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="none", write_page_checksum=True)
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        make_folder(path.parent)
        write(path, memoryview(sink.getvalue()))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "Scored":
        """Read what `save` wrote."""
        if not Path(path).is_file():
            raise MissingError(f"there is no file of scores at {path}")
        try:
            table = pq.read_table(path, page_checksum_verification=True)
        except (pa.ArrowException, OSError) as error:
            raise DamagedError(f"{path} is not a readable file of scores: {error}") from error
        card = (table.schema.metadata or {}).get(b"dualprune")
        if card is None or table.column_names != ["id", "score"]:
            raise DamagedError(f"{path} was not written by dualprune score")
        return Scored(table.column("score").to_numpy(), **json.loads(card))
