"""Several training processes, one run: which of them this is, and which attempt all are in."""

import os
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import count
from queue import Empty, Queue
from threading import Thread
from typing import Any

from torch import distributed

from dualprune.errors import InputError, MissingError

_STARTS = count(1)  # the same in all processes, which begin their recordings in one order


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


def start_together(begin: Callable[[], int], rank: int, writers: int, limit: float) -> int:
    """Let process 0 begin once all are there, and tell the others the number of the attempt.

    This is the only time that processes wait for each other, for `limit` seconds at most, so that a
    dead one cannot hang the rest later. They talk through the store of their group, which can say
    who is missing, whatever the backend.
    """
    if writers == 1:
        return begin()
    store = distributed.distributed_c10d._get_default_store()
    start, number = f"dualprune-{next(_STARTS)}", 0
    present = [f"{start}-{process}" for process in range(writers)]
    store.set(present[rank], "here")
    if rank == 0:
        try:
            _wait(store, present, present, limit)
            number = begin()
        finally:
            store.set(start, str(number))
    else:
        _wait(store, [start], present, limit)
        number = int(store.get(start))
    if number == 0:
        raise InputError("process 0 could not begin to record; its own error says why")
    return number


def _wait(store: Any, keys: list[str], present: list[str], limit: float) -> None:
    """Wait in a thread: a store whose process is stopped does not end its own waiting."""
    answer: Queue[list[int]] = Queue()
    look = partial(_missing, store, keys, present, limit)
    Thread(target=lambda: answer.put(look()), daemon=True).start()
    try:
        missing = answer.get(timeout=limit + 5)
    except Empty:
        missing = [0]  # where the store is
    if missing:
        raise MissingError(
            f"waited {limit:g} seconds for all {len(present)} processes to begin recording; there "
            f"is no answer of process {', '.join(map(str, missing))}, which is stopped, hangs or "
            "makes no Recorder. Start the job again, or pass a larger timeout"
        )


def _missing(store: Any, keys: list[str], present: list[str], limit: float) -> list[int]:
    """Wait for these keys; gives the processes that are not there, or that have not answered."""
    try:
        store.wait(keys, timedelta(seconds=limit))
    except distributed.DistStoreError:
        return [process for process, key in enumerate(present) if not store.check([key])] or [0]
    return []
