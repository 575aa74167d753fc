"""Experiment: a table or a figure of the paper, as a TOML file says it."""

import tomllib
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

from dualprune.arrays import knobs
from dualprune.dynamic import DYNAMIC
from dualprune.errors import InputError
from dualprune.experiments.setting import Setting, settings
from dualprune.named import Method, find_method
from dualprune.score import SCORES

__all__ = ["KINDS", "SCALES", "WHOLE", "Experiment", "Row", "experiments", "find_experiment"]

SCALES = ("paper", "cpu", "smoke")
KINDS = ("accuracy", "removed", "agreement", "picture", "theory")


@dataclass(frozen=True)
class Row:
    """A line of a table.

    Parameters
    ----------
    method
        A name as `compare` takes it, static or dynamic.
    epochs
        From which epochs: a name from the setting, or a number.
    score, select, dynamic
        Knobs that differ from the method's own.
    recorded
        The model whose training is recorded, if not the one that is trained.
    train
        Fields of the recipe that differ, such as `lr`; `iterations` replaces `epochs`.
    """

    name: str
    method: str
    epochs: str | int = "early"
    score: dict[str, Any] = field(default_factory=dict)
    select: dict[str, Any] = field(default_factory=dict)
    dynamic: dict[str, Any] = field(default_factory=dict)
    recorded: str | None = None
    train: dict[str, Any] = field(default_factory=dict)

    @property
    def is_dynamic(self) -> bool:
        return self.method in DYNAMIC

    @property
    def is_whole(self) -> bool:
        """Whether it is the training on everything that others are compared with."""
        return self == WHOLE

    def found(self, setting: Setting, pruned: float) -> Method:
        """Give the method with this row's knobs, and its epochs in this setting."""
        method = find_method(self.method, pruned)
        score = {**method.score_knobs, **self.score}
        if setting.window and method.score and "window" in knobs(SCORES[method.score]):
            score["window"] = setting.window
        epochs = self.epochs if isinstance(self.epochs, int) else setting.epochs[self.epochs]
        return replace(
            method,
            score_knobs=score,
            select_knobs={**method.select_knobs, **self.select},
            epochs=min(method.epochs or epochs, setting.record),
        )


WHOLE = Row("everything", "")


@dataclass(frozen=True)
class Experiment:
    """What is varied, what the paper printed, and what stands in at each scale.

    `printed` holds the paper's accuracies in percent: a number per share pruned for each row, and
    one for `everything`; `deviations` likewise. `doubts` says of rows why not to trust them.
    """

    name: str
    title: str
    source: str
    kind: str
    pruned: list[float]
    rows: list[Row]
    scales: dict[str, str]
    model: str | None = None
    shift: dict[str, float] = field(default_factory=dict)
    draw: str | None = None
    printed: dict[str, Any] = field(default_factory=dict)
    deviations: dict[str, Any] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)

    def setting(self, scale: str) -> Setting:
        if scale not in self.scales:
            told = ", ".join(self.scales)
            raise InputError(f"{self.name} has no scale {scale!r}; choose one of {told}")
        return settings()[self.scales[scale]]

    def rows_at(self, scale: str) -> list[Row]:
        """Give the rows of a scale; a row may change there, as where fewer epochs exist."""
        return [self._changed.get((scale, row.name), row) for row in self.rows]

    _changed: dict[tuple[str, str], Row] = field(default_factory=dict, repr=False)


def experiments() -> dict[str, Experiment]:
    """All experiments, in the order of the paper."""
    folder = resources.files("dualprune.experiments") / "tables"
    files = sorted((file for file in folder.iterdir()), key=lambda file: file.name)
    found = [_read(file.name, file.read_text("utf-8")) for file in files]
    return {each.name: each for each in found}


def find_experiment(name: str) -> Experiment:
    """Give an experiment by its name."""
    known = experiments()
    if name not in known:
        raise InputError(f"there is no experiment {name!r}; choose one of {', '.join(known)}")
    return known[name]


def _read(file: str, text: str) -> Experiment:
    content = tomllib.loads(text)
    rows = {name: _row(name, row) for name, row in content.pop("rows", {}).items()}
    changed = {
        (scale, name): replace(rows[name], **_fields(row))
        for scale, changes in content.pop("rows_at", {}).items()
        for name, row in changes.items()
    }
    name = file.removesuffix(".toml").partition("-")[2]  # the number gives the order
    return Experiment(name=name, rows=list(rows.values()), _changed=changed, **content)


def _row(name: str, row: str | dict[str, Any]) -> Row:
    return Row(name=name, **_fields(row))


def _fields(row: str | dict[str, Any]) -> dict[str, Any]:
    return {"method": row} if isinstance(row, str) else row
