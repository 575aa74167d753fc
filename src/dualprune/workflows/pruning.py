"""prune: from labelled data to the part of them that is worth training on."""

import itertools
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from math import nan
from pathlib import Path
from typing import Any, Literal

import numpy as np
from torch import nn

from dualprune.coreset import Coreset, Training
from dualprune.data import (
    DUPLICATES,
    NO_COLUMNS,
    Columns,
    Data,
    Table,
    duplicates,
    to_show,
    write_duplicates,
)
from dualprune.errors import InputError
from dualprune.experiments.results import Line
from dualprune.files import Place, exists, on_disk, place, refuse_foreign
from dualprune.method import (
    Arrays,
    Method,
    check_epochs,
    choose_from,
    features_for,
    find_method,
    for_classes,
    scores_for,
    signals_for,
    warn_of_short,
)
from dualprune.report.facts import Facts, gather, scores_shown
from dualprune.report.figures import draw_moons
from dualprune.report.page import write_report
from dualprune.run import Run
from dualprune.select import budget
from dualprune.select.budget import Amount
from dualprune.select.candidates import Balance
from dualprune.signatures import Array, check_knobs
from dualprune.train import APART, Setup, Watch, record, relabel, seconds_recorded, silent
from dualprune.urls import AnyPath
from dualprune.workflows.checking import check as check_coreset
from dualprune.workflows.given import given_data, name_of
from dualprune.workflows.kept import refuse_materialize, write_kept_samples
from dualprune.workflows.recorded import runs_in, settings_of, usable
from dualprune.workflows.request import check_request


def prune(
    data: str | Path | Data | Any,
    *,
    out: str | os.PathLike[str],
    keep: Amount = None,
    prune: Amount = None,
    text: str | None = None,
    label: str | None = None,
    ignore: Sequence[str] = (),
    model: str | nn.Module = "auto",
    recipe: str = "auto",
    method: str | Method = "dual+beta",
    epochs: int | None = None,
    size: int | None = None,
    balance: Balance | None = None,
    floor: int | float | None = None,
    run: AnyPath | None = None,
    seed: int = 0,
    materialize: Literal["link", "copy"] | None = None,
    check: bool = False,
    check_seeds: int = 3,
    processes: int | None = 1,
    download: bool = False,
    labels: str | os.PathLike[str] | None = None,
    tell: Callable[[str], None] = lambda line: None,  # noqa: ARG005
    watch: Watch = silent,
) -> Coreset:
    """Record, score, select; writes the run, the coreset, figures and the page into `out`.

    If it is interrupted, call it again: it resumes.

    Parameters
    ----------
    data
        A folder with one sub-folder per class, an ``.npz`` with `x` and `y`, a named set, a CSV,
        TSV, JSONL or Parquet file of rows; a table in memory (pandas, polars, Arrow, `datasets`);
        what `dualprune.data.load` gave; or any map-style dataset of torch whose items begin with
        an input and end with a class number.
    keep
        How much to keep: 0.3, "30%" or a number of samples.
    prune
        How much to prune, instead of `keep`.
    text, label, ignore
        Which columns of a file or table of rows hold the text (none for numbers and categories)
        and the label, and which to leave out.
    model, recipe
        What to train and how; `auto` chooses by the data and the machine. A dataset of torch needs
        a module of your own.
    method
        A name such as ``dual+beta`` or ``ccs``, or a `Method`.
    epochs
        How many epochs to record, if not the recipe's number.
    size
        Side in pixels of the squares that the model sees of image files, if not the recipe's.
    balance
        Let every class keep the same share ("proportional") or the same number ("uniform").
    floor
        Keep at least this many of every class, or this share of its fair share; where neither is
        said, `top`, `random` and `beta` keep half of it.
    run
        Choose from this recording of the same data, a run or what `prune` wrote, with its model and
        recipe, instead of training.
    materialize
        Also write what is kept: image files as a folder tree of links or copies, rows as a file of
        the format that came in ("copy"). Links are relative; "copy" replaces links by copies.
    check
        Also train on the coreset, on a random part, on all the data, and in two ways that cost as
        much as the coreset, as long as the recipe says; the card and the page then compare them.
    check_seeds, processes
        How often the check trains each, and how many at a time, as for `compare`.
    labels
        A CSV of corrected labels, as `audit --review` writes and a person completes: columns
        `label` and `id` or `name`.
    tell, watch
        Progress: lines of the check; the epochs of trainings in this process.
    """
    _refuse_at_once(check_seeds, materialize)
    out, recorded = on_disk(out), [] if run is None else runs_in(run)
    columns = Columns(text, label, tuple(ignore))
    data = given_data(data, columns)
    refuse_materialize(data, materialize)
    amount = {"keep": keep, "prune": prune}
    epochs = recorded[0].epochs if recorded and epochs is None else epochs
    check_request([method], [amount], model, recipe, data, columns, epochs=epochs, seed=seed)
    _refuse_in_the_way(out, materialize)
    how = {"model": model, "recipe": recipe, "size": size, "labels": labels, "columns": columns}
    setup = _setup(data, how, recorded, download=download, out=out)
    wanted = _wanted(
        *(setup, name_of(data), method, amount, columns),
        epochs=epochs,
        seed=seed,
        balance=balance,
        floor=floor,
    )
    given = usable(recorded, setup.data, wanted.method, wanted.epochs) if recorded else []
    flags = {**amount, "method": wanted.method.name, "balance": balance}
    flags |= {"floor": floor, "seed": seed}
    again = _another_choice([wanted.name, *columns.flags()], flags, place(run or out), out)
    _refuse_another(out, wanted, given, again)
    runs = given or _record(wanted, out, watch)
    coreset, facts = _choose(wanted, runs, out)
    write_kept_samples(out, coreset, setup.data, materialize)
    if check:
        result = check_coreset(
            wanted.setup,
            coreset,
            out / "check",
            seeds=check_seeds,
            seconds=_seconds_per_sample(runs[0]),
            processes=processes,
            tell=tell,
            watch=watch,
        )
        coreset = coreset.save_check(out, result)
        illustrate(out, coreset, facts, setup.data, _marked(coreset))
    warn_of_short(coreset.card.short)
    return coreset


