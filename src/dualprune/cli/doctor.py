"""`dualprune doctor`: what a run holds, and whether all of it can be read."""

from collections.abc import Iterator

import typer

from dualprune.cli.options import OfRun
from dualprune.cli.printing import say
from dualprune.errors import DamagedError
from dualprune.files import Place, entries, exists, is_folder, read, read_json
from dualprune.run.attempts import Attempt
from dualprune.run.description import run_folder
from dualprune.run.health import EpochHealth, Health, examine
from dualprune.score.parts import ScoreParts
from dualprune.score.scored import Scored


def doctor(run: OfRun) -> None:
    """Read a whole run and say what it holds; the exit code is 1 if anything is damaged."""
    root = run_folder(run)
    health = examine(root)
    known = [*_examine_scores(root, health), *_examine_checkpoint(root / "checkpoint", health)]
    health.leftovers = [path for path in health.leftovers if path not in known]
    for line in _report(root, health):
        say(line)
    if health.damage:
        raise typer.Exit(1)


def _examine_scores(run: Place, health: Health) -> list[Place]:
    """Read all scores, and give their files."""
    folder = run / "scores"
    paths = [folder / entry.name for entry in entries(folder) if entry.name.endswith(".parquet")]
    for path in paths:
        with health.noting_damage():
            if is_folder(path):
                ScoreParts.open(path).check()
            else:
                Scored.load(path)
    folders = [path for path in paths if is_folder(path)]
    return [*paths, *(path / entry.name for path in folders for entry in entries(path))]


def _examine_checkpoint(folder: Place, health: Health) -> list[Place]:
    """Check a checkpoint as far as that needs no torch, and give its files.

    An experiment deletes the tensors once it has recorded all it needs.
    """
    path, complete = folder / "state.json", len(health.epochs)
    if not exists(path):
        return []
    known = [path]
    with health.noting_damage():
        state = read_json(path)
        tensors = folder / state["tensors"]
        known.append(tensors)
        if exists(tensors):
            read(tensors, sha256=state["sha256"])
        if not health.damage and state["epoch"] > complete:
            raise DamagedError(
                f"{folder} is of epoch {state['epoch']}, but {complete} are complete"
            )
    return known


def _report(run: Place, health: Health) -> Iterator[str]:
    description = health.description
    if description is not None:
        yield f"run         {run}"
        classes = "" if description.classes is None else f" in {description.classes} classes"
        yield f"samples     {description.samples:,}{classes}"
        yield f"signals     {', '.join(description.signals)}, from the {description.mode} pass"
    yield f"attempts    {len(health.attempts)}"
    for attempt in health.attempts:
        yield f"            {_attempt(attempt, health.epochs)}"
    yield f"epochs      {len(health.epochs)} complete"
    for epoch in health.incomplete:
        parts, writers = len(epoch.parts), epoch.attempt.writers
        yield f"            {epoch.number} is incomplete ({parts} of {writers} parts) and not used"
    if health.epochs and description is not None:
        yield from _contents(health, description.samples)
    if health.features:
        yield f"features    after epochs {', '.join(map(str, health.features))}"
    if health.leftovers:
        yield f"leftovers   {len(health.leftovers)} files that readers skip, the first is "
        yield f"            {health.leftovers[0]}"
    yield "damage      " + ("none" if not health.damage else f"{len(health.damage)} found")
    yield from (f"            {line}" for line in health.damage)


def _attempt(attempt: Attempt, epochs: list[EpochHealth]) -> str:
    used = [epoch.number for epoch in epochs if epoch.attempt == attempt.number]
    span = f"epochs {used[0]} to {used[-1]} are used" if used else "nothing of it is used"
    processes = "1 process" if attempt.writers == 1 else f"{attempt.writers} processes"
    return f"{attempt.number}: from epoch {attempt.first_epoch}, {processes}; {span}"


def _contents(health: Health, samples: int) -> Iterator[str]:
    expected = samples * len(health.epochs)
    missing = expected - sum(epoch.seen for epoch in health.epochs)
    least = min(health.epochs, key=lambda epoch: epoch.seen)
    yield f"coverage    {(expected - missing) / expected:.2%}" + (
        f"; {missing:,} missing, most in epoch {least.number} ({samples - least.seen:,})"
        if missing
        else ": every sample in every epoch"
    )
    if health.never_seen:
        why = f"; {health.unreadable:,} could not be read" if health.unreadable else ""
        yield f"            {health.never_seen:,} samples were never seen{why}"
    yield f"duplicates  {_worst({e.number: e.duplicates for e in health.epochs})}"
    yield f"not finite  {_worst({e.number: e.non_finite for e in health.epochs})}"
    if health.labels_changed:
        yield f"labels      changed {health.labels_changed:,} times between epochs"


def _worst(counts: dict[int, int]) -> str:
    """Sum up counts by epoch; an epoch that is damaged has none."""
    if not any(counts.values()):
        return "none"
    epoch = max(counts, key=lambda number: counts[number])
    return f"{sum(counts.values()):,}, most in epoch {epoch} ({counts[epoch]:,})"
