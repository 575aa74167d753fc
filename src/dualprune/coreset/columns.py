"""What a coreset holds of its samples: in memory, or in files that are read when asked."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dualprune.files import Place, read_column
from dualprune.signatures import Array


class Columns(Mapping[str, Array]):
    """Columns in memory; one of words that repeat is held as codes, an eighth of the memory."""

    def __init__(self, held: Mapping[str, Array | pa.DictionaryArray | pa.ChunkedArray]) -> None:
        self.held = held

    def __getitem__(self, name: str) -> Array:
        column = self.held[name]
        if isinstance(column, np.ndarray):
            return column
        words: Array = pa.chunked_array(column).to_numpy()
        return words

    def __iter__(self) -> Iterator[str]:
        return iter(self.held)

    def __len__(self) -> int:
        return len(self.held)


class SavedColumns(Mapping[str, Array]):
    """Columns of a coreset in a folder, each read when it is asked for."""

    def __init__(self, files: Sequence[Place], names: Sequence[str]) -> None:
        self._files, self._names = files, names

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise KeyError(name)
        return np.concatenate([read_column(file, name) for file in self._files])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class SavedIds:
    """Ids of a coreset in a folder, file by file: of each, the first id, and which are kept."""

    def __init__(self, files: Mapping[int, Place]) -> None:
        self._files = files

    def __iter__(self) -> Iterator[Array]:
        for start, file in self._files.items():
            yield start + np.flatnonzero(read_column(file, "kept"))


class Ids:
    """The ids of a coreset: an array, or what is read from files when it is asked for."""

    def __get__(self, coreset: Any, owner: type) -> Array:
        held = coreset.__dict__["ids"]
        if isinstance(held, SavedIds):
            held = coreset.__dict__["ids"] = np.concatenate(list(held))
        array: Array = held
        return array

    def __set__(self, coreset: Any, ids: Array | SavedIds) -> None:
        coreset.__dict__["ids"] = ids

    @staticmethod
    def parts(coreset: Any) -> Iterator[Array]:
        """Give the ids as they are held: file by file, or all."""
        held: Iterable[Array] | Array = coreset.__dict__["ids"]
        return iter([held] if isinstance(held, np.ndarray) else held)
