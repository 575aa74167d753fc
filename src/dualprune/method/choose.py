"""choose: from recorded runs to a coreset, with its card and the reason for every sample."""

import os
from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np
import pyarrow as pa

from dualprune.arguments import check_seed, checked
from dualprune.coreset import Card, Coreset, digest
from dualprune.coreset.card import ShortClass, made_with
from dualprune.coreset.columns import Columns
from dualprune.coreset.coreset import PART, in_files, refuse_coreset, save_card
from dualprune.errors import InputError
from dualprune.files import Place, place, remove_folder
from dualprune.method.arrays import Arrays
from dualprune.method.classes import class_sizes, for_classes, short_classes, warn_of_short
from dualprune.method.named import AUTO, Method, find_method
from dualprune.method.parts import choose_in_parts, columns_for
from dualprune.run import Run
from dualprune.run.ranges import Map, ranges
from dualprune.score import SCORES, confidence
from dualprune.select import OF_BLOCKS, Notes, budget, random
from dualprune.select.budget import Amount, share_of
from dualprune.select.candidates import Balance, check_budget
from dualprune.select.waves import Block, Waves, counted, positions
from dualprune.signatures import Array, Function, check_knobs, inputs, name_of
from dualprune.urls import AnyPath, OnStore


@checked
def choose(
    runs: Run | AnyPath | Sequence[Run | AnyPath],
    method: str | Method = "dual+beta",
    *,
    keep: Amount = None,
    prune: Amount = None,
    balance: Balance | None = None,
    floor: int | float | None = None,
    seed: int = 0,
    epochs: int | None = None,
    map: Map | None = None,
    out: AnyPath | None = None,
) -> Coreset:
    """Choose what to keep of the samples that were recorded.

    Parameters
    ----------
    runs
        A run, its folder or URL; several for a method that averages over recordings.
    method
        A name such as ``dual+beta``, ``el2n`` or ``ccs``, or a `Method`, also with functions of
        your own. ``auto`` is what suits a recording without any training: ``dual+beta``, which
        finds its c_D.
    keep
        How much to keep: 0.3, "30%" or a number of samples.
    prune
        How much to prune, instead of `keep`.
    balance
        Let every class keep the same share ("proportional") or the same number ("uniform").
    floor
        Keep at least this many of every class, or this share of its fair share; where neither is
        said, `top`, `random` and `beta` keep half of it.
    epochs
        Use the first epochs only, unless the method says how many.
    map
        What calls a function for ranges of ids, where that shall not be threads of this process:
        `map` of an executor of `concurrent.futures`, or `integrations.ray.ray_map()`. Any gives the
        same ids; not for methods that compare samples with each other.
    out
        A folder or URL to write the coreset into, as `Coreset.save` does; very many samples are
        written range by range by the workers, and never held in memory.

    Examples
    --------
    >>> import dualprune
    >>> coreset = dualprune.choose("tests/runs/digits", "dual+beta", keep=0.3)
    >>> coreset
    Coreset(431 of 1,438: dual+beta, seed 0)
    >>> coreset.card.values["c_d"], round(coreset.card.values["mu"], 2)
    (0.21, 0.45)
    """
    several = [runs] if isinstance(runs, Run | str | os.PathLike | OnStore) else runs
    opened = [run if isinstance(run, Run) else Run(run) for run in several]
    if not opened:
        raise InputError("give at least one run")
    readable = opened[0].readable
    k = budget(readable, keep=keep, prune=prune)
    if isinstance(method, str):
        method = find_method("dual+beta" if method == AUTO else method, share_of(k, readable))
    if len(opened) < method.runs:
        raise InputError(f"{method.name} averages {method.runs} runs, got {len(opened)}")
    method = for_classes(method, balance, floor, labels=opened[0].has("labels"))
    arrays = Arrays(
        opened[: method.runs] if method.runs > 1 else opened,
        epochs=method.epochs or epochs,
        features=method.features,
        map=map,
    )
    folder = None if out is None else place(out)
    coreset = choose_from(arrays, method, k=k, seed=seed, out=folder)
    warn_of_short(coreset.card.short)
    return coreset


