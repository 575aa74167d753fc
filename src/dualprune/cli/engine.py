"""Where ranges of samples are worked on: threads of this process, or Ray."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Literal

import typer

from dualprune.errors import InputError
from dualprune.run.ranges import Map

_SECONDS = 5.0  # between plain lines

Engine = Annotated[
    Literal["threads", "ray"],
    typer.Option(help="What works on ranges of samples: threads of this process, or Ray."),
]
Address = Annotated[
    str | None,
    typer.Option(help="Of a Ray cluster; default: the one Ray finds, else one on this machine."),
]


def engine_map(engine: Literal["threads", "ray"], address: str | None) -> Map | None:
    """Give what maps over ranges, with progress on standard error; None for threads."""
    if engine == "threads":
        if address is not None:
            raise InputError(f"--address {address} is of a Ray cluster; say --engine ray, too")
        return None
    from dualprune.integrations.ray import ray_map  # noqa: PLC0415 - only who wants it has it

    return _watched(ray_map(address))


def _watched(each: Map) -> Map:
    """Say how many ranges of a wave are finished: on a terminal always, else now and then."""

    def watched(fn: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        items, last, terminal = list(items), time.monotonic(), sys.stderr.isatty()
        for number, result in enumerate(each(fn, items), 1):
            now, done = time.monotonic(), number == len(items)
            if terminal or now - last > _SECONDS:
                last = now
                start, end = ("\r\x1b[K", "\n" if done else "") if terminal else ("", "\n")
                sys.stderr.write(f"{start}range {number:,} of {len(items):,}{end}")
                sys.stderr.flush()
            yield result

    return watched
