"""`dualprune select`: the samples to keep, from scores and a budget."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dualprune.cli.engine import Address, Engine, engine_map
from dualprune.cli.examples import as_lines, epilog
from dualprune.cli.knobs import command_for
from dualprune.cli.options import Epochs, Ignore, Keep, Label, Materialize, Prune, Runs, Text
from dualprune.cli.printing import kept_lines, print_path, say
from dualprune.data import Columns, Data, Images, list_training, load, with_labels
from dualprune.errors import InputError, MissingError, did_you_mean
from dualprune.files import exists, on_disk, place
from dualprune.method import Arrays, Method, choose_from, find_method, for_classes, warn_of_short
from dualprune.run import Run
from dualprune.score import SCORES
from dualprune.score.scored import Scored
from dualprune.select import SELECTORS, budget
from dualprune.signatures import Array, inputs
from dualprune.workflows.kept import How, refuse_materialize, write_kept_samples


def _select(
    *,
    fn: Callable[..., Array],
    knobs: dict[str, Any],
    runs: Runs,
    out: Annotated[
        str, typer.Option(metavar="PATH", help="Folder or URL to write the coreset into.")
    ],
    keep: Keep = None,
    prune: Prune = None,
    score: Annotated[
        str,
        typer.Option(help="A score by name, a file or URL that `dualprune score` wrote, or none."),
    ] = "dual",
    reads: Annotated[
        list[str] | None,
        typer.Option(
            help="Let a parameter read another array, such as aum=aum_prob; can be repeated."
        ),
    ] = None,
    epochs: Epochs = None,
    seed: Annotated[int, typer.Option(help="The same seed keeps the same samples.")] = 0,
    materialize: Materialize = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="The folder of images or file of rows that was recorded, for --materialize."
        ),
    ] = None,
    text: Text = None,
    label: Label = None,
    ignore: Ignore = None,
    engine: Engine = "threads",
    address: Address = None,
) -> None:
    scored = None if score in (*SCORES, "none") else _load(score)
    opened, each = [Run(path) for path in runs], engine_map(engine, address)
    arrays = Arrays(opened, epochs=_epochs(scored, epochs), map=each)
    columns = Columns(text, label, tuple(ignore or ()))
    samples = _samples(arrays.runs[0], data, columns, materialize)
    k = budget(arrays.runs[0].readable, keep=keep, prune=prune)
    method = _method(fn, scored or score, arrays)
    others = dict(method.reads) | dict(_pair(text) for text in reads or [])
    said = {name: value for name, value in knobs.items() if value is not None}
    method = replace(method, select_knobs=said, reads=others)
    method = for_classes(method, labels=arrays.has("labels"))
    folder = place(out)
    coreset = choose_from(arrays, method, k=k, seed=seed, out=folder)
    print_path(folder)
    if samples is not None:
        write_kept_samples(on_disk(out), coreset, samples, materialize)
    warn_of_short(coreset.card.short)
    for line in kept_lines(coreset.card):
        say(line, err=True)


def _samples(run: Run, path: Path | None, columns: Columns, how: How) -> Data | None:
    """Give the samples of a run, which stores only their names, if they are to be written."""
    if how is None:
        return None
    if path is None:
        raise InputError("say where the data are: --data PATH, as it was given to record")
    refuse_materialize(path, how)
    samples = load(path, columns=columns)[0] if path.is_file() else _images(run, path)
    if len(samples) == run.samples:
        samples = with_labels(samples, run.labels)
    if samples.fingerprint != run.description.data:
        raise InputError(f"{path} does not hold what {run.path} was recorded of")
    return samples


def _images(run: Run, folder: Path) -> Images:
    """Give the files of a run's samples, which it knows only by their names."""
    if "name" not in run.names:
        raise InputError(f"{run.path} is not of image files; only files can be linked or copied")
    listed, source = list_training(folder), run.names["source"]
    images = listed.take(source[source < len(listed)])
    if len(images) == run.samples:
        unreadable = np.isin(np.arange(run.samples), run.unreadable)
        images = replace(images, unreadable=unreadable)
    return images


def _load(score: str) -> Scored:
    if not exists(place(score)):
        raise MissingError(
            f"there is no score and no file of scores {score!r}; scores are {', '.join(SCORES)}."
            f"{did_you_mean(score, SCORES)}"
        )
    return Scored.open(score)


def _epochs(scored: Scored | None, epochs: int | None) -> int | None:
    """Use the epochs that a file of scores was made from."""
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
    arrays.remember(SCORES[score.score], score.knobs, score.parts or score.values)
    return Method(score.score, fn, score.knobs)


def _pair(text: str) -> tuple[str, str]:
    parameter, equals, array = text.partition("=")
    if not equals:
        raise InputError(f"--reads {text} must be a parameter and an array, such as aum=aum_prob")
    return parameter, array


app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Choose the samples to keep; print the path of the folder.",
    epilog=epilog("select"),
)
for _name, _fn in SELECTORS.items():
    _example = f"dualprune select {_name} run --keep 0.1 --out small"
    app.command(_name, epilog=as_lines([_example]))(command_for(_fn, _select))
