"""How long an experiment will take, from a measured step."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from dualprune.experiments.grid import Cell, Recording, recordings
from dualprune.experiments.kinds import KINDS
from dualprune.experiments.setting import settings
from dualprune.experiments.work import images_of, is_recorded, one_thread
from dualprune.train import train

_IMAGES = 1024


@dataclass(frozen=True)
class Cost:
    """How many recordings and trainings, and how many seconds on so many processes."""

    recordings: int
    trainings: int
    seconds: float
    processes: int


def estimate(todo: Sequence[Cell], home: Path, processes: int | None) -> Cost:
    """Measure a short training of every model that occurs, and add up."""
    one_thread()
    needed = [each for each in recordings(list(todo)) if not is_recorded(each, home)]
    seconds = sum(each.setting.record * _epoch(each) for each in needed)
    trained = [cell for cell in todo if KINDS[cell.grid.kind].trains and not _is_recorded(cell)]
    seconds += sum(_passes(cell) * _epoch(cell) for cell in trained)
    workers = processes or os.cpu_count() or 1
    return Cost(len(needed), len(trained), seconds / workers, workers)


def _is_recorded(cell: Cell) -> bool:
    return cell.row.is_whole and cell.setting.record >= cell.setting.trained.epochs


def _passes(cell: Cell) -> float:
    """Over all samples; what a dynamic method will skip is not known before."""
    recipe, samples = cell.setting.trained, _samples(cell)
    iterations = cell.row.train.get("iterations", recipe.iterations)
    if iterations is not None:
        return float(iterations * recipe.batch_for(1 - cell.pruned) / samples)
    share = 1.0 if cell.row.method in ("infobatch", "ies") else 1 - cell.pruned
    return float(cell.row.train.get("epochs", recipe.epochs) * share)


def _samples(wanted: Cell | Recording) -> int:
    return len(images_of(wanted).images)


def _epoch(wanted: Cell | Recording) -> float:
    """Seconds of one pass over all samples, in one process."""
    model = wanted.model if isinstance(wanted, Recording) else wanted.grid.model
    return _per_image(wanted.setting.name, model) * _samples(wanted)


@cache
def _per_image(setting: str, model: str) -> float:
    known = settings()[setting]
    shifted = known.images({}, 0)
    setup = known.setup(shifted, model, {"iterations": None, "batch_at": {}})
    ids = np.arange(min(_IMAGES, len(shifted.images)))
    with tempfile.TemporaryDirectory() as folder:
        train(setup, Path(folder) / "warm", ids=ids, epochs=1)
        result = train(setup, Path(folder) / "timed", ids=ids, epochs=1)
    return result.seconds / len(ids)
