"""Methods by name: a score and a selector, and for some the settings published with them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from dualprune.errors import InputError
from dualprune.files import read_rows
from dualprune.score import SCORES
from dualprune.select import SELECTORS
from dualprune.signatures import Array, inputs

__all__ = ["Method", "at_share", "find_method", "named_methods", "needs"]


@dataclass(frozen=True)
class Method:
    """A score, a selector and their knobs; `methods.toml` explains the rest."""

    score: str | None
    selector: str
    score_knobs: Mapping[str, Any] = field(default_factory=dict)
    select_knobs: Mapping[str, Any] = field(default_factory=dict)
    epochs: int | None = None
    features: int | None = None
    runs: int = 1
    weighted: bool = False

    @property
    def functions(self) -> list[Callable[..., Array]]:
        score = [] if self.score is None else [SCORES[self.score]]
        return [*score, SELECTORS[self.selector]]


@cache
def named_methods() -> dict[str, dict[str, Any]]:
    """All rows of `methods.toml`, by name."""
    return read_rows("dualprune.method", "methods.toml")


def find_method(name: str, pruned: float) -> Method:
    """Give a method by its name, ``score+selector``, a score (with `top`) or a selector alone.

    `pruned` is the share pruned, for settings that depend on it.

    >>> find_method("dual+beta", 0.7).selector, find_method("el2n", 0.7).selector
    ('beta', 'top')
    >>> find_method("ccs", 0.9).select_knobs
    {'strata': 50, 'cut_off': 0.3}
    """
    row = named_methods().get(name, {"method": name})
    score, selector = _parts(row["method"])
    return Method(
        score,
        selector,
        score_knobs={knob: at_share(value, pruned) for knob, value in row.get("score", {}).items()},
        select_knobs={
            knob: at_share(value, pruned) for knob, value in row.get("select", {}).items()
        },
        epochs=at_share(row.get("epochs"), pruned),
        features=row.get("features"),
        runs=row.get("runs", 1),
        weighted=row.get("weighted", False),
    )


def needs(methods: Sequence[str]) -> set[str]:
    """Names of the arrays that these methods read.

    >>> sorted(needs(["dual+beta", "random"]))
    ['confidence', 'labels', 'scores', 'target_prob']
    """
    functions = [fn for name in methods for fn in find_method(name, 0.0).functions]
    return {name for fn in functions for name in inputs(fn)}


def _parts(method: str) -> tuple[str | None, str]:
    score, plus, selector = method.partition("+")
    if not plus:
        alone = score in SELECTORS
        score, selector = ("", score) if alone else (score, "top")
    if selector not in SELECTORS or (score and score not in SCORES):
        raise InputError(
            f"there is no method {method!r}; say a score and a selector (such as dual+beta) of "
            f"{', '.join(SCORES)} and {', '.join(SELECTORS)}, or one of "
            f"{', '.join(named_methods())}"
        )
    takes = inputs(SELECTORS[selector])
    if not score and takes.get("scores"):
        raise InputError(f"{selector} needs a score: say dual+{selector}, for example")
    if score and "scores" not in takes:
        raise InputError(f"{selector} takes no score; say {selector} alone")
    return score or None, selector


def at_share(value: Any, pruned: float) -> Any:
    """Look up what holds for this share, or give what holds for all."""
    if not isinstance(value, dict):
        return value
    return value[max((at for at in value if float(at) <= pruned + 1e-9), key=float)]
