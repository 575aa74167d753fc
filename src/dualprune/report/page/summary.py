"""The texts of the page: what was kept, its cost, suspect labels, and how to repeat it."""

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from dualprune.coreset import Coreset, Training
from dualprune.method import AUTO, FLOOR
from dualprune.report.facts import Facts
from dualprune.report.page.pack import safe_text
from dualprune.run import Run
from dualprune.score import SCORES
from dualprune.select import SELECTORS
from dualprune.signatures import Array, check_knobs, inputs


@dataclass(frozen=True)
class ClassShare:
    """How much of a class was kept, and how many of its labels are suspect."""

    name: str
    samples: int
    kept: int
    suspects: int

    @property
    def share(self) -> float:
        return self.kept / self.samples if self.samples else 1.0  # an empty class lost nothing


def rows(facts: Facts) -> Iterator[tuple[str, str]]:
    """Give the rows of the summary, name and value, as far as they are known."""
    run, samples = facts.run, facts.samples
    card = None if facts.coreset is None else facts.coreset.card
    training = None if card is None else card.training
    counts = f"{samples:,} samples" + (f" of {run.classes:,} classes" if run.classes else "")
    if len(run.unreadable):
        counts += f", and {len(run.unreadable):,} that could not be read, which are never kept"
    yield "Data", counts if training is None else f"{safe_text(training.data)}: {counts}"
    if training is not None:
        published = "the published" if training.published else "not a published"
        how = f"{safe_text(training.model)} with recipe {safe_text(training.recipe)}"
        yield "Model", f"{how}: {published} setting"
        if training.size:
            yield "Images", f"the model saw them at {training.size} x {training.size} pixels"
        if training.columns:
            yield "Columns", safe_text("; ".join(training.read_as), 2000)
    elif run.description.notes:
        yield "Notes", safe_text(run.description.notes, 300)
    mode = {"train": "training", "eval": "evaluation"}[run.description.mode]
    stopped = "" if training is None or not training.stopped else f"; {training.stopped}"
    yield "Recorded", f"{facts.epochs} epochs, in the {mode} pass{stopped}"
    if card is not None:
        yield "Method", safe_text(card.chosen_by)
        yield "Kept", f"{card.k:,} of {samples:,} ({card.k / samples:.1%})"
    yield from _label_rows(facts, training)
    if card is not None and training is not None:
        yield "Cost", _cost(training, card.recording_passes, card.trying_passes)
        yield "Worth it", card.worth


def _label_rows(facts: Facts, training: Training | None) -> Iterator[tuple[str, str]]:
    if training is not None and training.relabelled:
        yield "Corrected", f"{training.relabelled:,} labels were changed before training"
    if facts.labels.judged:
        yield "Labels", _suspects(facts)
    if training is not None and training.duplicates:
        yield "Duplicates", training.repeated


def _suspects(facts: Facts) -> str:
    labels = facts.labels
    if facts.kept is None or not labels.suspect.any():
        return str(labels.wrong)
    pruned = (labels.suspect & ~facts.kept).sum()
    return f"{labels.wrong}; of {labels.suspect.sum():,} suspects {pruned:,} were pruned"


def _cost(training: Training, recording: int, trying: float) -> str:
    """Compare passes over all samples, which do not depend on the machine."""
    full, small, once = training.full_passes, training.coreset_passes, recording + trying
    tried = f" and {trying:.3g} of trying" if trying else ""
    return (
        f"training on what was kept takes {small:.3g} passes over the full set instead of "
        f"{full:.3g} ({small / full:.0%}), or {(small + once) / full:.0%} with the "
        f"{recording:.3g} passes of recording{tried}, which are needed once"
    )


