"""How long an experiment will take, from a measured step."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import torch

from dualprune.experiments.grid import Cell, Recording, recordings
from dualprune.experiments.kinds import KINDS
from dualprune.experiments.setting import settings
from dualprune.experiments.work import images_of, is_recorded
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
    torch.set_num_threads(1)
    needed = [wanted for wanted in recordings(todo) if not is_recorded(wanted, home)]
    seconds = sum(wanted.setting.record * _epoch(wanted) for wanted in needed)
    trained = [
        cell
        for cell in todo
        if KINDS[cell.grid.kind].trains and not (cell.row.is_whole and cell.setting.records_all)
    ]
    seconds += sum(passes(cell) * _epoch(cell) for cell in trained)
    workers = processes or os.cpu_count() or 1
    return Cost(len(needed), len(trained), seconds / workers, workers)


def passes(cell: Cell) -> float:
    """Give a training's passes over all samples, without what a dynamic method will skip."""
    recipe, samples = replace(cell.setting.trained, **cell.row.train), _samples(cell)
    share = 1.0 if cell.row.method in ("infobatch", "ies") else 1 - cell.pruned
    return recipe.passes(round(share * samples), samples)


def _samples(wanted: Cell | Recording) -> int:
    return len(images_of(wanted).images)


def _epoch(wanted: Cell | Recording) -> float:
    """Seconds of one pass over all samples, in one process."""
    return _per_image(wanted.setting.name, wanted.model) * _samples(wanted)


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
