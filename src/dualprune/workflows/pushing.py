"""push: copy a run, a coreset or a folder of `prune` to a store.

Only what never changes is copied, and what announces it comes after it: a part after its features,
an epoch after the one before it, an attempt after those that it continues, `run.json` and
`card.json` last. So whoever reads meanwhile, or after an interruption, sees whole epochs or none.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from dualprune.arguments import checked
from dualprune.errors import InputError, MissingError, StoreError
from dualprune.files import (
    Place,
    entries,
    exists,
    on_disk,
    open_file,
    place,
    read_json,
    refuse_foreign,
)
from dualprune.run import Run
from dualprune.run.attempts import find_attempts
from dualprune.run.ranges import threads
from dualprune.urls import AnyPath, Url

_AT_ONCE = 4  # files; a large one takes some hundred MB of memory
_BLOCK = 2**24  # bytes that are read back at a time
_TAIL = 2**16  # bytes at the end that tell two files of the same size apart: hashes are there
_BESIDE = (".html", ".png", ".svg", ".csv")  # pages, figures and lists that explain a coreset


@dataclass(frozen=True)
class Pushed:
    """How many files were copied, their bytes, and how many were there before."""

    copied: int
    size: int
    there: int


def _silent(number: int, files: int) -> None:
    pass


@checked
def push(path: AnyPath, url: AnyPath, *, tell: Callable[[int, int], None] = _silent) -> Pushed:
    """Copy a run, a coreset or a folder of `prune` to a URL such as ``s3://bucket/run``.

    If it is interrupted, call it again: what is there is not copied again. After more epochs were
    recorded, it adds them. Every file that is copied is read back and compared. Checkpoints, and
    epochs that are not complete, stay here.

    Parameters
    ----------
    path
        A folder on this machine.
    url
        A place on a store that is new, or that the same folder was pushed to.
    tell
        A progress callback: how many files of how many are there.
    """
    folder, target = on_disk(path), place(url)
    if not isinstance(target, Url):
        raise InputError(f"{target} is on this machine; give a URL such as s3://bucket/run")
    stages = list(_stages(folder))
    names = [name for stage in stages for name in stage]
    if not names:
        raise MissingError(f"there is no run and no coreset at {folder}")
    refuse_foreign(target, *(name.partition("/")[0] for name in names))
    _refuse_other(folder, target, names)
    sizes: list[int | None] = []
    for stage in stages:
        for size in threads(partial(_copy, folder, target), stage, workers=_AT_ONCE):
            sizes.append(size)
            tell(len(sizes), len(names))
    copied = [size for size in sizes if size is not None]
    return Pushed(len(copied), sum(copied), len(names) - len(copied))


def _stages(folder: Path) -> Iterator[list[str]]:
    """Give the files to copy; those of one stage in any order, the stages one after the other."""
    for run in _runs(folder):
        for stage in _stages_of_run(folder / run):
            yield [f"{run}{name}" for name in stage]
    if exists(folder / "card.json"):
        yield _parquet(folder / "coreset.parquet", "coreset.parquet/") or ["coreset.parquet"]
        yield [e.name for e in entries(folder) if e.name.endswith(_BESIDE) and not e.is_dir()]
        yield ["card.json"]


def _runs(folder: Path) -> list[str]:
    """Give where in a folder runs are: it may be one itself."""
    if exists(folder / "run.json"):
        return [""]
    inside = [entry.name for entry in entries(folder) if entry.is_dir()]
    return [f"{name}/" for name in inside if exists(folder / name / "run.json")]


def _stages_of_run(root: Path) -> Iterator[list[str]]:
    Run(root)  # what is damaged is not copied
    names = ["names.parquet"] if exists(root / "names.parquet") else []
    yield names + _parquet(root / "features", "features/")
    for attempt in find_attempts(root):
        home = f"attempts/{attempt.folder.name}"
        yield [f"{home}/start.json"]
        for epoch in attempt.epochs().values():
            inside = f"{home}/{epoch.folder.name}"
            if epoch.is_complete:
                with_features = exists(epoch.folder / "features.parquet")
                yield [f"{inside}/features.parquet"] if with_features else []
                yield [f"{inside}/{part.name}" for part in epoch.parts.values()]
    for scores in _parquet(root / "scores", "scores/"):
        yield _parquet(root / scores, f"{scores}/") or [scores]
    yield ["run.json"]


def _parquet(folder: Path, prefix: str) -> list[str]:
    """Give the complete files of a folder, if it is there."""
    return [f"{prefix}{e.name}" for e in entries(folder) if e.name.endswith(".parquet")]


def _refuse_other(folder: Path, target: Url, names: list[str]) -> None:
    """Refuse a place that holds another run or coreset, or attempts that this run has not."""
    described = {name for name in names if name.endswith(".json")}
    for run in _runs(folder):
        attempts = entries(target / f"{run}attempts")
        described |= {f"{run}attempts/{entry.name}/start.json" for entry in attempts}
    for here, there in ((folder / name, target / name) for name in sorted(described)):
        if exists(there) and not (exists(here) and _content(here) == _content(there)):
            raise InputError(
                f"{target} holds something else than {folder}: {there} differs; push to another URL"
            )


def _content(path: Place) -> dict[str, Any]:
    """Give what a description says, but for what is added to the card of a coreset later."""
    return {name: value for name, value in read_json(path).items() if name != "check"}


def _copy(folder: Path, target: Url, name: str) -> int | None:
    """Copy a file and compare what arrived; gives its size, None if it was there."""
    file, goal = folder / name, target / name
    if _is_there(file, goal):
        return None
    goal.upload(file)
    if _digest(goal) != _digest(file):
        goal.remove()
        raise StoreError(f"{goal} did not arrive as it was sent, and was removed; push again")
    return file.stat().st_size


def _is_there(file: Path, goal: Url) -> bool:
    with open_file(file) as source:
        size = source.seek(0, os.SEEK_END)
        start = source.seek(max(0, size - _TAIL))
        tail = source.read()
    if not exists(goal) or goal.size() != size:
        return False
    return not tail or goal.read(start, size) == tail


def _digest(path: Place) -> str:
    content = sha256()
    with open_file(path) as file:
        for block in iter(partial(file.read, _BLOCK), b""):
            content.update(block)
    return content.hexdigest()
