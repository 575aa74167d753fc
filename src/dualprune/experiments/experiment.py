"""Experiment: a table or a figure of the paper, as a TOML file says it."""

import tomllib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import resources
from inspect import signature
from typing import Any, get_args

from dualprune.dynamic import DYNAMIC
from dualprune.errors import InputError
from dualprune.experiments import Scale
from dualprune.experiments.grid import Grid, Row
from dualprune.experiments.kinds import KINDS
from dualprune.experiments.picture import DRAWINGS
from dualprune.experiments.setting import SHIFTS, settings
from dualprune.train.models import MODELS
from dualprune.train.recipe import Recipe

SCALES = get_args(Scale)
_RECIPE = [known.name for known in fields(Recipe)]


@dataclass(frozen=True)
class Experiment:
    """What is varied, what the paper printed, and what stands in at each scale.

    `source` names the labels of the paper's tables and figures, or of a section where a number is
    only in the text; a table without a label is named by words of its caption. `printed` holds the
    paper's accuracies in percent: a number per share pruned for each row, nan where it printed
    none, and one number for `everything`; `deviations` likewise. Of an agreement, it holds the
    shares that two rows have in common, named ``"one & other"``. `doubts` says of rows, or of
    `everything`, why not to trust them. `rows_at` holds the rows that change at a scale, by both
    names.
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
    rows_at: dict[tuple[str, str], Row] = field(default_factory=dict, repr=False)

    def at(self, scale: str) -> Grid:
        """Give what to run at a scale; a row may change there, as where fewer epochs exist."""
        if scale not in self.scales:
            possible = ", ".join(self.scales)
            raise InputError(f"{self.name} has no scale {scale!r}; choose one of {possible}")
        setting, kind = settings()[self.scales[scale]], KINDS[self.kind]
        shares = tuple(setting.pruned or self.pruned)
        rows = tuple(self.rows_at.get((scale, row.name), row) for row in self.rows)
        changes = [
            f"{row.name}, here: {_differences(row, here)}"
            for row, here in zip(self.rows, rows, strict=True)
            if here != row
        ]
        printed, deviations = (
            {name: _at_shares(row, self.pruned, shares) for name, row in numbers.items()}
            for numbers in (self.printed, self.deviations)
        )
        return Grid(
            name=self.name,
            scale=scale,
            kind=self.kind,
            title=self.title,
            setting=setting,
            rows=rows,
            pruned=shares,
            seeds=1 if kind.one_seed else setting.seeds,
            model=setting.stand_in(self.model),
            whole=kind.trains,
            shift=self.shift,
            draw=self.draw,
            pairs=[name.split(" & ") for name in self.printed if " & " in name],
            printed=printed,
            deviations=deviations,
            notes=(*(f"{row}: {doubt}" for row, doubt in self.doubts.items()), *changes),
        )


def _at_shares(numbers: Any, printed: list[float], shares: Iterable[float]) -> Any:
    """Give the paper's number for each share; nan for shares that only a small scale uses."""
    if not isinstance(numbers, list):
        return numbers
    known = dict(zip(printed, numbers, strict=True))
    return [known.get(share, float("nan")) for share in shares]


def _differences(row: Row, here: Row) -> str:
    """Say in what a row differs at a scale from the paper's."""
    differences: list[tuple[str, Any]] = []
    for name, value in vars(here).items():
        if value != getattr(row, name):
            differences += value.items() if isinstance(value, dict) else [(name, value)]
    return ", ".join(f"{name} {value}" for name, value in differences)


@cache
def experiments() -> dict[str, Experiment]:
    """All experiments, in the order of the paper."""
    folder = resources.files("dualprune.experiments") / "tables"
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    read_all = [read(file.name, file.read_text("utf-8")) for file in files]
    return {experiment.name: experiment for experiment in read_all}


def find_experiment(name: str) -> Experiment:
    """Give an experiment by its name."""
    known = experiments()
    if name not in known:
        raise InputError(f"there is no experiment {name!r}; choose one of {', '.join(known)}")
    return known[name]


