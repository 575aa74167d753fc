"""RunWriter: a run of values that somebody has as arrays, written without torch."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dualprune.arguments import as_array, checked
from dualprune.errors import InputError, did_you_mean
from dualprune.files import on_disk
from dualprune.run.attempts import continued_epochs
from dualprune.run.description import Description, check_count, refuse_too_many
from dualprune.run.names import digest_of, names_table
from dualprune.run.reader import open_parts, read_labels
from dualprune.run.signals import SIGNALS, column_of
from dualprune.run.writer import begin, write_part
from dualprune.signatures import Array

LARGEST = float(np.finfo(np.float32).max)
ROUNDING = 1e-5
"""How far below 0 a loss comes by rounding."""


class RunWriter:
    """Write a run from arrays, one epoch at a time; nothing of it needs torch.

    When `write_epoch` returns, a crash cannot lose that epoch.

    Parameters
    ----------
    path, samples
        Folder of the run; size of the dataset.
    signals
        What each epoch has: `loss` alone suffices for DUAL. See `Run.from_arrays`.
    labels, classes, class_names
        Class of every sample, shape (samples,): whole numbers from 0, or names. None where there
        are no classes. How many classes there are, if the labels do not show it; their names.
    names
        A name for every sample, such as a file or a key; shown by the page and the audit.
    start_epoch
        First epoch to write, counted from 1; required where the folder already holds epochs.
    mode
        Whether the values come from the training pass or from a clean evaluation pass; stored.
    data
        Fingerprint of the dataset, such as a hash; stored. Runs of different data do not mix.

    Examples
    --------
    >>> import tempfile
    >>> from dualprune import Run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     writer = RunWriter(f"{folder}/run", samples=3)
    ...     writer.write_epoch({"loss": [0.7, 0.5]}, ids=[2, 0])
    ...     Run(f"{folder}/run")["loss"].round(1).tolist()
    [[0.5, nan, 0.7]]
    """

    @checked
    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        samples: int,
        signals: Sequence[str] = ("loss",),
        labels: Array | None = None,
        classes: int | None = None,
        class_names: Sequence[str] | None = None,
        names: Sequence[str] = (),
        start_epoch: int | None = None,
        mode: Literal["train", "eval"] = "train",
        notes: str = "",
        data: str = "",
    ) -> None:
        refuse_too_many(samples, "a run was asked for with")
        _check_signals(signals, labels)
        self._labels, class_names = _as_classes(labels, class_names)
        if labels is None and (classes, class_names) != (None, None):
            raise InputError("classes need labels; give labels=, one per sample")
        table = names_table(names, np.arange(samples)) if len(names) else None
        self._description = Description(
            samples=samples,
            classes=_count_classes(self._labels, samples, classes, class_names),
            signals={name: column_of(name).dtype for name in signals},
            mode=mode,
            class_names=None if class_names is None else list(class_names),
            names="" if table is None else digest_of(table),
            notes=notes,
            data=data,
        )
        root = on_disk(path)
        self._attempt = begin(root, self._description, start_epoch, 1, table)
        self._refuse_other_labels(root)
        self.epoch = self._attempt.first_epoch
        """The epoch to be written, counted from 1."""

    def _refuse_other_labels(self, path: Path) -> None:
        if self._labels is None:
            return
        before = [
            open_parts(epoch, self._description) for epoch in continued_epochs(path, self._attempt)
        ]
        known = read_labels(before, range(self._description.samples))
        if len(other := np.flatnonzero((known >= 0) & (known != self._labels))):
            raise InputError(
                f"{len(other)} labels are not those that {path} holds, the first is that of id "
                f"{other[0]}; is this the same dataset, in the same order? If not, write into "
                "another folder."
            )

    def write_epoch(
        self, values: Mapping[str, Any], *, ids: Any = None, step: int | None = None
    ) -> None:
        """Write one epoch: an array (samples,) for each signal, NaN where it is missing.

        Parameters
        ----------
        values
            Signals by name, all that this run has.
        ids
            The samples that the values are of, if not of all in their order; of one that occurs
            twice the first values count.
        step
            The training step of an extra evaluation pass that is not a whole epoch of training.
        """
        samples = self._description.samples
        if set(values) != set(self._description.signals):
            raise InputError(
                f"this run has the signals {', '.join(self._description.signals)}; epoch "
                f"{self.epoch} was given {', '.join(values) or 'none'}"
            )
        rows = np.arange(samples) if ids is None else _as_ids(ids, samples, self.epoch)
        columns = {name: as_signal(name, values[name], len(rows)) for name in values}
        for name, column in columns.items():
            check_signal(name, column, rows, self._description.classes, self.epoch)
        unique, first = first_of_each(rows)
        kept = first[np.any([_present(n, c) for n, c in columns.items()], axis=0)[first]]
        labels = {} if self._labels is None else {"label": self._labels[rows]}
        facts = {"duplicates": len(rows) - len(unique), "non_finite": 0}
        if step is not None:
            facts["step"] = check_count("step", step, least=0)
        ordered = {name: columns[name] for name in self._description.signals}
        write_part(
            self._attempt, self.epoch, 0, {"id": rows, **labels, **ordered}, facts, order=kept
        )
        self.epoch += 1


def first_of_each(ids: Array) -> tuple[Array, Array]:
    """Give the different ids, sorted, and where each occurs first; `np.unique` in less memory."""
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
    if not len(again):
        return ordered, order
    return np.delete(ordered, again), np.delete(order, again)


def as_signal(name: str, values: Any, samples: int) -> Array:
    """Give values of a signal as they are stored; an infinite loss, of p = 0, is the largest."""
    array = as_array(name, values)
    if array.shape != (samples,):
        raise InputError(
            f"{name} has shape {array.shape}; it needs one value for each of {samples}"
        )
    column = column_of(name)
    if np.dtype(column.dtype).kind == "i":
        return np.where(np.isnan(array), column.missing, array).astype(column.dtype)
    if name == "loss":
        array = np.where(np.abs(array) <= ROUNDING, np.abs(array), array)
    return np.clip(array, -LARGEST, LARGEST).astype(column.dtype)


def check_signal(name: str, values: Array, ids: Array, classes: int | None, epoch: int) -> None:
    """Refuse values that the signal cannot have; missing ones pass."""
    if name == "rival":
        wrong, range_ = (values < -1) | (values >= (classes or 0)), f"a class below {classes}"
    elif name in SIGNALS and name != "margin":
        wrong, range_ = values < 0, "at least 0"
    else:
        return
    if name == "loss":
        range_ += ": it is -log of the probability that the model gave to what is right"
    if len(where := np.flatnonzero(wrong)):
        one = where[0]
        raise InputError(
            f"epoch {epoch}: the {name} of id {ids[one]} is {values[one]}; it must be {range_} "
            f"({len(where)} such values)"
        )


def _present(name: str, values: Array) -> Array:
    return values >= 0 if name == "rival" else ~np.isnan(values)


def _as_ids(ids: Any, samples: int, epoch: int) -> Array:
    rows = as_array("ids", ids, "iu")
    if rows.ndim != 1:
        raise InputError(f"ids have shape {rows.shape}; they must be one row")
    if len(wrong := rows[(rows < 0) | (rows >= samples)]):
        raise InputError(
            f"epoch {epoch}: id {wrong[0]} is outside 0 to {samples - 1}; an id is a position in "
            "the dataset"
        )
    return rows.astype(np.int64)


def _check_signals(signals: Sequence[str], labels: Array | None) -> None:
    if not signals:
        raise InputError(f"give at least one signal, such as loss; known are {', '.join(SIGNALS)}")
    for name in signals:
        if name not in SIGNALS:
            raise InputError(
                f"there is no signal {name!r}; known are {', '.join(SIGNALS)}."
                f"{did_you_mean(name, SIGNALS)}"
            )
    if "rival" in signals and labels is None:
        raise InputError("rival is a class; give labels=, one per sample, or leave rival out")
    if len({*signals}) < len(signals):
        raise InputError(f"a signal is listed twice in {', '.join(signals)}")


def _as_classes(
    labels: Array | None, class_names: Sequence[str] | None
) -> tuple[Array | None, Sequence[str] | None]:
    """Give labels as numbers of classes; names of classes are numbered in their order."""
    if labels is None or labels.dtype.kind in "biuf":
        return labels if labels is None else _whole(labels), class_names
    known = np.unique(labels).tolist() if class_names is None else list(class_names)
    position = {name: number for number, name in enumerate(known)}
    numbers = np.array([position.get(label, -1) for label in labels.tolist()], np.int32)
    if len(wrong := np.flatnonzero(numbers < 0)):
        raise InputError(
            f"the label of id {wrong[0]} is {str(labels[wrong[0]])!r}, which is not among the "
            "class_names"
        )
    return numbers, known


def _whole(labels: Array) -> Array:
    whole = labels.astype(np.int64)
    if len(wrong := np.flatnonzero(whole != labels)):
        raise InputError(f"the label of id {wrong[0]} is {labels[wrong[0]]}, no whole number")
    return whole


def _count_classes(
    labels: Array | None, samples: int, classes: int | None, names: Sequence[str] | None
) -> int | None:
    if labels is None:
        return None
    if labels.shape != (samples,):
        raise InputError(f"labels have shape {labels.shape}; {samples} samples need one each")
    known = classes or (len(names) if names is not None else max(2, int(labels.max()) + 1))
    if len(wrong := np.flatnonzero((labels < 0) | (labels >= known))):
        raise InputError(
            f"the label of id {wrong[0]} is {labels[wrong[0]]}, outside 0 to {known - 1}; leave "
            "out samples without a label"
        )
    return known
