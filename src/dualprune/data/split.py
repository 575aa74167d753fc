"""Parts of a dataset: the readable samples, a validation split, a long tail; ids are positions."""

from math import ceil, floor
from typing import TypeVar

import numpy as np

from dualprune.data.draws import draw
from dualprune.data.labelled import Data
from dualprune.errors import InputError
from dualprune.select import budget, random
from dualprune.select.keys import smallest_of_each
from dualprune.signatures import Array

D = TypeVar("D", bound=Data)


def only_readable(data: D) -> D:
    """Give the samples that can be read; `source` says which they were."""
    return data if data.unreadable is None else data.take(data.readable_ids)


def validation_split(data: D, share: float, seed: int) -> tuple[D, D]:
    """Give the data for training and a random share of every class for validation.

    >>> from dualprune.data.images import in_memory
    >>> images = in_memory(np.zeros((10, 1, 1, 1), np.uint8), np.repeat([0, 1], 5), ("a", "b"))
    >>> train, validation = validation_split(images, 0.4, seed=0)
    >>> train.labels, validation.labels
    (array([0, 0, 0, 1, 1, 1]), array([0, 0, 1, 1]))
    """
    rest, chosen = split_ids(data.labels, share, seed)
    return data.take(rest), data.take(chosen)


def split_ids(labels: Array, share: float, seed: int) -> tuple[Array, Array]:
    """Give the ids to train on, and those of a random share of every class."""
    samples = len(labels)
    if not 0 < share < 1:
        raise InputError(f"choose a share between 0 and 1 to hold out, such as 0.1; got {share}")
    if not 0.5 <= share * samples < samples - 0.5:
        least = max(ceil(0.5 / share), floor(0.5 / (1 - share)) + 1)
        raise InputError(
            f"{samples} samples are too few to hold out a share of {share} of them; at least "
            f"{least} are needed"
        )
    k = budget(samples, keep=str(share))
    chosen = random(labels, k=k, seed=seed, balance="proportional")
    return np.setdiff1d(np.arange(samples), chosen, assume_unique=True), chosen


def long_tail(data: D, factor: float, seed: int) -> D:
    """Thin the classes out to n_max * factor^(c / (classes - 1)) samples, c = 0, 1, ...

    n_max is the size of the largest class. Sizes are rounded down, but to no less than 1; a
    class that has fewer keeps all it has.

    Parameters
    ----------
    factor
        Size of the last class as a share of the first, such as 0.01.

    References
    ----------
    Cui et al., 2019. Class-Balanced Loss Based on Effective Number of Samples. arXiv:1901.05555
    """
    if not 0 < factor <= 1:
        raise InputError(f"factor must be above 0 and at most 1, got {factor}")
    classes = len(data.class_names)
    largest = int(np.bincount(data.labels).max())
    sizes = [int(largest * factor ** (c / max(classes - 1, 1))) for c in range(classes)]
    keys = draw(f"who stays in a long tail, seed {seed}", len(data))
    return data.take(smallest_of_each(keys, data.labels, np.maximum(sizes, 1), keys))
