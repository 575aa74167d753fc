"""`dualprune compare`: which method keeps better samples, on your data."""

from functools import partial
from typing import Annotated

import typer

from dualprune.cli.options import (
    Data,
    Download,
    Ignore,
    Label,
    Model,
    Out,
    Processes,
    RecipeName,
    Size,
    Text,
)
from dualprune.cli.printing import print_path, print_table, say
from dualprune.cli.progress import watch


def compare(
    data: Data,
    *,
    out: Out,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="A method, or auto, which tries several; can be repeated. Default: dual+beta, "
            "random."
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="How much to keep; can be repeated. Default: 0.5, 0.3, 0.1."),
    ] = None,
    prune: Annotated[
        list[str] | None,
        typer.Option(help="How much to prune, instead of --keep; can be repeated."),
    ] = None,
    text: Text = None,
    label: Label = None,
    ignore: Ignore = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds to run everything with.")] = 3,
    model: Model = "auto",
    recipe: RecipeName = "auto",
    size: Size = None,
    processes: Processes = None,
    download: Download = False,
) -> None:
    """Train on what each method keeps, and show accuracies with their deviation over seeds.

    Without test data, a tenth of every class is held out to evaluate on.

    If it is interrupted, run the same command again: it resumes.
    """
    from dualprune.workflows.comparing import compare as compare_methods  # noqa: PLC0415 - torch

    comparison = compare_methods(
        data,
        out=out,
        text=text,
        label=label,
        ignore=ignore or (),
        methods=method or ["dual+beta", "random"],
        keep=keep or ([] if prune else ["0.5", "0.3", "0.1"]),
        prune=prune or [],
        seeds=seeds,
        model=model,
        recipe=recipe,
        size=size,
        download=download,
        processes=processes,
        tell=partial(say, err=True),
        watch=watch,
    )
    for table in comparison.tables:
        print_table(table)
    for path in [out / "results.jsonl", *comparison.figures]:
        print_path(path)
