"""Recorder: write the signals of every sample in every epoch of any training loop."""

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from dualprune.arguments import checked
from dualprune.errors import InputError
from dualprune.files import on_disk
from dualprune.record.batch import as_batch, as_row, as_rows, check_ids, check_labels
from dualprune.record.columns import Columns
from dualprune.record.processes import processes, start_together
from dualprune.record.signals import Outputs, Signal, make_signals, name_of
from dualprune.run.attempts import Attempt, continued_epochs
from dualprune.run.description import Description, check_count, refuse_too_many
from dualprune.run.names import digest_of, names_table
from dualprune.run.reader import open_parts, read_labels
from dualprune.run.signals import DEFAULT, column_of
from dualprune.run.values import check_signal, first_of_each
from dualprune.run.writer import begin, write_part
from dualprune.signatures import Array

Rows = dict[str, Tensor]

_ENOUGH = 2**16  # logits that wait before their signals are computed


class Recorder:
    """Record what the model believes about each sample.

    Rows stay on their device during an epoch and reach the disk once, in `end_epoch`. What was not
    seen reads as NaN, never as zero. Under `torchrun` every process makes a Recorder on the same
    folder and writes its own part; a sample that two of them saw keeps the lower rank's value.

    Parameters
    ----------
    path
        Folder of the run, shared by all processes.
    samples, classes
        Size of the dataset passed to `Indexed`; number of classes (2 for a one-logit model), None
        where there are none, as in a language model: use `update_values` then.
    signals
        What to record: names, or functions of your own; by default `loss` alone if there are no
        classes. `kl_step`, which TDDS needs, keeps the
        previous epoch's probabilities of all samples in memory and works in one process only;
        `feature_norm`, which GraNd needs, reads the features passed to `update`. A function takes
        the `Outputs` of a batch (logits, labels, ids, epoch, features) and returns a tensor
        (batch,), stored as float32 under the function's name.
    start_epoch
        First epoch to record, counted from 1. It is required where the folder already holds
        epochs: recording continues there and hides what was recorded from that epoch on.
    mode
        Whether the logits come from the training pass or from a clean evaluation pass; stored.
    names
        A name for every sample, such as its file; `source` may say where each one was in the set it
        was taken from. Stored, and shown by the page and the audit.
    unreadable
        The label of every sample that cannot be read, -1 for all others, shape (samples,). Such a
        sample keeps its id, and is never kept; do not pass it to `update`.
    data
        Fingerprint of the dataset, such as a hash; stored. Runs of different data do not mix.
    strict
        Raise for logits that are not finite instead of storing them as missing with a warning.
    timeout
        Seconds that the processes of a job wait here for each other; then the error names those
        that did not come.
    """

    @checked
    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        samples: int,
        classes: int | None = None,
        signals: Sequence[str | Signal] | None = None,
        start_epoch: int | None = None,
        mode: Literal["train", "eval"] = "train",
        class_names: Sequence[str] | None = None,
        names: Sequence[str] = (),
        source: Array | None = None,
        unreadable: Array | None = None,
        notes: str = "",
        data: str = "",
        strict: bool = False,
        timeout: float = 600,
    ) -> None:
        root = on_disk(path)
        refuse_too_many(samples, "a Recorder was asked for")
        table = _names(names, source, unreadable, samples)
        if signals is None:
            signals = DEFAULT if classes is not None else ("loss",)
        description = Description(
            samples=samples,
            classes=None if classes is None else check_count("classes", classes, least=2),
            signals={name_of(signal): column_of(name_of(signal)).dtype for signal in signals},
            mode=mode,
            class_names=None if class_names is None else list(class_names),
            names="" if table is None else digest_of(table),
            notes=notes,
            data=data,
        )
        self._rank, writers = processes()
        self._deferred, self._immediate = make_signals(
            signals, description.samples, classes or 0, writers
        )
        self._attempt = start_together(
            lambda: begin(root, description, start_epoch, writers, table),
            root,
            self._rank,
            writers,
            timeout,
        )
        self._description, self._classes = description, classes or 0
        self._labels = _known_labels(root, self._attempt, description)
        self._strict = strict
        self._process = os.getpid()
        self._waiting: list[Rows] = []
        self._rows_waiting = 0
        self._rows = Columns(-(-description.samples // writers))
        self._pending: tuple[dict[str, Array], Array, dict[str, Any]] | None = None
        self._closed = self._takes_values = False
        self.epoch = self._attempt.first_epoch
        """The epoch being recorded, counted from 1."""

    @torch.inference_mode(mode=False)
    @torch.no_grad()
    def update(self, logits: Any, labels: Any, ids: Any, features: Tensor | None = None) -> None:
        """Take one batch: logits (batch, classes), labels (batch,) and ids (batch,).

        They are tensors, or numpy arrays and lists.

        Only `feature_norm` needs features (batch, width), the input of the last layer; signals of
        your own may read them too. Keeps no autograd graph and does not wait for the device. If it
        raises, nothing of the batch was taken, and the same call can be tried again.
        """
        self._refuse_if_not_ready("update")
        if not self._classes:
            raise InputError(
                "this Recorder has no classes, so it takes no logits: make it with classes=, or "
                "use update_values"
            )
        logits, labels, ids = as_batch(logits, labels, ids, self._classes)
        self._check_on_host(labels, ids)
        if self._strict:
            self._check_finite(logits.isfinite().all(1), ids)
        batch = {"logits": logits.clone(), "label": labels.clone(), "id": ids.clone()}
        if self._immediate:
            outputs = self._outputs(batch, features)
            for name, signal in self._immediate.items():
                batch[name] = as_row(name, signal(outputs), logits)
            batch["finite"] = outputs.finite
        if (self._rows_waiting + len(ids)) * self._classes >= _ENOUGH:
            self._compute([*self._waiting, batch])
        else:
            self._waiting.append(batch)
            self._rows_waiting += len(ids)

    @torch.inference_mode(mode=False)
    @torch.no_grad()
    def update_values(self, ids: Any, labels: Any = None, **values: Any) -> None:
        """Take one batch of values where there are no logits, (batch,) each.

        Give all signals that the Recorder was made for by their names, such as `loss`, which is
        -log of the probability of what is right; and labels if there are classes. Tensors, arrays
        and lists will do. If it raises, nothing of the batch was taken.
        """
        self._refuse_if_not_ready("update_values")
        self._takes_values = True
        classes = self._description.classes
        rows = as_rows(ids, labels, values, classes, self._description.signals)
        self._check_on_host(rows.get("label"), rows["id"])
        for name in values:
            if rows["id"].device.type == rows[name].device.type == "cpu":
                check_signal(name, rows[name].numpy(), rows["id"].numpy(), classes, self.epoch)
        device = rows[next(iter(values))].device
        rows["finite"] = ~torch.stack([rows[n].isnan().to(device) for n in values]).any(0)
        if self._strict:
            self._check_finite(rows["finite"], rows["id"])
        if self._waiting:
            self._compute(self._waiting)
        self._rows.append(rows)

    def _outputs(self, batch: Rows, features: Tensor | None = None) -> Outputs:
        logits, labels = batch["logits"], batch["label"]
        labels = labels.clamp(0, self._classes - 1)  # an index out of range would crash a GPU
        return Outputs(logits, labels, batch["id"].to(logits.device), self.epoch, features)

    @torch.inference_mode(mode=False)
    @torch.no_grad()
    def _compute(self, waiting: list[Rows]) -> None:
        """Compute the deferred signals of several batches together: small ones cost mostly calls.

        Nothing has changed until all of them are computed, so that a failure loses no batch.
        """
        rows = {name: torch.cat([batch[name] for batch in waiting]) for name in waiting[0]}
        outputs = self._outputs(rows)
        del rows["logits"]
        rows.setdefault("finite", outputs.finite)
        for name, signal in self._deferred.items():
            rows[name] = signal(outputs)
        self._rows.append(rows)
        self._waiting, self._rows_waiting = [], 0

    @checked
    def end_epoch(self, *, features: Array | None = None, step: int | None = None) -> None:
        """Make this epoch durable: when this returns, a crash cannot lose it.

        If it raises because writing failed, call it again: nothing is lost in between.

        Parameters
        ----------
        features
            Features of all samples after this epoch, (samples, width), for methods that read them;
            process 0 writes them.
        step
            The training step of an extra evaluation pass that is not a whole epoch of training.
        """
        self._refuse_if_closed("end_epoch")
        if self._pending is None:
            self._pending = self._collect()
        columns, order, facts = self._pending
        if step is not None:
            facts["step"] = check_count("step", step, least=0)
        if features is not None and features.shape[:1] != (self._description.samples,):
            raise InputError(
                f"features of {features.shape} for a run of {self._description.samples} samples"
            )
        write_part(self._attempt, self.epoch, self._rank, columns, facts, features, order=order)
        if self._labels is not None:
            self._labels[columns["id"][order]] = columns["label"][order]
        self._pending = None
        self._rows.clear()
        self.epoch += 1

    def state_dict(self) -> dict[str, Tensor]:
        """What signals such as `kl_step` remember of earlier epochs, for your checkpoint."""
        return {
            f"{name}.{key}": value
            for name, signal in self._with_state()
            for key, value in signal.state_dict().items()
        }

    @checked
    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take over what `state_dict` gave, when a training is resumed from its checkpoint."""
        for name, signal in self._with_state():
            prefix = f"{name}."
            own = {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
            if own:
                signal.load_state_dict(own)

    def _with_state(self) -> list[tuple[str, Any]]:
        signals = {**self._deferred, **self._immediate}
        return [(name, fn) for name, fn in signals.items() if hasattr(fn, "state_dict")]

    def close(self) -> None:
        """Stop recording; rows of an epoch that was not ended are not recorded."""
        if (self._waiting or len(self._rows) or self._pending) and not self._closed:
            warnings.warn(
                f"epoch {self.epoch} was not ended with end_epoch() and is not recorded",
                stacklevel=2,
            )
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._waiting, self._rows_waiting = [], 0
            self._rows.clear()
        self.close()

    def _refuse_if_closed(self, call: str) -> None:
        if os.getpid() != self._process:
            raise InputError(f"{call}() in another process than the one that made the Recorder")
        if self._closed:
            raise InputError(f"{call}() after close(): make a new Recorder with start_epoch")

    def _refuse_if_not_ready(self, call: str) -> None:
        self._refuse_if_closed(call)
        if self._pending is not None:
            raise InputError(
                f"epoch {self.epoch} could not be written; call end_epoch() again before {call}()"
            )

    def _check_on_host(self, labels: Tensor | None, ids: Tensor) -> None:
        if ids.device.type != "cpu":
            return
        check_ids(ids.numpy(), self._description.samples, self.epoch)
        if labels is not None and labels.device.type == "cpu":
            check_labels(labels.numpy(), ids.numpy(), self._classes, self.epoch)

    def _check_finite(self, finite: Tensor, ids: Tensor) -> None:
        if ids.device.type == finite.device.type == "cpu" and not finite.all():
            self._report_non_finite(ids[~finite].numpy())

    def _collect(self) -> tuple[dict[str, Array], Array, dict[str, Any]]:
        """Rows of this epoch, the order of the first of each id; checks what `update` could not."""
        if self._waiting:
            self._compute(self._waiting)
        if not len(self._rows) and self._attempt.writers == 1:
            raise InputError(f"end_epoch() without any update() in epoch {self.epoch}")
        columns = self._rows.on_host((*self._description.columns, "finite"))
        ids = columns["id"]
        check_ids(ids, self._description.samples, self.epoch)
        unique, first = first_of_each(ids)
        if self._labels is not None:
            labels = columns["label"]
            check_labels(labels, ids, self._classes, self.epoch)
            self._check_one_label(ids, labels, unique, first)
            self._check_same_labels(self._labels[unique], unique, labels[first])
        for name in self._description.signals if self._takes_values else ():
            check_signal(name, columns[name], ids, self._description.classes, self.epoch)
        wrong = ~columns.pop("finite")
        missing = unique[wrong[first]]
        if len(missing):
            self._report_non_finite(missing)
        for name in self._description.signals:
            columns[name][wrong] = column_of(name).missing
        facts = {"duplicates": len(ids) - len(first), "non_finite": len(missing)}
        return columns, first, facts

    def _check_one_label(self, ids: Array, labels: Array, unique: Array, first: Array) -> None:
        """Refuse a sample that occurs twice in an epoch, with two labels."""
        if len(first) == len(ids):
            return
        other = np.flatnonzero(labels != labels[first][np.searchsorted(unique, ids)])
        if len(other):
            label = labels[first[np.searchsorted(unique, ids[other[0]])]]
            raise InputError(
                f"epoch {self.epoch}: id {ids[other[0]]} occurs twice, with label {label} and with "
                f"label {labels[other[0]]}; an id is the position in the dataset given to Indexed"
            )

    def _check_same_labels(self, before: Array, ids: Array, labels: Array) -> None:
        changed = np.flatnonzero((before >= 0) & (before != labels))
        if len(changed):
            one = changed[0]
            raise InputError(
                f"epoch {self.epoch}: {len(changed)} labels changed; id {ids[one]} had label "
                f"{before[one]} before and has {labels[one]} now. Is this the same dataset, in the "
                "same order? If not, record into another folder."
            )

    def _report_non_finite(self, ids: Array) -> None:
        what = "values" if self._takes_values else "logits"
        fact = (
            f"epoch {self.epoch}: {len(ids)} samples had {what} that are not finite, the first is "
            f"id {ids[0]}; "
        )
        if self._strict:
            raise InputError(f"{fact}without strict=True they are stored as missing")
        warnings.warn(f"{fact}they are stored as missing", RuntimeWarning, stacklevel=5)


def _known_labels(path: Path, attempt: Attempt, description: Description) -> Array | None:
    """Labels of the epochs that an attempt continues, None where there are no classes."""
    if description.classes is None:
        return None
    before = [open_parts(epoch, description) for epoch in continued_epochs(path, attempt)]
    return read_labels(before, range(description.samples))


def _names(
    names: Sequence[str], source: Array | None, unreadable: Array | None, samples: int
) -> pa.Table | None:
    if not names and source is None and unreadable is None:
        return None
    for what, values in {"source": source, "unreadable": unreadable}.items():
        if values is not None and values.shape != (samples,):
            raise InputError(f"{what} has shape {values.shape}, it needs one entry per sample")
    if source is not None and not 0 <= source.min() <= source.max() < 2**63:
        raise InputError(f"source holds {source.min()} to {source.max()}, positions are 0 or more")
    return names_table(names, np.arange(samples) if source is None else source, unreadable)
