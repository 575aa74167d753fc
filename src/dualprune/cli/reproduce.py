"""`dualprune reproduce`: the paper's tables and figures, run again."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table as RichTable

from dualprune.cli.options import Download, Processes
from dualprune.cli.printing import print_path, print_table, say
from dualprune.cli.progress import duration
from dualprune.data import load
from dualprune.errors import MissingError
from dualprune.experiments import Scale
from dualprune.experiments.contents import check_experiment, contents, papers_title
from dualprune.files import on_disk

if TYPE_CHECKING:
    from dualprune.experiments.grid import Grid
    from dualprune.experiments.results import Line


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(help="Name of one; without it, list all (with --dry-run: plan all)."),
    ] = None,
    *,
    scale: Annotated[
        Scale,
        typer.Option(
            help="paper: as published; cpu: some images, for two cores; cpu-full: all images, "
            "for two cores; smoke: very few."
        ),
    ] = "cpu",
    out: Annotated[Path, typer.Option(help="Folder to write; give it again to resume.")] = Path(
        "reproduced"
    ),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what is left to do, and how long it takes.")
    ] = False,
    show: Annotated[
        bool, typer.Option("--show", help="Run nothing; show the existing results.")
    ] = False,
    processes: Processes = None,
    download: Download = False,
) -> None:
    """Run an experiment of the paper and show our numbers beside the paper's.

    If it is interrupted, run the same command again: it resumes.
    """
    if name is None and dry_run:
        _print_plan(scale, out, processes)
        return
    if name is None:
        _print_list()
        return
    check_experiment(name)
    from dualprune.experiments.experiment import find_experiment  # noqa: PLC0415 - loads torch
    from dualprune.experiments.runner import lines_of  # noqa: PLC0415

    grid = find_experiment(name).at(scale)
    if dry_run:
        _print_cost(grid, out, processes)
        return
    if download and not show:
        load(grid.setting.data, download=True)
    lines = lines_of(grid, out) if show else _run(grid, on_disk(out), processes)
    if show and not lines and any(grid.cells()):
        raise MissingError(f"{out} holds no results of {name} at this scale; run it")
    _present(grid, out, lines)


def _print_list() -> None:
    table = RichTable("name", "what", "scales", box=None)
    table.columns[0].no_wrap = True
    for name, content in contents().items():
        table.add_row(name, papers_title(content), " ".join(content["scales"]))
    Console().print(table)


def _print_plan(scale: Scale, out: Path, processes: int | None) -> None:
    """Print of every experiment what it adds to those before it."""
    from dualprune.experiments import cost  # noqa: PLC0415 - loads torch

    table, total = RichTable("name", "recordings", "trainings", "time", "so far", box=None), 0.0
    for name, left in cost.plan(scale, out, processes):
        total += left.seconds
        counts = (str(left.recordings), str(left.trainings))
        table.add_row(name, *counts, duration(left.seconds), duration(total))
    Console().print(table)


def _print_cost(grid: "Grid", out: Path, processes: int | None) -> None:
    from dualprune.experiments import cost, runner  # noqa: PLC0415 - loads torch

    left = cost.estimate(runner.missing(grid, out), runner.workplace(out), processes)
    say(
        f"{left.recordings} recordings and {left.trainings} trainings are left to do, about "
        f"{duration(left.seconds)} with {left.processes} at a time"
    )


def _run(grid: "Grid", out: Path, processes: int | None) -> "list[Line]":
    from dualprune.experiments import runner  # noqa: PLC0415 - loads torch

    with runner.processes_of_one_thread(processes) as pool:
        return runner.run(grid, out, pool=pool, tell=partial(say, err=True))


def _present(grid: "Grid", out: Path, lines: "list[Line]") -> None:
    """Print the table, and write it and the figures."""
    from dualprune.experiments import present, runner  # noqa: PLC0415 - loads torch

    folder = out / f"{grid.name}-{grid.scale}"
    table = present.tabulate(grid, lines)
    if table is not None:
        print_table(table)
    for path in present.present(grid, lines, folder, runner.workplace(out)):
        print_path(path)
    print_path(folder)
