"""`dualprune report`: a page to look at, from what is on disk."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualprune.cli.options import Download
from dualprune.coreset import Coreset
from dualprune.errors import InputError
from dualprune.files import read_json
from dualprune.run import Run

if TYPE_CHECKING:
    from dualprune.data import Images

__all__ = ["report"]


def report(
    folder: Annotated[Path, typer.Argument(help="What prune or select wrote, or a run.")],
    *,
    run: Annotated[
        Path | None, typer.Option(help="The run a coreset was chosen from, if not in its folder.")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="The images, for thumbnails: a folder, .npz or named set.")
    ] = None,
    texts: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="A text file with one line per sample, for snippets."
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="The results.json of `dualprune compare`."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write; by default report.html in the folder.")
    ] = None,
    download: Download = False,
) -> None:
    """Write one HTML file: the map of the samples, what was kept, which labels look wrong."""
    from dualprune.report.page import write_report  # noqa: PLC0415 - reads templates

    chosen = (folder / "card.json").is_file()
    if chosen and run is None and not (folder / "run").exists():
        raise InputError(f"{folder} does not hold the run it was chosen from; say --run RUN")
    recorded = Run(run or (folder / "run" if chosen else folder))
    written = write_report(
        out or folder / "report.html",
        recorded,
        coreset=Coreset.load(folder) if chosen else None,
        samples=_samples(data, texts, download),
        results=_cells(results) if results else (),
    )
    typer.echo(written)


def _samples(
    data: str | None, texts: Path | None, download: bool
) -> "Images | Sequence[str] | None":
    if data is not None and texts is not None:
        raise InputError("give --data or --texts, not both")
    if texts is not None:
        return texts.read_text("utf-8", "replace").removesuffix("\n").split("\n")
    if data is None:
        return None
    from dualprune.data import load  # noqa: PLC0415

    return load(data, download=download)[0]


def _cells(path: Path) -> list[dict[str, Any]]:
    content = read_json(path)
    if "cells" not in content:
        raise InputError(f"{path} holds no results; give the results.json of `dualprune compare`")
    cells: list[dict[str, Any]] = content["cells"]
    return cells
