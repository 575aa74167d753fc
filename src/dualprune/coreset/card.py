"""Card: how a coreset was chosen, so that anybody can choose it again."""

import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, TypeVar

import numpy as np

from dualprune.arguments import build
from dualprune.coreset.tried import Search, Share, Shares
from dualprune.coreset.worth import RIVALS, Arm, Check, pays

T = TypeVar("T")


@dataclass(frozen=True)
class WrongLabels:
    """How many labels are probably wrong, from `low` to `high`; None if that cannot be told."""

    estimate: int | None
    low: int
    high: int

    def __str__(self) -> str:
        interval = f"{_about(self.low)} to {_about(self.high)}"
        if self.estimate is None:
            return (
                f"{interval} labels may be wrong, how many cannot be told: look at the {FIRST} "
                "worst, and go on if many of them are wrong"
            )
        if self.estimate == 0:
            return "no labels look wrong" + (f" (at most {_about(self.high)})" if self.high else "")
        return f"about {_about(self.estimate)} ({interval}) labels are probably wrong"


FIRST = 50
"""How many labels to look at where it cannot be told how many are wrong."""


def _about(count: int) -> str:
    """Give two digits, more would not be true.

    >>> _about(1943), _about(71)
    ('1,900', '71')
    """
    return f"{float(f'{count:.2g}'):,.0f}"


@dataclass(frozen=True)
class Training:
    """What `prune` or the `demo` trained to record, and what training on the coreset costs.

    `settings` decide the recording; `published` says whether they were published for this data.
    Passes are over all samples. `size` is the side in pixels of the squares that the model saw of
    image files, 0 where nothing was scaled. `relabelled` labels had been corrected by a file.
    `duplicates` samples have the content of another, `conflicting` of them that of one with another
    label. `kind` says what the samples are, `columns` how those of a table were read, `flags`
    which columns of a file are what, as commands take it. `overlaps` say by share kept how much
    of the choice was the same one epoch before, where the recording stopped by itself.
    """

    data: str
    model: str
    recipe: str
    published: bool
    epochs: int
    settings: dict[str, Any]
    suspects: WrongLabels
    full_passes: float
    coreset_passes: float
    workflow: str = "prune"
    size: int = 0
    relabelled: int = 0
    duplicates: int = 0
    conflicting: int = 0
    kind: str = "images"
    columns: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    overlaps: dict[str, float] = field(default_factory=dict)

    @property
    def stopped(self) -> str:
        """Why the recording stopped by itself; empty if it did not."""
        if not self.overlaps:
            return ""
        parts = [f"{part:.0%} at {share} kept" for share, part in self.overlaps.items()]
        return (
            f"stopped by itself after {self.epochs} epochs: what would be kept was almost the same "
            f"one epoch before ({', '.join(parts)})"
        )

    @property
    def read_as(self) -> list[str]:
        """How the columns of a table were read, those of one kind together."""
        kinds: dict[str, list[str]] = {}
        for line in self.columns:
            name, _, kind = line.rpartition(": ")
            kinds.setdefault(kind, []).append(name)
        return [f"{len(names)} x {kind}: {', '.join(names)}" for kind, names in kinds.items()]

    @property
    def repeated(self) -> str:
        """What is to be said of the duplicates."""
        what = "pixels" if self.kind == "images" else "content"
        count = f"{self.duplicates:,} {self.kind} have exactly the {what} of another"
        return f"{count}, {self.conflicting:,} of them with different labels"


@dataclass(frozen=True)
class ShortClass:
    """A class that keeps less than half of its fair share, `fair`: k * its samples / all samples.

    >>> print(ShortClass("truck", 3, 157, 15.7))
    class truck: kept 3 of 157, fair share 16
    """

    name: str
    kept: int
    samples: int
    fair: float

    def __str__(self) -> str:
        fair = f"{self.fair:,.0f}" if self.fair >= 1 else "less than 1"
        return f"class {self.name}: kept {self.kept:,} of {self.samples:,}, fair share {fair}"


