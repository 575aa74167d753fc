"""prune: from a set of images to the part of it that is worth training on."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from math import nan
from pathlib import Path
from typing import Literal

from torch import nn

from dualprune.coreset import Coreset, Training
from dualprune.data import Images, write_tree
from dualprune.errors import InputError
from dualprune.experiments.results import Line
from dualprune.files import refuse_foreign
from dualprune.method import (
    Arrays,
    Method,
    check_epochs,
    choose_from,
    features_for,
    find_method,
    scores_for,
    signals_for,
)
from dualprune.report.facts import Facts, gather, scores_shown
from dualprune.report.figures import draw_moons
from dualprune.report.page import write_report
from dualprune.run import Run
from dualprune.select import budget
from dualprune.signatures import Array
from dualprune.train import APART, Setup, Watch, record, seconds_recorded, silent
from dualprune.workflows.checking import check as check_coreset


def prune(
    data: str | Path | Images,
    *,
    keep: float | str,
    out: str | os.PathLike[str],
    model: str | nn.Module = "auto",
    recipe: str = "auto",
    method: str | Method = "dual+beta",
    epochs: int | None = None,
    seed: int = 0,
    materialize: Literal["link", "copy"] | None = None,
    check: bool = False,
    check_seeds: int = 3,
    processes: int | None = 1,
    download: bool = False,
    tell: Callable[[str], None] = lambda line: None,  # noqa: ARG005
    watch: Watch = silent,
) -> Coreset:
    """Record, score, select; writes the run, the coreset, figures and the page into `out`.

    If it is interrupted, call it again: it resumes.

    Parameters
    ----------
    data
        A folder with one sub-folder per class, an ``.npz`` with `x` and `y`, a named set, or
        images that were loaded.
    keep
        How much to keep: 0.3, "30%" or a number of samples.
    model, recipe
        What to train and how; `auto` chooses by the data and the machine.
    method
        A name such as ``dual+beta`` or ``ccs``, or a `Method`.
    epochs
        How many epochs to record, if not the recipe's number.
    materialize
        Also write the kept images as a folder tree of links or copies.
    check
        Also train on the coreset, on a random part, on all the data, and in two ways that cost as
        much as the coreset, as long as the recipe says; the card and the page then compare them.
    check_seeds, processes
        How often the check trains each, and how many at a time, as for `compare`.
    tell, watch
        Progress: lines of the check; the epochs of trainings in this process.
    """
    _refuse_at_once(check_seeds)
    out = Path(out)
    if isinstance(data, Images):
        name, setup = "images", Setup.of(data, None, recipe=recipe, model=model)
    else:
        name = str(data)
        setup = Setup.load(data, recipe=recipe, model=model, download=download, out=out)
    images = setup.images
    k = budget(len(images), keep=str(keep))
    if materialize:
        _refuse_to_materialize(images, out)
    epochs = setup.recipe.record if epochs is None else epochs
    setup = replace(setup, recipe=replace(setup.recipe, judge_every=epochs))  # once, at the end
    if isinstance(method, str):
        method = find_method(method, 1 - k / len(images))
    method = method.with_defaults(setup.recipe.select)
    _refuse_another(out, setup, method, k, epochs, seed)
    runs = _record(setup, out, method, epochs, seed, watch)
    arrays = Arrays(runs, epochs=method.epochs or epochs, features=method.features)
    arrays.scores([*scores_for(method), *scores_shown(arrays.epochs)])  # in one reading
    coreset = choose_from(arrays, method, k=k, seed=seed)
    facts = gather(runs[0], coreset, arrays)
    coreset = _write(out, describe(coreset, facts, setup, name, epochs), images, materialize)
    kept = {f"kept: {k:,} of {len(images):,} (red)": coreset.mask}
    illustrate(out, coreset, facts, images, kept)
    if check:
        result = check_coreset(
            setup,
            coreset,
            out / "check",
            seeds=check_seeds,
            seconds=_seconds_per_image(runs[0]),
            processes=processes,
            tell=tell,
            watch=watch,
        )
        coreset = coreset.save_check(out, result)
        illustrate(out, coreset, facts, images, kept)
    return coreset


def _seconds_per_image(run: Run) -> float:
    """Seconds of recording, NaN where our own loop did not record."""
    if not (run.path / "checkpoint/state.json").exists():
        return nan
    return seconds_recorded(run.path) / (run.epochs * run.samples)


def _refuse_at_once(check_seeds: int) -> None:
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError("prune works in one process; use record under torchrun, then select")
    if check_seeds < 2:
        raise InputError(f"check_seeds must be at least 2, to know a spread, got {check_seeds}")


def _refuse_to_materialize(images: Images, out: Path) -> None:
    if not images.files:
        raise InputError("only images that are files can be linked or copied")
    if (out / "images").exists() and not (out / "card.json").exists():
        raise InputError(f"{out / 'images'} is in the way; choose another folder for --out")


def _refuse_another(
    out: Path, setup: Setup, method: Method, k: int, epochs: int, seed: int
) -> None:
    """Refuse a folder that holds a coreset which was asked for in another way, or other files."""
    if not (out / "card.json").exists():
        refuse_foreign(out, "run")
        return
    card = Coreset.load(out).card
    training = card.training
    same = {
        "method": card.method == method.name,
        "k": card.k == k,
        "seed": card.seed == seed,
        "number of epochs": training is not None and training.epochs == epochs,
        "data, model or recipe": training is not None and training.settings == setup.settings(),
    }
    if other := [name for name, is_same in same.items() if not is_same]:
        raise InputError(
            f"{out} already holds another coreset, with another {' and '.join(other)}; choose "
            f"another folder. What is recorded in {out / 'run'} can be used again with "
            "`dualprune select`."
        )


def _record(
    setup: Setup, out: Path, method: Method, epochs: int, seed: int, watch: Watch
) -> list[Run]:
    """Record what a method needs: one run, or several to average over."""
    check_epochs([method], epochs)
    count = method.runs
    return [
        record(
            setup,
            out / ("run" if number == 0 else f"run-{number + 1}"),
            epochs=epochs,
            seed=seed + APART * number,
            signals=signals_for([method]),
            features=features_for([method], epochs),
            tell=watch("recording" if count == 1 else f"recording {number + 1} of {count}"),
        )
        for number in range(count)
    ]


def describe(
    coreset: Coreset, facts: Facts, setup: Setup, data: str, epochs: int, workflow: str = "prune"
) -> Coreset:
    """Give the coreset with a card that also says what was trained to record, and what it saves."""
    recipe, samples = setup.recipe, facts.samples
    training = Training(
        data=Path(data).name,
        model=setup.model_name,
        recipe=recipe.name,
        published=recipe.published == data and setup.model_name == recipe.model,
        epochs=epochs,
        settings=setup.settings(),
        suspects=int(facts.labels.suspect.sum()),
        full_passes=recipe.passes(samples, samples),
        coreset_passes=recipe.passes(len(coreset), samples),
        workflow=workflow,
    )
    return replace(coreset, card=replace(coreset.card, training=training))


def _write(
    out: Path, coreset: Coreset, images: Images, materialize: Literal["link", "copy"] | None
) -> Coreset:
    """Write what is not there, and give the coreset with the check that was made before."""
    if not (out / "card.json").exists():
        coreset.save(out)
    if materialize and not (out / "images").exists():
        write_tree(images.take(coreset.ids), out / "images", materialize)
    return replace(coreset, card=replace(coreset.card, check=Coreset.load(out).card.check))


def illustrate(
    out: Path,
    coreset: Coreset,
    facts: Facts,
    images: Images,
    marked: dict[str, Array],
    results: Sequence[Line] = (),
) -> list[Path]:
    """Draw scores and what is marked, and write the page, if their libraries are installed."""
    panels = {"score": facts.score} | marked if coreset.card.score else marked
    facts, paths = replace(facts, coreset=coreset), []
    if find_spec("matplotlib") is not None:
        paths.append(out / "moon.png")
        draw_moons(paths[0], facts.variability, facts.confidence, panels)
    if find_spec("bokeh") is not None:
        paths.append(write_report(out / "report.html", facts, samples=images, results=results))
    return paths
