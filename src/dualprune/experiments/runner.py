"""Run an experiment: recordings first, then cells, side by side in processes of one thread."""

import fcntl
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from dualprune.errors import InputError
from dualprune.experiments.cells import Cell, cells, recordings
from dualprune.experiments.experiment import Experiment
from dualprune.experiments.results import Line, append, code_digest, made_with, read
from dualprune.experiments.work import end_with_parent, make_recording, measure, one_thread
from dualprune.files import make_folders

__all__ = ["found", "missing", "processes_of_one_thread", "run", "workplace"]

T = TypeVar("T")


def _start() -> None:
    one_thread()
    end_with_parent()


def workplace(out: Path) -> Path:
    """Where recordings and trainings of this code are kept: those of other code are not found."""
    return out / "work" / code_digest()


@contextmanager
def processes_of_one_thread(count: int | None) -> Iterator[Executor]:
    """Give as many processes as asked for, or as there are cores."""
    context = multiprocessing.get_context("spawn")  # torch does not survive a fork
    workers = count or os.cpu_count() or 1
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_start) as pool:
        yield pool


def run(
    experiment: Experiment, scale: str, out: Path, *, pool: Executor, tell: Callable[[str], None]
) -> list[Line]:
    """Do what is missing and give all lines; killed and started again, it goes on.

    Recordings and trainings are kept in ``out/work``, where other experiments find them too.
    """
    with _alone(out):
        todo, home = missing(experiment, scale, out), workplace(out)
        _record(experiment, scale, todo, home, pool, tell)
        measured = {pool.submit(measure, cell, home): cell for cell in todo}
        for number, done in enumerate(_finished(measured), 1):
            cell = measured[done]
            append(out / "results.jsonl", _line(cell, done.result()))
            told = f"{cell.row.name}, {cell.pruned:.0%} pruned, seed {cell.seed}"
            tell(f"{number} of {len(todo)}: {told}")
        return found(experiment, scale, out)


def found(experiment: Experiment, scale: str, out: Path) -> list[Line]:
    """Give the lines that are there, in the order of the table, not in that of their making."""
    order = {cell.key: number for number, cell in enumerate(cells(experiment, scale))}
    lines = [line for line in read(out / "results.jsonl") if line.cell in order]
    return sorted(lines, key=lambda line: order[line.cell])


def _record(
    experiment: Experiment,
    scale: str,
    todo: list[Cell],
    home: Path,
    pool: Executor,
    tell: Callable[[str], None],
) -> None:
    """Make the recordings that are not there; some kinds look at those of finished cells, too."""
    looks_back = experiment.kind in ("agreement", "picture")
    needed = recordings(list(cells(experiment, scale)) if looks_back else todo)
    made = [pool.submit(make_recording, each, home) for each in needed]
    for number, _ in enumerate(_finished(made), 1):
        tell(f"recording {number} of {len(made)}")


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Refuse to work where another runner does: each would undo what the other has begun."""
    make_folders(out)
    with (out / "runner.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f"another process works in {out}; wait, or choose another") from error
        yield


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
    return Line(
        experiment, scale, row, pruned, seed, values, cell.settings, code_digest(), made_with()
    )
