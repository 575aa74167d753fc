"""`dualprune compare`: which method keeps the better samples, on your data."""

from statistics import mean, stdev
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from dualprune.cli.options import Data, Download, Model, Out, RecipeName
from dualprune.cli.progress import duration, watch
from dualprune.data import load

if TYPE_CHECKING:
    from dualprune.comparing import Cell

__all__ = ["compare", "spread", "table_of"]


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

    Killed and started again with the same flags, it goes on where it was.
    """
    from dualprune.comparing import compare as compare_all  # noqa: PLC0415 - loads torch
    from dualprune.train import Setup  # noqa: PLC0415

    images, test = load(data, download=download)
    cells = compare_all(
        Setup.of(images, test, name=data, recipe=recipe, model=model),
        out,
        methods=method or ["dual+beta", "random"],
        keeps=keep or ["0.5", "0.3", "0.1"],
        seeds=seeds,
        watch=watch,
    )
    Console().print(table_of(cells))
    typer.echo(out / "results.json")


def table_of(cells: "list[Cell]") -> Table:
    """One row per method and share kept."""
    judged = cells[0].result.judged_on
    table = Table("method", "kept", f"accuracy ({judged})", "training", "with recording")
    for method, keep in dict.fromkeys((cell.method, cell.keep) for cell in cells):
        same = [cell for cell in cells if (cell.method, cell.keep) == (method, keep)]
        training = mean(cell.result.seconds for cell in same)
        table.add_row(
            method,
            keep,
            spread([cell.result.accuracy for cell in same]),
            duration(training),
            duration(training + mean(cell.recording for cell in same)),
        )
    return table


def spread(shares: list[float]) -> str:
    """Mean and deviation in percent.

    >>> spread([0.9, 0.92]), spread([0.9])
    ('91.0 ± 1.4 %', '90.0 %')
    """
    deviation = f" ± {100 * stdev(shares):.1f}" if len(shares) > 1 else ""
    return f"{100 * mean(shares):.1f}{deviation} %"
