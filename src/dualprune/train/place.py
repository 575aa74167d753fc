"""Where to train: on a GPU if there is one, alone or as one of several processes of `torchrun`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, distributed, nn
from torch.utils.flop_counter import FlopCounterMode

from dualprune.record.processes import processes

_PER_THREAD = 4 * 10**9  # operations of a forward pass: with fewer, threads wait for each other


def device() -> torch.device:
    """Give the GPU of this process, else the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


def is_first() -> bool:
    """Whether this is the process that writes results and reports progress (rank 0)."""
    return processes()[0] == 0


def useful_threads(model: nn.Module, image: Tensor, batch: int) -> int:
    """How many of the threads that torch may use are kept busy by a batch of such images.

    That must not depend on how busy the machine is: with another number, sums round differently.
    """
    if image.device.type == "cuda" or torch.get_num_threads() == 1:
        return torch.get_num_threads()
    model.eval()
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(image)
    threads = int(counter.get_total_flops()) * batch // _PER_THREAD
    return max(1, min(torch.get_num_threads(), threads))


@contextmanager
def limited_to(threads: int) -> Iterator[None]:
    """Let torch use this number of threads, and as many as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def together() -> Iterator[None]:
    """Join the other processes if `torchrun` started several."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or distributed.is_initialized():
        yield
        return
    backend = "gloo"
    if torch.cuda.is_available():
        backend = "nccl"
        torch.cuda.set_device(device())  # or barriers and pinned memory of all would use the first
    distributed.init_process_group(backend)
    try:
        yield
    finally:
        distributed.destroy_process_group()
