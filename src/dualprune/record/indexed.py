"""Indexed: a dataset whose samples also carry their id."""

from collections import namedtuple
from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import IterableDataset

from dualprune.errors import InputError


class MapStyle(Protocol):
    """What `Indexed` can wrap: a torch map-style dataset, or anything that looks like one."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Any: ...


class Indexed:
    """Wrap a dataset so that every sample also yields its id, the position in this dataset.

    A tuple or list gets the id as its last item, a dict and a named tuple get it under `key`.
    Several indices at once, as of a BatchSampler where `batch_size=None`, go to the dataset as they
    are; what it makes of them is one batch, which gets all their ids.

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

    def __getitem__(self, index: int | Sequence[int]) -> Any:
        if isinstance(index, list | tuple | np.ndarray | Tensor) and np.ndim(index) == 1:
            return self._batch([range(len(self))[one] for one in index])
        index = range(len(self))[index]  # type: ignore[index] # one of these
        return self._with_id(self.dataset[index], index)

    def _batch(self, indices: list[int]) -> Any:
        try:
            batch = self.dataset[indices]  # type: ignore[index] # as far as it can
        except TypeError as error:
            raise InputError(
                f"{type(self.dataset).__name__} does not take several indices at once ({error}); "
                "give the BatchSampler to the loader as batch_sampler="
            ) from error
        return self._with_id(batch, torch.tensor(indices))

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

    def _with_id(self, sample: Any, index: int | Tensor) -> Any:
        fields = getattr(sample, "_fields", ()) if isinstance(sample, tuple) else ()
        if isinstance(sample, tuple | list) and not fields:
            return (*sample, index)
        if not isinstance(sample, tuple | dict):
            raise InputError(
                f"sample {index} is a {type(sample).__name__}; Indexed can add an id to a tuple, "
                "a list or a dict"
            )
        if self.key in (fields or sample):
            raise InputError(
                f"sample {index} already has the key {self.key!r}; choose another: "
                "Indexed(dataset, key=...)"
            )
        if isinstance(sample, tuple):
            return _make(type(sample), self.key, (*sample, index))
        return {**sample, self.key: index}


@cache
def _with_field(kind: Any, key: str) -> Any:
    """Give a named tuple with one more field, which loaders can send between processes."""
    make: Any = namedtuple  # mypy knows only those with a fixed name
    wider = make(kind.__name__, (*kind._fields, key))
    wider.__reduce__ = lambda self: (_make, (kind, key, tuple(self)))
    return wider


def _make(kind: Any, key: str, values: tuple[Any, ...]) -> Any:
    return _with_field(kind, key)(*values)