def read(file: str, text: str) -> Experiment:
    """Read what a file of this name says, or say what is wrong with it."""
    content = tomllib.loads(text)
    _known(file, "field", content, _names(Experiment))
    for required in ("title", "source", "kind", "scales"):
        if required not in content:
            raise InputError(f"{file} does not say its {required!r}; every experiment needs one")
    rows = {name: _row(file, name, said, {}) for name, said in content.pop("rows", {}).items()}
    changes = content.pop("rows_at", {})
    _known(file, "scale", changes, SCALES)
    rows_at = {}
    for scale, changed in changes.items():
        _known(file, "row", changed, rows)
        for name, said in changed.items():
            rows_at[scale, name] = _row(file, name, said, vars(rows[name]))
    name = file.removesuffix(".toml").partition("-")[2]  # the number gives the order
    experiment = Experiment(name=name, rows=list(rows.values()), rows_at=rows_at, **content)
    _check(file, experiment)
    return experiment


def _names(dataclass: type) -> list[str]:
    return [known.name for known in fields(dataclass) if known.name != "name"]


def _row(file: str, name: str, said: str | dict[str, Any], usual: dict[str, Any]) -> Row:
    """Give the row that a file says, its method alone or some fields; the others are `usual`."""
    changes = {"method": said} if isinstance(said, str) else said
    _known(f"{file}, row {name!r}", "field", changes, _names(Row))
    values = usual | changes | {"name": name}
    if "method" not in values:
        raise InputError(f"{file}, row {name!r} does not say its method")
    return Row(**values)


def _check(file: str, experiment: Experiment) -> None:
    """Refuse what could not be run, and printed numbers that belong to nothing."""
    _known(file, "kind", [experiment.kind], KINDS)
    _known(file, "scale", experiment.scales, SCALES)
    _known(file, "setting", experiment.scales.values(), settings())
    _known(file, "shift", experiment.shift, SHIFTS)
    if (experiment.kind == "picture") != (experiment.draw is not None):
        raise InputError(f"{file}: a picture, and nothing else, says what to `draw`")
    _known(file, "drawing", [experiment.draw] if experiment.draw else [], DRAWINGS)
    if experiment.rows and not experiment.pruned:
        raise InputError(f"{file} has rows, so it must say which shares are `pruned`")
    for share in experiment.pruned:
        if not 0 < share < 1:
            raise InputError(f"{file}: a share pruned is between 0 and 1, got {share}")
    _check_numbers(file, experiment)
    for scale in experiment.scales:
        grid = experiment.at(scale)
        _known(file, "model", [grid.model], MODELS)
        for row in grid.rows:
            _check_row(f"{file}, row {row.name!r} at {scale}", grid, row)


def _check_row(where: str, grid: Grid, row: Row) -> None:
    """Refuse epochs, models, knobs and methods that do not exist in this setting."""
    setting = grid.setting
    if isinstance(row.epochs, str):
        _known(where, "name of epochs", [row.epochs], setting.epochs)
    elif not 1 <= row.epochs <= setting.record:
        raise InputError(
            f"{where}: epochs are from 1 to {setting.record}, all that {setting.name} records, "
            f"or {', '.join(setting.epochs)}; got {row.epochs}"
        )
    _known(where, "model", [setting.stand_in(row.recorded)], MODELS)
    _known(where, "field of a recipe", row.train, _RECIPE)
    if row.is_dynamic:
        possible = signature(DYNAMIC[str(row.method)]).parameters
        _known(where, f"knob of {row.method}", row.dynamic, possible)
        return
    _known(where, "knob, of what is not dynamic,", row.dynamic, ())
    for share in grid.pruned:
        try:
            row.method_at(setting, share)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error


def _check_numbers(file: str, experiment: Experiment) -> None:
    """Refuse numbers and doubts of unknown rows, and too few or too many numbers."""
    rows = [row.name for row in experiment.rows]
    pairs = [f"{one} & {other}" for one in rows for other in rows if one != other]
    known = [*rows, "everything"]
    _known(file, "row to doubt", experiment.doubts, known)
    compared = pairs if experiment.kind == "agreement" else []
    _known(file, "row to print", experiment.printed, [*known, *compared])
    _known(file, "printed row that deviates", experiment.deviations, experiment.printed)
    for name, numbers in [*experiment.printed.items(), *experiment.deviations.items()]:
        wanted = None if name == "everything" else len(experiment.pruned)
        if (len(numbers) if isinstance(numbers, list) else None) != wanted:
            need = "one number" if wanted is None else f"{wanted} numbers, one per share pruned"
            raise InputError(f"{file}: {name!r} needs {need}, got {numbers}")


def _known(where: str, what: str, names: Iterable[str], possible: Collection[str]) -> None:
    for name in names:
        if name not in possible:
            hint = f"choose one of {', '.join(possible)}" if possible else "none is possible here"
            raise InputError(f"{where}: there is no {what} {name!r}; {hint}")
