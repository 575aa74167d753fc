"""What a run is about, and which epochs of it exist.

A run is written by one or more *attempts*: every start and every resume makes the next numbered
folder. An attempt that starts at epoch s hides what earlier attempts wrote from s on, so nothing is
ever overwritten or repaired. Inside an attempt an epoch exists when all of its parts are there.
"""

import re
from dataclasses import asdict, dataclass
from itertools import count, takewhile
from operator import index
from pathlib import Path
from typing import Any, Literal, SupportsIndex

from dualprune.errors import DamagedError, InputError, MissingError
from dualprune.files import read_json, seal, write_json

FORMAT = 1

_PART = re.compile(r"part-(\d+)-of-(\d+)-[0-9a-f]{32}\.parquet")


def _count(name: str, value: Any, least: int) -> int:
    if not isinstance(value, SupportsIndex):
        raise InputError(f"{name} must be an integer, got {value!r}")
    if index(value) < least:
        hint = "; a model with one logit has 2" if name == "classes" else ""
        raise InputError(f"{name} must be at least {least}, got {value}{hint}")
    return index(value)


@dataclass(frozen=True)
class Description:
    """What was recorded: the content of `run.json`."""

    samples: int
    classes: int
    signals: tuple[str, ...]
    mode: Literal["train", "eval"] = "train"
    class_names: tuple[str, ...] | None = None
    notes: str = ""
    data: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "samples", _count("samples", self.samples, least=1))
        object.__setattr__(self, "classes", _count("classes", self.classes, least=2))
        if self.mode not in ("train", "eval"):
            raise InputError(f"mode must be 'train' or 'eval', got {self.mode!r}")
        if self.class_names is not None and len(self.class_names) != self.classes:
            raise InputError(f"{len(self.class_names)} class names for {self.classes} classes")

    def save(self, root: Path) -> None:
        write_json(root / "run.json", {"format": FORMAT, **asdict(self)})

    @staticmethod
    def load(root: Path) -> "Description":
        path = root / "run.json"
        if not path.is_file():
            raise MissingError(f"there is no run at {root}: it has no run.json")
        content = read_json(path)
        if (version := content.pop("format")) != FORMAT:
            raise InputError(
                f"{path} has format {version}, this dualprune reads {FORMAT}; "
                "pip install -U dualprune"
            )
        if content["class_names"] is not None:
            content["class_names"] = tuple(content["class_names"])
        return Description(**content | {"signals": tuple(content["signals"])})

    @property
    def digest(self) -> str:
        return seal(asdict(self))


@dataclass(frozen=True)
class Attempt:
    """One start of a recording: where it began, how many processes write, and its identity."""

    folder: Path
    first_epoch: int
    writers: int
    identity: str
    run: str
    version: str

    @property
    def number(self) -> int:
        return int(self.folder.name)

    @staticmethod
    def load(folder: Path) -> "Attempt":
        return Attempt(folder=folder, **read_json(folder / "start.json"))

    def epochs(self) -> list["Epoch"]:
        return [Epoch(int(folder.name), self, folder) for folder in _folders(self.folder)]


@dataclass(frozen=True)
class Epoch:
    """One epoch of one attempt, finished or not."""

    number: int
    attempt: Attempt
    folder: Path

    def parts(self) -> dict[int, Path]:
        """Map each writing process to its file; other files are skipped."""
        parts: dict[int, Path] = {}
        for path in sorted(self.folder.iterdir()):
            name = _PART.fullmatch(path.name)
            if name is None or int(name[2]) != self.attempt.writers:
                continue
            if int(name[1]) in parts:
                raise DamagedError(f"{self.folder} holds two parts of process {name[1]}")
            parts[int(name[1])] = path
        return parts

    def is_complete(self) -> bool:
        return len(self.parts()) == self.attempt.writers


def _folders(root: Path) -> list[Path]:
    if not root.is_dir():
        return []
    folders = [path for path in root.iterdir() if path.name.isdecimal() and path.is_dir()]
    return sorted(folders, key=lambda path: int(path.name))


def find_attempts(root: Path) -> list[Attempt]:
    """Attempts that began, oldest first; a folder without `start.json` was abandoned."""
    attempts = []
    for folder in _folders(root / "attempts"):
        if (folder / "start.json").exists():
            attempts.append(Attempt.load(folder))
        elif _folders(folder):
            raise DamagedError(f"{folder} holds epochs but has lost its start.json")
    return attempts


def find_epochs(root: Path) -> dict[int, Epoch]:
    """Epochs that no later attempt hides, by number, finished or not."""
    visible: dict[int, Epoch] = {}
    for attempt in find_attempts(root):
        visible = {n: epoch for n, epoch in visible.items() if n < attempt.first_epoch}
        visible |= {epoch.number: epoch for epoch in attempt.epochs()}
    return visible


def finished(epochs: dict[int, Epoch]) -> list[Epoch]:
    """Complete epochs 1, 2, 3, ... up to the first that is incomplete."""
    numbers = takewhile(lambda n: n in epochs and epochs[n].is_complete(), count(1))
    return [epochs[number] for number in numbers]


def refuse_holes(epochs: dict[int, Epoch]) -> None:
    """Refuse a complete epoch after an incomplete one, which no recording leaves."""
    lost = len(finished(epochs)) + 1
    later = [n for n in epochs if n > lost and epochs[n].is_complete()]
    if later:
        raise DamagedError(
            f"epoch {lost} has lost a part, but epoch {min(later)} is complete "
            f"({epochs[min(later)].folder}). Bring the file back, or record again with "
            f"start_epoch={lost}."
        )


def newest_claim(root: Path) -> int:
    """Highest attempt number that any process has claimed; 0 if there is none."""
    return max((int(folder.name) for folder in _folders(root / "attempts")), default=0)
