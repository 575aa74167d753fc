"""Scored: scores together with what they were computed from, in memory and on disk."""

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dualprune.arguments import build, checked
from dualprune.errors import DamagedError, MissingError
from dualprune.files import (
    Place,
    exists,
    make_folders,
    place,
    read_table,
    reading,
    refuse_to_replace,
    seal,
    write,
)
from dualprune.signatures import Array
from dualprune.urls import AnyPath


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

    def save(self, path: Place) -> None:
        """Write `id` and `score`; the card goes into the file's metadata.

        Only another file of scores is replaced.
        """
        refuse_to_replace(path, "a file of scores", Scored.load)
        table = pa.table({"id": np.arange(len(self.values)), "score": self.values})
        card = {**self.card, "scores_sha256": sha256(self.values.tobytes()).hexdigest()}
        sealed = json.dumps({**card, "seal": seal(card)})
        sink = pa.BufferOutputStream()
        with pq.ParquetWriter(sink, table.schema, compression="none", store_schema=False) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({"dualprune": sealed})
        make_folders(path.parent)
        write(path, memoryview(sink.getvalue()))

    @staticmethod
    @checked
    def load(path: AnyPath) -> "Scored":
        """Read what `save` wrote."""
        path = place(path)
        if not exists(path):
            raise MissingError(f"there is no file of scores at {path}")
        table = read_table(path)
        with reading(path):
            values = table.column("score").to_numpy()
            card = json.loads((table.schema.metadata or {})[b"dualprune"])
            stated, sha = card.pop("seal"), sha256(values.tobytes()).hexdigest()
            if seal(card) != stated or card.pop("scores_sha256") != sha:
                raise DamagedError(f"{path} is damaged: it does not match its checksums")
            return build(Scored, {**card, "values": values})
