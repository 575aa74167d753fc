"""`dualprune prune`: from a set of images to the part that is worth training on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from dualprune.cli.options import Data, Download, Model, Out, RecipeName, Seed
from dualprune.cli.printing import print_path, say
from dualprune.cli.progress import watch
from dualprune.coreset import Coreset


def prune(
    data: Data,
    *,
    keep: Annotated[str, typer.Option(help="How much to keep: 0.3, 30% or a number of samples.")],
    out: Out,
    method: Annotated[
        str, typer.Option(help="A score and a selector, such as dual+beta or el2n+top; or random.")
    ] = "dual+beta",
    model: Model = "auto",
    recipe: RecipeName = "auto",
    epochs: Annotated[int | None, typer.Option(help="How many epochs to record.")] = None,
    seed: Seed = 0,
    materialize: Annotated[
        Literal["link", "copy"] | None,
        typer.Option(help="Also write the kept images as a folder of links or copies."),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Also train on it and on random ones; say which was better."),
    ] = False,
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
        out=out,
        model=model,
        recipe=recipe,
        method=method,
        epochs=epochs,
        seed=seed,
        materialize=materialize,
        check=check,
        download=download,
        labels=labels,
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
    if check:
        from dualprune.workflows.checking import read_check  # noqa: PLC0415 - loads torch

        say(f"check      {read_check(out / 'check')}", err=True)


def _summary(coreset: Coreset) -> Iterator[str]:
    card, training = coreset.card, coreset.card.training
    if training is not None:
        published = "the published" if training.published else "not a published"
        how = f"{training.model} with recipe {training.recipe}"
        yield f"setting    {how}: {published} setting for {training.data}"
    share = f"{card.k / card.samples:.1%}"
    yield f"kept       {card.k:,} of {card.samples:,} ({share}) with {card.method}"
    if training is not None:
        if training.relabelled:
            yield f"corrected  {training.relabelled:,} labels were changed as the file says"
        yield f"labels     {training.suspects}; `dualprune audit` ranks them"
        if training.duplicates:
            yield f"duplicates {training.same_images}, see duplicates.csv"
        yield (
            f"cost       training on it takes {training.coreset_passes:.3g} passes over the full "
            f"set instead of {training.full_passes:.3g}; recording took {training.epochs:.3g}"
        )
    yield f"coreset    sha256 {card.ids_sha256[:16]}, seed {card.seed}"
