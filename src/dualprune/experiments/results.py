"""results.jsonl: one line per finished cell, never of mixed code or settings."""

import ast
import hashlib
import json
import os
import platform
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dualprune.errors import DamagedError, InputError
from dualprune.files import make_folders

__all__ = ["Line", "append", "code_digest", "made_with", "read"]

# What numbers depend on; pages, commands, tables and figures only show them.
_DECIDE = (
    *("run", "score", "select", "data", "dynamic", "record", "train"),
    *("arrays.py", "files.py", "coreset.py", "named.py", "method.py", "choosing.py"),
    *("agreement.py", "experiments/setting.py", "experiments/experiment.py"),
    *("experiments/cells.py", "experiments/work.py"),
)
_TABLES = ("methods.toml", "train/recipes.toml")


@dataclass(frozen=True)
class Line:
    """A finished cell: of which experiment, what it measured, and with which code and settings."""

    experiment: str
    scale: str
    row: str
    pruned: float
    seed: int
    values: dict[str, Any]
    settings: str
    code: str
    made_with: str

    @property
    def cell(self) -> tuple[str, str, str, float, int]:
        return (self.experiment, self.scale, self.row, self.pruned, self.seed)


def read(
    path: Path, *, now: Iterable[tuple[tuple[str, str, str, float, int], str]] = ()
) -> list[Line]:
    """Read all lines; refuse those of the cells of `now` that other code or settings made.

    A last line without its end was being written when its process was killed; its cell is done
    again.
    """
    if not path.exists():
        return []
    *whole, _ = path.read_bytes().split(b"\n")
    lines = [_parsed(path, number, text) for number, text in enumerate(whole, 1)]
    wanted = dict(now)
    other = [
        line
        for line in lines
        if line.cell in wanted and (line.settings, line.code) != (wanted[line.cell], code_digest())
    ]
    if other:
        what = "code" if other[0].code != code_digest() else "settings"
        raise InputError(
            f"{path} holds {len(other)} results that other {what} made, such as {other[0].cell}; "
            "results must not be mixed: choose another folder, or delete those lines"
        )
    return lines


def append(path: Path, line: Line) -> None:
    """Add a line, durably; what a killed process left of its last one is cut off first."""
    make_folders(path.parent)
    with path.open("ab+") as file:
        _cut_torn_line(file)
        file.write((json.dumps(asdict(line), sort_keys=True) + "\n").encode())
        file.flush()
        os.fsync(file.fileno())


def _cut_torn_line(file: Any) -> None:
    file.seek(0)
    content = file.read()
    if not content.endswith(b"\n"):
        file.truncate(content.rfind(b"\n") + 1)


def _parsed(path: Path, number: int, text: bytes) -> Line:
    try:
        return Line(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise DamagedError(f"{path} is damaged: line {number} is no result ({error})") from error


def made_with() -> str:
    """Name what else can move the last digit: numpy, torch and the kind of machine."""
    told = [f"{name} {version(name)}" for name in ("numpy", "torch")]
    return ", ".join([*told, platform.machine()])


@cache
def code_digest() -> str:
    """SHA-256 of the code that numbers depend on, without comments and docstrings."""
    package = resources.files("dualprune")
    content = hashlib.sha256()
    for name in _DECIDE:
        for file in _python(package.joinpath(*name.split("/"))):
            content.update(_instructions(file.read_text("utf-8")).encode())
    for name in _TABLES:
        content.update(package.joinpath(*name.split("/")).read_bytes())
    return content.hexdigest()[:16]


def _python(place: Any) -> list[Any]:
    if place.is_file():
        return [place] if place.name.endswith(".py") else []
    return [
        file for child in sorted(place.iterdir(), key=lambda c: c.name) for file in _python(child)
    ]


def _instructions(source: str) -> str:
    r"""Give source without comments, docstrings and empty lines, the same in every Python.

    >>> _instructions("'Say.'\n\nx = '#'  # why\n")
    "x = '#'"
    """
    lines = source.splitlines()
    for token in tokenize.generate_tokens(iter(source.splitlines(keepends=True)).__next__):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for said in _docstrings(ast.parse(source)):
        for row in range(said.lineno, (said.end_lineno or said.lineno) + 1):
            lines[row - 1] = ""
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _docstrings(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            yield node.body[0]
