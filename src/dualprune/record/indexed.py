"""Indexed: a dataset whose samples also carry their id."""

from collections.abc import Sequence
from typing import Any, Protocol

from torch.utils.data import IterableDataset

from dualprune.errors import InputError


class MapStyle(Protocol):
    """What `Indexed` can wrap: a torch map-style dataset, or anything that looks like one."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Any: ...


class Indexed:
    """Wrap a dataset so that every sample also yields its id, the position in this dataset.

    A tuple or list gets the id as its last item, a dict gets it under `key`.

    >>> Indexed([("a", 0), ("b", 1)])[1]
    ('b', 1, 1)
    >>> Indexed([{"text": "a"}])[0]
    {'text': 'a', 'sample_id': 0}
    """

    def __init__(self, dataset: MapStyle, *, key: str = "sample_id") -> None:
        positions = hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")
        if not positions or isinstance(dataset, IterableDataset):
            raise InputError(
                f"Indexed needs a dataset with a length and positions, got "
                f"{type(dataset).__name__}; with an iterable dataset, yield each sample's id "
                "yourself and pass it to Recorder.update"
            )
        self.dataset = dataset
        self.key = key

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        index = range(len(self))[index]
        return self._with_id(self.dataset[index], index)

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        indices = [range(len(self))[index] for index in indices]
        fetch = getattr(self.dataset, "__getitems__", None)
        samples = fetch(indices) if fetch else [self.dataset[index] for index in indices]
        return [
            self._with_id(sample, index) for sample, index in zip(samples, indices, strict=True)
        ]

    @property
    def targets(self) -> Any:
        return self.dataset.targets  # type: ignore[attr-defined] # AttributeError is the answer

    @property
    def classes(self) -> Any:
        return self.dataset.classes  # type: ignore[attr-defined] # AttributeError is the answer

    def _with_id(self, sample: Any, index: int) -> Any:
        if isinstance(sample, tuple | list):
            return (*sample, index)
        if not isinstance(sample, dict):
            raise InputError(
                f"sample {index} is a {type(sample).__name__}; Indexed can add an id to a tuple, "
                "a list or a dict"
            )
        if self.key in sample:
            raise InputError(
                f"sample {index} already has the key {self.key!r}; choose another: "
                "Indexed(dataset, key=...)"
            )
        return {**sample, self.key: index}
