"""Method: a score, a selector and their knobs; by name, or with functions of the user's own."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

from dualprune.arguments import convert_fields
from dualprune.errors import InputError, did_you_mean
from dualprune.files import read_rows
from dualprune.score import SCORES
from dualprune.select import SELECTORS
from dualprune.signatures import Function, check_knobs, inputs, knobs, name_of


@dataclass(frozen=True, repr=False)
class Method:
    """A score, a selector and their knobs.

    Parameters
    ----------
    score, selector
        A name, or a function of your own. Its parameters annotated as arrays are found by their
        names: `labels`, `features`, a signal such as `loss` (epochs, samples), or another score
        such as `confidence` (samples,). A score gives one number per sample and is computed for a
        block of samples at a time, so that it must look at each sample by itself. A selector also
        takes `k` and `seed`, reads the score as `scores`, and gives the ids to keep. `score` is
        None where the selector needs none.
    score_knobs, select_knobs
        Values of their other parameters, where not the defaults.
    reads
        Which array a parameter reads, where that is not the one of its name.
    epochs
        How many epochs to use, if not all that are given.
    features
        After which epoch features are taken, if not after the last.
    runs
        How many recordings the score is averaged over.
    weighted
        Train with each batch's loss times the mean of its scores, as TDDS does.
    name
        What to call it; the names of score and selector if not given.

    Examples
    --------
    >>> def doubt(target_prob: np.ndarray, *, power: float = 1.0) -> np.ndarray:
    ...     return (1 - target_prob.mean(axis=0)) ** power
    >>> Method(doubt, "beta", score_knobs={"power": 2.0})
    Method('doubt+beta', score_knobs={'power': 2.0})
    """

    score: str | Function | None
    selector: str | Function = "top"
    score_knobs: Mapping[str, Any] = field(default_factory=dict)
    select_knobs: Mapping[str, Any] = field(default_factory=dict)
    reads: Mapping[str, str] = field(default_factory=dict)
    epochs: int | None = None
    features: int | None = None
    runs: int = 1
    weighted: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        convert_fields(self)
        if self.runs < 1:
            raise InputError(f"runs must be at least 1, got {self.runs}")
        takes, selector = inputs(self.select), name_of(self.select)
        if self.score is None and takes.get("scores"):
            raise InputError(f"{selector} needs a score: say dual+{selector}, for example")
        if self.score is not None and "scores" not in takes:
            raise InputError(f"{selector} takes no score; say {selector} alone")
        if unknown := sorted(self.reads.keys() - takes.keys()):
            raise InputError(f"{selector} reads no {unknown[0]!r}; it reads {', '.join(takes)}")
        check_knobs(self.select, self.select_knobs)
        if self.scorer is not None:
            check_knobs(self.scorer, self.score_knobs)
        names = [name_of(fn) for fn in (self.scorer, self.select) if fn is not None]
        object.__setattr__(self, "name", self.name or "+".join(names))

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        plain = vars(Method(self.score, self.selector, name=self.name))
        changed = [f"{n}={value!r}" for n, value in vars(self).items() if value != plain[n]]
        return f"Method({', '.join([repr(self.name), *changed])})"

    @property
    def scorer(self) -> Function | None:
        """The score as a function."""
        return None if self.score is None else _function(self.score, SCORES, "score")

    @property
    def select(self) -> Function:
        """The selector as a function."""
        return _function(self.selector, SELECTORS, "selector")

    @property
    def all_knobs(self) -> dict[str, Any]:
        """What a card says of a method: every knob, and what is read by another name.

        >>> find_method("dual+top", 0.5).all_knobs["score_knobs"]
        {'window': 10}
        """
        scorer = self.scorer
        return {
            "score_knobs": {} if scorer is None else check_knobs(scorer, self.score_knobs),
            "select_knobs": check_knobs(self.select, self.select_knobs),
            "reads": dict(self.reads),
        }

    def with_defaults(self, values: Mapping[str, Any]) -> "Method":
        """Take over those of these values that the selector has and this method does not set.

        >>> find_method("dual+beta", 0.5).with_defaults({"c_d": 5.5, "strata": 9}).select_knobs
        {'c_d': 5.5}
        """
        known = knobs(self.select)
        added = {name: value for name, value in values.items() if name in known}
        return replace(self, select_knobs=added | dict(self.select_knobs))


def _function(named: str | Function, table: Mapping[str, Function], kind: str) -> Function:
    if not isinstance(named, str):
        return named
    if named not in table:
        raise InputError(
            f"there is no {kind} {named!r}; choose one of {', '.join(table)}."
            f"{did_you_mean(named, table)}"
        )
    return table[named]


AUTO: Final = "auto"
"""What is asked for instead of a method where candidates shall be trained and compared."""


@cache
def named_methods() -> dict[str, dict[str, Any]]:
    """All rows of `methods.toml`, by name."""
    return read_rows("dualprune.method", "methods.toml")


def find_method(name: str, pruned: float) -> Method:
    """Give a method by its name, ``score+selector``, a score (with `top`) or a selector alone.

    `pruned` is the share pruned, for settings that depend on it.

    >>> find_method("el2n", 0.7).selector, find_method("ccs", 0.9).select_knobs
    ('top', {'strata': 50, 'cut_off': 0.3})
    """
    if name == AUTO:
        raise InputError(
            "auto trains candidates to find a method, which `dualprune prune DATA --method auto` "
            "and `compare` do, also from a recording (--run); here, name a method such as dual+beta"
        )
    row = {"method": name} | named_methods().get(name, {})
    score, selector = _parts(row.pop("method"))
    return Method(
        score,
        selector,
        score_knobs=at_share(row.pop("score", {}), pruned),
        select_knobs=at_share(row.pop("select", {}), pruned),
        **at_share({key: value for key, value in row.items() if key != "about"}, pruned),
        name=name,
    )


def _parts(method: str) -> tuple[str | None, str]:
    score, plus, selector = method.partition("+")
    if not plus:
        score, selector = ("", score) if score in SELECTORS else (score, "top")
    if selector not in SELECTORS or (score and score not in SCORES):
        pairs = [f"{score}+{selector}" for score in SCORES for selector in SELECTORS]
        raise InputError(
            f"there is no method {method!r}; say a score and a selector (such as dual+beta) of "
            f"{', '.join(SCORES)} and {', '.join(SELECTORS)}, or one of "
            f"{', '.join(named_methods())}."
            f"{did_you_mean(method, [*named_methods(), *SCORES, *SELECTORS, *pairs])}"
        )
    return score or None, selector


def at_share(values: Mapping[str, Any], pruned: float) -> dict[str, Any]:
    """Give what holds for this share pruned: a table from shares holds from each share on.

    >>> at_share({"window": {"0.0": 10, "0.9": 5}, "decay": 0.9}, 0.95)
    {'window': 5, 'decay': 0.9}
    """
    return {name: _at_share(value, pruned) for name, value in values.items()}


def in_words(value: Any) -> str:
    """Say a value that may depend on the share pruned.

    >>> in_words(5), in_words({"0.0": 70, "0.5": 90})
    ('5', '70, from 50% pruned 90')
    """
    if not _is_by_share(value):
        return str(value)
    first, *others = ((float(at), what) for at, what in value.items())
    return ", ".join([str(first[1]), *(f"from {at:.0%} pruned {what}" for at, what in others)])


def _at_share(value: Any, pruned: float) -> Any:
    if not _is_by_share(value):
        return value
    return value[max((at for at in value if float(at) <= pruned + 1e-9), key=float)]


def _is_by_share(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_number(key) for key in value)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()
