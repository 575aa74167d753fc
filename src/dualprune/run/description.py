"""Description: what a run is about; the content of `run.json`."""

import os
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

from dualprune.arguments import build, whole
from dualprune.errors import InputError, MissingError
from dualprune.files import Place, exists, place, read_json, reading, seal, write_json
from dualprune.run.signals import column_of
from dualprune.urls import AnyPath

FORMAT = 2

_TYPES = ("<f4", "<f8", "<i4", "<i8")


def run_folder(path: AnyPath) -> Place:
    """Give the folder of a run; in that of `prune` it is `run`."""
    folder = place(path)
    inside = folder / "run"
    is_inside = not exists(folder / "run.json") and exists(inside / "run.json")
    return inside if is_inside else folder


def check_count(name: str, value: Any, least: int | None = None) -> int:
    """Give a whole number as an int, and refuse what is none or too small."""
    number = whole(name, value)
    if least is not None and number < least:
        hint = "; a model with one logit has 2" if name == "classes" else ""
        raise InputError(f"{name} must be at least {least}, got {number}{hint}")
    return number


def refuse_too_many(samples: int, who: str) -> None:
    """Refuse so many samples that not even one number of each can be held."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if 8 * samples > memory:
        raise InputError(
            f"{who} {samples:,} samples, whose scores would not fit into the memory of this "
            f"machine ({memory / 2**30:.0f} GiB)"
        )


@dataclass(frozen=True)
class Description:
    """What was recorded.

    Parameters
    ----------
    classes
        None where samples have no labels; their parts have no column `label` then.
    signals
        Type of each signal on disk, by name.
    names
        Digest of `names.parquet`, empty where there is none.
    """

    samples: int
    classes: int | None
    signals: dict[str, str]
    mode: Literal["train", "eval"] = "train"
    class_names: list[str] | None = None
    names: str = ""
    notes: str = ""
    data: str = ""
    format: int = FORMAT

    def __post_init__(self) -> None:
        object.__setattr__(self, "samples", check_count("samples", self.samples, least=1))
        if self.classes is not None:
            object.__setattr__(self, "classes", check_count("classes", self.classes, least=2))
        if self.mode not in ("train", "eval"):
            raise InputError(f"mode must be 'train' or 'eval', got {self.mode!r}")
        for name, dtype in self.signals.items():
            if dtype not in _TYPES:
                raise InputError(f"the type of {name} must be one of {_TYPES}, got {dtype!r}")
        if self.class_names is not None:
            object.__setattr__(self, "class_names", list(self.class_names))
            self._check_class_names(self.class_names)

    def _check_class_names(self, names: list[str]) -> None:
        if len(names) != self.classes:
            raise InputError(f"{len(names)} class names for {self.classes} classes")

    @property
    def columns(self) -> dict[str, str]:
        """Type of every column of a part, by name."""
        labels = {} if self.classes is None else {"label": column_of("label").dtype}
        return {"id": column_of("id").dtype, **labels, **self.signals}

    def save(self, root: Place) -> None:
        write_json(root / "run.json", self._as_json())

    @staticmethod
    def load(root: Place) -> "Description":
        path = root / "run.json"
        if not exists(path):
            raise MissingError(f"there is no run at {root}: it has no run.json")
        content = read_json(path)
        version = content.get("format")
        if isinstance(version, int) and version > FORMAT:
            raise InputError(
                f"{path} has format {version}, this dualprune reads formats 1 to {FORMAT}; "
                "pip install -U dualprune"
            )
        with reading(path):
            if version == 1:
                content["signals"] = {name: column_of(name).dtype for name in content["signals"]}
            description = build(Description, content)
        refuse_too_many(description.samples, f"{path} states")
        return description

    def _as_json(self) -> dict[str, Any]:
        content = asdict(self)
        if self.format == 1:
            content["signals"] = list(self.signals)
            del content["names"]
        return content

    @cached_property
    def digest(self) -> str:
        """Hash over the fields that its format has."""
        content = self._as_json()
        if self.format == 1:
            del content["format"]
        return seal(content)
