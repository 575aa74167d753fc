"""The samples of one epoch, and the random numbers that choose them."""

from dataclasses import dataclass

import numpy as np

from dualprune.select.keys import uniform
from dualprune.signatures import Array

NOTHING = np.empty(0, np.int64)
"""No ids."""


@dataclass(frozen=True)
class Plan:
    """Which samples to train on in one epoch, their weights, and which only to evaluate."""

    train: Array
    """Ids to train on, sorted int64."""
    weights: Array
    """One float64 per entry of `train`; multiplies its loss before the mean over the batch."""
    look: Array
    """Ids to evaluate without a gradient, sorted int64, so that their losses are still observed."""


def uniforms(seed: int, epoch: int, samples: int) -> Array:
    """Give each id a number strictly between 0 and 1, a pure function of (seed, epoch, id).

    Those of different epochs are independent.

    >>> few, many = uniforms(7, 3, 10), uniforms(7, 3, 1000)
    >>> bool((few == many[:10]).all())
    True
    """
    words = np.random.SeedSequence(seed, spawn_key=(epoch,)).generate_state(1, np.uint64)
    return uniform(int(words[0]), 0, samples)
