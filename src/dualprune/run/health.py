"""Read all of a run and describe it, even if some of it is damaged."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dualprune.errors import DamagedError
from dualprune.run.attempts import (
    Attempt,
    Description,
    Epoch,
    find_attempts,
    find_epochs,
    finished,
    refuse_holes,
)
from dualprune.run.features import epochs_with_features, features_path, read_features
from dualprune.run.names import read_names
from dualprune.run.part import CHUNK
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
    labels_changed: int = 0
    features: list[int] = field(default_factory=list)
    leftovers: list[Path] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)

    @contextmanager
    def noting_damage(self) -> Iterator[None]:
        """Go on after what is damaged."""
        try:
            yield
        except DamagedError as error:
            self.damage.append(str(error))


def examine(root: Path) -> Health:
    """Read every file of a run and check it against its hashes, checksums and place."""
    health = Health()
    with health.noting_damage():
        health.description = Description.load(root)
        health.attempts = find_attempts(root)
        epochs = find_epochs(root)
        health.incomplete = [e for e in epochs.values() if not e.is_complete()]
        refuse_holes(epochs)
        _examine_epochs(finished(epochs), health, health.description)
        _examine_names_and_features(root, health, health.description.samples)
        health.leftovers = _leftovers(root)
    return health


def _examine_epochs(complete: list[Epoch], health: Health, description: Description) -> None:
    labels = all_missing("label", description.samples)
    for epoch in complete:
        with health.noting_damage():
            health.epochs.append(_examine_epoch(epoch, description, labels, health))
    health.never_seen = int((labels < 0).sum())


def _examine_epoch(
    epoch: Epoch, description: Description, labels: Array, health: Health
) -> EpochHealth:
    seen = np.zeros(description.samples, bool)
    rows = duplicates = non_finite = 0
    for part in open_parts(epoch, description):
        duplicates += part.facts["duplicates"]
        non_finite += part.facts["non_finite"]
        for chunk in part.groups:
            where, (label, *_) = part.read(chunk, ["label", *description.signals])
            known = labels[chunk * CHUNK : (chunk + 1) * CHUNK]
            health.labels_changed += int(((known[where] >= 0) & (known[where] != label)).sum())
            known[where] = label
            seen[chunk * CHUNK : (chunk + 1) * CHUNK][where] = True
            rows += len(label)
    unique = int(seen.sum())
    attempt = epoch.attempt.number
    return EpochHealth(epoch.number, attempt, unique, duplicates + rows - unique, non_finite)


def _examine_names_and_features(root: Path, health: Health, samples: int) -> None:
    with health.noting_damage():
        read_names(root, samples)
    for epoch in epochs_with_features(root):
        with health.noting_damage():
            read_features(root, epoch, samples)
            health.features.append(epoch)


def _leftovers(root: Path) -> list[Path]:
    """Files that a recording did not finish or did not write; readers skip them."""
    known = {root / "run.json", root / "names.parquet"}
    known |= {features_path(root, epoch) for epoch in epochs_with_features(root)}
    for attempt in find_attempts(root):
        known.add(attempt.folder / "start.json")
        known.update(path for epoch in attempt.epochs() for path in epoch.parts().values())
    paths = [*root.iterdir(), *(root / "attempts").rglob("*"), *(root / "features").rglob("*")]
    return sorted(path for path in paths if path.is_file() and path not in known)
