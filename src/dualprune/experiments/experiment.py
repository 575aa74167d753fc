"""Experiment: a table or a figure of the paper, as a TOML file says it."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib import resources
from typing import Any

from dualprune.dynamic import DYNAMIC
from dualprune.errors import InputError
from dualprune.experiments.checked import KINDS, SCALES, check, check_fields
from dualprune.experiments.setting import Setting, settings
from dualprune.method.named import Method, at_share, find_method
from dualprune.score import SCORES
from dualprune.signatures import knobs

__all__ = [
    "KINDS",
    "SCALES",
    "WHOLE",
    "Experiment",
    "Row",
    "experiments",
    "find_experiment",
    "read",
]


@dataclass(frozen=True)
class Row:
    """A line of a table.

    A value in `score`, `select`, `dynamic` or `train` that depends on the share pruned is a table
    from that share, as in `methods.toml`; in between, the nearest smaller one counts.

    Parameters
    ----------
    method
        A name as `compare` takes it, static or dynamic.
    epochs
        From which epochs: a name from the setting, or a number.
    score, select, dynamic
        Knobs that differ from the method's own.
    runs
        How many recordings are averaged, if not as many as the method says.
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
    runs: int | None = None
    recorded: str | None = None
    train: dict[str, Any] = field(default_factory=dict)

    @property
    def is_dynamic(self) -> bool:
        return self.method in DYNAMIC

    @property
    def recorded_from(self) -> bool:
        """Whether it chooses from a recording: neither random nor dynamic methods do."""
        return not (self.is_whole or self.is_dynamic or self.method == "random")

    @property
    def is_whole(self) -> bool:
        """Whether it is the training on everything that others are compared with."""
        return self == WHOLE

    def at(self, pruned: float) -> "Row":
        """Give the row with what holds for this share pruned.

        >>> row = Row("IES", "ies", dynamic={"threshold": {"0.0": 1e-3, "0.7": 1e-2}})
        >>> row.at(0.5).dynamic, row.at(0.9).dynamic
        ({'threshold': 0.001}, {'threshold': 0.01})
        """

        def held(given: Mapping[str, Any]) -> dict[str, Any]:
            return {name: at_share(value, pruned) for name, value in given.items()}

        return replace(
            self,
            score=held(self.score),
            select=held(self.select),
            dynamic=held(self.dynamic),
            train=held(self.train),
        )

    def found(self, setting: Setting, pruned: float) -> Method:
        """Give the method with this row's knobs, and its epochs in this setting."""
        method, own = find_method(self.method, pruned), self.at(pruned)
        score = dict(method.score_knobs)
        if setting.window and method.score and "window" in knobs(SCORES[method.score]):
            score["window"] = setting.window
        epochs = self.epochs if isinstance(self.epochs, int) else setting.epochs[self.epochs]
        return replace(
            method,
            score_knobs=score | own.score,
            select_knobs={**method.select_knobs, **own.select},
            epochs=method.epochs or epochs,
            runs=self.runs or method.runs,
        )


WHOLE = Row("everything", "")


@dataclass(frozen=True)
class Experiment:
    """What is varied, what the paper printed, and what stands in at each scale.

    `source` names the labels of the paper's tables and figures, or of a section where a number is
    only in the text; a table without a label is named by words of its caption. `printed` holds the
    paper's accuracies in percent: a number per share pruned for each row, nan where it printed
    none, and one number for `everything`; `deviations` likewise. Of an agreement, it holds the
    shares that two rows have in common, named ``"one & other"``. `doubts` says of rows, or of
    `everything`, why not to trust them.
    """

    name: str
    title: str
    source: str
    kind: str
    scales: dict[str, str]
    pruned: list[float] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
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


@cache
def experiments() -> dict[str, Experiment]:
    """All experiments, in the order of the paper."""
    folder = resources.files("dualprune.experiments") / "tables"
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    found = [read(file.name, file.read_text("utf-8")) for file in files]
    return {each.name: each for each in found}


def find_experiment(name: str) -> Experiment:
    """Give an experiment by its name."""
    known = experiments()
    if name not in known:
        raise InputError(f"there is no experiment {name!r}; choose one of {', '.join(known)}")
    return known[name]


def read(file: str, text: str) -> Experiment:
    """Read what a file of this name says, or say what is wrong with it."""
    content = tomllib.loads(text)
    given = {name: _fields(row) for name, row in content.pop("rows", {}).items()}
    at = content.pop("rows_at", {})
    check_fields(file, content, given, at, _names(Experiment), _names(Row))
    rows = {name: Row(name=name, **row) for name, row in given.items()}
    changed = {
        (scale, name): replace(rows[name], **_fields(row))
        for scale, changes in at.items()
        for name, row in changes.items()
    }
    name = file.removesuffix(".toml").partition("-")[2]  # the number gives the order
    found = Experiment(name=name, rows=list(rows.values()), _changed=changed, **content)
    check(file, found, settings())
    return found


def _fields(row: str | dict[str, Any]) -> dict[str, Any]:
    return {"method": row} if isinstance(row, str) else row


def _names(of: type[Experiment] | type[Row]) -> list[str]:
    """Give the fields that a file may set; its own name, rows and changes are told otherwise."""
    return [each.name for each in fields(of) if each.name not in ("name", "rows", "_changed")]