def choose_from(
    arrays: Arrays, method: Method, *, k: int, seed: int, out: Place | None = None
) -> Coreset:
    """Choose `k` of the samples that could be read; all arrays are over the same epochs.

    With `out` the coreset is written there; very many samples are not held in memory for that.
    """
    seed, wanted = check_seed(seed), columns_for(arrays, method)
    if arrays.map is not None and wanted is None:
        raise InputError(
            f"{method.name} compares samples with each other, so it works on one machine; choose "
            "without map (on the command line without --engine)"
        )
    if out is not None:
        refuse_coreset(out)
        if wanted is not None and arrays.samples > PART:
            return choose_and_write(arrays, method, ranges(arrays.samples), k=k, seed=seed, out=out)
    coreset = _choose_whole(arrays, method, k=k, seed=seed)
    if out is not None:
        coreset.save(out)
    return coreset


def choose_among(arrays: Arrays, method: Method, among: Array, *, k: int, seed: int) -> Array:
    """Choose `k` of some of the samples that could be read, as if there were no others.

    `among` are positions among those that could be read; what is given are positions in `among`.
    """
    data = _data(arrays, method, _scores(arrays, method)[0])
    axes = {name: 0 if method.reads.get(name, name) == "features" else -1 for name in data}
    part = {
        name: None if values is None else np.take(values, among, axis=axes[name])
        for name, values in data.items()
    }
    return select_ids(method, part, len(among), k=k, seed=seed)


def choose_and_write(
    arrays: Arrays, method: Method, parts: Sequence[range], *, k: int, seed: int, out: Place
) -> Coreset:
    """Choose and write range by range; columns of the coreset are read when they are asked for."""
    wanted, run = columns_for(arrays, method) or {}, arrays.runs[0]
    written = choose_in_parts(arrays, method, wanted, parts, k=k, seed=seed, out=out)
    reasons = {reason: counted(marks) for reason, marks in written.choice.reasons.items()}
    if len(run.unreadable):
        reasons["unreadable"] = len(run.unreadable)
    names = run.description.class_names
    card = _card(
        arrays,
        method,
        seed,
        k,
        written.sha256,
        values=written.choice.values,
        reasons=reasons,
        short=short_classes(written.sizes, written.kept, k, names) if len(written.sizes) else [],
    )
    save_card(out, card, written.files)
    remove_folder(written.scratch)
    return in_files(out, card, parts, written.columns)


def _choose_whole(arrays: Arrays, method: Method, *, k: int, seed: int) -> Coreset:
    """Choose with all samples in memory."""
    scores, confidences = _scores(arrays, method)
    notes, run = Notes(), arrays.runs[0]
    data = _data(arrays, method, scores)
    select = _select_blocks if method.select in OF_BLOCKS else select_ids
    ids = select(method, data, run.readable, k=k, seed=seed, notes=notes)
    reasons = dict(notes.reasons)
    if len(run.unreadable):
        readable = arrays.readable_ids()
        ids = readable[ids]
        reasons = {reason: readable[members] for reason, members in reasons.items()}
        reasons["unreadable"] = run.unreadable
    labels = arrays["labels"] if arrays.has("labels") else None
    card = _card(
        arrays,
        method,
        seed,
        k,
        digest(ids),
        values=notes.values,
        reasons={reason: len(members) for reason, members in reasons.items()},
        short=[] if labels is None else _short(run, ids),
    )
    columns = {"label": labels, "score": scores, "confidence": confidences}
    known = {name: values for name, values in columns.items() if values is not None}
    why = _why(notes.kept, reasons, ids, arrays.samples)
    return Coreset(ids, card, Columns({**run.names, **known, "why": why}))


def _card(
    arrays: Arrays,
    method: Method,
    seed: int,
    k: int,
    sha256: str,
    *,
    values: dict[str, float],
    reasons: dict[str, int],
    short: list[ShortClass],
) -> Card:
    scorer = method.scorer
    return Card(
        method=method.name,
        score=None if scorer is None else name_of(scorer),
        selector=name_of(method.select),
        k=k,
        samples=arrays.samples,
        seed=seed,
        epochs=arrays.epochs,
        ids_sha256=sha256,
        runs=[run.fingerprint for run in arrays.runs],
        data=arrays.runs[0].description.data,
        **method.all_knobs,
        values=values,
        reasons=reasons,
        short=short,
        **made_with(),
    )


