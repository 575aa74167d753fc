"""Where ranges of samples are computed: threads of this process, or Ray."""

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Annotated, Any, Literal

import typer

from dualprune.cli.progress import count_to
from dualprune.errors import InputError
from dualprune.run.ranges import Map

Engine = Annotated[
    Literal["threads", "ray"],
    typer.Option(help="Where ranges of samples are computed: threads of this process, or Ray."),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="Address of a Ray cluster; default: the one Ray finds, else one on this machine."
    ),
]


def engine_map(engine: Literal["threads", "ray"], address: str | None) -> Map | None:
    """Give the map over ranges, with progress on standard error; None for threads."""
    if engine == "threads":
        if address is not None:
            raise InputError(f"--address {address} is of a Ray cluster; say --engine ray, too")
        return None
    from dualprune.integrations.ray import ray_map  # noqa: PLC0415 - only who wants it has it

    return _watched(ray_map(address))


def _watched(each: Map) -> Map:
    """Print the progress of a pass over all ranges: always on a terminal, else now and then."""
    passes = count(1)

    def watched(fn: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        items, tell = list(items), count_to(f"pass {next(passes)}: range")
        for number, result in enumerate(each(fn, items), 1):
            tell(number, len(items))
            yield result

    return watched
