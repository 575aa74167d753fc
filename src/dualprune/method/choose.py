"""A method: a score, a selector and their knobs, applied to what was recorded."""

import platform
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from dualprune.coreset import Coreset, digest
from dualprune.errors import InputError
from dualprune.run import Run
from dualprune.run.names import read_names
from dualprune.score import SCORES, from_runs
from dualprune.score.scored import Scored
from dualprune.select import SELECTORS, anchor_confidence
from dualprune.select.keys import uniform
from dualprune.select.stratified import hardest
from dualprune.signatures import Array, inputs, knobs

__all__ = ["score_runs", "select_from"]

Knobs = Mapping[str, Any]

_WHY = {"top": "top", "random": "sampled", "beta": "sampled", "stratified": "sampled"}


def score_runs(
    name: str, runs: Sequence[Run], *, epochs: int | None = None, given: Knobs | None = None
) -> Scored:
    """Score every sample of one run, or take the mean over several."""
    fn = _named(SCORES, name, "score")
    used = _settings(fn, given or {})
    epochs = _same_epochs(runs, epochs)
    values = from_runs(fn, *runs, epochs=epochs, knobs=used)
    return Scored(values, name, used, epochs, [run.fingerprint for run in runs])


def select_from(
    name: str,
    runs: Sequence[Run],
    scored: Scored | None,
    *,
    k: int,
    seed: int = 0,
    epochs: int | None = None,
    features: int | None = None,
    given: Knobs | None = None,
) -> Coreset:
    """Select `k` samples; every array that goes in uses the same epochs as the scores.

    `features` is the epoch whose features to take, if not the newest of those.
    """
    fn = _named(SELECTORS, name, "selector")
    if scored is not None:
        _refuse_other_runs(scored, runs, epochs)
        epochs = scored.epochs
    epochs = _same_epochs(runs, epochs)
    data = _data(fn, runs, scored, epochs, features)
    used = _settings(fn, given or {})
    if name == "beta" and scored is None and used["mu"] is None:
        best = from_runs(SCORES["dual"], *runs, epochs=epochs)
        lots = uniform(seed, 0, len(best))
        used["mu"] = anchor_confidence(best, data["confidence"], lots, anchor=used["anchor"])
    ids = fn(**data, k=k, seed=seed, **used)
    card = {
        "method": name if scored is None else f"{scored.score}+{name}",
        "knobs": {"score": {} if scored is None else scored.knobs, "select": used},
        "seed": seed,
        "k": k,
        "samples": runs[0].samples,
        "epochs": epochs,
        "runs": [run.fingerprint for run in runs],
        "data": runs[0].description.data,
    }
    about = read_names(runs[0].path, runs[0].samples) | {"label": runs[0]["labels"]}
    return _with_reasons(ids, card, data, name, about)


def _named(table: Mapping[str, Callable[..., Array]], name: str, kind: str) -> Callable[..., Array]:
    if name not in table:
        raise InputError(f"there is no {kind} {name!r}; choose one of {', '.join(table)}")
    return table[name]


def _settings(fn: Callable[..., Array], given: Knobs) -> dict[str, Any]:
    """All knobs of a function: what was given, else its default."""
    known = knobs(fn)
    for name in given:
        if name not in known:
            raise InputError(f"{fn.__name__} has no knob {name!r}; it has {', '.join(known)}")
    return {name: given.get(name, knob.default) for name, knob in known.items()}


def _same_epochs(runs: Sequence[Run], epochs: int | None) -> int:
    if not runs:
        raise InputError("give at least one run")
    counts = {run.first_epochs(epochs) for run in runs}
    if len(counts) > 1:
        raise InputError(f"the runs have {sorted(counts)} epochs; say how many to use of each")
    return counts.pop()


def _refuse_other_runs(scored: Scored, runs: Sequence[Run], epochs: int | None) -> None:
    if scored.runs != [run.fingerprint for run in runs]:
        raise InputError(
            f"the {scored.score} scores were made from other runs, or before more was recorded; "
            "score again"
        )
    if epochs not in (None, scored.epochs):
        raise InputError(f"the scores are over {scored.epochs} epochs, not {epochs}")


def _data(
    fn: Callable[..., Array],
    runs: Sequence[Run],
    scored: Scored | None,
    epochs: int,
    features: int | None,
) -> dict[str, Any]:
    """Find each array that a selector reads by its name: the scores, labels, or another score."""
    data: dict[str, Any] = {}
    for name, required in inputs(fn).items():
        if name == "scores":
            data[name] = None if scored is None else scored.values
            if required and scored is None:
                raise InputError(f"{fn.__name__} needs a score; choose one of {', '.join(SCORES)}")
        elif name == "labels":
            data[name] = runs[0]["labels"]
        elif name == "features":
            data[name] = _features(runs, features or epochs)
        elif required or all(runs[0].has(each) for each in inputs(SCORES[name])):
            data[name] = from_runs(SCORES[name], *runs, epochs=epochs)
    return data


def _features(runs: Sequence[Run], epochs: int) -> Array:
    if len(runs) > 1:
        raise InputError("features of several runs cannot be compared; give one run")
    return runs[0].features(epochs)


def _with_reasons(
    ids: Array,
    card: dict[str, Any],
    data: Mapping[str, Any],
    name: str,
    about: Mapping[str, Array],
) -> Coreset:
    """Say of every sample why it was kept or not, where there is more to say than its lot."""
    scores, used = data.get("scores"), card["knobs"]["select"]
    why = np.full(card["samples"], "", "<U8")
    why[ids] = _WHY.get(name, "chosen")
    if name in ("stratified", "d2"):
        lots = uniform(card["seed"], 0, card["samples"])
        why[hardest(data.get("aum"), used["cut_off"], lots)] = "cut_off"
    if scores is not None:
        if name == "beta":
            why[ids[scores[ids] == 0]] = "filled"
        why[np.isnan(scores)] = "unscored"
    counts = {reason: int((why == reason).sum()) for reason in ("filled", "cut_off", "unscored")}
    columns = {**about, "score": scores, "confidence": data.get("confidence")}
    return Coreset(
        ids,
        {**card, **counts, "ids_sha256": digest(ids), **_made_with()},
        {
            **{column: values for column, values in columns.items() if values is not None},
            "why": why,
        },
    )


def _made_with() -> dict[str, Any]:
    """Versions and kind of CPU: logarithms may differ in the last bit between kinds."""
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    return {
        "versions": {
            "dualprune": version("dualprune"),
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "cpu": {"machine": platform.machine(), "simd": [*simd["baseline"], *simd["found"]]},
    }
