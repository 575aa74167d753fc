"""Where ranges of samples are worked on: threads of this process, or Ray."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Annotated, Any, Literal

import typer

from dualprune.cli.progress import duration
from dualprune.errors import InputError, MissingError
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
    try:
        from dualprune.integrations.ray import ray_map  # noqa: PLC0415 - only who wants it has it
    except ModuleNotFoundError as error:
        raise MissingError(
            "this needs ray, which is not installed: pip install 'dualprune[ray]'"
        ) from error
    return _watched(ray_map(address))


def _watched(each: Map) -> Map:
    """Say how far a pass over all ranges is: on a terminal always, else now and then."""
    passes = count(1)

    def watched(fn: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        items, number, terminal = list(items), next(passes), sys.stderr.isatty()
        start = last = time.monotonic()
        for done, result in enumerate(each(fn, items), 1):
            now, rest = time.monotonic(), len(items) - done
            if terminal or now - last > _SECONDS:
                last, left = now, duration((now - start) / done * rest)
                line = f"pass {number}: range {done:,} of {len(items):,}, {left} left"
                before, after = ("\r\x1b[K", "" if rest else "\n") if terminal else ("", "\n")
                sys.stderr.write(before + line + after)
                sys.stderr.flush()
            yield result

    return watched
