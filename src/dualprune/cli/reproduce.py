"""`dualprune reproduce`: the paper's tables and figures, run again."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.table import Column
from rich.table import Table as RichTable
from rich.text import Text

from dualprune.cli.progress import duration
from dualprune.errors import MissingError
from dualprune.files import make_folders, write

if TYPE_CHECKING:
    from dualprune.experiments.experiment import Experiment
    from dualprune.experiments.results import Line
    from dualprune.experiments.table import Table

__all__ = ["reproduce"]


def reproduce(
    name: Annotated[str | None, typer.Argument(help="Which; without it, all are listed.")] = None,
    *,
    scale: Annotated[
        Literal["paper", "cpu", "smoke"],
        typer.Option(help="The paper's protocol, one for two cores, or one of seconds."),
    ] = "cpu",
    out: Annotated[Path, typer.Option(help="Folder to write; run again with it to go on.")] = Path(
        "reproduced"
    ),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how much there is to do, and how long.")
    ] = False,
    show: Annotated[
        bool, typer.Option("--show", help="Run nothing; show the results that are there.")
    ] = False,
    processes: Annotated[
        int | None, typer.Option(min=1, help="How many trainings at a time; default all cores.")
    ] = None,
) -> None:
    """Run an experiment of the paper and show our numbers beside the printed ones.

    Killed and started again, it goes on where it was; what is finished is not done again.
    """
    from dualprune.experiments.experiment import experiments, find_experiment  # noqa: PLC0415

    if name is None:
        Console().print(_listed(list(experiments().values())))
        return
    experiment = find_experiment(name)
    if dry_run:
        _say_cost(experiment, scale, out, processes)
        return
    lines = _found(experiment, scale, out) if show else _run(experiment, scale, out, processes)
    _present(experiment, scale, out, lines)


def _listed(found: "list[Experiment]") -> RichTable:
    table = RichTable("name", "what", "in the paper", "scales", box=None)
    for each in found:
        table.add_row(each.name, each.title, each.source, " ".join(each.scales))
    return table


def _say_cost(experiment: "Experiment", scale: str, out: Path, processes: int | None) -> None:
    from dualprune.experiments.cost import estimate  # noqa: PLC0415 - loads torch
    from dualprune.experiments.runner import missing, workplace  # noqa: PLC0415

    cost = estimate(missing(experiment, scale, out), workplace(out), processes)
    typer.echo(
        f"{cost.recordings} recordings and {cost.trainings} trainings are to be done, about "
        f"{duration(cost.seconds)} in {cost.processes} processes"
    )


def _run(experiment: "Experiment", scale: str, out: Path, processes: int | None) -> "list[Line]":
    from dualprune.experiments.runner import (  # noqa: PLC0415 - loads torch
        processes_of_one_thread,
        run,
    )

    def tell(line: str) -> None:
        typer.echo(line, err=True)

    with processes_of_one_thread(processes) as pool:
        return run(experiment, scale, out, pool=pool, tell=tell)


def _found(experiment: "Experiment", scale: str, out: Path) -> "list[Line]":
    from dualprune.experiments.runner import found  # noqa: PLC0415 - loads torch

    lines = found(experiment, scale, out)
    if not lines:
        raise MissingError(f"{out} holds no results of {experiment.name} at this scale; run it")
    return lines


def _present(experiment: "Experiment", scale: str, out: Path, lines: "list[Line]") -> None:
    """Print the table, and write it and the figures."""
    from dualprune.experiments.drawing import draw  # noqa: PLC0415
    from dualprune.experiments.runner import workplace  # noqa: PLC0415
    from dualprune.experiments.table import as_latex, as_markdown, tabulate  # noqa: PLC0415

    folder = out / f"{experiment.name}-{scale}"
    make_folders(folder)
    if lines and experiment.kind != "picture":
        table = tabulate(experiment, scale, lines)
        Console().print(_shown(table))
        write(folder / "table.md", as_markdown(table).encode())
        write(folder / "table.tex", as_latex(table).encode())
    for path in draw(experiment, scale, lines, folder, workplace(out)):
        typer.echo(path)
    typer.echo(folder)


def _shown(table: "Table") -> RichTable:
    first, *shares = table.header
    names = Column(first, no_wrap=True)
    shown = RichTable(names, *shares, title=table.title, caption="\n".join(table.notes))
    for name, row in table.rows.items():
        shown.add_row(Text(name), *map(str, row))
    return shown
