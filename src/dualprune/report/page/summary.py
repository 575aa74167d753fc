"""The page in words: what was kept, what it costs, what looks wrong, and how to repeat it."""

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from dualprune.coreset import Coreset
from dualprune.report.page.facts import Facts
from dualprune.report.page.pack import safe_text
from dualprune.run import Run
from dualprune.score import SCORES
from dualprune.select import SELECTORS
from dualprune.signatures import Array, inputs, knobs

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
        return self.kept / self.samples if self.samples else 1.0  # of nothing, nothing was lost


def rows(run: Run, facts: Facts, coreset: Coreset | None) -> Iterator[tuple[str, str]]:
    """Say everything that has a name and a value, where it is known."""
    samples = facts.samples
    yield "Data", _data(run, coreset)
    card: dict[str, Any] = {} if coreset is None else coreset.card
    if "model" in card:
        published = "the published" if card["published"] else "not a published"
        yield "Model", f"{card['model']} with recipe {card['recipe']}: {published} setting"
    elif run.description.notes:
        yield "Notes", safe_text(run.description.notes, 300)
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
    keep = card["k"] if card["k"] > 1 else "01"  # a bare 1 could be a share
    counted = {"keep": keep, "epochs": card["epochs"], "seed": card["seed"], "out": "again"}
    if "asked" in card:
        asked, recipe = card["asked"], card["asked"]["settings"]["recipe"]
        chosen = {"method": asked["method"], "model": card["model"], "recipe": recipe["name"]}
        return _command("prune", safe_text(card["data_name"]), **chosen, **counted)
    return _select_again(card, counted)


def _select_again(card: dict[str, Any], counted: dict[str, Any]) -> str:
    """Score first where the score had knobs of its own, which `select` does not take."""
    score, _, selector = str(card["method"]).rpartition("+")
    fn, runs, scored = SELECTORS[selector], ["RUN"] * len(card["runs"]), ""
    if score and (given := _changed(SCORES[score], card["knobs"]["score"])):
        to = {"epochs": card["epochs"], "out": "again.parquet"}
        scored, score = _command("score", score, *runs, **given, **to) + " && ", to["out"]
    by = {"score": score or "none"} if "scores" in inputs(fn) else {}
    given = _changed(fn, card["knobs"]["select"])
    return scored + _command("select", selector, *runs, **by, **given, **counted)


def _changed(fn: Callable[..., Array], used: dict[str, Any]) -> dict[str, Any]:
    defaults = {name: knob.default for name, knob in knobs(fn).items()}
    return {name: value for name, value in used.items() if value != defaults[name]}


def _command(*words: str, **flags: Any) -> str:
    """Give a command as a shell takes it.

    >>> _command("select", "beta", "my run", c_d=4.0, seed=0)
    "dualprune select beta 'my run' --c-d 4.0 --seed 0"
    """
    given = ((f"--{name.replace('_', '-')}", value) for name, value in flags.items())
    flagged = ([flag] if value is True else [flag, str(value)] for flag, value in given)
    return shlex.join(["dualprune", *words, *chain.from_iterable(flagged)])


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
