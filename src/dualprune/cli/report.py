"""`dualprune report`: a page to look at, from what is on disk."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dualprune.cli.options import Download, Ignore, Label, Text
from dualprune.cli.printing import print_path
from dualprune.coreset import Coreset
from dualprune.data import Columns, Images, load, to_show
from dualprune.errors import InputError
from dualprune.files import exists, place
from dualprune.run import Run

if TYPE_CHECKING:
    from dualprune.experiments.results import Line


def report(
    folder: Annotated[
        str,
        typer.Argument(help="Folder or URL of a coreset, of a run or of the output of `prune`."),
    ],
    *,
    run: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Folder or URL of the run, or of the `prune` output, that the coreset is from.",
        ),
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="The data to show, as given to prune or record.")
    ] = None,
    texts: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="A text file with one line per sample, to show."
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="The results.jsonl of `dualprune compare`."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="File or URL to write; default: report.html in the folder."
        ),
    ] = None,
    text: Text = None,
    label: Label = None,
    ignore: Ignore = None,
    download: Download = False,
) -> None:
    """Write one HTML file: the map of the samples, what was kept, which labels are suspect."""
    from dualprune.report.facts import gather  # noqa: PLC0415
    from dualprune.report.page import write_report  # noqa: PLC0415 - reads templates

    home = place(folder)
    chosen = exists(home / "card.json")
    if chosen and run is None and not exists(home / "run"):
        raise InputError(f"{home} does not hold the run it was chosen from; say --run RUN")
    recorded = Run(run or (home / "run" if chosen else home))
    facts = gather(recorded, Coreset.load(home) if chosen else None)
    samples = _samples(data, texts, download, Columns(text, label, tuple(ignore or ())))
    lines = () if results is None else _lines(results)
    path, owner = out or home / "report.html", home if chosen else None
    print_path(write_report(path, facts, samples=samples, results=lines, folder=owner))


def _lines(results: Path) -> "list[Line]":
    from dualprune.experiments.results import read  # noqa: PLC0415 - loads torch

    return read(results)


def _samples(
    data: str | None, texts: Path | None, download: bool, columns: Columns
) -> Images | list[str] | None:
    if data is not None and texts is not None:
        raise InputError("give --data or --texts, not both")
    if texts is not None:
        return texts.read_text("utf-8", "replace").removesuffix("\n").split("\n")
    return None if data is None else to_show(load(data, download=download, columns=columns)[0])