@dataclass(frozen=True)
class Card:
    """The method and its knobs, the budget, the seed, and what the samples were chosen from.

    Parameters
    ----------
    method
        The name that was asked for, such as ``ccs``; it consists of `score` and `selector`.
    reads
        Which array a parameter read, where that is not the one of its name.
    values
        Numbers that the selector found on the way, such as the `mu` of Beta sampling.
    runs, data
        Fingerprints of the runs and of the dataset.
    reasons
        How many samples were `filled`, `cut_off`, `unscored`, `unreadable`; the column `why` says
        which.
    short
        The classes that keep less than half of their fair share, at most the worst thousand.
    versions, cpu
        Logarithms may differ in the last bit between kinds of CPU.
    check
        How training on it compares with other ways, if that was measured.
    search
        Which methods were tried, if `auto` was asked for; `method` is the one that was kept.
    shares
        Which shares were tried, if `auto` was asked for.
    """

    method: str
    score: str | None
    selector: str
    k: int
    samples: int
    seed: int
    epochs: int
    ids_sha256: str
    runs: list[str]
    data: str = ""
    score_knobs: dict[str, Any] = field(default_factory=dict)
    select_knobs: dict[str, Any] = field(default_factory=dict)
    reads: dict[str, str] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    short: list[ShortClass] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    cpu: dict[str, Any] = field(default_factory=dict)
    training: Training | None = None
    check: Check | None = None
    search: Search | None = None
    shares: Shares | None = None

    @property
    def readable(self) -> int:
        """How many samples could be read: `k` is a part of these."""
        return self.samples - self.reasons.get("unreadable", 0)

    @property
    def chosen_by(self) -> str:
        """The method, and the c_D of Beta sampling where that was found from the recording."""
        if "c_d" not in self.values:
            return self.method
        return f"{self.method} (c_D {self.values['c_d']:g}, found from the recording)"

    @staticmethod
    def from_json(content: dict[str, Any]) -> "Card":
        """Give the card of JSON, also of format 1."""
        if "knobs" in content:
            content = _from_format_1(content)
        training = content["training"]
        known = None if training is None else build(Training, training | _wrong_labels(training))
        short = [build(ShortClass, one) for one in content.get("short", [])]
        measured = {
            "check": _measured(Check, content.get("check"), "arms", Arm),
            "search": _measured(Search, content.get("search"), "arms", Arm),
            "shares": _measured(Shares, content.get("shares"), "tried", Share),
        }
        return build(Card, content | {"training": known, "short": short} | measured)

    @property
    def recording_passes(self) -> int:
        """Passes over all samples that the recordings took, where `prune` made them."""
        return 0 if self.training is None else self.training.epochs * len(self.runs)

    @property
    def trying_passes(self) -> float:
        """Passes over all samples that trying methods and shares took."""
        tried = [one for one in (self.search, self.shares) if one is not None]
        return sum(one.images for one in tried) / self.readable

    @property
    def worth(self) -> str:
        """From which training on it pays, and what else to think of; empty if that is not known."""
        if self.training is None:
            return ""
        small, full = self.training.coreset_passes, self.training.full_passes
        advice = RIVALS if self.check is None else self.check.advice()
        paying = pays(self.recording_passes + self.trying_passes, small, full)
        return f"compared with training on all the data, it {paying}; {advice}"


def _measured(cls: type[T], content: dict[str, Any] | None, parts: str, part: type) -> T | None:
    """Give what was measured, with a list of its own type in the field `parts`."""
    if content is None:
        return None
    return build(cls, content | {parts: [build(part, one) for one in content[parts]]})


def _wrong_labels(training: dict[str, Any]) -> dict[str, WrongLabels]:
    """Give the estimate; in older cards it is one number, without an interval."""
    wrong = training["suspects"]
    if isinstance(wrong, dict):
        return {"suspects": build(WrongLabels, wrong)}
    return {"suspects": WrongLabels(wrong, wrong, wrong)}


def _from_format_1(content: dict[str, Any]) -> dict[str, Any]:
    """Give the fields of a card as they are since format 2."""
    same = ("k", "samples", "seed", "epochs", "ids_sha256", "runs", "data", "versions", "cpu")
    score, _, selector = content["method"].rpartition("+")
    asked, select = content.get("asked"), content["knobs"]["select"]
    training = asked and {
        "data": content["data_name"],
        "model": content["model"],
        "recipe": content["recipe"],
        "published": content["published"],
        "epochs": asked["epochs"],
        "settings": asked["settings"],
        "suspects": content["doubted"],
        "full_passes": content["passes"]["full"],
        "coreset_passes": content["passes"]["coreset"],
    }
    return {name: content[name] for name in same} | {
        "method": asked["method"] if asked else content["method"],
        "score": score or None,
        "selector": selector,
        "score_knobs": content["knobs"]["score"],
        "select_knobs": select,
        "values": {"mu": select["mu"]} if select.get("mu") is not None else {},
        "reasons": {n: content[n] for n in ("filled", "cut_off", "unscored") if content[n]},
        "training": training,
    }


def made_with() -> dict[str, Any]:
    """Versions and the kind of CPU, as fields of a card."""
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    return {
        "versions": {
            "dualprune": version("dualprune"),
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "cpu": {"machine": platform.machine(), "simd": [*simd["baseline"], *simd["found"]]},
    }
