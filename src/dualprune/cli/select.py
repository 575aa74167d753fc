"""`dualprune select`: the samples to keep, from scores and a budget."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from dualprune.cli.examples import as_lines, epilog
from dualprune.cli.knobs import command_for
from dualprune.cli.options import Epochs, Keep, Prune, Runs
from dualprune.cli.printing import print_path, say
from dualprune.errors import InputError, MissingError, did_you_mean
from dualprune.method import Arrays, Method, choose_from, find_method
from dualprune.run import Run
from dualprune.score import SCORES
from dualprune.score.scored import Scored
from dualprune.select import SELECTORS, budget
from dualprune.signatures import Array, inputs


def _select(
    *,
    fn: Callable[..., Array],
    knobs: dict[str, Any],
    runs: Runs,
    out: Annotated[Path, typer.Option(help="Folder to write the coreset into.")],
    keep: Keep = None,
    prune: Prune = None,
    score: Annotated[
        str, typer.Option(help="A score by name, a file of `dualprune score`, or none.")
    ] = "dual",
    reads: Annotated[
        list[str] | None,
        typer.Option(help="Read another array, such as aum=aum_prob; several times."),
    ] = None,
    epochs: Epochs = None,
    seed: Annotated[int, typer.Option(help="The same seed keeps the same samples.")] = 0,
) -> None:
    scored = None if score in (*SCORES, "none") else _load(score)
    arrays = Arrays([Run(path) for path in runs], epochs=_epochs(scored, epochs))
    k = budget(arrays.samples, keep=keep, prune=prune)
    method = _method(fn, scored or score, arrays)
    others = dict(method.reads) | dict(_pair(text) for text in reads or [])
    method = replace(method, select_knobs=knobs, reads=others)
    coreset = choose_from(arrays, method, k=k, seed=seed)
    print_path(coreset.save(out))
    say(
        f"kept {k:,} of {arrays.samples:,} samples ({k / arrays.samples:.1%}) with "
        f"{coreset.card.method}, seed {seed}",
        err=True,
    )


def _load(score: str) -> Scored:
    if not Path(score).exists():
        raise MissingError(
            f"there is no score and no file of scores {score!r}; scores are {', '.join(SCORES)}."
            f"{did_you_mean(score, SCORES)}"
        )
    return Scored.load(score)


def _epochs(scored: Scored | None, epochs: int | None) -> int | None:
    """Use the epochs that a file of scores is of."""
    if scored is None:
        return epochs
    if epochs not in (None, scored.epochs):
        raise InputError(f"the scores are over {scored.epochs} epochs, not {epochs}")
    return scored.epochs


def _method(fn: Callable[..., Array], score: str | Scored, arrays: Arrays) -> Method:
    """Give the method without its knobs; the values of a file of scores are taken over."""
    if score == "none" or "scores" not in inputs(fn):
        return find_method(fn.__name__, 0.0)
    if isinstance(score, str):
        return Method(score, fn)
    if score.runs != [run.fingerprint for run in arrays.runs]:
        raise InputError(
            f"the {score.score} scores were made from other runs, or before more was recorded; "
            "score again"
        )
    arrays.remember(SCORES[score.score], score.knobs, score.values)
    return Method(score.score, fn, score.knobs)


def _pair(text: str) -> tuple[str, str]:
    parameter, equals, array = text.partition("=")
    if not equals:
        raise InputError(f"--reads {text} must be a parameter and an array, such as aum=aum_prob")
    return parameter, array


app = typer.Typer(
    no_args_is_help=True,
    help="Choose what to keep; prints the folder's path.",
    epilog=epilog("select"),
)
for _name, _fn in SELECTORS.items():
    _example = f"dualprune select {_name} run --keep 0.1 --out small"
    app.command(_name, epilog=as_lines([_example]))(command_for(_fn, _select))
