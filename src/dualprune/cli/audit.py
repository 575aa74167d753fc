"""`dualprune audit`: which labels are probably wrong."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dualprune.cli.engine import Address, Engine, engine_map
from dualprune.cli.options import Epochs
from dualprune.cli.printing import print_path, say, visible
from dualprune.coreset import FIRST
from dualprune.data import DUPLICATES
from dualprune.suspects import Audit, read_sheet, write_review
from dualprune.suspects import audit as rank_labels

_SHOWN, _GROUPS = 20, 10


def audit(
    run: Annotated[Path, typer.Argument(help="Folder of a run or of `prune`.")],
    *,
    epochs: Epochs = None,
    show: Annotated[
        int | None,
        typer.Option(
            min=0,
            help=f"How many of the worst labels to print; default: {_SHOWN}, or {FIRST} where it "
            "cannot be told how many are wrong.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for audit.csv and audit.parquet, all samples.")
    ] = None,
    review: Annotated[
        Path | None,
        typer.Option(help="CSV to write: the suspects, with a column for the right labels."),
    ] = None,
    engine: Engine = "threads",
    address: Address = None,
) -> None:
    """Rank the labels of a run by the model's belief in each against its best rival."""
    ranked = rank_labels(run, epochs=epochs, map=engine_map(engine, address))
    if show is None:
        show = _SHOWN if ranked.wrong.estimate is not None else FIRST
    if show:
        Console().print(_worst(ranked, show))
    samples, suspects = len(ranked.columns["id"]), ranked.suspects
    say(f"{ranked.wrong}; {suspects:,} of {samples:,} are marked as suspect")
    for line in _duplicates(run):
        say(line)
    if review is not None:
        count = write_review(ranked, review)
        print_path(review)
        say(
            f"write the right class of these {count:,} into the column `label` (a suggested one is "
            f"beside it; leave it empty to change nothing), then: dualprune prune DATA --labels "
            f"{review} ...",
            err=True,
        )
    if out is not None:
        for path in ranked.save(out):
            print_path(path)


def _duplicates(run: Path) -> Iterator[str]:
    """Name the duplicates that `prune` found, if the run is one of its."""
    path = next((p for p in (run / DUPLICATES, run.parent / DUPLICATES) if p.is_file()), None)
    rows = [] if path is None else read_sheet(path)
    groups = [list(group) for _, group in groupby(rows, key=lambda row: row.get("group"))]
    if groups:
        yield f"{len(rows):,} images have exactly the pixels of another: {path}"
    for group in groups[:_GROUPS]:
        names = (f"{row.get('name') or row.get('id')} ({row.get('label')})" for row in group)
        yield f"  the same: {', '.join(names)}"


def _worst(ranked: Audit, count: int) -> Table:
    shown = [name for name in ranked.columns if name != "is_label_issue"]
    table = Table(*shown)
    for row in zip(*(ranked.columns[name][:count].tolist() for name in shown), strict=True):
        cells = (f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row)
        table.add_row(*(Text(visible(cell)) for cell in cells))
    return table
