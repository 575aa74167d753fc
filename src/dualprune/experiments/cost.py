"""How long an experiment will take, from a measured step; this needs none of its data."""

import os
import tempfile
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import torch

from dualprune.data import Images, in_memory, long_tail
from dualprune.experiments.experiment import experiments
from dualprune.experiments.grid import CANDIDATES, Cell, Recording, recordings
from dualprune.experiments.kinds import KINDS
from dualprune.experiments.runner import measured, missing, workplace
from dualprune.experiments.search import most_trainings
from dualprune.experiments.setting import Shifted, settings
from dualprune.experiments.work import is_recorded
from dualprune.train import train

_IMAGES = 1024
SETS = {
    "digits": (1_438, 10, (8, 8, 1)),
    "fashion-mnist": (60_000, 10, (28, 28, 1)),
    "cifar10": (50_000, 10, (32, 32, 3)),
    "cifar100": (50_000, 100, (32, 32, 3)),
    "tiny-imagenet": (100_000, 200, (64, 64, 3)),
    "imagenet": (1_281_167, 1_000, (224, 224, 3)),
}  # training samples, classes, and the shape that is trained on


@dataclass(frozen=True)
class Cost:
    """How many recordings and trainings, and how many seconds on so many processes."""

    recordings: int
    trainings: int
    seconds: float
    processes: int


def estimate(
    todo: Sequence[Cell], home: Path, processes: int | None, recorded: Container[str] = frozenset()
) -> Cost:
    """Measure a short training of every model that occurs, and add up.

    `recorded` are digests of recordings that will be there, beside those that are.
    """
    torch.set_num_threads(1)
    needed = [
        wanted
        for wanted in recordings(todo)
        if wanted.digest not in recorded and not is_recorded(wanted, home)
    ]
    seconds = sum(wanted.setting.record * _epoch(wanted) for wanted in needed)
    trained = [
        cell
        for cell in todo
        if KINDS[cell.grid.kind].trains and not (cell.row.is_whole and cell.setting.records_all)
    ]
    seconds += sum(passes(cell) * _epoch(cell) for cell in trained)
    workers = processes or os.cpu_count() or 1
    return Cost(len(needed), len(trained), seconds / workers, workers)


def plan(scale: str, out: Path, processes: int | None) -> Iterator[tuple[str, Cost]]:
    """Give what each experiment adds, in the order of the paper, to `out` and those before it.

    A cell of the same settings is trained once, and several experiments may read one recording.
    """
    recorded: set[str] = set()
    trained = set(measured(out))
    for experiment in experiments().values():
        cells = {cell.settings: cell for cell in missing(experiment.at(scale), out)}
        todo = [cell for settings, cell in cells.items() if settings not in trained]
        yield experiment.name, estimate(todo, workplace(out), processes, recorded)
        trained |= cells.keys()
        recorded |= {source.digest for source in recordings(todo)}


def passes(cell: Cell) -> float:
    """Give a training's passes over all samples, without what a dynamic method will skip."""
    recipe, samples = replace(cell.setting.trained, **cell.row.train), _size(cell)
    share = 1.0 if cell.row.method in ("infobatch", "ies") else 1 - cell.pruned
    trainings = 1 + most_trainings(len(CANDIDATES)) if cell.row.is_auto else 1
    return trainings * recipe.passes(round(share * samples), samples)


@cache
def _samples(setting: str, tail: float | None) -> int:
    """Count the samples of a setting; all the named sets have classes of about one size."""
    known = settings()[setting]
    samples, classes, _ = SETS[known.data]
    images = _blank(min(known.samples or samples, samples), classes, (1, 1, 1))
    return len(images if tail is None else long_tail(images, 1 / tail, 0))


def _epoch(wanted: Cell | Recording) -> float:
    """Seconds of one pass over all samples, in one process."""
    return _per_image(wanted.setting.name, wanted.model) * _size(wanted)


def _size(wanted: Cell | Recording) -> int:
    if wanted.setting.loaded is not None:
        return len(wanted.setting.loaded[0])
    return _samples(wanted.setting.name, wanted.shift.get("tail"))


@cache
def _per_image(setting: str, model: str) -> float:
    """Measure seconds per image, on blank images of the same shape."""
    known = settings()[setting]
    _, classes, shape = SETS[known.data]
    images = _blank(min(_IMAGES, _samples(setting, None)), classes, shape)
    setup = known.setup(Shifted(images, images, {}), model, {"iterations": None, "batch_at": {}})
    with tempfile.TemporaryDirectory() as folder:
        train(setup, Path(folder) / "warm", epochs=1)
        result = train(setup, Path(folder) / "timed", epochs=1)
    return result.seconds / len(images)


def _blank(samples: int, classes: int, shape: tuple[int, int, int]) -> Images:
    pixels, labels = np.zeros((samples, *shape), np.uint8), np.arange(samples) % classes
    return in_memory(pixels, labels, tuple(map(str, range(classes))))
