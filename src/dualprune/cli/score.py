"""`dualprune score`: one number per sample, from what was recorded."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from dualprune.cli.knobs import command_for
from dualprune.errors import InputError
from dualprune.method.choose import score_runs
from dualprune.run import Run
from dualprune.score import SCORES
from dualprune.signatures import Array

__all__ = ["Epochs", "Runs", "app"]

Runs = Annotated[list[Path], typer.Argument(help="Folder of a run; of several, the mean is taken.")]
Epochs = Annotated[int | None, typer.Option(help="Use the first epochs only; default: all.")]


def _score(
    *,
    fn: Callable[..., Array],
    given: dict[str, Any],
    runs: Runs,
    epochs: Epochs = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write; default: scores/ inside the run.")
    ] = None,
) -> None:
    if len(runs) > 1 and out is None:
        raise InputError("scores over several runs belong to none of them; say --out FILE")
    scored = score_runs(fn.__name__, [Run(path) for path in runs], epochs=epochs, given=given)
    path = out or runs[0] / "scores" / scored.file_name
    scored.save(path)
    typer.echo(path)


app = typer.Typer(no_args_is_help=True, help="Give every sample a score; prints the file's path.")
for _name, _fn in SCORES.items():
    app.command(_name)(command_for(_fn, _score))