@dataclass(frozen=True)
class _Wanted:
    """What is to be chosen: how many of which data, after how many epochs, and how."""

    setup: Setup
    name: str
    columns: Columns
    method: Method
    k: int
    epochs: int
    seed: int


def _wanted(
    setup: Setup,
    name: str,
    method: str | Method,
    amount: dict[str, Amount],
    columns: Columns,
    *,
    epochs: int | None,
    seed: int,
    balance: Balance | None,
    floor: int | float | None,
) -> _Wanted:
    k = budget(readable := len(setup.data.readable_ids), **amount)
    epochs = setup.recipe.record if epochs is None else epochs
    setup = replace(setup, recipe=replace(setup.recipe, judge_every=epochs))  # once, at the end
    named = find_method(method, 1 - k / readable) if isinstance(method, str) else method
    method = for_classes(named.with_defaults(setup.recipe.select), balance, floor)
    return _Wanted(setup, name, columns, method, k, epochs, seed)


def _choose(wanted: _Wanted, runs: list[Run], out: Path) -> tuple[Coreset, Facts]:
    """Choose from the runs; writes the coreset, figures and the page."""
    method, data = wanted.method, wanted.setup.data
    arrays = Arrays(runs, epochs=method.epochs or wanted.epochs, features=method.features)
    arrays.scores([*scores_for(method), *scores_shown(arrays.epochs)])  # in one reading
    coreset = choose_from(arrays, method, k=wanted.k, seed=wanted.seed)
    facts = gather(runs[0], coreset, arrays)
    workflow = "prune" if runs[0].path.parent == out else "select"
    groups = duplicates(data)
    coreset = describe(
        *(coreset, facts, wanted.setup, wanted.name, wanted.epochs),
        columns=wanted.columns,
        groups=groups,
        workflow=workflow,
    )
    if exists(out / "card.json"):
        before = Coreset.load(out).card.check
        coreset = replace(coreset, card=replace(coreset.card, check=before))
    else:
        coreset.save(out)
    write_duplicates(out / DUPLICATES, data, groups)
    illustrate(out, coreset, facts, data, _marked(coreset))
    return coreset, facts


def _marked(coreset: Coreset) -> dict[str, Array]:
    return {f"kept: {len(coreset):,} of {coreset.card.readable:,} (red)": coreset.mask}


def _seconds_per_sample(run: Run) -> float:
    """Seconds of recording, NaN where our own loop did not record."""
    if not exists(run.path / "checkpoint/state.json"):
        return nan
    return seconds_recorded(run.path) / (run.epochs * run.samples)


