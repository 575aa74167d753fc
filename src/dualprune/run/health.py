"""Read all of a run and describe it, even if some of it is damaged."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from dualprune.errors import DamagedError, DualpruneError, StoreError
from dualprune.files import Place, files_below
from dualprune.run.attempts import (
    Attempt,
    Epoch,
    find_attempts,
    find_epochs,
    finished,
    refuse_holes,
)
from dualprune.run.description import Description
from dualprune.run.features import old_features, read_features
from dualprune.run.names import read_names
from dualprune.run.part import CHUNK, Part
from dualprune.run.reader import open_parts
from dualprune.run.signals import all_missing
from dualprune.signatures import Array


@dataclass(frozen=True)
class EpochHealth:
    """What one complete epoch holds."""

    number: int
    attempt: int
    seen: int
    duplicates: int
    non_finite: int


@dataclass
class Health:
    """What a run holds; `damage` is empty if all of it can be read."""

    description: Description | None = None
    attempts: list[Attempt] = field(default_factory=list)
    epochs: list[EpochHealth] = field(default_factory=list)
    incomplete: list[Epoch] = field(default_factory=list)
    never_seen: int = 0
    unreadable: int = 0
    labels_changed: int = 0
    features: list[int] = field(default_factory=list)
    leftovers: list[Place] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)

    @contextmanager
    def noting_damage(self) -> Iterator[None]:
        """Go on after what is damaged, in whatever way that shows."""
        try:
            yield
        except StoreError:  # which says nothing about the run
            raise
        except DualpruneError as error:
            self.damage.append(str(error))
        except Exception as error:  # noqa: BLE001 - the rest is to be read
            self.damage.append(f"{type(error).__name__}: {error}")


def examine(root: Place) -> Health:
    """Read every file of a run and check it against its hashes, checksums and place."""
    health = Health()
    try:
        health.description = description = Description.load(root)
    except DamagedError as error:
        health.damage.append(str(error))
        return health
    with health.noting_damage():
        health.attempts = find_attempts(root)
        epochs = find_epochs(root)
        health.incomplete = [e for e in epochs.values() if not e.is_complete]
        _examine_epochs(finished(epochs), health, description)
        _examine_hidden(finished(epochs), health, description)
        _examine_names_and_old_features(root, health, description)
        health.leftovers = _leftovers(root)
        refuse_holes(epochs)
    return health


def _examine_epochs(complete: list[Epoch], health: Health, description: Description) -> None:
    labels = all_missing("label", description.samples)
    seen = np.zeros(description.samples, bool)
    for epoch in complete:
        with health.noting_damage():
            health.epochs.append(_examine_epoch(epoch, description, labels, seen, health))
    health.never_seen = int((~seen).sum())


def _examine_epoch(
    epoch: Epoch, description: Description, labels: Array, seen_ever: Array, health: Health
) -> EpochHealth:
    seen = np.zeros(description.samples, bool)
    duplicates = non_finite = 0
    parts = open_parts(epoch, description)
    for part in parts:
        if part.path.parent == epoch.folder:  # not what the epoch had before its attempt
            duplicates += part.facts["duplicates"]
            non_finite += part.facts["non_finite"]
            duplicates += _read(part, description, seen, labels, health)
        else:
            _read(part, description, seen, labels, health)
    seen_ever |= seen
    if "features" in parts[0].facts:
        with health.noting_damage():
            read_features(*parts[0].features, description.samples)
            health.features.append(epoch.number)
    return EpochHealth(epoch.number, epoch.attempt.number, int(seen.sum()), duplicates, non_finite)


def _read(part: Part, description: Description, seen: Array, labels: Array, health: Health) -> int:
    """Read all of a part, and count the ids that an earlier one had already seen."""
    again = 0
    for chunk in part.groups:
        where, columns = part.read(chunk, list(description.columns))
        ids = slice(chunk * CHUNK, (chunk + 1) * CHUNK)
        again += int(seen[ids][where].sum())
        seen[ids][where] = True
        if description.classes is not None:
            known, label = labels[ids], columns[1]
            health.labels_changed += int(((known[where] >= 0) & (known[where] != label)).sum())
            known[where] = label
    return again


def _examine_hidden(visible: list[Epoch], health: Health, description: Description) -> None:
    """Read what later attempts hide, too: somebody may go back to it."""
    known = {epoch.folder for epoch in visible}
    hidden = [epoch for attempt in health.attempts for epoch in attempt.epochs().values()]
    for epoch in hidden:
        with health.noting_damage():
            for part in [] if epoch.folder in known else open_parts(epoch, description):
                for chunk in part.groups:
                    part.read(chunk, list(description.columns))


def _examine_names_and_old_features(root: Place, health: Health, description: Description) -> None:
    with health.noting_damage():
        names = read_names(root, description)
        health.unreadable = int((names.get("unreadable", np.empty(0)) >= 0).sum())
    for number, path in old_features(root).items():
        with health.noting_damage():
            read_features(path, None, description.samples)
            health.features.append(number)


def _leftovers(root: Place) -> list[Place]:
    """Files that a recording did not finish or did not write; readers of the run skip them."""
    known = {root / "run.json", root / "names.parquet", *old_features(root).values()}
    for attempt in find_attempts(root):
        known.add(attempt.folder / "start.json")
        for epoch in attempt.epochs().values():
            known |= {*epoch.parts.values(), epoch.folder / "features.parquet"}
    return sorted({*files_below(root)} - known, key=str)
