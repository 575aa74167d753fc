"""Any map-style dataset of torch as labelled data."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from dualprune.errors import InputError
from dualprune.signatures import Array


@dataclass(frozen=True, eq=False)
class Samples:
    """A dataset whose items begin with an input and end with a class number.

    The labels are read once, item by item. Inputs may differ from one reading to the next
    (augmentation), so `fingerprint` is of the labels alone.
    """

    kind: ClassVar[str] = "samples"
    recipe: ClassVar[str] = "small"
    nbytes: ClassVar[float] = inf  # not to be copied into other processes

    dataset: Any
    labels: Array
    class_names: tuple[str, ...]
    source: Array
    names: tuple[str, ...] = ()
    unreadable: None = None
    relabelled: int = 0

    @staticmethod
    def of(dataset: Any) -> "Samples":
        """Read the labels of a dataset.

        >>> pairs = [(torch.zeros(3), 1), (torch.ones(3), 0)]
        >>> Samples.of(pairs).labels
        array([1, 0])
        """
        labels = np.array([_label(dataset, i) for i in range(_length(dataset))], np.int64)
        if not len(labels) or labels.min() < 0 or len(np.unique(labels)) < 2:
            raise InputError(
                f"the labels of {type(dataset).__name__} must be class numbers from 0, of two "
                f"classes or more, got {np.unique(labels)[:10].tolist()}"
            )
        return Samples(dataset, labels, _class_names(dataset, labels), np.arange(len(labels)))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def readable_ids(self) -> Array:
        """Ids of all samples."""
        return np.arange(len(self))

    def take(self, ids: Array) -> "Samples":
        """Give these samples in this order."""
        return replace(self, labels=self.labels[ids], source=self.source[ids])

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the labels, class names and positions, and of the dataset's type."""
        header = json.dumps([type(self.dataset).__name__, self.class_names, len(self)])
        content = hashlib.sha256(header.encode())
        content.update(np.stack([self.labels, self.source]).astype("<i8").tobytes())
        return content.hexdigest()


def _length(dataset: Any) -> int:
    if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
        raise InputError(
            f"{type(dataset).__name__} is no data that can be read: give a path, a named set, a "
            "table, or a map-style dataset with a length and items (input, label)"
        )
    return len(dataset)


def _label(dataset: Any, index: int) -> int:
    item = dataset[index]
    if not isinstance(item, tuple | list) or len(item) < 2:
        raise InputError(
            f"items of {type(dataset).__name__} must begin with an input and end with a class "
            f"number, item {index} is a {type(item).__name__}; wrap it in such a dataset, or name "
            "the columns of a table with text and label"
        )
    label = _class_number(item[-1])
    if label is None:
        raise InputError(
            f"the label of item {index} of {type(dataset).__name__} must be a class number, got "
            f"{item[-1]!r:.100}"
        )
    return label


def _class_number(label: Any) -> int | None:
    try:
        number = torch.as_tensor(label)
    except (RuntimeError, TypeError, ValueError):  # None, a text, nested lists
        return None
    is_whole = not number.is_floating_point() and not number.is_complex()
    return int(number) if is_whole and number.numel() == 1 else None


def _class_names(dataset: Any, labels: Array) -> tuple[str, ...]:
    """Give the dataset's `classes`, or numbers; refuse labels beyond the classes there can be."""
    classes, largest = getattr(dataset, "classes", None), int(labels.max())
    if not isinstance(classes, Iterable) or not (classes := [*classes]):
        classes = None
    if classes is None and largest >= len(labels):
        raise InputError(
            f"the labels of {type(dataset).__name__} must be class numbers from 0 to classes - 1, "
            f"got {largest} among {len(labels)} samples; number the classes from 0, or name all of "
            "them in an attribute classes of the dataset"
        )
    names = tuple(map(str, range(largest + 1) if classes is None else classes))
    if largest >= len(names):
        raise InputError(
            f"the attribute classes of {type(dataset).__name__} names {len(names)} classes, and a "
            f"label is {largest}; name as many classes as there are, or correct the labels"
        )
    return names


class DatasetBatches:
    """Inputs of a dataset, collated as torch's DataLoader does."""

    shape: tuple[int, ...] = ()

    def __init__(self, samples: Samples, device: torch.device) -> None:
        self.device = device
        self.labels = torch.from_numpy(samples.labels).to(device)
        self.readable_ids = torch.arange(len(samples))
        self._inputs = _Inputs(samples)

    def __len__(self) -> int:
        return len(self.labels)

    def inputs(self, order: Sequence[Tensor], change: Any = None) -> Iterator[Tensor]:  # noqa: ARG002 - the dataset may augment
        """Give the inputs for each tensor of ids."""
        for batch in DataLoader(self._inputs, batch_sampler=[ids.tolist() for ids in order]):
            yield batch.to(self.device)


class _Inputs(Dataset[Any]):
    """The first part of every item."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, index: int) -> Any:
        return self._samples.dataset[int(self._samples.source[index])][0]
