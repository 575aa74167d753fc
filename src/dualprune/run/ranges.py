"""Ranges of ids, and what calls a function for each of them."""

import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, TypeAlias

from dualprune.run.part import CHUNK

Map: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""Calls a function for every item and gives the results in their order, as `map` does."""

_ALONE = ContextVar("alone", default=False)
_RANGES, _CHUNKS = 64, 8  # so many ranges, until one has so many chunks


def ranges(samples: int, count: int | None = None) -> list[range]:
    """Divide the ids into ranges that end where chunks do; with `count` into so many, anywhere.

    How does not depend on the machine, so neither do the files that are written by range.

    >>> ranges(300_000)
    [range(0, 131072), range(131072, 262144), range(262144, 300000)]
    >>> ranges(3, count=2)
    [range(0, 2), range(2, 3)]
    """
    if count is not None:
        step = -(-samples // count)
        return [range(samples)[i * step : (i + 1) * step] for i in range(count)]
    step = CHUNK * min(_CHUNKS, -(-samples // (_RANGES * CHUNK)))
    return [range(start, min(start + step, samples)) for start in range(0, samples, step)]


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Let what is called here start no threads: whoever works on a range has only its own."""
    token = _ALONE.set(True)
    try:
        yield
    finally:
        _ALONE.reset(token)


def cores() -> int:
    """How many threads may be started."""
    return 1 if _ALONE.get() else os.cpu_count() or 1


def threads(
    fn: Callable[[Any], Any], items: Iterable[Any], *, workers: int | None = None
) -> Iterator[Any]:
    """Call a function for every item, on as many threads as there are cores; a `Map`.

    >>> list(threads(abs, [-1, 2]))
    [1, 2]
    """
    workers = workers or os.cpu_count() or 1
    pending: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for item in items:
            if len(pending) > workers:
                yield pending.popleft().result()
            pending.append(pool.submit(fn, item))
        while pending:
            yield pending.popleft().result()
