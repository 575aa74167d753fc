"""`dualprune prune`: from a set of images to the part that is worth training on."""

from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dualprune.cli.options import Data, Download, Model, Out, RecipeName, Seed
from dualprune.cli.progress import watch
from dualprune.files import read_json

if TYPE_CHECKING:
    from dualprune.coreset import Coreset

__all__ = ["prune"]

_COMPARED = ("coreset", "random")


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
) -> None:
    """Record a short training, score every sample, keep what is worth training on.

    Killed and started again with the same flags, it goes on where it was.
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
        watch=watch,
    )
    typer.echo(out)
    for line in _told(coreset):
        typer.echo(line, err=True)
    if (out / "report.html").exists():
        typer.echo(f"look at    {out / 'report.html'}", err=True)
    else:
        typer.echo("a page     pip install 'dualprune[report]' to have one to look at", err=True)
    if not (out / "moon.png").exists():
        typer.echo("figures    pip install 'dualprune[plot]' to have them drawn", err=True)
    if check:
        typer.echo(f"check      {_verdict(out)}", err=True)


def _told(coreset: "Coreset") -> Iterator[str]:
    card, passes = coreset.card, coreset.card["passes"]
    k, samples = card["k"], card["samples"]
    doubted = f"{card['doubted']:,}" if card["doubted"] else "none"
    published = "the published" if card["published"] else "not a published"
    how = f"{card['model']} with recipe {card['recipe']}"
    yield f"setting    {how}: {published} setting for {card['data_name']}"
    yield f"kept       {k:,} of {samples:,} ({k / samples:.1%}) with {card['method']}"
    yield f"labels     {doubted} look wrong; `dualprune audit` ranks them"
    yield (
        f"cost       training on it takes {passes['coreset']:.3g} passes over the full set instead "
        f"of {passes['full']:.3g}; recording took {passes['recording']:.3g}"
    )
    yield f"coreset    sha256 {card['ids_sha256'][:16]}, seed {card['seed']}"


def _verdict(out: Path) -> str:
    found = read_json(out / "check" / "check.json")
    told = [f"{name} {mean(found[name]):.1%} ± {stdev(found[name]):.1%}" for name in _COMPARED]
    seeds = len(found["coreset"])
    return f"{', '.join(told)} ({found['epochs']} epochs, {seeds} seeds): {found['verdict']}"
