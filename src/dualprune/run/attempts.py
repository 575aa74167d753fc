"""Which epochs of a run exist.

A run is written by one or more *attempts*: every start and every resume makes the next numbered
folder. An attempt that starts at epoch s states the attempts of the epochs before s, which it
continues. The newest attempt with a complete epoch decides: what it continues and what it wrote
exists, everything else is hidden. So nothing is ever overwritten or repaired, and two processes
that start at the same time cannot spoil each other's epochs.

In the first epoch of an attempt, samples that it did not see keep the rows that this epoch had
before (a resumed loop may see only the rest of an epoch), unless it started from the beginning.
"""

import re
from dataclasses import dataclass, field, replace
from itertools import count, takewhile

from dualprune.arguments import build
from dualprune.errors import DamagedError
from dualprune.files import Place, entries, exists, read_json, reading
from dualprune.run.description import check_count

_PART = re.compile(r"part-(\d+)-of-(\d+)-[0-9a-f]{32}\.parquet")


@dataclass(frozen=True)
class Attempt:
    """One start of a recording.

    Parameters
    ----------
    first_epoch, writers, identity
        Where it began, how many processes write, and a name that no other attempt has.
    run
        Digest of `run.json`.
    continues
        Numbers of the attempts that hold epoch 1, 2, ... up to the one before `first_epoch`, and of
        `first_epoch` itself if it was there and is to be completed; None in format 1, where an
        attempt continues whatever came before.
    """

    folder: Place
    first_epoch: int
    writers: int
    identity: str
    run: str
    version: str
    continues: list[int] | None = None

    @property
    def number(self) -> int:
        return int(self.folder.name)

    @staticmethod
    def load(folder: Place) -> "Attempt":
        path = folder / "start.json"
        content = read_json(path)
        with reading(path):
            attempt = build(Attempt, {**content, "folder": folder})
            check_count("first_epoch", attempt.first_epoch, least=1)
            check_count("writers", attempt.writers, least=1)
            for number in attempt.continues or []:
                check_count("an attempt that it continues", number, least=1)
            return attempt

    def epochs(self) -> dict[int, "Epoch"]:
        """Its epochs by number; the newest is looked at first.

        A writer completes one epoch after the other, so what is complete then has no hole.
        """
        folders = reversed(_folders(self.folder))
        epochs = [Epoch(int(f.name), self, f, _parts(f, self.writers)) for f in folders]
        return {epoch.number: epoch for epoch in reversed(epochs)}


@dataclass(frozen=True)
class Epoch:
    """One epoch of one attempt: the part of each process that has written it.

    `before` is the same epoch of the attempt that this one continues.
    """

    number: int
    attempt: Attempt
    folder: Place
    parts: dict[int, Place] = field(repr=False)
    before: "Epoch | None" = None

    @property
    def is_complete(self) -> bool:
        return len(self.parts) == self.attempt.writers


def _parts(folder: Place, writers: int) -> dict[int, Place]:
    """Map each writing process to its file; other files are skipped."""
    parts: dict[int, Place] = {}
    for name in filter(None, (_PART.fullmatch(entry.name) for entry in entries(folder))):
        if int(name[2]) != writers:
            continue
        if int(name[1]) >= writers:
            raise DamagedError(f"{folder / name[0]} belongs elsewhere: {writers} processes wrote")
        if int(name[1]) in parts:
            raise DamagedError(f"{folder} holds two parts of process {name[1]}")
        parts[int(name[1])] = folder / name[0]
    return parts


def _folders(root: Place) -> list[Place]:
    with reading(root):
        names = [entry.name for entry in entries(root) if entry.name.isdecimal() and entry.is_dir()]
    return [root / name for name in sorted(names, key=int)]


def find_attempts(root: Place) -> list[Attempt]:
    """Attempts that began, oldest first; a folder without `start.json` was abandoned."""
    attempts = []
    for folder in _folders(root / "attempts"):
        if exists(folder / "start.json"):
            attempts.append(Attempt.load(folder))
        elif _folders(folder) and not exists(folder / "start.json"):  # which may be new
            raise DamagedError(f"{folder} holds epochs but has lost its start.json")
    _refuse_copies(attempts)
    return attempts


def _refuse_copies(attempts: list[Attempt]) -> None:
    owners: dict[str, str] = {}
    for attempt in attempts:
        owner = owners.setdefault(attempt.identity, attempt.folder.name)
        if owner != attempt.folder.name:
            path = attempt.folder / "start.json"
            raise DamagedError(f"{path} is damaged: it is that of {owner}")


History = dict[int, dict[int, Epoch]]
"""Epochs by attempt and number."""


def find_epochs(root: Place) -> dict[int, Epoch]:
    """Epochs that exist, by number, and those after them that are not complete yet."""
    visible: dict[int, Epoch] = {}
    history: History = {}
    for attempt in find_attempts(root):
        own, first = _epochs(attempt, history), attempt.first_epoch
        history[attempt.number] = own
        if attempt.continues is None:
            visible = {n: epoch for n, epoch in visible.items() if n < first} | own
        elif first in own and own[first].is_complete:
            visible = _continued(attempt, history) | own
        else:
            visible = own | visible
    return visible


def continued_epochs(root: Place, attempt: Attempt) -> list[Epoch]:
    """Epochs that an attempt continues, in their order."""
    history: History = {}
    for earlier in find_attempts(root):
        if earlier.number < attempt.number:
            history[earlier.number] = _epochs(earlier, history)
    return list(_continued(attempt, history).values())


def _epochs(attempt: Attempt, history: History) -> dict[int, Epoch]:
    """Give the epochs of an attempt; the first one knows the epoch that it completes."""
    own, before = attempt.epochs(), _continued(attempt, history)
    if attempt.first_epoch in own:
        first = own[attempt.first_epoch]
        own[first.number] = replace(first, before=before.get(first.number))
    return own


def _continued(attempt: Attempt, history: History) -> dict[int, Epoch]:
    epochs = {}
    for number, source in enumerate(attempt.continues or [], 1):
        if number not in history.get(source, {}):
            raise DamagedError(
                f"epoch {number} of attempt {source} is lost, which {attempt.folder} continues"
            )
        epochs[number] = history[source][number]
    return epochs


def finished(epochs: dict[int, Epoch]) -> list[Epoch]:
    """Complete epochs 1, 2, 3, ... up to the first that is incomplete."""
    numbers = takewhile(lambda n: n in epochs and epochs[n].is_complete, count(1))
    return [epochs[number] for number in numbers]


def refuse_holes(epochs: dict[int, Epoch]) -> None:
    """Refuse a complete epoch after an incomplete one, which no recording leaves."""
    lost = len(finished(epochs)) + 1
    later = [n for n in epochs if n > lost and epochs[n].is_complete]
    if later:
        raise DamagedError(
            f"epoch {lost} has lost a part, but epoch {min(later)} is complete "
            f"({epochs[min(later)].folder}). Bring the file back, or record again with "
            f"start_epoch={lost}."
        )


def newest_claim(root: Place) -> int:
    """Highest attempt number that any process has claimed; 0 if there is none."""
    return max((int(folder.name) for folder in _folders(root / "attempts")), default=0)


def continues(epochs: list[Epoch], first_epoch: int) -> list[int]:
    """Attempts that hold what a new attempt continues: the finished epochs up to its first one.

    From epoch 1 on nothing is continued.
    """
    wanted = epochs[:first_epoch] if first_epoch > 1 else []
    return [epoch.attempt.number for epoch in wanted]