def _short(run: Run, ids: Array) -> list[ShortClass]:
    classes, (labels, unreadable) = run.classes or 0, (run.labels, run.unreadable)
    kept, lost = (class_sizes(labels[some], classes) for some in (ids, unreadable))
    sizes = class_sizes(labels, classes) - lost
    return short_classes(sizes, kept, len(ids), run.description.class_names)


def scores_for(method: Method) -> list[tuple[Function, Mapping[str, Any]]]:
    """Give the scores that a method reads, its own first."""
    own = [] if method.scorer is None else [(method.scorer, method.score_knobs)]
    names = [method.reads.get(name, name) for name in inputs(method.select)]
    return [*own, *((SCORES[name], {}) for name in names if name in SCORES)]


def _scores(arrays: Arrays, method: Method) -> tuple[Array | None, Array | None]:
    """Give the scores and the confidence, read together with what else the selector needs."""
    wanted = [*scores_for(method), (confidence, {})]
    arrays.scores(score for score in wanted if arrays.can_score(*score))
    scores = None if method.scorer is None else arrays.score(method.scorer, method.score_knobs)
    return scores, arrays["confidence"] if arrays.has("confidence") else None


def _data(arrays: Arrays, method: Method, scores: Array | None) -> dict[str, Array | None]:
    """Find what a selector reads: the scores, and every other array by its name.

    No selector sees samples that could not be read.
    """
    data = {}
    for name, required in inputs(method.select).items():
        source = method.reads.get(name, name)
        if name == "scores":
            data[name] = None if scores is None else arrays.of_readable(name, scores)
        elif method.select is random and not arrays.has(source):
            data[name] = np.zeros(arrays.runs[0].readable)  # only their number matters
        else:
            data[name] = arrays.of_readable(source) if required or arrays.has(source) else None
    return data


def _select_blocks(
    method: Method,
    data: Mapping[str, Array | None],
    samples: int,
    *,
    k: int,
    seed: int,
    notes: Notes,
) -> Array:
    """Give the ids that a selector keeps of arrays, which it looks at range by range."""
    known = {name: column for name, column in data.items() if column is not None}
    check_budget(k, *known.values())
    waves = Waves(
        Block(ids.start, len(ids), {n: c[ids.start : ids.stop] for n, c in known.items()})
        for ids in ranges(samples)
    )
    choice = OF_BLOCKS[method.select](waves, k=k, seed=seed, **method.select_knobs)
    notes.kept, notes.values = choice.why, choice.values
    notes.reasons = {reason: positions(waves, marks) for reason, marks in choice.reasons.items()}
    return positions(waves, choice.kept)


def select_ids(
    method: Method,
    data: Mapping[str, Array | None],
    samples: int,
    *,
    k: int,
    seed: int,
    notes: Notes | None = None,
) -> Array:
    """Give the ids that a selector keeps, and refuse those that are not `k` different samples."""
    fn = method.select
    reserved = {"k": k, "seed": seed, "notes": notes}
    taken = {name: value for name, value in reserved.items() if name in signature(fn).parameters}
    knobs = check_knobs(fn, method.select_knobs)
    ids = np.unique(fn(**data, **knobs, **taken))
    if len(ids) != k or ids.dtype.kind not in "iu" or not 0 <= ids[0] <= ids[-1] < samples:
        raise InputError(
            f"{name_of(fn)} must give {k} different ids from 0 to {samples - 1}, got {len(ids)} of "
            f"type {ids.dtype}" + (f", from {ids[0]} to {ids[-1]}" if len(ids) else "")
        )
    return ids.astype(np.int64)


def _why(kept: str, reasons: Mapping[str, Array], ids: Array, samples: int) -> pa.DictionaryArray:
    """Say of every sample why it was kept or not, where there is more to say than its score."""
    codes = np.zeros(samples, np.int8)
    codes[ids] = 1
    for code, members in enumerate(reasons.values(), 2):
        codes[members] = code
    return pa.DictionaryArray.from_arrays(codes, pa.array(["", kept, *reasons]))
