"""`dualprune prune`: from labelled data to the part that is worth training on."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated

import typer

from dualprune.cli.options import (
    Data,
    Download,
    EpochsToRecord,
    Floor,
    Ignore,
    Label,
    Labels,
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
from dualprune.coreset import Check, Coreset, Search, Shares
from dualprune.select.candidates import Balance


def prune(
    data: Data,
    *,
    out: Out,
    keep: Annotated[
        str | None,
        typer.Option(
            help="How much to keep: 0.3, 30% or a number of samples; or auto, with --lose."
        ),
    ] = None,
    prune: Prune = None,
    lose: Annotated[
        float | None,
        typer.Option(
            help="With --keep auto: find the smallest share that loses at most this many points of "
            "accuracy, by training on several shares."
        ),
    ] = None,
    text: Text = None,
    label: Label = None,
    ignore: Ignore = None,
    method: Annotated[
        str,
        typer.Option(
            help="A score and a selector, such as dual+beta or el2n+top; random; or auto, which "
            "compares several on held-out parts of the data."
        ),
    ] = "dual+beta",
    model: Model = "auto",
    recipe: RecipeName = "auto",
    epochs: EpochsToRecord = None,
    size: Size = None,
    seed: Seed = 0,
    balance: Annotated[
        Balance | None,
        typer.Option(help="Keep the same share, or the same number, of every class."),
    ] = None,
    floor: Floor = None,
    run: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Use this recording (a run or a folder of `prune`) instead of a new one.",
        ),
    ] = None,
    materialize: Materialize = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Also train on the coreset and in four other ways, and compare them."
        ),
    ] = False,
    check_seeds: Annotated[int, typer.Option(min=2, help="How many seeds --check uses.")] = 3,
    processes: Processes = None,
    download: Download = False,
    labels: Labels = None,
) -> None:
    """Record a short training, score every sample, keep those worth training on.

    If it is interrupted, run the same command again: it resumes.
    """
    from dualprune.workflows.pruning import prune as prune_data  # noqa: PLC0415 - loads torch

    coreset = prune_data(
        data,
        keep=keep,
        prune=prune,
        lose=lose,
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
    for measured in (coreset.card.search, coreset.card.shares, coreset.card.check):
        for line in _compared(measured) if measured is not None else ():
            say(line, err=True)


def _summary(coreset: Coreset) -> Iterator[str]:
    card, training = coreset.card, coreset.card.training
    if training is not None:
        published = "the published" if training.published else "not a published"
        how = f"{training.model} with recipe {training.recipe}"
        yield f"setting    {how}: {published} setting for {training.data}"
        if training.size:
            yield f"images     the model saw them at {training.size} x {training.size} pixels"
        if training.stopped:
            yield f"recording  {training.stopped}"
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
            + (f", trying {card.trying_passes:.3g}" if card.trying_passes else "")
        )
        yield f"worth it   {card.worth}"
    yield sha


def _compared(measured: Search | Shares | Check) -> Iterator[str]:
    """Give a small table of what was tried or checked."""
    judged = f"judged on {measured.held_out:,} samples that were never trained on"
    if isinstance(measured, Check):
        yield f"check      {measured.seeds} seeds (± their deviation), {judged}"
        head = ("trained on", "samples", "accuracy %", "the coreset is")
    elif isinstance(measured, Search):
        yield f"method     {measured}"
        yield f"           each seed {judged} (± the deviation over seeds)"
        head = ("method", "seeds", "accuracy %", "beside random")
    else:
        yield f"share      {measured}"
        yield f"           each seed {judged} (± the deviation over seeds)"
        head = ("kept", "accuracy %", "points lost", f"limit {measured.lose:g}")
    rows = [head, *measured.rows()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield f"           {'  '.join(cells)}".rstrip()
