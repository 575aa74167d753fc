"""The order in which samples are trained on, a pure function of seed and epoch."""

import numpy as np
import torch
from torch import Generator, Tensor

from dualprune.record.processes import processes


def stream(seed: int, epoch: int, purpose: int) -> Generator:
    """Give a generator that depends on these numbers alone, so that resuming needs no state."""
    words = np.random.SeedSequence([seed, epoch, purpose]).generate_state(1, np.uint64)
    return Generator().manual_seed(int(words[0] >> np.uint64(1)))


def batches_of_epoch(keep: Tensor, batch: int, *, seed: int, epoch: int) -> list[Tensor]:
    """Give the ids of this process's batches; `keep` marks the samples to train on.

    The order of all samples is drawn first and those not kept are skipped, so that trainings on
    different subsets have their common samples in the same order. With several processes a few
    samples repeat, so that all have equally many.

    >>> keep = torch.tensor([True, True, False, True, True, True])
    >>> [sorted(ids.tolist()) for ids in batches_of_epoch(keep, 3, seed=0, epoch=1)]
    [[1, 4, 5], [0, 3]]
    """
    order = torch.randperm(len(keep), generator=stream(seed, epoch, 0))
    order = order[keep[order]]
    rank, world = processes()
    own = torch.cat([order, order[: -len(order) % world]])[rank::world]
    steps = steps_per_epoch(len(order), batch)
    return list(own.tensor_split(steps)) if steps else []


def steps_per_epoch(kept: int, batch: int) -> int:
    """Number of batches of almost equal size, at most `batch` samples over all processes.

    A small last batch would have poor batch statistics.

    >>> steps_per_epoch(9, 4)
    3
    """
    world = processes()[1]
    return -(-kept // (world * max(1, batch // world)))
