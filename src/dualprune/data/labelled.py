"""What every kind of labelled data has: images, texts, rows of a table, or a user's own dataset."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np

from dualprune.signatures import Array


class Data(Protocol):
    """Labelled data; a sample's id is its position here.

    `labels` are positions in `class_names`, `source` is where each sample was in what it was taken
    from. `names` may be empty. Samples that are `unreadable` keep their id, and are neither trained
    on nor kept. `relabelled` counts labels that were corrected after loading.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def kind(self) -> str:
        """What the samples are, as a plural: "images", "texts", "rows"."""

    @property
    def recipe(self) -> str:
        """Name of the recipe that suits them where nobody says another."""

    @property
    def labels(self) -> Array: ...
    @property
    def class_names(self) -> tuple[str, ...]: ...
    @property
    def source(self) -> Array: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def unreadable(self) -> Array | None: ...
    @property
    def relabelled(self) -> int: ...
    @property
    def readable_ids(self) -> Array: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def nbytes(self) -> float:
        """Bytes in memory; infinite if samples are read from files while training."""

    def __len__(self) -> int: ...
    def __hash__(self) -> int: ...
    def take(self, ids: Array) -> Self: ...


D = TypeVar("D", bound=Data)


def with_labels(data: D, labels: Array) -> D:
    """Give the data with other labels; -1 stands for the one that a sample has."""
    now = np.where(labels < 0, data.labels, labels).astype(np.int64)
    changed = int((now != data.labels).sum())
    return replace(data, labels=now, relabelled=data.relabelled + changed)


class Encoded(Data, Protocol):
    """Data that give a model's inputs as arrays: texts and rows of a table."""

    @property
    def shape(self) -> tuple[int, ...]:
        """What a model must know of a batch beside its length."""

    def batch(self, ids: Array) -> Array: ...
    def snippets(self, ids: Array) -> list[str]: ...
    def contents(self) -> Iterable[Hashable]: ...


@dataclass(frozen=True)
class Columns:
    """Which columns of a file of rows hold the text and the label, and which to leave out."""

    text: str | None = None
    label: str | None = None
    ignore: tuple[str, ...] = ()

    def flags(self) -> list[str]:
        """Give them as a command takes them.

        >>> Columns(label="price class", ignore=("id",)).flags()
        ['--label', 'price class', '--ignore', 'id']
        """
        named = [("--text", self.text), ("--label", self.label)]
        named += [("--ignore", name) for name in self.ignore]
        return [word for flag, name in named if name is not None for word in (flag, name)]
