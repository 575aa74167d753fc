"""results.jsonl: one line per finished cell, never of mixed code or settings; lines as arrays."""

import json
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dualprune.arguments import build
from dualprune.errors import DamagedError, InputError
from dualprune.experiments.grid import Key
from dualprune.files import exists, make_folders, seal, sync, writing
from dualprune.files import read as read_file
from dualprune.signatures import Array

NUMBERS = 2
"""Version of everything that decides numbers. Raise it when a change of the code moves what a cell
measures: `tests/test_behaviours.py` fails until you do. A refactoring that moves none leaves it."""


@dataclass(frozen=True)
class Line:
    """A finished cell: of which grid, what it measured, with which settings and which numbers."""

    experiment: str
    scale: str
    row: str
    pruned: float
    seed: int
    values: dict[str, Any]
    settings: str
    numbers: int
    made_with: str

    def number(self, value: "str | Callable[[Line], float]") -> float:
        """Give a value by its name, or what a function makes of the line."""
        return float(self.values[value] if isinstance(value, str) else value(self))

    @property
    def key(self) -> Key:
        return (self.experiment, self.scale, self.row, self.pruned, self.seed)


def read(path: Path, *, expected: Iterable[tuple[Key, str]] = ()) -> list[Line]:
    """Read all lines; refuse those of the `expected` cells that were made in another way.

    A last line without its end was being written when its process was killed; its cell is done
    again. Lines of format 1 have no seal.
    """
    if not exists(path):
        return []
    *whole, torn = read_file(path).split(b"\n")
    lines = [_parsed(path, number, text) for number, text in enumerate(whole, 1)]
    _refuse_lost_end(path, len(whole) + 1, torn)
    wanted = dict(expected)
    other = [line for line in lines if line.key in wanted and not _same(line, wanted[line.key])]
    if other:
        what = "versions of the code" if other[0].numbers != NUMBERS else "settings"
        raise InputError(
            f"{path} holds {len(other)} results that other {what} made, such as {other[0].key}; "
            "results must not be mixed: choose another folder, or delete those lines"
        )
    return lines


def _same(line: Line, settings: str) -> bool:
    return (line.settings, line.numbers) == (settings, NUMBERS)


def append(path: Path, line: Line) -> None:
    """Add a line, durably; what a killed process left of its last one is cut off first."""
    make_folders(path.parent)
    with writing(path), path.open("ab+") as file:
        _cut_torn_line(file)
        file.write(_sealed(asdict(line)).encode())
        file.flush()
        os.fsync(file.fileno())
        sync(path.parent)


def _sealed(content: dict[str, Any]) -> str:
    """Give a line with its seal at the start, and at the end that it has one: no hole loses both.

    >>> print(_sealed({"a": 1}), end="")
    {"seal": "015abd...", "a": 1, "sealed": 1}
    """
    text = json.dumps(content, sort_keys=True)
    return f'{{"seal": "{seal(content)}", {text[1:-1]}, "sealed": 1}}\n'


def _cut_torn_line(file: BinaryIO) -> None:
    """Look at the last byte alone, and at all of the file only if a line is torn."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
    if file.read() != b"\n":
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)


def _parsed(path: Path, number: int, text: bytes) -> Line:
    try:
        content = json.loads(text)
        stated, is_sealed = content.pop("seal", None), content.pop("sealed", False)
        line = build(Line, content)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedError(f"{path} is damaged: line {number} is no result ({error})") from error
    if stated != seal(content) and (is_sealed or stated is not None):
        raise DamagedError(f"{path} is damaged: line {number} does not match its seal")
    return line


def _refuse_lost_end(path: Path, number: int, torn: bytes) -> None:
    """Refuse a whole line with something else than an end: no killed process leaves that."""
    with suppress(ValueError, RecursionError):
        json.loads(torn[:-1])
        raise DamagedError(f"{path} is damaged: line {number} does not end as one")


def made_with() -> str:
    """Name what else can move the last digit: numpy, torch and the kind of machine."""
    packages = [f"{name} {version(name)}" for name in ("numpy", "torch")]
    return ", ".join([*packages, platform.machine()])


def shares_of(lines: Sequence[Line]) -> Array:
    """Give the shares pruned, as `by_share` orders them."""
    return np.unique([line.pruned for line in lines])


def by_share(lines: Sequence[Line], value: str | Callable[[Line], float]) -> dict[str, Array]:
    """Give a value of every row, by share and seed; NaN where there is no line yet."""
    shares = list(shares_of(lines))
    seeds = sorted({line.seed for line in lines})
    rows = {line.row: np.full((len(shares), len(seeds)), np.nan) for line in lines}
    for line in lines:
        rows[line.row][shares.index(line.pruned), seeds.index(line.seed)] = line.number(value)
    return rows


def seed_means(values: Array) -> Array:
    """Give the mean over shares of each seed that has them all, or NaN where none has."""
    whole = values[:, ~np.isnan(values).any(axis=0)]
    return np.asarray(whole.mean(axis=0)) if whole.size else np.full(1, np.nan)
