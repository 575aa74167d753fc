"""What studies do with their lines: read and write them, and print means of their values."""

import json
from collections.abc import Iterable, Sequence
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Literal

from dualprune.coreset.worth import student

StudyLine = dict[str, Any]
"""What was measured in one training, or in one cell."""


def read_lines(file: Path) -> list[StudyLine]:
    """Give the lines that are there; none if there is no file."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def by_key(lines: Iterable[StudyLine], key: Sequence[str]) -> dict[tuple[Any, ...], StudyLine]:
    """Give the lines by their values of these names; the last of equal ones, in the first's place.

    >>> by_key([{"seed": 0, "accuracy": 0.5}, {"seed": 0, "accuracy": 0.6}], ["seed"])
    {(0,): {'seed': 0, 'accuracy': 0.6}}
    """
    return {tuple(line[name] for name in key): line for line in lines}


def append_line(file: Path, line: StudyLine) -> None:
    """Add a line at the end."""
    with file.open("a") as lines:
        lines.write(json.dumps(line) + "\n")


def put_lines(file: Path, new: Iterable[StudyLine], key: Sequence[str]) -> None:
    """Put lines into the file, instead of those with the same key."""
    lines = by_key([*read_lines(file), *new], key)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines.values()))


def with_interval(values: Sequence[float], places: int = 1) -> str:
    """Write the mean of differences and its 95 % interval, which one value does not have.

    >>> with_interval([1.0, 2.0, 3.0]), with_interval([1.0])
    ('+2.0 (-0.5 to +4.5)', '+1.0')
    """
    middle = mean(values)
    if len(values) < 2:
        return f"{middle:+.{places}f}"
    half = student(len(values)) * stdev(values) / sqrt(len(values))
    low, high = middle - half, middle + half
    return f"{middle:+.{places}f} ({low:+.{places}f} to {high:+.{places}f})"


def with_deviation(values: Sequence[float], *, unit: int = 1, sign: Literal["", "+"] = "") -> str:
    """Write the mean, and the deviation where there is more than one value; nothing of none.

    Both are multiplied by `unit`: 100 writes shares in %.

    >>> with_deviation([0.5, 0.6], unit=100), with_deviation([5], sign="+"), with_deviation([])
    ('55.0 ± 7.1', '+5.0', '')
    """
    spread = f" ± {unit * stdev(values):.1f}" if len(values) > 1 else ""
    return f"{unit * mean(values):{sign}.1f}{spread}" if values else ""
