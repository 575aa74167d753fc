"""`dualprune compare`: which method keeps the better samples, on your data."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

from dualprune.agreement import mean_overlap, overlap, rank_correlation
from dualprune.cli.options import Data, Download, Model, Out, RecipeName
from dualprune.cli.progress import duration, watch
from dualprune.data import load, validation_split
from dualprune.report.figures import accuracy_curves, figure, save, time_bars
from dualprune.select import budget
from dualprune.signatures import Array

if TYPE_CHECKING:
    from dualprune.workflows.comparing import Cell

__all__ = ["compare", "over_seeds", "spread"]

_KEEPS = ["0.5", "0.3", "0.1"]


def compare(
    data: Data,
    *,
    out: Out,
    method: Annotated[
        list[str] | None, typer.Option(help="A method, several times; default dual+beta, random.")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="How much to keep, several times; default 0.5 0.3 0.1.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How often to repeat it all.")] = 3,
    model: Model = "auto",
    recipe: RecipeName = "auto",
    download: Download = False,
) -> None:
    """Train on what each method keeps, and show accuracies with their deviation over seeds.

    Where there are no test images, a tenth of every class is kept apart to judge by.

    Killed and started again with the same flags, it goes on where it was.
    """
    from dualprune.train import Setup  # noqa: PLC0415
    from dualprune.workflows.comparing import compare as compare_all  # noqa: PLC0415 - loads torch

    images, test = load(data, download=download, out=out)
    judged_on = "test"
    if test is None:  # apart from the start, so that all methods choose as many of the same
        images, test = validation_split(images, 0.1, seed=0)
        judged_on = "validation"
    cells = compare_all(
        Setup.of(images, test, name=data, judged_on=judged_on, recipe=recipe, model=model),
        out,
        methods=list(dict.fromkeys(method or ["dual+beta", "random"])),
        keeps=list(dict.fromkeys(keep or _KEEPS)),
        seeds=seeds,
        watch=watch,
    )
    console = Console()
    console.print(_accuracies(cells))
    if len({cell.method for cell in cells}) > 2 or seeds > 1:
        for kept in dict.fromkeys(cell.keep for cell in cells if not cell.whole):
            console.print(_agreement(cells, kept))
    typer.echo(out / "results.json")
    if find_spec("matplotlib") is not None:
        _draw_accuracy(cells, out / "accuracy")
        _draw_time(cells, out / "time")


def _accuracies(cells: "list[Cell]") -> Table:
    """One row per method and share kept; costs are in passes over all samples, and in time."""
    table = Table(
        _wide("method", [cell.method for cell in cells]),
        *("kept", f"{cells[0].result.judged_on} %", "forward", "backward", "training", "in all"),
        box=SIMPLE_HEAD,
        title="accuracy; passes over all samples; time without and with recording",
    )
    for method, keep in dict.fromkeys((cell.method, cell.keep) for cell in cells):
        same = [cell for cell in cells if (cell.method, cell.keep) == (method, keep)]
        results = [cell.result for cell in same]
        training = mean(result.seconds for result in results)
        table.add_row(
            method,
            keep,
            spread([result.accuracy for result in results]),
            f"{mean(result.forward / result.samples for result in results):.1f}",
            f"{mean(result.backward / result.samples for result in results):.1f}",
            duration(training),
            duration(training + mean(cell.recording for cell in same)),
        )
    return table


def _agreement(cells: "list[Cell]", keep: str) -> Table:
    """How alike seeds rank and keep, and which share of its coreset a method has in common."""
    chosen = [c for c in cells if c.keep == keep and len(c.ids) < c.result.samples]
    methods = list(dict.fromkeys(cell.method for cell in chosen))
    numbers = [str(number) for number in range(1, len(methods) + 1)]
    first = (_wide("method", methods), _wide("ranks", []), _wide("seeds", []))
    table = Table("", *first, *numbers, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.title = f"{keep} kept: rank correlation of seeds; overlap of seeds and of methods, in %"
    by_seed = {(cell.method, cell.seed): cell for cell in chosen}
    for number, method in zip(numbers, methods, strict=True):
        same = [cell for cell in chosen if cell.method == method]
        common = [
            "" if other == method else _common(same, [by_seed[other, c.seed].ids for c in same])
            for other in methods
        ]
        table.add_row(number, method, *_of_seeds(same), *common)
    return table


def _wide(title: str, cells: list[str]) -> Column:
    """Give a column that is never cut short."""
    return Column(title, no_wrap=True, min_width=max(map(len, [title, *cells])))


def _of_seeds(same: "list[Cell]") -> tuple[str, str]:
    if len(same) == 1:
        return "", ""
    scores = [cell.scores for cell in same if cell.scores is not None]
    ranks = f"{rank_correlation(scores):.2f}" if len(scores) == len(same) else ""
    return ranks, f"{100 * mean_overlap([cell.ids for cell in same]):.0f}"


def _common(same: "list[Cell]", others: list[Array]) -> str:
    shares = [overlap(cell.ids, ids) for cell, ids in zip(same, others, strict=True)]
    return f"{100 * mean(shares):.0f}"


def spread(shares: list[float]) -> str:
    """Mean and deviation, in percent.

    >>> spread([0.9, 0.92]), spread([0.9])
    ('91.0 ± 1.4', '90.0')
    """
    deviation = f" ± {100 * stdev(shares):.1f}" if len(shares) > 1 else ""
    return f"{100 * mean(shares):.1f}{deviation}"


def over_seeds(
    cells: "list[Cell]", value: "Callable[[Cell], float]"
) -> dict[tuple[str, str], Array]:
    """Give the values of each method and share kept, of shape (seeds,)."""
    found: dict[tuple[str, str], list[float]] = {}
    for cell in cells:
        found.setdefault((cell.method, cell.keep), []).append(value(cell))
    return {each: np.array(values) for each, values in found.items()}


def _draw_accuracy(cells: "list[Cell]", path: Path) -> None:
    found = over_seeds(
        [cell for cell in cells if not cell.whole], lambda cell: cell.result.accuracy
    )
    methods, keeps = (list(dict.fromkeys(names)) for names in zip(*found, strict=True))
    accuracy = {method: np.stack([found[method, keep] for keep in keeps]) for method in methods}
    samples = cells[0].result.samples
    pruned = np.array([1 - budget(samples, keep=keep) / samples for keep in keeps])
    full = mean(cell.result.accuracy for cell in cells if cell.whole)
    drawn = figure(6.4, 4.2)
    accuracy_curves(drawn.subplots(), pruned, accuracy, full=full)
    typer.echo(save(drawn, path)[0])


def _draw_time(cells: "list[Cell]", path: Path) -> None:
    chosen = [cell for cell in cells if not cell.whole]
    recording, training = (
        {f"{method}, {keep} kept": each for (method, keep), each in found.items()}
        for found in (
            over_seeds(chosen, lambda cell: cell.recording),
            over_seeds(chosen, lambda cell: cell.result.seconds),
        )
    )
    full = mean(cell.result.seconds for cell in cells if cell.whole)
    drawn = figure(7, 1.2 + 0.35 * len(training))
    time_bars(drawn.subplots(), recording, training, full=full)
    typer.echo(save(drawn, path)[0])
