"""`dualprune train`: what a coreset is worth."""

from typing import Annotated

import numpy as np
import typer

from dualprune.cli.options import (
    Data,
    Download,
    Ignore,
    Label,
    Labels,
    Model,
    Out,
    RecipeName,
    Seed,
    Size,
    Text,
)
from dualprune.cli.printing import print_path, say
from dualprune.cli.progress import duration, watch
from dualprune.coreset import Coreset
from dualprune.data import Columns
from dualprune.data import Data as Samples
from dualprune.errors import InputError
from dualprune.files import on_disk, refuse_foreign
from dualprune.signatures import Array


def train(
    data: Data,
    *,
    out: Out,
    coreset: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="Folder or URL of a coreset; without it, train on everything."
        ),
    ] = None,
    model: Model = "auto",
    recipe: RecipeName = "auto",
    epochs: Annotated[int | None, typer.Option(help="Length of the training in epochs.")] = None,
    iterations: Annotated[
        int | None,
        typer.Option(help="Length of the training in optimiser steps, instead of --epochs."),
    ] = None,
    size: Size = None,
    seed: Seed = 0,
    text: Text = None,
    label: Label = None,
    ignore: Ignore = None,
    download: Download = False,
    labels: Labels = None,
) -> None:
    """Train on a coreset or on everything; print the accuracy and store it in result.json.

    Without test data, a tenth of every class is held out to evaluate on.
    """
    from dualprune import train  # noqa: PLC0415 - loads torch

    if epochs is not None and iterations is not None:
        raise InputError("say --epochs or --iterations, not both")
    train.check_training(seed, epochs, iterations)
    refuse_foreign(on_disk(out), "checkpoint")
    chosen = None if coreset is None else Coreset.load(coreset)
    with train.together():
        setup = train.Setup.load(
            data,
            recipe=recipe,
            model=model,
            download=download,
            out=out,
            size=size,
            labels=labels,
            columns=Columns(text, label, tuple(ignore or ())),
        )
        result = train.train(
            setup,
            out,
            ids=None if chosen is None else _ids(chosen, setup.data),
            epochs=epochs,
            iterations=iterations,
            seed=seed,
            tell=watch("training"),
        )
        if train.is_first():
            say(
                f"accuracy {result.accuracy:.2%} on {result.judged_on} {setup.data.kind} after "
                f"{result.epochs} epochs on {result.kept:,} samples, "
                f"{duration(result.seconds)} (best: {result.best_accuracy:.2%} in epoch "
                f"{result.best_epoch})"
            )
            print_path(out / "result.json")


def _ids(coreset: Coreset, data: Samples) -> Array:
    if coreset.card.data not in ("", data.fingerprint):
        raise InputError(
            f"the coreset ({coreset!r}) was chosen from other data; give the data it was made "
            "from, with the same --labels if it had any"
        )
    ids: Array = coreset.apply(np.arange(len(data)))
    return ids