def repeat(coreset: Coreset | None) -> str | None:
    """Give the command that chooses the same samples again, if there is one."""
    if coreset is None:
        return None
    card, training = coreset.card, coreset.card.training
    keep = card.k if card.k > 1 else "01"  # a bare 1 could be a share
    budget = {"keep": keep, "seed": card.seed, "out": "again"}
    if training is not None and training.workflow == "demo":
        return command("demo", out="again")
    if training is not None and training.workflow == "prune" and (data := named_data(training)):
        searched = card.search is not None and card.selector == "beta"  # with a c_D of its own
        how = {
            "method": AUTO if searched else card.method,
            "model": training.model,
            "recipe": training.recipe,
        }
        flags = {name: safe_text(value) for name, value in how.items()} | for_classes_of(coreset)
        if training.size:
            flags["size"] = training.size
        if training.relabelled:
            flags["labels"] = "corrected.csv"
        return command("prune", *data, **flags, epochs=training.epochs, **budget)
    if card.selector not in SELECTORS or (card.score or "dual") not in SCORES:
        return None  # a user's own function
    return select_again(coreset, ["RUN"] * len(card.runs), **budget, epochs=card.epochs)


def named_data(training: Training) -> list[str]:
    """Give the words that name the data for a command; none if they were in memory."""
    if training.data == training.kind:
        return []
    return [safe_text(word) for word in (training.data, *training.flags)]


def select_again(coreset: Coreset, runs: list[str], **budget: Any) -> str:
    """Give the command; it scores first where the score had knobs, which `select` does not take."""
    card, first = coreset.card, ""
    fn, score = SELECTORS[card.selector], card.score
    if score and (changed := _changed(SCORES[score], card.score_knobs)):
        file = {"epochs": card.epochs, "out": "again.parquet"}
        first = command("score", score, *runs, **changed, **file) + " && "
        score = "again.parquet"
    by = {"score": score or "none"} if "scores" in inputs(fn) else {}
    reads = [word for pair in card.reads.items() for word in ("--reads", "=".join(pair))]
    changed = _changed(fn, card.select_knobs) | for_classes_of(coreset)
    return first + command("select", card.selector, *runs, *reads, **by, **changed, **budget)


def for_classes_of(coreset: Coreset) -> dict[str, Any]:
    """Give the flag for its balance or floor, unless the commands have that anyway."""
    knobs = coreset.card.select_knobs
    balance, floor = knobs.get("balance", "none"), knobs.get("floor", FLOOR)
    if balance != "none":
        return {"balance": balance}
    return {} if floor == FLOOR or "label" not in coreset.columns else {"floor": floor}


def _changed(fn: Callable[..., Array], values: dict[str, Any]) -> dict[str, Any]:
    defaults = check_knobs(fn, {})
    chosen = check_knobs(fn, values)
    return {name: value for name, value in chosen.items() if value != defaults[name]}


def command(*words: str, **flags: Any) -> str:
    """Give a command, quoted for a shell.

    >>> command("select", "beta", "my run", c_d=4.0, seed=0)
    "dualprune select beta 'my run' --c-d 4.0 --seed 0"
    """
    options = ((f"--{name.replace('_', '-')}", value) for name, value in flags.items())
    flagged = ([flag] if value is True else [flag, str(value)] for flag, value in options)
    return shlex.join(["dualprune", *words, *chain.from_iterable(flagged)])


def class_names(run: Run) -> list[str]:
    """Give the classes' names, or their numbers."""
    names = run.description.class_names or map(str, range(run.classes or 0))
    return [safe_text(name) for name in names]


def per_class(facts: Facts, names: list[str]) -> list[ClassShare]:
    """Count by class; the classes that lost most come first."""
    label, kept = facts.labels.label.copy(), True if facts.kept is None else facts.kept
    label[facts.run.unreadable] = -1
    counts = [
        np.bincount(label[(label >= 0) & counted], minlength=len(names)).tolist()
        for counted in (True, kept, facts.labels.suspect)
    ]
    shares = [ClassShare(*row) for row in zip(names, *counts, strict=True)]
    return sorted(shares, key=lambda share: (share.share, -share.samples))
