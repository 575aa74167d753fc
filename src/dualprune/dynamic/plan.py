"""The samples of one epoch."""

from dataclasses import dataclass

import numpy as np

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
