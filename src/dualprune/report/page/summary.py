"""The page in words: what was kept, what it costs, what looks wrong, and how to repeat it."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualprune.arrays import Array, knobs
from dualprune.coreset import Coreset
from dualprune.report.page.facts import Facts
from dualprune.report.page.pack import safe_text
from dualprune.run import Run
from dualprune.select import SELECTORS

__all__ = ["ClassShare", "class_names", "per_class", "repeat", "rows"]


@dataclass(frozen=True)
class ClassShare:
    """How much of a class was kept, and how many of its labels look wrong."""

    name: str
    samples: int
    kept: int
    doubted: int

    @property
    def share(self) -> float:
        return self.kept / max(self.samples, 1)


def rows(run: Run, facts: Facts, coreset: Coreset | None) -> Iterator[tuple[str, str]]:
    """Say everything that has a name and a value, where it is known."""
    samples = facts.samples
    yield "Data", _data(run, coreset)
    card: dict[str, Any] = {} if coreset is None else coreset.card
    if "model" in card:
        published = "the published" if card["published"] else "not a published"
        yield "Model", f"{card['model']} with recipe {card['recipe']}: {published} setting"
    elif run.description.notes:
        yield "Notes", run.description.notes
    yield "Recorded", f"{facts.epochs} epochs, in the {_mode(run)} pass"
    if coreset is not None:
        kept = len(coreset)
        yield "Method", str(card.get("asked", card)["method"])
        yield "Kept", f"{kept:,} of {samples:,} ({kept / samples:.1%})"
    yield "Labels", _doubted(facts)
    if "passes" in card:
        yield "Cost", _cost(card["passes"])
    if coreset is not None:
        yield "Seed", str(card["seed"])
        yield "SHA-256 of the kept ids", str(card["ids_sha256"])


def _data(run: Run, coreset: Coreset | None) -> str:
    name = "" if coreset is None else safe_text(coreset.card.get("data_name", ""))
    counts = f"{run.samples:,} samples of {run.description.classes:,} classes"
    return f"{name}: {counts}" if name else counts


def _mode(run: Run) -> str:
    return {"train": "training", "eval": "evaluation"}[run.description.mode]


def _doubted(facts: Facts) -> str:
    count = int(facts.labels.issue.sum())
    if count == 0:
        return "no group of labels stands apart as wrong"
    told = f"{count:,} look wrong ({count / facts.samples:.1%})"
    if facts.kept is None:
        return told
    return f"{told}; {int((facts.labels.issue & ~facts.kept).sum()):,} of these were pruned"


def _cost(passes: dict[str, float]) -> str:
    """Compare in passes over all samples, which does not depend on the machine."""
    full, small, recording = passes["full"], passes["coreset"], passes["recording"]
    return (
        f"training on what was kept takes {small:.3g} passes over the full set instead of "
        f"{full:.3g} ({small / full:.0%}); with the {recording:.3g} of recording "
        f"{(small + recording) / full:.0%}, once"
    )


def repeat(coreset: Coreset | None) -> str | None:
    """Give the command that chooses the same samples again."""
    if coreset is None:
        return None
    card = coreset.card
    if "asked" in card:
        asked, recipe = card["asked"], card["asked"]["settings"]["recipe"]
        words = ["prune", safe_text(card["data_name"]), "--method", asked["method"]]
        words += ["--model", card["model"], "--recipe", recipe["name"]]
    else:
        score, _, selector = str(card["method"]).rpartition("+")
        words = ["select", selector, "RUN", *(["--score", score] if score else [])]
        words += _changed(selector, card["knobs"]["select"])
    counted = {"keep": card["k"], "epochs": card["epochs"], "seed": card["seed"]}
    words += [word for name, value in counted.items() for word in (f"--{name}", str(value))]
    return shlex.join(["dualprune", *words, "--out", "again"])


def _changed(selector: str, used: dict[str, Any]) -> list[str]:
    defaults = {name: knob.default for name, knob in knobs(SELECTORS[selector]).items()}
    changed = {name: value for name, value in used.items() if value != defaults[name]}
    return [
        word
        for name, value in changed.items()
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]


def class_names(run: Run) -> list[str]:
    """Give the classes' names, or their numbers."""
    names = run.description.class_names or map(str, range(run.description.classes))
    return [safe_text(name) for name in names]


def per_class(facts: Facts, names: list[str]) -> list[ClassShare]:
    """Count by class; the classes that lost most come first."""
    kept = np.ones(facts.samples, bool) if facts.kept is None else facts.kept
    counted = zip(
        names,
        *(_count(facts, chosen, len(names)) for chosen in (True, kept, facts.labels.issue)),
        strict=True,
    )
    shares = [ClassShare(name, *map(int, counts)) for name, *counts in counted]
    return sorted(shares, key=lambda each: (each.share, -each.samples))


def _count(facts: Facts, chosen: Array | bool, classes: int) -> Array:
    seen: Array = facts.labels.given[(facts.labels.given >= 0) & chosen]
    return np.bincount(seen, minlength=classes)
