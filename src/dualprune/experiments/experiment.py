"""Experiment: a table or a figure of the paper, as a TOML file says it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, get_args

from dualprune.errors import InputError
from dualprune.experiments import Scale
from dualprune.experiments.contents import called, check_experiment, contents
from dualprune.experiments.grid import Grid, Row, same_cost
from dualprune.experiments.kinds import KINDS
from dualprune.experiments.setting import Setting, settings
from dualprune.method.named import in_words

SCALES = get_args(Scale)
_ALIKE = {"cpu-full": "cpu"}  # scales at which rows change as at another one
_BLANK = Row("", "")


@dataclass(frozen=True)
class Experiment:
    """What is varied, what the paper printed, and what stands in at each scale.

    In `title`, ``{data}``, ``{model}`` and ``{recorded}`` stand for the data, the model that is
    trained and the one whose training is recorded. `source` names the labels of the paper's tables
    and figures, or of a section where a number is only in the text; a table without a label is
    named by words of its caption. `printed` holds the paper's accuracies in percent: a number per
    share pruned for each row, nan where it printed none, and one number for `everything`;
    `deviations` likewise. Of an agreement, it holds the shares that two rows have in common, named
    ``"one & other"``. `doubts` says of rows, or of `everything`, why not to trust them, or what the
    paper leaves open and what is done here. `seeds` is how often the paper repeats it, if not as
    often as its setting says. `rows_at` holds the rows that change at a scale, or that only it has,
    by scale and name; at `cpu-full` those of `cpu` change, too.
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
    seeds: int | None = None
    printed: dict[str, Any] = field(default_factory=dict)
    deviations: dict[str, Any] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)
    rows_at: dict[str, dict[str, Row]] = field(default_factory=dict, repr=False)

    def at(self, scale: str) -> Grid:
        """Give what to run at a scale; a row may change there, as where fewer epochs exist."""
        if scale not in self.scales:
            possible = ", ".join(self.scales)
            raise InputError(f"{self.name} has no scale {scale!r}; choose one of {possible}")
        setting, kind = settings()[self.scales[scale]], KINDS[self.kind]
        shares = tuple(setting.pruned or self.pruned)
        rows = self._rows(scale, setting)
        known = {*rows, "everything"}
        doubts = [f"{row}: {doubt}" for row, doubt in self.doubts.items() if row in known]
        changes = [
            f"{row.name}, here: {words}"
            for row in self.rows
            if row.name in rows and (words := _differences(row, rows[row.name]))
        ]
        printed, deviations = (
            {name: _at_shares(row, self.pruned, shares) for name, row in numbers.items()}
            for numbers in (self.printed, self.deviations)
        )
        return Grid(
            name=self.name,
            scale=scale,
            kind=self.kind,
            title=self._title(setting, rows),
            setting=setting,
            rows=(*rows.values(), *(same_cost(rows.values()) if kind.trains else ())),
            pruned=shares,
            seeds=1 if kind.one_seed else min(self.seeds or setting.seeds, setting.seeds),
            model=setting.stand_in(self.model),
            whole=kind.trains,
            shift=self.shift,
            draw=self.draw,
            pairs=[name.split(" & ") for name in self.printed if " & " in name],
            printed=printed,
            deviations=deviations,
            notes=(*doubts, *changes),
        )

    def _rows(self, scale: str, setting: Setting) -> dict[str, Row]:
        """Give the rows at a scale by name: the paper's, changed, then those that it adds."""
        rows = {row.name: row for row in self.rows}
        for at in dict.fromkeys((_ALIKE.get(scale, scale), scale)):
            rows |= self.rows_at.get(at, {})
        return {name: row for name, row in rows.items() if name in (setting.rows or rows)}

    def _title(self, setting: Setting, rows: dict[str, Row]) -> str:
        """Say what is run here, and what it stands in for."""
        pairs = {"data": (setting.data, settings()[self.scales["paper"]].data)}
        if self.model is not None:
            pairs["model"] = (setting.stand_in(self.model), self.model)
        for row in self.rows:
            if row.recorded is not None and row.name in rows:
                pairs["recorded"] = (setting.stand_in(rows[row.name].recorded), row.recorded)
        return self.title.format_map({name: called(*pair) for name, pair in pairs.items()})


def _at_shares(numbers: Any, printed: list[float], shares: Iterable[float]) -> Any:
    """Give the paper's number for each share; nan for shares that only a small scale uses."""
    if not isinstance(numbers, list):
        return numbers
    known = dict(zip(printed, numbers, strict=True))
    return [known.get(share, float("nan")) for share in shares]


def _differences(row: Row, here: Row) -> str:
    """Say in what a row differs at a scale from the paper's; the title says which model."""
    differences: list[tuple[str, Any]] = []
    for name, value in vars(here).items():
        if value != getattr(row, name) and name != "recorded":
            differences += value.items() if isinstance(value, dict) else [(name, value)]
    return ", ".join(f"{name} {in_words(value)}" for name, value in differences)


@cache
def experiments() -> dict[str, Experiment]:
    """All experiments, in the order of the paper."""
    return {name: read(name, content) for name, content in contents().items()}


def find_experiment(name: str) -> Experiment:
    """Give an experiment by its name."""
    check_experiment(name)
    return experiments()[name]


def read(name: str, content: dict[str, Any]) -> Experiment:
    """Read what a file says; `tests/test_experiments_data.py` holds its laws."""
    rows = {row: _row(row, said, {}) for row, said in content.get("rows", {}).items()}
    rows_at = {
        scale: {row: _row(row, said, vars(rows.get(row, _BLANK))) for row, said in changed.items()}
        for scale, changed in content.get("rows_at", {}).items()
    }
    return Experiment(**content | {"name": name, "rows": list(rows.values()), "rows_at": rows_at})


def _row(name: str, said: str | dict[str, Any], usual: dict[str, Any]) -> Row:
    """Give the row that a file says, its method alone or some fields; the others are `usual`."""
    changes = {"method": said} if isinstance(said, str) else said
    return Row(**usual | changes | {"name": name})
