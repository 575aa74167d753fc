"""Run an experiment: recordings first, then cells, side by side in processes of one thread."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from dualprune.experiments.cells import Cell, cells, recordings
from dualprune.experiments.experiment import Experiment
from dualprune.experiments.results import Line, append, code_digest, read
from dualprune.experiments.work import make_recording, measure, one_thread

__all__ = ["missing", "processes_of_one_thread", "run"]

T = TypeVar("T")


@contextmanager
def processes_of_one_thread(count: int | None) -> Iterator[Executor]:
    """Give as many processes as asked for, or as there are cores."""
    context = multiprocessing.get_context("spawn")  # torch does not survive a fork
    workers = count or os.cpu_count() or 1
    with ProcessPoolExecutor(workers, mp_context=context, initializer=one_thread) as pool:
        yield pool


def run(
    experiment: Experiment, scale: str, out: Path, *, pool: Executor, tell: Callable[[str], None]
) -> list[Line]:
    """Do what is missing and give all lines; killed and started again, it goes on.

    Recordings and trainings are kept in ``out/work``, where other experiments find them too.
    """
    todo, home = missing(experiment, scale, out), out / "work"
    made = [pool.submit(make_recording, each, home) for each in recordings(todo)]
    for number, _ in enumerate(_finished(made), 1):
        tell(f"recording {number} of {len(made)}")
    measured = {pool.submit(measure, cell, home): cell for cell in todo}
    for number, done in enumerate(_finished(measured), 1):
        cell = measured[done]
        append(out / "results.jsonl", _line(cell, done.result()))
        told = f"{cell.row.name}, {cell.pruned:.0%} pruned, seed {cell.seed}"
        tell(f"{number} of {len(todo)}: {told}")
    wanted = {cell.key for cell in cells(experiment, scale)}
    return [line for line in read(out / "results.jsonl") if line.cell in wanted]


def missing(experiment: Experiment, scale: str, out: Path) -> list[Cell]:
    """Give the cells without a line; refuse to add to lines of other code or settings."""
    wanted = list(cells(experiment, scale))
    done = {
        line.cell for line in read(out / "results.jsonl", now=((c.key, c.settings) for c in wanted))
    }
    return [cell for cell in wanted if cell.key not in done]


def _finished(futures: Iterable[Future[T]]) -> Iterator[Future[T]]:
    """Give what is done; the first failure ends everything that has not begun."""
    waiting = list(futures)
    for done in as_completed(waiting):
        if done.exception() is not None:
            for each in waiting:
                each.cancel()
        done.result()
        yield done


def _line(cell: Cell, values: dict[str, Any]) -> Line:
    experiment, scale, row, pruned, seed = cell.key
    return Line(experiment, scale, row, pruned, seed, values, cell.settings, code_digest())
