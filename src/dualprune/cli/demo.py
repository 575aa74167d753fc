"""`dualprune demo`: the whole story on a small data set that everybody has."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from dualprune.cli.compare import spread
from dualprune.cli.progress import watch
from dualprune.data import flip_labels, load
from dualprune.files import read_json
from dualprune.report import draw_moons
from dualprune.run import Run
from dualprune.score import SCORES, from_runs
from dualprune.select import budget
from dualprune.signatures import Array

if TYPE_CHECKING:
    from dualprune.train import Setup
    from dualprune.workflows.comparing import Cell

__all__ = ["demo"]

_KEEPS = ("0.5", "0.3", "0.1")
_METHODS = ("dual+beta", "random")
_WRONG = 0.1
_TITLE = f"digits, {_WRONG:.0%} of the labels wrong"


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write.")] = Path("demo"),
    seeds: Annotated[int, typer.Option(min=1, help="How often to repeat it all.")] = 3,
) -> None:
    """Prune the bundled digits, a tenth of them with wrong labels, and show what it saves."""
    from dualprune.train import Setup  # noqa: PLC0415
    from dualprune.workflows.comparing import compare  # noqa: PLC0415 - loads torch

    images, test = load("digits")
    labels, flipped = flip_labels(images.labels, _WRONG, len(images.class_names), seed=0)
    setup = Setup.of(replace(images, labels=labels), test, name="digits")
    cells = compare(setup, out, methods=_METHODS, keeps=_KEEPS, seeds=seeds, watch=watch)
    Console().print(_table(cells, flipped))
    _draw(out, cells, flipped)
    if find_spec("bokeh") is not None:
        typer.echo(_write_page(out, setup))


def _write_page(out: Path, setup: "Setup") -> Path:
    """Show what is kept at the middle share, and how it compares."""
    from dualprune.report.page import write_report  # noqa: PLC0415
    from dualprune.workflows.pruning import described  # noqa: PLC0415
    from dualprune.workflows.recording import choose  # noqa: PLC0415 - loads torch

    run, recipe = Run(out / "seed-0" / "run"), setup.recipe
    k = budget(run.samples, keep=_KEEPS[1])
    coreset = choose(_METHODS[0], [run], k=k, seed=0, c_d=recipe.c_d, epochs=recipe.record)
    coreset = described(setup, run, coreset, _TITLE)
    results = read_json(out / "results.json")["cells"]
    path = out / "report.html"
    return write_report(path, run, coreset=coreset, samples=setup.images, results=results)


def _table(cells: "list[Cell]", flipped: Array) -> Table:
    """One row per method and share kept; times are shares of training on everything."""
    table = Table(
        *("kept", "method", "accuracy %", "wrong labels", "training time", "+ recording"),
        title=_TITLE,
    )
    full = mean(cell.result.seconds for cell in cells if cell.whole)
    for keep, method in dict.fromkeys((cell.keep, cell.method) for cell in cells):
        same = [cell for cell in cells if (cell.keep, cell.method) == (keep, method)]
        training = mean(cell.result.seconds for cell in same)
        table.add_row(
            f"{float(keep):.0%}",
            method,
            spread([cell.result.accuracy for cell in same]),
            f"{mean(_removed(cell, flipped) for cell in same):.0%} removed",
            f"{training / full:.0%}",
            f"{(training + mean(cell.recording for cell in same)) / full:.0%}",
        )
    return table


def _removed(cell: "Cell", flipped: Array) -> float:
    return 1 - len(np.intersect1d(cell.ids, flipped)) / len(flipped)


def _draw(out: Path, cells: "list[Cell]", flipped: Array) -> None:
    run = Run(out / "seed-0" / "run")
    panels = {"score": from_runs(SCORES["dual"], run)}
    ids = next(c.ids for c in cells if (c.method, c.keep) == ("dual+beta", "0.3"))
    for title, chosen in (("kept: 30 % (red)", ids), ("wrong labels (red)", flipped)):
        panels[title] = np.isin(np.arange(run.samples), chosen)
    confidence = from_runs(SCORES["confidence"], run)
    draw_moons(out / "moon.png", from_runs(SCORES["variability"], run), confidence, panels)
    typer.echo(out / "moon.png")
