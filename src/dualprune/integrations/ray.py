"""Ray: score and choose on a cluster, with the same result as on one machine.

The run, and the folder to write, must be where every machine of the cluster finds them::

    coreset = dualprune.choose("run", keep=0.1, out="small", map=ray_map("auto"))
"""

import logging
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from dualprune.arguments import checked
from dualprune.errors import DualpruneError, WorkerError, needing
from dualprune.run.ranges import Map

with needing("ray"):
    import ray
    from ray.exceptions import GetTimeoutError, RayError, RayTaskError

_SECONDS = 10.0  # for a cluster to answer
_RETRIES = 3  # of a range whose worker died


@checked
def ray_map(address: str | None = None, *, cpus: float = 1.0, patience: float = 3600.0) -> Map:
    """Give what calls a function for ranges of ids as tasks of Ray; for `choose(..., map=...)`.

    A range whose worker dies is given to another one, three times at most.

    Parameters
    ----------
    address
        Of a cluster, as for `ray.init`; without it the one that Ray finds, else a new one on this
        machine. If Ray is already connected, that is used.
    cpus
        How many CPUs Ray reserves for a range; it is worked on by one thread.
    patience
        How many seconds to wait for a range at most.
    """
    try:
        _call_at(address or "")
        if not ray.is_initialized():
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, ValueError, RuntimeError) as error:
        raise WorkerError(
            f"no Ray cluster answers at {address!r}: {error}; start one there, or leave the "
            "address out to have one on this machine"
        ) from error
    return partial(_each, cpus=cpus, patience=patience)


def _call_at(address: str) -> None:
    """Open a connection to a host and port, which Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdigit():
        socket.create_connection((host, int(port)), _SECONDS).close()


def _each(
    fn: Callable[[Any], Any], items: Iterable[Any], *, cpus: float, patience: float
) -> Iterator[Any]:
    task = ray.remote(num_cpus=cpus, max_retries=_RETRIES)(_call)
    shared, waiting = ray.put(fn), deque[Any]()
    free = ray.cluster_resources().get("CPU", 1)  # type: ignore[no-untyped-call] # Ray has no types
    most = 2 * max(1, int(free / max(cpus, 0.01)))
    try:
        for item in items:
            if len(waiting) == most:
                yield _result(waiting.popleft(), patience)
            waiting.append(task.remote(shared, item))
        while waiting:
            yield _result(waiting.popleft(), patience)
    finally:
        for reference in waiting:
            ray.cancel(reference)


def _call(fn: Callable[[Any], Any], item: Any) -> Any:
    return fn(item)


def _result(reference: Any, patience: float) -> Any:
    try:
        return ray.get(reference, timeout=patience)
    except GetTimeoutError as error:
        raise WorkerError(
            f"no worker of Ray finished a range within {patience:g} s; are there free CPUs "
            "(`ray status`)? Or say more patience"
        ) from error
    except RayTaskError as error:
        if isinstance(error.cause, DualpruneError):
            raise error.cause from error
        raise
    except RayError as error:
        raise WorkerError(
            f"a range failed {_RETRIES + 1} times on Ray ({type(error).__name__}: {error}); "
            "give its workers more memory, and start again"
        ) from error
