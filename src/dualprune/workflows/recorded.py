"""Another choice from a recording that is there: with which settings, and whether it will do."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import count, takewhile
from typing import Any

from torch import nn

from dualprune.data import Data
from dualprune.errors import InputError
from dualprune.files import exists, place, read_json
from dualprune.method import Method, check_epochs, features_for, needs
from dualprune.run import Run
from dualprune.train.models import NAMES
from dualprune.train.pretrained import is_checkpoint
from dualprune.train.recipe import find_recipe
from dualprune.urls import AnyPath

_NOTES = re.compile(r"(.+), recipe (\S+)( at .+)?, seed \d+(, passes in .+)?")
"""What `train.record` writes; the last part on GPUs only."""


def runs_in(path: AnyPath) -> list[Run]:
    """Open a run, or all that `prune` recorded into its folder."""
    first = Run(path)
    if first.path == place(path):
        return [first]
    others = (first.path.with_name(f"run-{number}") for number in count(2))
    return [first, *map(Run, takewhile(exists, others))]


def settings_of(
    run: Run, *, model: str | nn.Module, recipe: str, size: int | None
) -> dict[str, Any]:
    """Give the `model` and the `recipe` of a recording; to say others is refused.

    A module of one's own is not in the recording, so it must be given again; only its class is
    compared.
    """
    own = isinstance(model, nn.Module)
    if (model != "auto" and not own) or recipe != "auto" or size is not None:
        raise InputError(
            f"{run.path} has the model, recipe and size it was recorded with; leave them out, or "
            "record again, without a run"
        )
    notes, state = _NOTES.fullmatch(run.description.notes), run.path / "checkpoint/state.json"
    if notes is None or not exists(state):
        raise InputError(
            f"{run.path} was not recorded by `dualprune prune` or `record`; use `dualprune select`"
        )
    if own or (notes[1] not in NAMES and not is_checkpoint(notes[1])):
        _refuse_another_module(run, notes[1], model)
    stated = read_json(state)["settings"]["recipe"]
    return {
        "model": model if own else notes[1],
        "recipe": replace(find_recipe(notes[2], "", gpu=False), **stated),
    }


def _refuse_another_module(run: Run, recorded: str, model: str | nn.Module) -> None:
    given = "" if isinstance(model, str) else type(model).__name__
    if given != recorded:
        raise InputError(
            f"{run.path} was recorded with a module of class {recorded}, and the model given is "
            f"{given or 'none'}; give model=... as it was then, or use `choose`, which needs none"
        )


def usable(runs: Sequence[Run], data: Data, methods: Sequence[Method], epochs: int) -> list[Run]:
    """Give the runs that methods average; refuse those of other data, or without what they need."""
    first = runs[0]
    if first.description.data != data.fingerprint:
        raise InputError(
            f"{first.path} was recorded of other data; give the data it was made from, with the "
            "same --labels if it had any"
        )
    for method in methods:
        _refuse_lacking(runs, method, epochs)
    check_epochs(methods, epochs)
    return list(runs[: max(method.runs for method in methods)])


def _refuse_lacking(runs: Sequence[Run], method: Method, epochs: int) -> None:
    """Refuse what was not recorded for a method: it lacks signals, features or runs."""
    first, chosen = runs[0], list(runs[: method.runs])
    lacking = sorted(
        name for name in needs([method]) - {"features"} if not all(run.has(name) for run in chosen)
    )
    after = set(features_for([method], epochs)).difference(*(run.with_features for run in chosen))
    lacking += [f"features after epoch {epoch}" for epoch in sorted(after)]
    if len(chosen) < method.runs:
        lacking.append(f"{method.runs - len(chosen)} more recordings")
    if lacking:
        raise InputError(
            f"{first.path} lacks what {method.name} needs: {', '.join(lacking)}; record it with "
            f"`dualprune prune --method {method.name}`, without --run"
        )
