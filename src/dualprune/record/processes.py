"""Several training processes, one run: which of them this is, and which attempt all are in."""

import os
from collections.abc import Callable

import torch
from torch import distributed

from dualprune.errors import InputError


def processes() -> tuple[int, int]:
    """Rank of this process and number of processes."""
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    if (size := int(os.environ.get("WORLD_SIZE", "1"))) > 1:
        raise InputError(
            f"WORLD_SIZE is {size} but there is no process group; call "
            "torch.distributed.init_process_group before making a Recorder"
        )
    return 0, 1


def start_together(begin: Callable[[], int], rank: int, writers: int) -> int:
    """Let process 0 begin and tell the others the number of the attempt.

    This is the only time that processes talk, so that a dead one cannot hang the rest later.
    """
    if writers == 1:
        return begin()
    device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
    number = torch.zeros(1, dtype=torch.int64, device=device)
    try:
        if rank == 0:
            number += begin()
    finally:
        distributed.broadcast(number, src=0)
    if number.item() == 0:
        raise InputError("process 0 could not begin to record; its own error says why")
    return int(number.item())
