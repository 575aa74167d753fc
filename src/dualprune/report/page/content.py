"""The data of the page's scripts: arrays of the samples shown, their names and pictures."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dualprune.report.facts import Facts, WhatIf
from dualprune.report.page.pack import beginning, numbers, safe_text, trajectories
from dualprune.report.page.pictures import Sheet
from dualprune.report.page.shown import Shown
from dualprune.select import ease
from dualprune.signatures import Array

_SNIPPET = 300


def content(
    facts: Facts, shown: Shown, sheet: Sheet | None, texts: Sequence[str] | None
) -> dict[str, Any]:
    """Give the data of the page, for JSON; samples are positions among those shown."""
    run = facts.run
    beliefs, epochs = trajectories(run, shown.ids, facts.epochs)
    names = run.names.get("name")
    return {
        "samples": facts.samples,
        "epochs": epochs,
        "scoreName": facts.score_name,
        "judged": facts.labels.judged,
        "columns": _columns(facts, shown) | {"beliefs": numbers(beliefs, "Uint8Array")},
        "whatIf": None if facts.what_if is None else _settings(facts.what_if, facts),
        "names": None if names is None else [safe_text(name) for name in names[shown.ids]],
        "lists": {name: _positions(shown, ids) for name, ids in shown.lists.items()},
        "pictured": _positions(shown, shown.pictured),
        "sheet": None if sheet is None else {"columns": sheet.columns, "rows": sheet.rows},
        "texts": None if texts is None else [beginning(texts[i], _SNIPPET) for i in shown.pictured],
    }


def _columns(facts: Facts, shown: Shown) -> dict[str, dict[str, str]]:
    ids, labels = shown.ids, facts.labels
    columns = {
        "id": numbers(ids, "Int32Array"),
        "variability": numbers(facts.variability[ids], "Float32Array"),
        "confidence": numbers(facts.confidence[ids], "Float64Array"),
        "score": numbers(facts.score[ids], "Float32Array"),
        "label": numbers(labels.label[ids], "Int32Array"),
        "predicted": numbers(labels.predicted[ids], "Int32Array"),
        "quality": numbers(labels.quality[ids], "Float32Array"),
        "suspect": numbers(labels.suspect[ids], "Uint8Array"),
    }
    if facts.kept is not None:
        columns["kept"] = numbers(facts.kept[ids], "Uint8Array")
    if facts.what_if is not None:
        columns["keys"] = numbers(facts.what_if.keys[ids], "Float64Array")
        if facts.what_if.c_d is None:
            log_scores = _of_those_looked_at(facts.what_if.log_scores[ids])
            columns["logScore"] = numbers(log_scores, "Float64Array")
        if (mean := facts.what_if.mean_confidence) is not None:
            columns["meanConfidence"] = numbers(mean[ids], "Float64Array")
    return columns


def _settings(what_if: WhatIf, facts: Facts) -> dict[str, Any]:
    share = 0.5 if facts.kept is None else float(facts.kept.sum() / facts.samples)
    return {
        "mu": what_if.mu,
        "cD": what_if.c_d,
        "ease": {
            "slope": ease.SLOPE,
            "known": ease.KNOWN,
            "spare": ease.SPARE,
            "limits": ease.LIMITS,
            "steps": ease.STEPS,
            "enough": ease.ENOUGH,
        },
        "concentration": what_if.concentration,
        "balance": what_if.balance,
        "floor": what_if.floor,
        "floorIsShare": isinstance(what_if.floor, float),
        "keepsUnscored": what_if.unscored == "keep",
        "share": share,
    }


def _of_those_looked_at(log_scores: Array) -> Array:
    """Give NaN for the samples that `beta` does not look at to find c_D."""
    at = ease.sampled(0, len(log_scores), len(log_scores))
    looked_at = np.full(len(log_scores), np.nan)
    looked_at[at] = log_scores[at]
    return looked_at


def _positions(shown: Shown, ids: Any) -> list[int]:
    positions: list[int] = np.searchsorted(shown.ids, ids).tolist()
    return positions
