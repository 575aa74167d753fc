"""`dualprune record`: train a model and record what it believes of every sample."""

from typing import Annotated

import typer

from dualprune.cli.options import (
    Data,
    Download,
    EpochsToRecord,
    Ignore,
    Label,
    Model,
    Out,
    RecipeName,
    Seed,
    Size,
    Text,
)
from dualprune.cli.printing import print_path
from dualprune.cli.progress import watch
from dualprune.data import Columns
from dualprune.errors import InputError
from dualprune.method import at_shares, find_method, signals_for


def record(
    data: Data,
    *,
    out: Out,
    model: Model = "auto",
    recipe: RecipeName = "auto",
    epochs: EpochsToRecord = None,
    size: Size = None,
    seed: Seed = 0,
    text: Text = None,
    label: Label = None,
    ignore: Ignore = None,
    clean: Annotated[
        bool,
        typer.Option("--clean", help="Record in an evaluation pass, not in the training pass."),
    ] = False,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="Also record what this method needs (tdds, grand); can be repeated. --epochs auto "
            "stops by what this method would keep."
        ),
    ] = None,
    features: Annotated[
        list[int] | None,
        typer.Option(help="Also record features after this epoch (d2, moderate); can be repeated."),
    ] = None,
    download: Download = False,
) -> None:
    """Train a model and record it; under torchrun every process takes its share.

    If it is interrupted, run the same command again: it resumes.
    """
    from dualprune import train  # noqa: PLC0415 - loads torch

    train.check_training(seed, epochs)
    signals = signals_for([find_method(name, 0.0) for name in method or []])
    watched, *others = method or ["dual+beta"]
    if epochs == "auto":
        _refuse_auto(watched, others)
    with train.together():
        setup = train.Setup.load(
            data,
            recipe=recipe,
            model=model,
            download=download,
            out=out,
            size=size,
            columns=Columns(text, label, tuple(ignore or ())),
        )
        train.record(
            setup,
            out,
            epochs=epochs,
            method=watched,
            seed=seed,
            signals=signals,
            clean=clean,
            features=features or [],
            tell=watch("recording"),
        )
        if train.is_first():
            print_path(out)


def _refuse_auto(method: str, others: list[str]) -> None:
    """Refuse, before any data are read, what cannot say when to stop."""
    if others:
        raise InputError("epochs auto watches one method: give one, or say a number of epochs")
    at_shares(method)
