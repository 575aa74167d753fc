"""Run: what a recording left on disk, read back."""

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import Literal, TypeVar

import numpy as np

from dualprune.arguments import checked
from dualprune.errors import DamagedError, InputError, MissingError
from dualprune.files import Place, draft_folder, entries, on_disk
from dualprune.run.attempts import Epoch, find_epochs, finished, refuse_holes
from dualprune.run.derived import DERIVED
from dualprune.run.description import Description, run_folder
from dualprune.run.features import old_features, read_features
from dualprune.run.names import read_names
from dualprune.run.part import CHUNK, Part
from dualprune.run.ranges import Map, one_thread, threads
from dualprune.run.signals import all_missing, column_of
from dualprune.signatures import Array, inputs
from dualprune.urls import AnyPath, Url

Block = tuple[range, dict[str, Array]]
Result = TypeVar("Result")
Results = tuple[dict[str, Array], list[tuple[range, Result]]]

_BUFFERS = 2**29  # bytes that may be read ahead, whatever the number of cores
_REQUESTS = 16  # to a store at a time, for every thread that reads: it waits more than it works
_VALUES = 2**20  # of a signal per call: few enough for the caches, enough for numba to be used


class Run:
    """The signals of every sample in every epoch that a Recorder finished.

    ``run["loss"]`` and the other signals have shape (epochs, samples), ``run["labels"]`` has shape
    (samples,). What was not seen is NaN, or -1 among integers. Reading never writes, locks or
    creates anything. The folder may also be one of `prune`, which holds the run, and a URL such as
    ``s3://bucket/run``.

    >>> Run("tests/runs/digits")
    Run('tests/runs/digits': 1,438 samples of 10 classes, 20 epochs; loss, margin, rival, ...)
    """

    @checked
    def __init__(self, path: AnyPath) -> None:
        self.path = run_folder(path)
        self.description = Description.load(self.path)
        epochs = find_epochs(self.path)
        refuse_holes(epochs)
        self._each: Map = map
        if isinstance(self.path, Url):
            self._each = partial(threads, workers=_REQUESTS)
        opened = self._each(partial(open_parts, description=self.description), finished(epochs))
        self._epochs = list(opened)

    @staticmethod
    @checked
    def from_arrays(
        path: str | os.PathLike[str],
        *,
        loss: Array | None = None,
        labels: Array | None = None,
        margin: Array | None = None,
        rival: Array | None = None,
        entropy: Array | None = None,
        error_norm: Array | None = None,
        kl_step: Array | None = None,
        feature_norm: Array | None = None,
        classes: int | None = None,
        class_names: Sequence[str] | None = None,
        names: Sequence[str] = (),
        mode: Literal["train", "eval"] = "train",
        notes: str = "",
        data: str = "",
    ) -> "Run":
        """Write a run of signals (epochs, samples) that you have; a crash leaves all of it or none.

        Missing is NaN. `loss`, which is -log of the probability of what is right, suffices for
        DUAL, Dyn-Unc, confidence, variability and the page. `RunWriter`, which explains the other
        parameters, writes one epoch at a time.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Run.from_arrays(f"{folder}/run", loss=[[0.7, 0.5], [0.1, 0.6]])
        Run('...run': 2 samples, 2 epochs; loss)
        """
        from dualprune.run.values import RunWriter  # noqa: PLC0415 - it reads runs, too

        possible = {"loss": loss, "margin": margin, "rival": rival, "entropy": entropy}
        possible |= {"error_norm": error_norm, "kl_step": kl_step, "feature_norm": feature_norm}
        signals = {name: values for name, values in possible.items() if values is not None}
        epochs, samples = _shape(signals)
        folder = on_disk(path)
        if entries(folder) or folder.is_file():
            raise InputError(f"{folder} is already there; choose a new or empty folder")
        with draft_folder(folder) as building:
            writer = RunWriter(
                building,
                samples=samples,
                signals=list(signals),
                labels=labels,
                classes=classes,
                class_names=class_names,
                names=names,
                mode=mode,
                notes=notes,
                data=data,
            )
            for epoch in range(epochs):
                writer.write_epoch({name: values[epoch] for name, values in signals.items()})
        return Run(path)

    def __repr__(self) -> str:
        classes = "" if self.classes is None else f" of {self.classes} classes"
        return (
            f"Run({str(self.path)!r}: {self.samples:,} samples{classes}, "
            f"{self.epochs} epochs; {', '.join(self.signals)})"
        )

    @property
    def samples(self) -> int:
        return self.description.samples

    @property
    def classes(self) -> int | None:
        """How many classes there are, None where samples have no labels."""
        return self.description.classes

    @property
    def signals(self) -> tuple[str, ...]:
        """Names of the recorded signals."""
        return tuple(self.description.signals)

    @property
    def epochs(self) -> int:
        """How many epochs are complete."""
        return len(self._epochs)

    @property
    def steps(self) -> list[int | None]:
        """The training step of each epoch that is an extra evaluation pass, else None."""
        return [parts[0].facts.get("step") for parts in self._epochs]

    @property
    def names(self) -> dict[str, Array]:
        """Columns `source` and, if samples have names, `name`; empty if none were recorded."""
        return {name: self._names[name] for name in ("source", "name") if name in self._names}

    @cached_property
    def _names(self) -> dict[str, Array]:
        return read_names(self.path, self.description)

    @cached_property
    def unreadable(self) -> Array:
        """Ids of the samples that could not be read, sorted; they were never seen."""
        return np.flatnonzero(self._names.get("unreadable", np.empty(0)) >= 0)

    @property
    def readable(self) -> int:
        """How many samples could be read."""
        return self.samples - len(self.unreadable)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the hashes of all that was recorded: equal for runs that hold the same."""
        digests = (part.digest for parts in self._epochs for part in parts)
        return hashlib.sha256("".join([self.description.digest, *digests]).encode()).hexdigest()

    @checked
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
        """Label of every sample, -1 if it was never seen; read once, and read-only.

        What could not be read has the label that was stated for it.
        """
        if self.classes is None:
            raise MissingError(f"{self.path} has no labels; it was recorded without classes")
        labels = self.labels_of(range(self.samples))
        labels.flags.writeable = False
        return labels

    def labels_of(self, ids: range) -> Array:
        """Labels of a range of ids; `labels` are those of all."""
        labels = read_labels(self._epochs, ids)
        if "unreadable" in self._names:
            labels = np.maximum(labels, self._names["unreadable"][ids.start : ids.stop])
        return labels

    def features(self, epochs: int | None = None) -> Array:
        """Features after the newest of the first `epochs` epochs that has them.

        What could not be read has NaN.
        """
        last, known = self.first_epochs(epochs), self.with_features
        usable = [epoch for epoch in known if epoch <= last]
        if not usable:
            raise MissingError(
                f"{self.path} has no features of epoch {last}; "
                + (f"it has those of {list(known)}" if known else "record with --features")
            )
        features = read_features(*known[usable[-1]], self.samples)
        if len(self.unreadable):
            features = features.copy()
            features[self.unreadable] = np.nan
        return features

    @cached_property
    def with_features(self) -> dict[int, tuple[Place, str | None]]:
        """Files of features and their hashes, by the epoch after which they were taken."""
        if self.description.format == 1:
            return {epoch: (path, None) for epoch, path in old_features(self.path).items()}
        first = [parts[0] for parts in self._epochs]
        return {
            epoch: part.features for epoch, part in enumerate(first, 1) if "features" in part.facts
        }

    @checked
    def has(self, name: str) -> bool:
        """Whether `name` is in this run: a signal, recorded or derived, labels or features."""
        if name == "features":
            return bool(self.with_features)
        stored = ["label"] if name == "labels" else _stored(name)
        return set(stored) <= self.description.columns.keys()

    @checked
    def map(
        self,
        fn: Callable[..., Result],
        names: Sequence[str],
        *,
        epochs: int | None = None,
        ids: range | None = None,
        threads: int | None = None,
    ) -> Iterator[tuple[range, Result]]:
        """Stream ranges of ids with what `fn` makes of their signals.

        Of all ids or of those given, on so many threads or as many as there are cores; 1 is this
        thread. Memory holds a few times `CHUNK` ids, however many samples there are. It is reused:
        a result that is a view of the arrays passed to `fn` is valid only until the next result.
        """
        stored = self._recorded(names)
        chosen, wanted = self._epochs[: self.first_epochs(epochs)], self._range(ids)
        shape = (len(chosen), min(CHUNK, self.samples))
        workers = threads or self.threads(names, epochs=epochs)
        spare = [
            {name: np.empty(shape, self._dtype(name)) for name in stored}
            for _ in range(1 if workers == 1 else workers + 1)
        ]

        def work(chunk: int, memory: dict[str, Array]) -> Results[Result]:
            block = _overlap(self._read(chosen, chunk, memory), wanted)
            with one_thread():  # other blocks have threads of their own
                return memory, [(ids, fn(**_derive(names, part))) for ids, part in _narrow(*block)]

        chunks = range(wanted.start // CHUNK, -(-wanted.stop // CHUNK)) if wanted else range(0)
        if workers == 1:
            for chunk in chunks:
                yield from work(chunk, spare[0])[1]
        else:
            yield from _on_threads(work, chunks, spare, workers)

    @checked
    def threads(self, names: Sequence[str], *, epochs: int | None = None) -> int:
        """How many threads may read these signals at a time: the cores, if memory suffices."""
        rows = self.first_epochs(epochs) * min(CHUNK, self.samples)
        size = sum(np.dtype(self._dtype(name)).itemsize for name in self._recorded(names)) * rows
        return max(1, min(os.cpu_count() or 1, _BUFFERS // max(size, 1) - 1))

    def _range(self, ids: range | None) -> range:
        if ids is None:
            return range(self.samples)
        if ids.step != 1 or not 0 <= ids.start <= ids.stop <= self.samples:
            raise InputError(f"ids must be a range from 0 to {self.samples} at most, got {ids}")
        return ids

    def __reduce__(self) -> tuple[Callable[..., "Run"], tuple[str | Url, int, str]]:
        """Let another process open the same recording; what was read does not travel."""
        path = self.path if isinstance(self.path, Url) else os.path.abspath(self.path)  # noqa: PTH100
        return reopen, (path, self.epochs, self.fingerprint)

    @checked
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

    def _dtype(self, name: str) -> str:
        return self.description.columns[name]

    def _read(self, epochs: list[list[Part]], chunk: int, memory: dict[str, Array]) -> Block:
        ids = range(chunk * CHUNK, min((chunk + 1) * CHUNK, self.samples))
        columns = {name: rows[:, : len(ids)] for name, rows in memory.items()}
        present: list[tuple[int, Part]] = []
        for row, parts in enumerate(epochs):
            own = [part for part in parts if chunk in part.groups]
            if not any(part.groups[chunk].rows == len(ids) for part in own):
                for name, rows in columns.items():
                    rows[row] = column_of(name).missing
            present += ((row, part) for part in reversed(own))  # the lowest process last: it stays
        contents = self._each(lambda one: one[1].read(chunk, list(columns)), present)
        for (row, _), (where, values) in zip(present, contents, strict=True):
            for rows, value in zip(columns.values(), values, strict=True):
                rows[row, where] = value
        return ids, columns


@lru_cache(maxsize=16)
def reopen(path: str | Url, epochs: int, fingerprint: str) -> Run:
    """Open a run as another process opened it: with so many epochs, and nothing else in them."""
    run = Run(path)
    del run._epochs[epochs:]  # recorded since
    if run.fingerprint != fingerprint:
        raise InputError(f"{path} was recorded anew while it was read; start again")
    return run


def _on_threads(
    work: Callable[[int, dict[str, Array]], Results[Result]],
    chunks: range,
    spare: list[dict[str, Array]],
    workers: int,
) -> Iterator[tuple[range, Result]]:
    pending: deque[Future[Results[Result]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for chunk in chunks:
            if not spare:
                memory, results = pending.popleft().result()
                yield from results
                spare.append(memory)
            pending.append(pool.submit(work, chunk, spare.pop()))
        for future in pending:
            yield from future.result()[1]


def _overlap(block: Block, wanted: range) -> Block:
    """Give the part of a block that is in a range of ids."""
    ids, columns = block
    start, stop = max(ids.start, wanted.start), min(ids.stop, wanted.stop)
    cut = slice(start - ids.start, stop - ids.start)
    return range(start, stop), {name: rows[:, cut] for name, rows in columns.items()}


def _shape(signals: dict[str, Array]) -> tuple[int, int]:
    """Give how many epochs and samples these signals are of, or say what does not fit."""
    if not signals:
        raise InputError("give at least one signal, such as loss=, of shape (epochs, samples)")
    shapes = {name: values.shape for name, values in signals.items()}
    first, shape = next(iter(shapes.items()))
    for name, other in shapes.items():
        if len(other) != 2 or 0 in other:
            raise InputError(f"{name} has shape {other}; signals are (epochs, samples)")
        if other != shape:
            raise InputError(f"{name} has shape {other}, but {first} has {shape}")
    return shape[0], shape[1]


def _stored(name: str) -> tuple[str, ...]:
    """Columns from which a signal is read or derived."""
    return tuple(inputs(DERIVED[name])) if name in DERIVED else (name,)


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
    """Open and check the parts of a complete epoch, in the order of the writing processes.

    Last come the parts that the epoch had before its attempt: they fill what it did not see.
    """
    attempt = epoch.attempt
    if attempt.run != description.digest:
        raise DamagedError(f"{attempt.folder} was recorded for another run.json")
    facts = {"attempt": attempt.identity, "epoch": epoch.number}
    own = [
        Part.open(path, facts | {"writer": writer}, description.samples)
        for writer, path in sorted(epoch.parts.items())
    ]
    return own if epoch.before is None else own + open_parts(epoch.before, description)


def read_labels(epochs: Sequence[list[Part]], ids: range) -> Array:
    """Read the labels of a range of ids, -1 if these epochs did not see a sample.

    One process compared the labels of all epochs when it recorded them. Several could not, so
    theirs are compared here.
    """
    chunks = range(ids.start // CHUNK, -(-ids.stop // CHUNK))
    whole = all_missing("label", len(chunks) * CHUNK)
    labels = whole[ids.start - chunks.start * CHUNK :][: len(ids)]
    for number, parts in enumerate(epochs, 1):
        for part in parts:
            _take_labels(part, chunks, whole, number)
        if labels.min(initial=0) >= 0 and not any(len(later) > 1 for later in epochs[number:]):
            break
    return labels


def _take_labels(part: Part, chunks: range, labels: Array, epoch: int) -> None:
    for chunk in sorted(part.groups.keys() & chunks):
        where, (values,) = part.read(chunk, ["label"])
        known = labels[(chunk - chunks.start) * CHUNK :][:CHUNK]
        before = known[where]
        if len(other := np.flatnonzero((before >= 0) & (before != values))):
            ids = np.arange(chunk * CHUNK, (chunk + 1) * CHUNK)[where]
            raise InputError(
                f"{part.path}: id {ids[other[0]]} has label {values[other[0]]} in epoch {epoch}, "
                f"{before[other[0]]} in another part of the run ({len(other)} such ids); did all "
                "processes read the same dataset in the same order? Record again."
            )
        known[where] = values
