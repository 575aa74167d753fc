"""Labels made wrong on purpose, to see whether a method finds them."""

import numpy as np

from dualprune.data.draws import draw, draw_share
from dualprune.errors import InputError
from dualprune.signatures import Array


def flip_labels(labels: Array, share: float, classes: int, seed: int) -> tuple[Array, Array]:
    """Give labels of which a share is wrong, and the ids of those, sorted.

    Exactly floor(share * samples) labels change; each becomes any other class with the same chance.
    The wrong label of a sample is a function of (seed, id), independent of what a selector draws
    with the same seed; whether the sample gets it also depends on the number of samples.

    >>> noisy, flipped = flip_labels(np.zeros(10, np.int64), 0.2, classes=2, seed=0)
    >>> len(flipped), np.flatnonzero(noisy).tolist() == flipped.tolist()
    (2, True)
    """
    if not 0 <= share <= 1 or classes < 2:
        raise InputError(f"share must be from 0 to 1 and classes 2 or more: {share}, {classes}")
    flipped = np.sort(draw_share(f"which labels flip, seed {seed}", len(labels), share))
    step = 1 + np.floor(draw(f"what they become, seed {seed}", len(labels)) * (classes - 1))
    noisy = labels.astype(np.int64)
    noisy[flipped] = (noisy[flipped] + step[flipped].astype(np.int64)) % classes
    return noisy, flipped
