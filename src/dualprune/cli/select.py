"""`dualprune select`: the samples to keep, from scores and a budget."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from dualprune.cli.knobs import command_for
from dualprune.cli.score import Epochs, Runs
from dualprune.method.choose import score_runs, select_from
from dualprune.run import Run
from dualprune.score import SCORES
from dualprune.score.scored import Scored
from dualprune.select import SELECTORS, budget
from dualprune.signatures import Array, inputs

__all__ = ["app"]


def _select(
    *,
    fn: Callable[..., Array],
    given: dict[str, Any],
    runs: Runs,
    out: Annotated[Path, typer.Option(help="Folder to write the coreset into.")],
    keep: Annotated[
        str | None, typer.Option(help="How much to keep: 0.3, 30% or a number of samples.")
    ] = None,
    prune: Annotated[str | None, typer.Option(help="How much to prune, instead of --keep.")] = None,
    score: Annotated[
        str, typer.Option(help="A score by name, a file of `dualprune score`, or none.")
    ] = "dual",
    epochs: Epochs = None,
    seed: Annotated[int, typer.Option(help="The same seed keeps the same samples.")] = 0,
) -> None:
    recorded = [Run(path) for path in runs]
    k = budget(recorded[0].samples, keep=keep, prune=prune)
    scored = _scored(score, recorded, epochs) if "scores" in inputs(fn) else None
    coreset = select_from(fn.__name__, recorded, scored, k=k, seed=seed, epochs=epochs, given=given)
    typer.echo(coreset.save(out))
    typer.echo(
        f"kept {k:,} of {recorded[0].samples:,} samples ({k / recorded[0].samples:.1%}) with "
        f"{coreset.card['method']}, seed {seed}",
        err=True,
    )


def _scored(score: str, runs: list[Run], epochs: int | None) -> Scored | None:
    if score == "none":
        return None
    if score in SCORES:
        return score_runs(score, runs, epochs=epochs)
    return Scored.load(score)


app = typer.Typer(no_args_is_help=True, help="Choose what to keep; prints the folder's path.")
for _name, _fn in SELECTORS.items():
    app.command(_name)(command_for(_fn, _select))
