"""prune: from a set of images to the part of it that is worth training on."""

import os
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
from torch import nn

from dualprune.coreset import Coreset, Training
from dualprune.data import DUPLICATES, Images, duplicates, write_duplicates, write_tree
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
from dualprune.train import APART, Setup, Watch, record, relabel, silent
from dualprune.workflows.checking import against_random


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
    download: bool = False,
    labels: str | os.PathLike[str] | None = None,
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
        Also train briefly on the coreset and on random ones of the same size, and write which was
        better into ``check/results.jsonl``.
    labels
        A CSV of corrected labels, as `audit --review` writes and a person completes: columns
        `label` and `id` or `name`.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError("prune works in one process; use record under torchrun, then select")
    out, file = Path(out), None if labels is None else Path(labels)
    name, setup = _setup(data, model, recipe, file, download=download, out=out)
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
    groups = duplicates(images)
    coreset = describe(coreset, facts, setup, name, epochs, groups=groups)
    _write(out, coreset, images, materialize)
    write_duplicates(out / DUPLICATES, images, groups)
    kept = {f"kept: {k:,} of {len(images):,} (red)": coreset.mask}
    illustrate(out, coreset, facts, images, kept)
    if check:
        against_random(setup, coreset, out / "check", watch=watch)
    return coreset


def _setup(
    data: str | Path | Images,
    model: str | nn.Module,
    recipe: str,
    labels: Path | None,
    *,
    download: bool,
    out: Path,
) -> tuple[str, Setup]:
    """Give the name of the data, and what trains on them."""
    how: dict[str, Any] = {"model": model, "recipe": recipe}
    if isinstance(data, Images):
        return "images", Setup.of(relabel(data, labels), None, **how)
    return str(data), Setup.load(data, **how, download=download, out=out, labels=labels)


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
        "data, labels, model or recipe": training is not None
        and training.settings == setup.settings(),
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
    coreset: Coreset,
    facts: Facts,
    setup: Setup,
    data: str,
    epochs: int,
    *,
    groups: Sequence[Array] = (),
    workflow: str = "prune",
) -> Coreset:
    """Give the coreset with a card that also says what was trained to record, and what it saves."""
    recipe, samples, labels = setup.recipe, facts.samples, setup.images.labels
    conflicting = sum(len(ids) for ids in groups if len(np.unique(labels[ids])) > 1)
    training = Training(
        data=Path(data).name,
        model=setup.model_name,
        recipe=recipe.name,
        published=recipe.published == data and setup.model_name == recipe.model,
        epochs=epochs,
        settings=setup.settings(),
        suspects=facts.labels.wrong,
        full_passes=recipe.passes(samples, samples),
        coreset_passes=recipe.passes(len(coreset), samples),
        workflow=workflow,
        relabelled=setup.images.relabelled,
        duplicates=sum(map(len, groups)),
        conflicting=conflicting,
    )
    return replace(coreset, card=replace(coreset.card, training=training))


def _write(
    out: Path, coreset: Coreset, images: Images, materialize: Literal["link", "copy"] | None
) -> None:
    if not (out / "card.json").exists():
        coreset.save(out)
    if materialize and not (out / "images").exists():
        write_tree(images.take(coreset.ids), out / "images", materialize)


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
