"""Work: how trainings are done side by side, how long they will take, and who is told."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isnan
from pathlib import Path

import torch

from dualprune.experiments.grid import Grid
from dualprune.experiments.results import Line
from dualprune.experiments.runner import run_loaded, workers
from dualprune.experiments.setting import Setting
from dualprune.train import Setup, Watch
from dualprune.train.place import useful_threads


@dataclass(frozen=True)
class Work:
    """How trainings are done; `seconds` is what a sample took while recording, NaN if not known."""

    seconds: float
    processes: int | None
    tell: Callable[[str], None]
    watch: Watch

    def at_a_time(self, setting: Setting, most: int) -> int:
        """How many trainings go on side by side, where there are at most so many."""
        return min(workers(setting, self.processes), most)

    def amount(self, setup: Setup, trainings: int, passes: float, at_a_time: int) -> str:
        """Say how much there is to do; `passes` are over all samples, all trainings together."""
        first = torch.from_numpy(setup.data.readable_ids[:1])
        one = next(setup.batches.inputs([first]))
        threads = useful_threads(setup.fresh_model(0), one, setup.recipe.batch)
        per_sample = self.seconds * threads / at_a_time if at_a_time > 1 else self.seconds
        minutes = per_sample * passes * len(setup.data.readable_ids) / 60
        about = "" if isnan(minutes) else f", about {max(1, round(minutes))} min"
        return f"{trainings} trainings{about} ({at_a_time} at a time)"

    def run(self, grid: Grid, out: Path) -> list[Line]:
        """Do what is missing of a grid."""
        return run_loaded(grid, out, processes=self.processes, tell=self.tell, watch=self.watch)
