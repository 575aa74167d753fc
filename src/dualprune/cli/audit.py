"""`dualprune audit`: which labels are probably wrong."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dualprune.cli.options import Epochs
from dualprune.cli.printing import print_path, say, visible
from dualprune.suspects import Audit
from dualprune.suspects import audit as rank_labels


def audit(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    epochs: Epochs = None,
    show: Annotated[int, typer.Option(min=0, help="How many of the worst labels to print.")] = 20,
    out: Annotated[
        Path | None, typer.Option(help="Folder for audit.csv and audit.parquet, all samples.")
    ] = None,
) -> None:
    """Rank the labels of a run by the model's belief in each against its best rival."""
    ranked = rank_labels(run, epochs=epochs)
    if show:
        Console().print(_worst(ranked, show))
    samples, suspects = len(ranked.columns["id"]), ranked.suspects
    say(f"{ranked.wrong}; {suspects:,} of {samples:,} are marked as suspect")
    if out is not None:
        for path in ranked.save(out):
            print_path(path)


def _worst(ranked: Audit, count: int) -> Table:
    shown = [name for name in ranked.columns if name != "is_label_issue"]
    table = Table(*shown)
    for row in zip(*(ranked.columns[name][:count].tolist() for name in shown), strict=True):
        cells = (f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row)
        table.add_row(*(Text(visible(cell)) for cell in cells))
    return table
