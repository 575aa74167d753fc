"""Run a grid: recordings, then what they serve, in processes side by side or in this one."""

import fcntl
import multiprocessing
import os
import signal
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO

import torch

from dualprune.errors import InputError, WriteError
from dualprune.experiments.grid import Cell, Grid, Recording, recordings
from dualprune.experiments.kinds import KINDS
from dualprune.experiments.results import NUMBERS, Line, append, made_with, read
from dualprune.experiments.search import settle
from dualprune.experiments.setting import Setting
from dualprune.experiments.work import is_recorded, make_recording, recording_cost
from dualprune.files import make_folders, refuse_foreign
from dualprune.train import Watch, silent
from dualprune.train.place import device

_COPIES = 2**30  # most bytes that the copies of the images take, one per process

OURS = ("runner.lock", "results.jsonl")
"""What a folder that is worked in holds before all else."""


def workplace(out: Path) -> Path:
    """Where recordings and trainings are kept: those of other numbers are not found."""
    return out / "work" / f"numbers-{NUMBERS}"


@contextmanager
def processes_of_one_thread(count: int | None) -> Iterator[Executor]:
    """Give as many processes as asked for, or as there are cores; Ctrl-C ends them at once.

    Two processes of one thread do more than one with two threads.
    """
    count = count or os.cpu_count() or 1
    context = multiprocessing.get_context("spawn")  # torch does not survive a fork
    with ProcessPoolExecutor(count, mp_context=context, initializer=_start) as pool:
        usual = signal.signal(signal.SIGINT, signal.SIG_IGN)  # which processes inherit
        for _ in range(count):
            pool.submit(int)  # starts one
        signal.signal(signal.SIGINT, usual)
        try:
            yield pool
        except KeyboardInterrupt:
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def _start() -> None:
    torch.set_num_threads(1)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process as soon as the one that started it is gone, however it went."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class InThisProcess(Executor):
    """Do one thing after the other, here: for functions and images that no other process has."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def workers(setting: Setting, processes: int | None) -> int:
    """How many processes train on images that were loaded here; by default one per core.

    Fewer if their copies of the images would be too large; one on a GPU, and for images that are
    decoded while training.
    """
    if device().type == "cuda":
        return 1
    room = _COPIES // sum(data.nbytes for data in setting.loaded or ())
    return max(1, int(min(processes or os.cpu_count() or 1, room)))


def run_loaded(
    grid: Grid, out: Path, *, processes: int | None, tell: Callable[[str], None], watch: Watch
) -> list[Line]:
    """Run a grid of loaded images in processes of one thread, or here, where `watch` is told."""
    count = workers(grid.setting, processes)
    if count == 1:
        return run(grid, out, pool=InThisProcess(), tell=tell, watch=watch)
    with processes_of_one_thread(count) as pool:
        return run(grid, out, pool=pool, tell=tell)


def run(
    grid: Grid,
    out: Path,
    *,
    pool: Executor,
    tell: Callable[[str], None] = lambda line: None,  # noqa: ARG005
    watch: Watch = silent,
) -> list[Line]:
    """Do what is missing and give all lines; if it was interrupted, it resumes.

    Recordings and trainings are kept in ``out/work``, where other grids find them too. `tell` gets
    a line for each of them; `watch` sees the epochs of every training.
    """
    with _alone(out):
        _copy_measured(grid, out)
        todo = missing(grid, out)
        looks_back = KINDS[grid.kind].looks_back
        wanted = recordings(grid.cells() if looks_back else todo)
        needed = [source for source in wanted if not is_recorded(source, workplace(out))]
        recorded = finished = 0
        for task, values in _work(needed, todo, workplace(out), pool, watch, looks_back):
            if isinstance(task, Recording):
                recorded += 1
                tell(f"recording {recorded} of {len(needed)}")
                continue
            finished += 1
            line = Line(*task.key, values, task.settings, NUMBERS, made_with())
            append(out / "results.jsonl", line)
            cell = f"{task.row.name}, {task.pruned:.0%} pruned, seed {task.seed}"
            tell(f"{finished} of {len(todo)}: {cell}")
        return lines_of(grid, out)


def _work(
    needed: list[Recording],
    todo: list[Cell],
    home: Path,
    pool: Executor,
    watch: Watch,
    all_first: bool,
) -> Iterator[tuple[Recording | Cell, Any]]:
    """Give what is finished, with its values; a cell begins once its recordings are there."""
    absent = {wanted.digest for wanted in needed}
    waiting = [(cell, set(absent) if all_first else _digests(cell)) for cell in todo]
    ready: list[Recording | Cell] = list(needed)
    running: dict[Future[Any], Recording | Cell] = {}
    while ready or running or waiting:
        ready += [cell for cell, sources in waiting if sources.isdisjoint(absent)]
        waiting = [(cell, sources) for cell, sources in waiting if not sources.isdisjoint(absent)]
        count = 1 if isinstance(pool, InThisProcess) else len(ready)  # it works when asked
        running |= {_submit(pool, task, home, watch): task for task in ready[:count]}
        del ready[:count]
        for future in _first_done(running):
            task, values = running.pop(future), future.result()
            if isinstance(task, Recording):
                absent.remove(task.digest)
            yield task, values


def _submit(pool: Executor, task: Recording | Cell, home: Path, watch: Watch) -> Future[Any]:
    if isinstance(task, Recording):
        return pool.submit(make_recording, task, home, watch)
    return pool.submit(_measure, task, home, watch)


def _measure(cell: Cell, home: Path, watch: Watch) -> dict[str, Any]:
    measure = KINDS[cell.grid.kind].measure
    return _measure_auto(cell, home, watch) if cell.row.is_auto else measure(cell, home, watch)


def _measure_auto(cell: Cell, home: Path, watch: Watch) -> dict[str, Any]:
    """Find a method first; what that takes counts as recording."""
    place = home / "auto" / cell.settings
    settled, search = settle(
        cell, home, lambda grid: run(grid, place, pool=InThisProcess(), watch=watch)
    )
    values = KINDS[cell.grid.kind].measure(settled, home, watch)
    images, seconds = recording_cost(cell, home)
    seconds += sum(line.values["training_seconds"] for line in read(place / "results.jsonl"))
    cost = {"recorded": images + search.images, "recording_seconds": seconds}
    return values | cost | {"auto": asdict(search)}


def _digests(cell: Cell) -> set[str]:
    return {source.digest for source in cell.recordings}


def _first_done(running: Collection[Future[Any]]) -> list[Future[Any]]:
    """Wait until something is finished; a failure comes last, and nothing begins after it."""
    finished, others = wait(running, return_when=FIRST_COMPLETED)
    if any(future.exception() for future in finished):
        for future in others:
            future.cancel()
    return sorted(finished, key=lambda future: future.exception() is not None)


def lines_of(grid: Grid, out: Path) -> list[Line]:
    """Give the lines that are there, in the order of the table, not in that of their making."""
    order = {cell.key: number for number, cell in enumerate(grid.cells())}
    lines = [line for line in read(out / "results.jsonl") if line.key in order]
    return sorted(lines, key=lambda line: order[line.key])


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Refuse to work where another runner does: each would undo what the other has begun."""
    refuse_foreign(out, *OURS)
    make_folders(out)
    with _open_lock(out / "runner.lock") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f"another process works in {out}; wait, or choose another") from error
        yield


