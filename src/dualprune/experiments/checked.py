"""Check what the file of an experiment says, before anything is run from it."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import fields
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any

from dualprune.dynamic import DYNAMIC
from dualprune.errors import InputError
from dualprune.experiments.setting import Setting
from dualprune.score import SCORES
from dualprune.select import SELECTORS
from dualprune.signatures import Array, knobs
from dualprune.train.models import MODELS
from dualprune.train.recipe import Recipe

if TYPE_CHECKING:
    from dualprune.experiments.experiment import Experiment, Row

__all__ = ["DRAWINGS", "KINDS", "SCALES", "check", "check_fields"]

SCALES = ("paper", "cpu", "smoke")
KINDS = ("accuracy", "removed", "agreement", "picture", "theory")
DRAWINGS = (
    *("moon-evolution", "coresets", "densities"),
    *("kept-and-pruned", "wrong-labels", "corruptions"),
)
_SHIFTS = ("labels", "images", "tail")
_REQUIRED = ("title", "source", "kind", "scales")
_RECIPE = [each.name for each in fields(Recipe)]


def check_fields(
    file: str,
    content: Mapping[str, Any],
    rows: Mapping[str, dict[str, Any]],
    rows_at: Mapping[str, Mapping[str, Any]],
    possible: Collection[str],
    of_a_row: Collection[str],
) -> None:
    """Refuse names that mean nothing: of fields, of a row's fields, of rows that change."""
    _known(file, "field", content, possible)
    for name in _REQUIRED:
        if name not in content:
            raise InputError(f"{file} does not say its {name!r}; every experiment needs one")
    for name, row in rows.items():
        _known(f"{file}, row {name!r}", "field", row, of_a_row)
        if "method" not in row:
            raise InputError(f"{file}, row {name!r} does not say its method")
    _known(file, "scale", rows_at, SCALES)
    for changes in rows_at.values():
        _known(file, "row", changes, rows)
        for name, row in changes.items():
            _known(f"{file}, row {name!r}", "field", row if isinstance(row, dict) else (), of_a_row)


def check(file: str, experiment: "Experiment", settings: Mapping[str, Setting]) -> None:
    """Refuse what could not be run, and printed numbers that belong to nothing."""
    _known(file, "kind", [experiment.kind], KINDS)
    _known(file, "scale", experiment.scales, SCALES)
    _known(file, "setting", experiment.scales.values(), settings)
    _known(file, "shift", experiment.shift, _SHIFTS)
    if (experiment.kind == "picture") != (experiment.draw is not None):
        raise InputError(f"{file}: a picture, and nothing else, says what to `draw`")
    _known(file, "drawing", [experiment.draw] if experiment.draw else [], DRAWINGS)
    if experiment.rows and not experiment.pruned:
        raise InputError(f"{file} has rows, so it must say which shares are `pruned`")
    for share in experiment.pruned:
        if not 0 < share < 1:
            raise InputError(f"{file}: a share pruned is between 0 and 1, got {share}")
    for scale, name in experiment.scales.items():
        _known(file, "model", [settings[name].stand_in(experiment.model)], MODELS)
        for row in experiment.rows_at(scale):
            _check_row(f"{file}, row {row.name!r} at {scale}", experiment, row, settings[name])
    _check_numbers(file, experiment)


def _check_row(where: str, experiment: "Experiment", row: "Row", setting: Setting) -> None:
    """Refuse epochs, models, knobs and methods that do not exist in this setting."""
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
        possible = signature(DYNAMIC[row.method]).parameters
        _known(where, f"knob of {row.method}", row.dynamic, possible)
        return
    _known(where, "knob, of what is not dynamic,", row.dynamic, ())
    for share in setting.pruned or experiment.pruned:
        try:
            method = row.found(setting, share)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
    if method.weighted:
        raise InputError(f"{where}: experiments do not weigh losses; choose a method that does not")
    score = () if method.score is None else _knobs(SCORES[method.score])
    _known(where, f"knob of {method.score}", method.score_knobs, score)
    select = _knobs(SELECTORS[method.selector])
    _known(where, f"knob of {method.selector}", method.select_knobs, select)


@cache  # hundreds of rows have the same few methods
def _knobs(fn: Callable[..., Array]) -> tuple[str, ...]:
    return tuple(knobs(fn))


def _check_numbers(file: str, experiment: "Experiment") -> None:
    """Refuse numbers and doubts of unknown rows, and too few or too many numbers."""
    rows = [row.name for row in experiment.rows]
    if experiment.kind == "agreement":
        rows += [f"{one} & {other}" for one in rows for other in rows if one != other]
    _known(file, "row to doubt", experiment.doubts, [*rows, "everything"])
    _known(file, "row to print", experiment.printed, [*rows, "everything"])
    _known(file, "printed row that deviates", experiment.deviations, experiment.printed)
    for name, given in [*experiment.printed.items(), *experiment.deviations.items()]:
        wanted = None if name == "everything" else len(experiment.pruned)
        if (len(given) if isinstance(given, list) else None) != wanted:
            told = "one number" if wanted is None else f"{wanted} numbers, one per share pruned"
            raise InputError(f"{file}: {name!r} needs {told}, got {given}")


def _known(where: str, what: str, given: Iterable[str], possible: Collection[str]) -> None:
    for name in given:
        if name not in possible:
            told = f"choose one of {', '.join(possible)}" if possible else "none is possible here"
            raise InputError(f"{where}: there is no {what} {name!r}; {told}")
