"""prune: from labelled data to the part of them that is worth training on."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any, Literal

from torch import nn

from dualprune.arguments import checked
from dualprune.coreset import Card, Coreset
from dualprune.data import DUPLICATES, Columns, duplicates, write_duplicates
from dualprune.errors import InputError
from dualprune.files import exists, on_disk, place, seal
from dualprune.method import (
    AUTO,
    Arrays,
    Method,
    check_epochs,
    choose_from,
    features_for,
    scores_for,
    signals_for,
    warn_of_short,
)
from dualprune.report.facts import Facts, gather, scores_shown
from dualprune.run import Run
from dualprune.select.budget import Amount
from dualprune.select.candidates import Balance
from dualprune.signatures import Array
from dualprune.train import APART, Watch, overlaps_recorded, record, seconds_recorded, silent
from dualprune.urls import AnyPath
from dualprune.workflows.asked import Asked
from dualprune.workflows.checking import check as check_coreset
from dualprune.workflows.deciding import Decision, Wanted, decide
from dualprune.workflows.given import given_data
from dualprune.workflows.kept import write_kept_samples
from dualprune.workflows.recorded import usable
from dualprune.workflows.showing import describe, illustrate
from dualprune.workflows.working import Work


@checked
def prune(
    data: Any,
    *,
    out: str | os.PathLike[str],
    keep: Amount = None,
    prune: Amount = None,
    lose: float | None = None,
    text: str | None = None,
    label: str | None = None,
    ignore: Sequence[str] = (),
    model: str | nn.Module = "auto",
    recipe: str = "auto",
    method: str | Method = "dual+beta",
    epochs: int | Literal["auto"] | None = None,
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
        How much to keep: 0.3, "30%" or a number of samples. "auto" finds the smallest share that
        loses at most `lose` points of accuracy against all the data, and keeps everything if none
        does.
    prune
        How much to prune, instead of `keep`.
    text, label, ignore
        Which columns of a file or table of rows hold the text (none for numbers and categories)
        and the label, and which to leave out.
    model, recipe
        What to train and how; `auto` chooses by the data and the machine. A dataset of torch needs
        a module of your own.
    method
        A name such as ``dual+beta`` or ``ccs``, or a `Method`. ``auto`` trains several, random
        among them, on held-out parts of the data, and keeps one that is better than random by more
        than chance explains, otherwise random. The card and the page say what was tried.
    epochs
        How many epochs to record, if not the recipe's number; "auto" stops before that, once what
        the method would keep at 10, 30 and 50 % hardly changes any more.
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
        How often the check trains each; how many trainings at a time, as for `compare`.
    labels
        A CSV of corrected labels, as `audit --review` writes and a person completes: columns
        `label` and `id` or `name`.
    tell, watch
        Progress: lines of the check and of what `auto` tries; the epochs of trainings in this
        process.
    """
    if check_seeds < 2:
        raise InputError(f"check_seeds must be at least 2, to know a spread, got {check_seeds}")
    columns = Columns(text, label, tuple(ignore))
    asked = Asked(
        data=given_data(data, columns),
        out=on_disk(out),
        columns=columns,
        keep=keep,
        prune=prune,
        lose=lose,
        model=model,
        recipe=recipe,
        method=method,
        epochs=epochs,
        size=size,
        balance=balance,
        floor=floor,
        run=None if run is None else place(run),
        seed=seed,
        materialize=materialize,
        labels=None if labels is None else Path(labels),
        download=download,
    )
    wanted = _prepare(asked)
    runs = wanted.recorded or _record(wanted, watch)
    if asked.stops_by_itself:
        wanted = replace(wanted, epochs=runs[0].epochs)
    work = Work(_seconds_per_sample(runs[0]), processes, tell, watch)
    coreset, facts = _choose(wanted, runs, decide(wanted, runs, work))
    write_kept_samples(asked.out, coreset, wanted.setup.data, materialize)
    if check:
        result = check_coreset(wanted.setup, coreset, asked.out / "check", check_seeds, work)
        coreset = coreset.save_check(asked.out, result)
        illustrate(asked.out, coreset, facts, wanted.setup.data, _marked(coreset))
    warn_of_short(coreset.card.short)
    return coreset


def _prepare(asked: Asked) -> Wanted:
    """Load the data and open the recordings; refuses what will not do."""
    asked.refuse_at_once()
    recorded = asked.recordings()
    if asked.stops_by_itself:
        asked.refuse_stopping(recorded)
    epochs = recorded[0].epochs if recorded and asked.epochs is None else asked.epochs
    asked.check(epochs)
    asked.refuse_in_the_way()
    wanted = Wanted.of(asked, asked.setup(recorded), epochs)
    if recorded:
        runs = usable(recorded, wanted.setup.data, wanted.methods, wanted.epochs)
        wanted = replace(wanted, recorded=runs)
    _refuse_another(wanted)
    wanted.refuse_impossible()
    return wanted


