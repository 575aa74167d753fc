"""Run: what a recording left on disk, read back."""

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np

from dualprune.errors import DamagedError, InputError, MissingError
from dualprune.run.attempts import Description, Epoch, find_epochs, finished, refuse_holes
from dualprune.run.derived import DERIVED
from dualprune.run.features import epochs_with_features, read_features
from dualprune.run.part import CHUNK, Part
from dualprune.run.signals import all_missing, column_of
from dualprune.signatures import Array, inputs

Block = tuple[range, dict[str, Array]]
Result = TypeVar("Result")
Results = tuple[dict[str, Array], list[tuple[range, Result]]]

_VALUES = 2**20  # of a signal per call: few enough for the caches, enough for numba to be used


class Run:
    """The signals of every sample in every epoch that a Recorder finished.

    ``run["loss"]`` and the other signals have shape (epochs, samples), ``run["labels"]`` has shape
    (samples,). What was not seen is NaN, or -1 among integers. Reading never writes, locks or
    creates anything.

    >>> Run("tests/runs/digits")
    Run('tests/runs/digits': 1,438 samples of 10 classes, 20 epochs; loss, margin, rival, ...)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.description = Description.load(self.path)
        epochs = find_epochs(self.path)
        refuse_holes(epochs)
        self._epochs = [open_parts(epoch, self.description) for epoch in finished(epochs)]

    def __repr__(self) -> str:
        return (
            f"Run({str(self.path)!r}: {self.samples:,} samples of {self.classes} classes, "
            f"{self.epochs} epochs; {', '.join(self.signals)})"
        )

    @property
    def samples(self) -> int:
        return self.description.samples

    @property
    def classes(self) -> int:
        return self.description.classes

    @property
    def signals(self) -> tuple[str, ...]:
        """Names of the recorded signals."""
        return self.description.signals

    @property
    def epochs(self) -> int:
        """How many epochs are complete."""
        return len(self._epochs)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the hashes of the parts: two runs that agree hold the same records."""
        digests = (part.digest for parts in self._epochs for part in parts)
        return hashlib.sha256("".join([self.description.digest, *digests]).encode()).hexdigest()

    def __getitem__(self, name: str) -> Array:
        if name == "labels":
            return self.labels.copy()
        if name == "features":
            return self.features()
        whole: Array = np.empty(0)
        for ids, values in self.map(lambda **block: block[name], [name]):
            if ids.start == 0:
                whole = np.empty((self.epochs, self.samples), values.dtype)
            whole[:, ids.start : ids.stop] = values
        return whole

    @cached_property
    def labels(self) -> Array:
        """Label of every sample, -1 if it was never seen; read once, and read-only."""
        labels = all_missing("label", self.samples)
        for parts in self._epochs:
            for part in parts:
                for chunk in part.groups:
                    where, (values,) = part.read(chunk, ["label"])
                    known = labels[chunk * CHUNK : (chunk + 1) * CHUNK]
                    known[where] = np.where(known[where] < 0, values, known[where])
            if labels.min() >= 0:
                break
        labels.flags.writeable = False
        return labels

    def features(self, epochs: int | None = None) -> Array:
        """Features after the newest of the first `epochs` epochs that has them."""
        last = self.first_epochs(epochs)
        usable = [epoch for epoch in epochs_with_features(self.path) if epoch <= last]
        return read_features(self.path, usable[-1] if usable else last, self.samples)

    def has(self, name: str) -> bool:
        """Whether `name` is in this run: a signal, recorded or derived, labels or features."""
        if name in ("labels", "features"):
            return name == "labels" or bool(epochs_with_features(self.path))
        return set(_stored(name)) <= {"label", *self.signals}

    def map(
        self, fn: Callable[..., Result], names: Sequence[str], *, epochs: int | None = None
    ) -> Iterator[tuple[range, Result]]:
        """Stream ranges of ids with what `fn` makes of their signals, on several threads.

        Memory holds a few times `CHUNK` ids, however many samples there are. It is reused: a result
        that is a view of the arrays passed to `fn` is valid only until the next result.
        """
        stored = self._recorded(names)
        chosen = self._epochs[: self.first_epochs(epochs)]
        workers = os.cpu_count() or 1
        width = min(CHUNK, self.samples)
        spare = [_empty(stored, (len(chosen), width)) for _ in range(workers + 1)]
        pending: deque[Future[Results[Result]]] = deque()

        def work(chunk: int, memory: dict[str, Array]) -> Results[Result]:
            ids, columns = self._read(chosen, chunk, memory)
            parts = _narrow(ids, columns)
            return memory, [(ids, fn(**_derive(names, part))) for ids, part in parts]

        with ThreadPoolExecutor(workers) as pool:
            for chunk in range(-(-self.samples // CHUNK)):
                if not spare:
                    memory, results = pending.popleft().result()
                    yield from results
                    spare.append(memory)
                pending.append(pool.submit(work, chunk, spare.pop()))
            for future in pending:
                yield from future.result()[1]

    def first_epochs(self, epochs: int | None) -> int:
        """Check a number of epochs against what is there; None means all."""
        if epochs is None:
            return self.epochs
        if not 1 <= epochs <= self.epochs:
            raise InputError(f"epochs must be from 1 to {self.epochs}, got {epochs}")
        return epochs

    def _recorded(self, names: Sequence[str]) -> list[str]:
        """Columns to read for these signals."""
        for name in names:
            if not self.has(name):
                known = [*self.signals, *filter(self.has, DERIVED)]
                raise MissingError(
                    f"this run has no {name!r}; it has {', '.join(known)}. "
                    f"Record again with signals=[..., {name!r}]."
                )
        return list(dict.fromkeys(column for name in names for column in _stored(name)))

    def _read(self, epochs: list[list[Part]], chunk: int, memory: dict[str, Array]) -> Block:
        ids = range(chunk * CHUNK, min((chunk + 1) * CHUNK, self.samples))
        columns = {name: rows[:, : len(ids)] for name, rows in memory.items()}
        for row, parts in enumerate(epochs):
            present = [part for part in parts if chunk in part.groups]
            if not any(part.groups[chunk].rows == len(ids) for part in present):
                for name, rows in columns.items():
                    rows[row] = column_of(name).missing
            for part in reversed(present):  # the lowest process comes last, so its value stays
                where, values = part.read(chunk, list(columns))
                for rows, value in zip(columns.values(), values, strict=True):
                    rows[row, where] = value
        return ids, columns


def _stored(name: str) -> tuple[str, ...]:
    """Columns from which a signal is read or derived."""
    return tuple(inputs(DERIVED[name])) if name in DERIVED else (name,)


def _empty(stored: list[str], shape: tuple[int, int]) -> dict[str, Array]:
    """Memory for the columns of one chunk."""
    return {name: np.empty(shape, column_of(name).dtype) for name in stored}


def _narrow(ids: range, columns: dict[str, Array]) -> Iterator[Block]:
    size = max((rows.size for rows in columns.values()), default=0)
    edges = np.linspace(0, len(ids), max(1, size // _VALUES) + 1, dtype=int)
    for start, stop in pairwise(edges):
        yield ids[start:stop], {name: rows[:, start:stop] for name, rows in columns.items()}


def _derive(names: Sequence[str], columns: dict[str, Array]) -> dict[str, Array]:
    signals = {}
    for name in names:
        values = [columns[column] for column in _stored(name)]
        signals[name] = DERIVED[name](*values) if name in DERIVED else values[0]
    return signals


def open_parts(epoch: Epoch, description: Description) -> list[Part]:
    """Open and check the parts of a complete epoch, in the order of the writing processes."""
    attempt = epoch.attempt
    if attempt.run != description.digest:
        raise DamagedError(f"{attempt.folder} was recorded for another run.json")
    return [
        Part.open(path, {"attempt": attempt.identity, "epoch": epoch.number, "writer": writer})
        for writer, path in sorted(epoch.parts().items())
    ]