def _setup(
    data: str | Path | Data,
    how: dict[str, Any],
    recorded: Sequence[Run],
    *,
    download: bool,
    out: Path,
) -> Setup:
    """Give what trains on the data, or what was recorded of them."""
    labels, columns = how.pop("labels"), how.pop("columns")
    file = None if labels is None else Path(labels)
    if recorded:
        how = settings_of(recorded[0], **how)
    if isinstance(data, str | Path):
        how |= {"download": download, "out": out, "labels": file, "columns": columns}
        return Setup.load(data, **how)
    return Setup.of(relabel(data, file), None, **how)


def _refuse_at_once(check_seeds: int, materialize: str | None) -> None:
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError("prune works in one process; use record under torchrun, then select")
    if check_seeds < 2:
        raise InputError(f"check_seeds must be at least 2, to know a spread, got {check_seeds}")
    if materialize not in (None, "link", "copy"):
        raise InputError(f"materialize must be link or copy, got {materialize!r}")


def _refuse_in_the_way(out: Path, materialize: Literal["link", "copy"] | None) -> None:
    if exists(out / "card.json"):
        return
    if materialize and exists(out / "images"):
        raise InputError(f"{out / 'images'} is in the way; choose another folder for --out")
    refuse_foreign(out, "run", "coreset.parquet")


def _refuse_another(out: Path, wanted: _Wanted, given: Sequence[Run], again: str) -> None:
    """Refuse a folder that holds a coreset which was asked for in another way.

    `given` are the runs to choose from; `again` makes the choice elsewhere without recording.
    """
    if not exists(out / "card.json"):
        return
    card, method = Coreset.load(out).card, wanted.method
    training, knobs = card.training, check_knobs(method.select, method.select_knobs)
    before = card.runs if training is not None and training.workflow == "select" else []
    recorded = {
        "number of epochs": training is not None and training.epochs == wanted.epochs,
        "data, labels, model, recipe or size": training is not None
        and training.settings == wanted.setup.settings(),
        "recording": before == [run.fingerprint for run in given],
    }
    same = recorded | {
        "method": card.method == method.name,
        "number kept": card.k == wanted.k,
        "balance": card.select_knobs.get("balance") == knobs.get("balance"),
        "floor": card.select_knobs.get("floor") == knobs.get("floor"),
        "seed": card.seed == wanted.seed,
    }
    if other := [name for name, is_same in same.items() if not is_same]:
        how = f", without recording again: {again}" if all(recorded.values()) else ""
        raise InputError(
            f"{out} already holds another coreset, with another {' and '.join(other)}; choose "
            f"another folder{how}"
        )


def _another_choice(data: list[str], flags: dict[str, Any], run: Place, out: Path) -> str:
    """Give the command that chooses from a recording, into a folder beside this one."""
    usual = {"method": "dual+beta", "seed": 0}
    said = {name: value for name, value in flags.items() if value != usual.get(name)}
    free = (out.with_name(f"{out.name}-{number}") for number in itertools.count(2))
    place = next(path for path in free if not exists(path))
    said |= {"run": run, "out": place}
    words = [word for name, value in said.items() for word in (f"--{name}", str(value))]
    return shlex.join(["dualprune", "prune", *data, *words])


def _record(wanted: _Wanted, out: Path, watch: Watch) -> list[Run]:
    """Record what a method needs: one run, or several to average over."""
    method, epochs = wanted.method, wanted.epochs
    check_epochs([method], epochs)
    count = method.runs
    return [
        record(
            wanted.setup,
            out / ("run" if number == 0 else f"run-{number + 1}"),
            epochs=epochs,
            seed=wanted.seed + APART * number,
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
    columns: Columns = NO_COLUMNS,
    groups: Sequence[Array] = (),
    workflow: str = "prune",
) -> Coreset:
    """Give the coreset with a card that also says what was trained to record, and what it saves."""
    recipe, samples, labels = setup.recipe, facts.samples, setup.data.labels
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
        size=setup.size,
        relabelled=setup.data.relabelled,
        duplicates=sum(map(len, groups)),
        conflicting=conflicting,
        kind=setup.data.kind,
        columns=setup.data.described() if isinstance(setup.data, Table) else [],
        flags=columns.flags(),
    )
    return replace(coreset, card=replace(coreset.card, training=training))


def illustrate(
    out: Path,
    coreset: Coreset,
    facts: Facts,
    data: Data,
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
        samples = to_show(data)
        paths.append(out / "report.html")
        write_report(paths[-1], facts, samples=samples, results=results, folder=out)
    return paths
