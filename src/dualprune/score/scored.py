"""Scored: scores together with what they were computed from, in memory and on disk."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualprune.arguments import build, checked
from dualprune.coreset.coreset import PART
from dualprune.errors import MissingError
from dualprune.files import (
    Place,
    exists,
    is_folder,
    make_folders,
    place,
    reading,
    refuse_to_replace,
    seal,
)
from dualprune.run.ranges import ranges
from dualprune.score.parts import ScoreParts, read_scores, write_scores
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
    parts: ScoreParts | None = None
    """Where the values are that were not read, see `open`."""

    @property
    def card(self) -> dict[str, Any]:
        return {n: value for n, value in vars(self).items() if n not in ("values", "parts")}

    @property
    def file_name(self) -> str:
        return f"{self.score}-{seal(self.card)[:12]}.parquet"

    def save(self, path: Place) -> None:
        """Write `id` and `score`; the card goes into the file's metadata.

        Only another file of scores is replaced. Very many samples become a folder, see `parts.py`.
        """
        if len(self.values) > PART:
            parts = ScoreParts(path, self.card, len(self.values))
            parts.prepare()
            for ids in ranges(len(self.values)):
                parts.write(ids, self.values[ids.start : ids.stop])
            return
        refuse_to_replace(path, "a file of scores", Scored.load)
        make_folders(path.parent)
        write_scores(path, self.values, self.card)

    @staticmethod
    @checked
    def load(path: AnyPath) -> "Scored":
        """Read what `save` wrote."""
        scored = Scored.open(path)
        parts = scored.parts
        if parts is None:
            return scored
        return replace(scored, values=parts.read(range(parts.samples)), parts=None)

    @staticmethod
    @checked
    def open(path: AnyPath) -> "Scored":
        """Read a file of scores; the values in a folder stay there, as `parts`."""
        path = place(path)
        if not exists(path):
            raise MissingError(f"there is no file of scores at {path}")
        if is_folder(path):
            parts = ScoreParts.open(path)
            with reading(path):
                return replace(build(Scored, {**parts.card, "values": np.empty(0)}), parts=parts)
        card, values = read_scores(path)
        with reading(path):
            return build(Scored, {**card, "values": values})