def _open_lock(path: Path) -> BinaryIO:
    """Open a file to lock: neither follow a link to another file nor empty what is there."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.fdopen(os.open(path, flags, 0o644), "rb")
    except OSError as error:
        reason = f"{error.strerror}; remove it if it is a link or a folder"
        raise WriteError(f"cannot lock {path}: {reason}") from error


def _copy_measured(grid: Grid, out: Path) -> None:
    """Add the lines of cells that other grids have measured with the same settings."""
    lines = measured(out)
    for cell in missing(grid, out):
        if line := lines.get(cell.settings):
            append(
                out / "results.jsonl",
                Line(*cell.key, line.values, line.settings, NUMBERS, line.made_with),
            )


def measured(out: Path) -> dict[str, Line]:
    """Give the lines that this code made, by the settings of their cells."""
    lines = read(out / "results.jsonl")
    return {line.settings: line for line in lines if line.numbers == NUMBERS}


def missing(grid: Grid, out: Path) -> list[Cell]:
    """Give the cells without a line; refuse to add to lines of other code or settings."""
    wanted = list(grid.cells())
    expected = ((cell.key, cell.settings) for cell in wanted)
    finished = {line.key for line in read(out / "results.jsonl", expected=expected)}
    return [cell for cell in wanted if cell.key not in finished]