def _choose(wanted: Wanted, runs: list[Run], decision: Decision) -> tuple[Coreset, Facts]:
    """Choose from the runs; writes the coreset, figures and the page."""
    asked, method, data, out = wanted.asked, decision.method, wanted.setup.data, wanted.asked.out
    runs = runs[: method.runs]
    arrays = Arrays(runs, epochs=method.epochs or wanted.epochs, features=method.features)
    arrays.scores([*scores_for(method), *scores_shown(arrays.epochs)])  # in one reading
    coreset = choose_from(arrays, method, k=decision.k, seed=asked.seed)
    facts = gather(runs[0], coreset, arrays)
    workflow = "prune" if runs[0].path.parent == out else "select"
    groups = duplicates(data)
    coreset = describe(
        *(coreset, facts, wanted.setup, asked.name, wanted.epochs),
        columns=asked.columns,
        groups=groups,
        workflow=workflow,
        overlaps=overlaps_recorded(runs[0].path) if wanted.epochs == runs[0].epochs else {},
    )
    card = replace(coreset.card, search=decision.search, shares=decision.shares)
    coreset = replace(coreset, card=card)
    if exists(out / "card.json"):
        before = Coreset.load(out).card
        if before.ids_sha256 != coreset.card.ids_sha256:
            raise InputError(
                f"{out} already holds another coreset: {method.name} chose it with other code or "
                "another version; choose another folder"
            )
        coreset = replace(coreset, card=replace(coreset.card, check=before.check))
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


def _refuse_another(wanted: Wanted) -> None:
    """Refuse a folder that holds a coreset which was asked for in another way."""
    out = wanted.asked.out
    if not exists(out / "card.json"):
        return
    recorded, chosen = _differences(wanted, Coreset.load(out).card)
    if recorded or chosen:
        how = "" if recorded else f", without recording again: {wanted.asked.again()}"
        raise InputError(
            f"{out} already holds another coreset, with another {' and '.join(recorded + chosen)}; "
            f"choose another folder{how}"
        )


def _differences(wanted: Wanted, card: Card) -> tuple[list[str], list[str]]:
    """Name in what a card differs from what is asked for: in its recording, and in its choice."""
    asked, training = wanted.asked, card.training
    method, theirs = wanted.method_of(card), card.select_knobs
    knobs = theirs if method is None else method.all_knobs["select_knobs"]
    limit = None if card.shares is None else card.shares.lose
    stopped = asked.stops_by_itself and training is not None and bool(training.overlaps)
    epochs = training.epochs if stopped and training is not None else wanted.epochs
    before = card.runs if training is not None and training.workflow == "select" else []
    recorded = {
        "number of epochs": (training and training.epochs, epochs),
        "data, labels, model, recipe or size": (
            training and training.settings,
            wanted.setup.settings(),
        ),
        "recording": (before, [run.fingerprint for run in wanted.recorded]),
    }
    chosen = {
        "method": (card.method, method and method.name),
        "number kept": (card.k if limit is None else None, wanted.k),
        "limit of what may be lost": (limit, asked.lose),
        "balance": (theirs.get("balance"), knobs.get("balance")),
        "floor": (theirs.get("floor"), knobs.get("floor")),
        "seed": (card.seed, asked.seed),
    }
    if method is not None and not _different(chosen):  # which names them better
        ours = method.all_knobs
        chosen["value of a knob"] = (seal({n: getattr(card, n) for n in ours}), seal(ours))
    return _different(recorded), _different(chosen)


def _different(pairs: dict[str, tuple[Any, Any]]) -> list[str]:
    return [name for name, (theirs, ours) in pairs.items() if theirs != ours]


def _record(wanted: Wanted, watch: Watch) -> list[Run]:
    """Record what the methods need: one run, or several to average over."""
    methods, epochs = wanted.methods, wanted.epochs
    check_epochs(methods, epochs)
    count = max(method.runs for method in methods)
    return [
        record(
            wanted.setup,
            wanted.asked.out / ("run" if number == 0 else f"run-{number + 1}"),
            epochs=AUTO if wanted.asked.stops_by_itself else epochs,
            method=wanted.asked.method,
            seed=wanted.asked.seed + APART * number,
            signals=signals_for(methods),
            features=features_for(methods, epochs),
            tell=watch("recording" if count == 1 else f"recording {number + 1} of {count}"),
        )
        for number in range(count)
    ]
