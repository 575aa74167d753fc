"""Cells: the trainings and recordings an experiment consists of."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

from dualprune.experiments.experiment import WHOLE, Experiment, Row, find_experiment
from dualprune.experiments.setting import Setting
from dualprune.files import seal

__all__ = ["Cell", "Recording", "cells", "recordings"]


@dataclass(frozen=True)
class Recording:
    """One training that is recorded; several cells, also of other experiments, choose from it."""

    setting: Setting
    shift: dict[str, float]
    model: str
    seed: int
    number: int

    @property
    def digest(self) -> str:
        told = [self.setting.recorded(), self.shift, self.model, self.seed, self.number]
        return seal({"recorded": told})[:16]


@dataclass(frozen=True)
class Cell:
    """One entry of a table: a row, a share pruned, a seed."""

    experiment: str
    scale: str
    kind: str
    setting: Setting
    shift: dict[str, float]
    model: str
    row: Row
    pruned: float
    seed: int

    @property
    def key(self) -> tuple[str, str, str, float, int]:
        return (self.experiment, self.scale, self.row.name, self.pruned, self.seed)

    @property
    def settings(self) -> str:
        """Digest of all that its numbers depend on, beside the code."""
        row = self.row
        told: dict[str, Any] = {"of": self.setting.identity(), "shift": self.shift}
        told |= {"kind": self.kind, "trained": self.model, "train": row.train}
        told |= {"recorded": [each.digest for each in self.recordings], "dynamic": row.dynamic}
        if row.recorded_from:
            told["method"] = asdict(row.found(self.setting, self.pruned))
        if self.kind == "agreement":
            told["beside"] = [asdict(row) for row in find_experiment(self.experiment).rows]
            told["seeds"] = self.setting.seeds
        return seal({**told, "name": row.method, "pruned": self.pruned, "seed": self.seed})[:16]

    @property
    def recordings(self) -> list[Recording]:
        """What must be recorded before: nothing for what needs no model's opinion."""
        if not (self.row.is_whole or self.row.recorded_from):
            return []
        model = self.setting.stand_in(self.row.recorded) if self.row.recorded else self.model
        runs = 1 if self.row.is_whole else self.row.found(self.setting, self.pruned).runs
        return [Recording(self.setting, self.shift, model, self.seed, n) for n in range(runs)]


def cells(experiment: Experiment, scale: str) -> Iterator[Cell]:
    """Give every cell of an experiment, seed by seed, so that what is there early is whole."""
    setting = experiment.setting(scale)
    first = Cell(
        experiment=experiment.name,
        scale=scale,
        kind=experiment.kind,
        setting=setting,
        shift=experiment.shift,
        model=setting.stand_in(experiment.model),
        row=WHOLE,
        pruned=0.0,
        seed=0,
    )
    if experiment.kind == "theory":
        return
    for seed in range(1 if experiment.kind == "picture" else setting.seeds):
        if experiment.kind == "accuracy":
            yield replace(first, seed=seed)
        for row, pruned in product(experiment.rows_at(scale), setting.pruned or experiment.pruned):
            yield replace(first, row=row.at(pruned), pruned=pruned, seed=seed)


def recordings(wanted: list[Cell]) -> list[Recording]:
    """Give each recording that these cells need once."""
    found = {each.digest: each for cell in wanted for each in cell.recordings}
    return list(found.values())
