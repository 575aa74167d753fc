"""How long an experiment will take, from a measured step."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from dualprune.experiments.cells import Cell, recordings
from dualprune.experiments.setting import Setting, settings
from dualprune.experiments.work import one_thread
from dualprune.train import train

__all__ = ["Cost", "estimate"]

_IMAGES = 1024


@dataclass(frozen=True)
class Cost:
    """How many recordings and trainings, and how many seconds on so many processes."""

    recordings: int
    trainings: int
    seconds: float
    processes: int


def estimate(todo: Sequence[Cell]) -> Cost:
    """Measure a short training of every model that occurs, and add up."""
    one_thread()
    seconds = 0.0
    recorded = recordings(list(todo))
    for each in recorded:
        seconds += _seconds(each.setting, each.model) * each.setting.record
    trained = [cell for cell in todo if cell.kind == "accuracy" and not _is_recorded(cell)]
    for cell in trained:
        epochs = cell.row.train.get("epochs", cell.setting.trained.epochs)
        seconds += _seconds(cell.setting, cell.model) * epochs * (1 - cell.pruned)
    processes = os.cpu_count() or 1
    return Cost(len(recorded), len(trained), seconds / processes, processes)


def _is_recorded(cell: Cell) -> bool:
    return cell.row.is_whole and cell.setting.record >= cell.setting.trained.epochs


def _seconds(setting: Setting, model: str) -> float:
    """Seconds of an epoch over all samples, in one process."""
    return _per_image(setting.name, model) * _samples(setting.name)


@cache
def _samples(setting: str) -> int:
    return len(settings()[setting].images({}, 0).images)


@cache
def _per_image(setting: str, model: str) -> float:
    found = settings()[setting]
    shifted = found.images({}, 0)
    setup = found.setup(shifted, model, {"iterations": None})
    ids = np.arange(min(_IMAGES, len(shifted.images)))
    with tempfile.TemporaryDirectory() as folder:
        train(setup, Path(folder) / "warm", ids=ids, epochs=1)
        result = train(setup, Path(folder) / "timed", ids=ids, epochs=1)
    return result.seconds / len(ids)
