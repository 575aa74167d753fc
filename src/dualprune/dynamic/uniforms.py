"""A uniform random number per sample and epoch, a pure function of (seed, epoch, id)."""

import numpy as np

from dualprune.errors import InputError
from dualprune.select.keys import uniform
from dualprune.signatures import Array


def uniforms(seed: int, epoch: int, samples: int) -> Array:
    """Give each id a number strictly between 0 and 1, independent of those of other epochs.

    >>> few, many = uniforms(7, 3, 10), uniforms(7, 3, 1000)
    >>> bool((few == many[:10]).all())
    True
    """
    words = np.random.SeedSequence(seed, spawn_key=(epoch,)).generate_state(1, np.uint64)
    return uniform(int(words[0]), 0, samples)


def check_seed(seed: int) -> None:
    """Refuse a seed that is not an unsigned integer of 64 bits."""
    if not 0 <= seed < 2**64:
        raise InputError(f"seed must be from 0 to 2**64 - 1, got {seed}")
