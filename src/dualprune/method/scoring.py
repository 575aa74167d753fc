"""Scores as files: in one, or for very many samples range by range, by whatever workers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dualprune.coreset.coreset import PART
from dualprune.files import Place
from dualprune.method.arrays import Arrays, Wanted, score_range, signals_of, sources
from dualprune.run import Run
from dualprune.run.ranges import ranges
from dualprune.score.observed import mean_observed
from dualprune.score.parts import ScoreParts
from dualprune.score.scored import Scored
from dualprune.signatures import Array, Function, inputs


def save_scores(
    arrays: Arrays, fn: Function, knobs: Mapping[str, Any], out: Place | None = None
) -> Place:
    """Score every sample and write the scores; gives the file, or the folder of very many.

    Without `out` they belong to the first run. What is there of a folder is not computed again.
    """
    runs = [run.fingerprint for run in arrays.runs]
    empty = Scored(np.empty(0), fn.__name__, dict(knobs), arrays.epochs, runs)
    path = out or arrays.runs[0].path / "scores" / empty.file_name
    if arrays.samples <= PART or "features" in sources(inputs(fn)):
        replace(empty, values=arrays.score(fn, knobs)).save(path)
        return path
    parts, wanted = ScoreParts(path, empty.card, arrays.samples), (fn, knobs)
    parts.prepare()
    task = _Task(parts, arrays.runs, wanted, arrays.epochs)
    for _ in arrays.mapping([wanted])(partial(_write, task), ranges(arrays.samples)):
        pass
    return path


@dataclass(frozen=True)
class _Task:
    """What a worker needs to know to score a range."""

    parts: ScoreParts
    runs: list[Run]
    wanted: Wanted
    epochs: int


def _write(task: _Task, ids: range) -> None:
    if not task.parts.has(ids):
        (values,) = scores_of(task.runs, [task.wanted], task.epochs, ids)
        task.parts.write(ids, values)


def scores_of(runs: list[Run], wanted: list[Wanted], epochs: int, ids: range) -> list[Array]:
    """Give scores of a range of ids, the mean over several runs."""
    by_run = [_of_run(run, wanted, epochs, ids) for run in runs]
    return [
        values[0] if len(values) == 1 else mean_observed(np.stack(values))
        for values in zip(*by_run, strict=True)
    ]


def _of_run(run: Run, wanted: list[Wanted], epochs: int, ids: range) -> list[Array]:
    read = sorted({name for fn, _ in wanted for name in signals_of(fn, run)})
    return score_range(run, wanted, read, epochs, ids) if wanted else []
