"""`dualprune prune`: from labelled data to the part that is worth training on."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dualprune.cli.options import (
    Data,
    Download,
    Floor,
    Ignore,
    Keep,
    Label,
    Materialize,
    Model,
    Out,
    Processes,
    Prune,
    RecipeName,
    Seed,
    Size,
    Text,
)
from dualprune.cli.printing import kept_lines, print_path, say
from dualprune.cli.progress import watch
from dualprune.coreset import Check, Coreset
from dualprune.select.candidates import Balance


def prune(
    data: Data,
    *,
    out: Out,
    keep: Keep = None,
    prune: Prune = None,
    text: Text = None,
    label: Label = None,
    ignore: Ignore = None,
    method: Annotated[
        str, typer.Option(help="A score and a selector, such as dual+beta or el2n+top; or random.")
    ] = "dual+beta",
    model: Model = "auto",
    recipe: RecipeName = "auto",
    epochs: Annotated[int | None, typer.Option(help="How many epochs to record.")] = None,
    size: Size = None,
    seed: Seed = 0,
    balance: Annotated[
        Balance | None,
        typer.Option(help="Let every class keep the same share, or the same number."),
    ] = None,
    floor: Floor = None,
    run: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Choose from this recording (a run, or a folder of `prune`); no training.",
        ),
    ] = None,
    materialize: Materialize = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Also train on it, on all the data and in ways that cost as much; compare.",
        ),
    ] = False,
    check_seeds: Annotated[int, typer.Option(min=2, help="How often --check trains each.")] = 3,
    processes: Processes = None,
    download: Download = False,
    labels: Annotated[
        Path | None,
        typer.Option(help="CSV of corrected labels, such as `dualprune audit --review` writes."),
    ] = None,
) -> None:
    """Record a short training, score every sample, keep what is worth training on.

    If it is interrupted, run the same command again: it resumes.
    """
    from dualprune.workflows.pruning import prune as prune_data  # noqa: PLC0415 - loads torch

    coreset = prune_data(
        data,
        keep=keep,
        prune=prune,
        out=out,
        text=text,
        label=label,
        ignore=ignore or (),
        model=model,
        recipe=recipe,
        method=method,
        epochs=epochs,
        size=size,
        balance=balance,
        floor=floor,
        run=run,
        seed=seed,
        materialize=materialize,
        check=check,
        check_seeds=check_seeds,
        processes=processes,
        download=download,
        labels=labels,
        tell=partial(say, err=True),
        watch=watch,
    )
    print_path(out)
    for line in _summary(coreset):
        say(line, err=True)
    if (out / "report.html").exists():
        say(f"look at    {out / 'report.html'}", err=True)
    else:
        say("a page     pip install 'dualprune[report]' to have one to look at", err=True)
    if not (out / "moon.png").exists():
        say("figures    pip install 'dualprune[plot]' to have them drawn", err=True)
    for line in _compared(coreset.card.check) if coreset.card.check else ():
        say(line, err=True)


def _summary(coreset: Coreset) -> Iterator[str]:
    card, training = coreset.card, coreset.card.training
    if training is not None:
        published = "the published" if training.published else "not a published"
        how = f"{training.model} with recipe {training.recipe}"
        yield f"setting    {how}: {published} setting for {training.data}"
        if training.size:
            yield f"images     the model saw them at {training.size} x {training.size} pixels"
        for line in training.read_as:
            yield f"columns    {line}"
    *kept, sha = kept_lines(card)
    yield from kept
    if training is not None:
        if training.relabelled:
            yield f"corrected  {training.relabelled:,} labels were changed as the file says"
        yield f"labels     {training.suspects}; `dualprune audit` ranks them"
        if training.duplicates:
            yield f"duplicates {training.repeated}, see duplicates.csv"
        yield (
            f"cost       training on it takes {training.coreset_passes:.3g} passes over the full "
            f"set instead of {training.full_passes:.3g}; recording took {card.recording_passes:.3g}"
        )
        yield f"worth it   {card.worth}"
    yield sha


def _compared(check: Check) -> Iterator[str]:
    """Give a small table of the check."""
    yield (
        f"check      {check.seeds} seeds (± their deviation), judged on {check.held_out:,} samples "
        "that were never trained on"
    )
    rows = [("trained on", "samples", "accuracy %", "the coreset is"), *check.rows()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield f"           {'  '.join(cells)}".rstrip()
