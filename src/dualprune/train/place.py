"""Where to train: on a GPU if there is one, alone or as one of several processes of `torchrun`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import distributed

from dualprune.record.processes import processes


def device() -> torch.device:
    """Give the GPU of this process, else the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


def is_first() -> bool:
    """Whether this is the process that writes results and reports progress (rank 0)."""
    return processes()[0] == 0


@contextmanager
def together() -> Iterator[None]:
    """Join the other processes if `torchrun` started several."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or distributed.is_initialized():
        yield
        return
    distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield
    finally:
        distributed.destroy_process_group()
