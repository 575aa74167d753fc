"""Take samples out of what holds them, by position; the same kind comes back."""

from collections.abc import Mapping
from operator import length_hint
from typing import Any

import numpy as np

from dualprune.errors import InputError
from dualprune.signatures import Array


def count(data: Any) -> int:
    """How many samples there are, -1 if that cannot be told."""
    return int(data.shape[0]) if hasattr(data, "tocsr") else length_hint(data, -1)


def take(data: Any, ids: Array) -> Any:
    """Give the samples at these positions.

    >>> take(("a", "b", "c"), np.array([0, 2]))
    ('a', 'c')
    """
    if hasattr(data, "tocsr"):  # scipy's sparse formats, not all of which can be indexed
        return data.tocsr()[ids].asformat(data.format)
    if isinstance(data, Mapping):
        raise InputError(f"a {type(data).__name__} has no order of samples; give its values")
    if isinstance(data, list | tuple):
        members = [data[index] for index in ids.tolist()]
        return tuple(members) if isinstance(data, tuple) else members
    if hasattr(data, "iloc"):  # pandas, whose own brackets go by the index
        return data.iloc[ids]
    origins = {kind.__module__.partition(".")[0] for kind in type(data).__mro__}
    if "datasets" in origins:
        return data.select(ids)
    if "pyarrow" in origins:
        return data.take(ids)
    return data[ids] if hasattr(data, "__array__") else Subset(data, ids)


class Subset:
    """The kept samples of a dataset, which keeps `targets` and `classes`."""

    def __init__(self, dataset: Any, indices: Array) -> None:
        self.dataset = dataset
        self.indices = indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: Any) -> Any:
        """Give a sample, or the part of this that a slice or several positions name."""
        ids = self.indices[index]
        return Subset(self.dataset, ids) if np.ndim(ids) else self.dataset[int(ids)]

    @property
    def targets(self) -> Any:
        return take(self.dataset.targets, self.indices)

    @property
    def classes(self) -> Any:
        return self.dataset.classes
