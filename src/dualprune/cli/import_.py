"""`dualprune import`: a run from what another tool has written."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from dualprune.cli.printing import print_path, say


def import_(
    path: Annotated[
        Path,
        typer.Argument(
            help="A .csv, .tsv or .parquet table, a .npy array, or a folder that the code of TDDS, "
            "DUAL, dataset cartography or aum wrote."
        ),
    ],
    *,
    out: Annotated[Path, typer.Option(help="Folder to write the run into.")],
    values: Annotated[
        Literal["loss", "prob"] | None,
        typer.Option(help="What an array holds: losses, or probabilities of the label."),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="A .npy file of labels, if PATH is an array.")
    ] = None,
) -> None:
    """Make a run from losses or probabilities that you already have; print its path.

    A table has the columns id, epoch and loss (or prob), with a row per sample and epoch; or
    loss_1, loss_2, ... (or prob_1, ...), with a row per sample. A column label is optional. Ids
    that are text become names.
    """
    from dualprune.integrations.importers import import_run  # noqa: PLC0415 - loads scipy

    run = import_run(path, out, values=values, labels=labels)
    print_path(run.path)
    classes = "no labels" if run.classes is None else f"{run.classes:,} classes"
    say(
        f"{run.samples:,} samples, {run.epochs:,} epochs, {classes}; {', '.join(run.signals)}",
        err=True,
    )
