"""`dualprune audit`: which labels are probably wrong."""

import shlex
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dualprune.cli.engine import Address, Engine, engine_map
from dualprune.cli.options import Epochs, Ignore, Label, OfRun
from dualprune.cli.options import Text as OfText
from dualprune.cli.printing import print_path, say, visible
from dualprune.coreset import FIRST
from dualprune.coreset.coreset import PART
from dualprune.data import DUPLICATES, Columns, load, to_show, with_labels
from dualprune.errors import InputError
from dualprune.files import Place, exists, place
from dualprune.run import Run
from dualprune.suspects import Audit, read_sheet, write_review
from dualprune.suspects import audit as rank_labels
from dualprune.suspects.table import BYTES

_SHOWN, _GROUPS = 20, 10


def audit(
    run: OfRun,
    *,
    epochs: Epochs = None,
    show: Annotated[
        int | None,
        typer.Option(
            min=0,
            help=f"How many of the worst labels to print; default: {_SHOWN}, or {FIRST} if it "
            "cannot be estimated how many are wrong.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="Folder or URL for audit.csv and audit.parquet, with all samples."
        ),
    ] = None,
    review: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="CSV to write: the suspects, or the worst labels if --show says how many, with a "
            "column for the right labels.",
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="The file of rows that was recorded, to show its content.")
    ] = None,
    text: OfText = None,
    label: Label = None,
    ignore: Ignore = None,
    engine: Engine = "threads",
    address: Address = None,
) -> None:
    """List the labels that are probably wrong: the model preferred another class."""
    columns = Columns(text, label, tuple(ignore or ()))
    contents = None if data is None else _contents(data, columns, Run(run))
    each = engine_map(engine, address)
    if (samples := Run(run).samples) > PART:
        say(
            f"all {samples:,} labels are ranked in this process, which takes about "
            f"{BYTES * samples / 1e9:.1f} GB of memory",
            err=True,
        )
    ranked = rank_labels(run, epochs=epochs, contents=contents, map=each)
    count = (FIRST if ranked.wrong.estimate is None else _SHOWN) if show is None else show
    if count:
        Console().print(_worst(ranked, count))
    for line in _summary(ranked, run, count):
        say(line)
    for line in _duplicates(place(run)):
        say(line)
    if review is not None:
        written = write_review(ranked, place(review), show)
        print_path(place(review))
        say(
            f"{written:,} labels are in the file: write the right class of each into the column "
            "`label`, or leave it empty to change nothing (`suggested_label` has a guess); "
            f"then: dualprune prune DATA --labels {shlex.quote(review)} ...",
            err=True,
        )
    if out is not None:
        for path in ranked.save(place(out)):
            print_path(path)


def _contents(path: Path, columns: Columns, run: Run) -> list[str]:
    data, _ = load(path, columns=columns)
    if len(data) == run.samples:
        data = with_labels(data, run.labels)
    if data.fingerprint != run.description.data:
        raise InputError(f"{path} does not hold what {run.path} was recorded of")
    shown = to_show(data)
    if not isinstance(shown, list):
        raise InputError(f"{path} holds {data.kind}; only texts and rows can be printed")
    return shown


def _summary(ranked: Audit, run: str, shown: int) -> Iterator[str]:
    """Say how many labels are wrong, and what to do next where that cannot be told."""
    samples = len(ranked.columns["id"])
    if ranked.wrong.estimate is not None:
        yield f"{ranked.wrong}; {ranked.suspects:,} of {samples:,} are marked as suspect"
        return
    yield str(ranked.wrong)
    more = shlex.join(["dualprune", "audit", run, "--show", str(2 * max(shown, FIRST))])
    yield f"to go on: {more}; to correct labels, add --review labels.csv"


def _duplicates(run: Place) -> Iterator[str]:
    """Name the duplicates that `prune` found, if the run is one of its."""
    path = next(filter(exists, (run / DUPLICATES, run.parent / DUPLICATES)), None)
    rows = [] if path is None else read_sheet(path)
    groups = [list(group) for _, group in groupby(rows, key=lambda row: row.get("group"))]
    if groups:
        yield f"{len(rows):,} samples have exactly the content of another: {path}"
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
