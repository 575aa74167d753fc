"""Several training processes, one run: which of them this is, and which attempt all are in."""

import os
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from datetime import timedelta
from itertools import count
from pathlib import Path
from socket import gethostname
from threading import Thread
from typing import Any

from torch import distributed

from dualprune.errors import InputError, MissingError
from dualprune.files import exists
from dualprune.run.attempts import Attempt

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


def start_together(
    begin: Callable[[], Attempt], root: Path, rank: int, writers: int, limit: float
) -> Attempt:
    """Let process 0 begin an attempt once all are there; the others find it on their disk.

    This is the only time that processes wait for each other, for `limit` seconds at most, so that a
    dead one cannot hang the rest later. They talk through the store of their group, which can say
    who is missing, whatever the backend.
    """
    if writers == 1:
        return begin()
    store = distributed.distributed_c10d._get_default_store()
    start, begun = f"dualprune-{next(_STARTS)}", ""
    present = [f"{start}-{process}" for process in range(writers)]
    if rank > 0:
        begun = _ask(lambda: _wait(store, [start], present, rank, limit), limit)
        return _join(root, begun, rank)
    try:
        _ask(lambda: _wait(store, present, present, rank, limit), limit)
        attempt = begin()
        begun = f"{attempt.folder.name} {attempt.identity}"
    finally:
        with suppress(MissingError):  # then the others come to the end of their own waiting
            _ask(lambda: store.set(start, begun), 0)
    return attempt


def _ask(talk: Callable[[], Any], limit: float) -> Any:
    """Talk to the store in a thread: if its process is stopped, it does not end its own waiting."""
    answer: Future[Any] = Future()
    Thread(target=_talk, args=(talk, answer), daemon=True).start()
    try:
        return answer.result(timeout=limit + 5)
    except TimeoutError:
        raise _unanswered(limit, [0]) from None  # where the store is
    except distributed.DistNetworkError as error:
        raise MissingError(
            "process 0, or the torchrun that started it, ended before all processes began to "
            "record; its own error says why"
        ) from error


def _talk(talk: Callable[[], Any], answer: Future[Any]) -> None:
    try:
        answer.set_result(talk())
    except Exception as error:  # noqa: BLE001 - it is raised where the answer is waited for
        answer.set_exception(error)


def _wait(store: Any, keys: list[str], present: list[str], rank: int, limit: float) -> str:
    """Say that this process is here, wait for these keys, and give the value of the last one."""
    store.set(present[rank], "here")
    try:
        store.wait(keys, timedelta(seconds=limit))
    except distributed.DistStoreError:
        missing = [process for process, key in enumerate(present) if not store.check([key])]
        raise _unanswered(limit, missing or [0]) from None
    value: bytes = store.get(keys[-1])
    return value.decode()


def _unanswered(limit: float, missing: list[int]) -> MissingError:
    return MissingError(
        f"waited {limit:g} seconds for all processes to begin recording; there is no answer of "
        f"process {', '.join(map(str, missing))}, which is stopped, hangs or makes no Recorder. "
        "Start the job again, or pass a larger timeout"
    )


def _join(root: Path, begun: str, rank: int) -> Attempt:
    """Find the attempt that process 0 began, and no other of the same number."""
    if not begun:
        raise InputError("process 0 could not begin to record; its own error says why")
    number, identity = begun.split()
    folder = root / "attempts" / number
    if exists(folder / "start.json") and (attempt := Attempt.load(folder)).identity == identity:
        return attempt
    raise MissingError(
        f"process {rank} on {gethostname()} does not find {folder}, which process 0 has just made; "
        "all processes must record into one folder, on a file system that their machines share"
    )
