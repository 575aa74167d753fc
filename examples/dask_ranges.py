"""Choose on a cluster of Dask: any function called like `map` can work on the ranges.

    python examples/dask_ranges.py RUN OUT [ADDRESS]

Without an address, two processes of this machine are the cluster. Every worker must find the run
and the output folder at the same paths.
"""

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dask.distributed import Client

import dualprune

SECONDS = 3600  # that a range may take


def dask_map(client: Client) -> Callable[..., Iterator[Any]]:
    """Give what calls a function for every item on the cluster; results come in order."""

    def each(fn: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        most = 2 * max(1, sum(client.nthreads().values()))
        task, waiting = client.scatter(fn, broadcast=True), deque[Any]()
        for item in items:
            if len(waiting) == most:
                yield waiting.popleft().result(timeout=SECONDS)
            waiting.append(client.submit(_call, task, [item], pure=False))
        while waiting:
            yield waiting.popleft().result(timeout=SECONDS)

    return each


def _call(fn: Callable[[Any], Any], item: list[Any]) -> Any:
    return fn(item[0])


def main(run: str, out: str, address: str | None = None) -> None:
    """Choose 30 % of a run, and print what was chosen."""
    own = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with Client(address, **({} if address else own)) as client:
        coreset = dualprune.choose(run, "dual+beta", keep=0.3, out=out, map=dask_map(client))
    print(coreset, coreset.card.ids_sha256)


if __name__ == "__main__":
    main(*sys.argv[1:])
