"""Recorder: write the signals of every sample, every epoch, while somebody's loop trains."""

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import Tensor

from dualprune.errors import InputError
from dualprune.record.batch import as_batch, as_norms, check_ids, check_labels
from dualprune.record.processes import processes, start_together
from dualprune.record.signals import DEFAULT, ON_REQUEST, SIGNALS, Outputs, kl_step
from dualprune.run import Run
from dualprune.run.attempts import Attempt, Description
from dualprune.run.writer import begin, write_part
from dualprune.signatures import Array

__all__ = ["Recorder"]

Rows = dict[str, Tensor]

_ENOUGH = 2**16  # logits that wait before their signals are computed


class Recorder:
    """Record what the model believes of each sample.

    Rows stay on their device during an epoch and reach the disk once, in `end_epoch`. What was not
    seen reads as NaN, never as zero. Under `torchrun` every process makes a Recorder on the same
    folder and writes its own part; a sample that two of them saw keeps the lower rank's value.

    Parameters
    ----------
    path
        Folder of the run, shared by all processes.
    samples, classes
        Size of the dataset given to `Indexed`; number of classes (2 for a one-logit model).
    signals
        What to record. `kl_step`, which TDDS needs, keeps the previous epoch's probabilities of all
        samples in memory and works in one process only; `feature_norm`, which GraNd needs, takes
        the features given to `update`.
    start_epoch
        First epoch to record, counted from 1. On a folder that already holds epochs it must be
        given: it goes on from there and hides what was recorded from there on.
    mode
        Whether the logits come from the training pass or from a clean evaluation pass; stored.
    data
        Fingerprint of the dataset, such as a hash; stored. Runs of different data do not mix.
    strict
        Raise for logits that are not finite instead of storing them as missing with a warning.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        samples: int,
        classes: int,
        signals: Sequence[str] = DEFAULT,
        start_epoch: int | None = None,
        mode: Literal["train", "eval"] = "train",
        class_names: Sequence[str] | None = None,
        notes: str = "",
        data: str = "",
        strict: bool = False,
    ) -> None:
        names = None if class_names is None else tuple(class_names)
        description = Description(samples, classes, tuple(signals), mode, names, notes, data)
        self._rank, writers = processes()
        _check_signals(description.signals, writers)
        number = start_together(
            lambda: begin(Path(path), description, start_epoch, writers), self._rank, writers
        )
        self._attempt = Attempt.load(Path(path) / "attempts" / f"{number:04d}")
        self._description = description
        self._labels = Run(path)["labels"]
        self._strict = strict
        self._process = os.getpid()
        self._previous: Tensor | None = None
        self._waiting: list[tuple[Tensor, ...]] = []
        self._batches: list[Rows] = []
        self._pending: tuple[dict[str, Array], dict[str, int]] | None = None
        self._closed = False
        self.epoch = self._attempt.first_epoch
        """The epoch being recorded, counted from 1."""

    @torch.inference_mode(mode=False)
    @torch.no_grad()
    def update(self, logits: Tensor, labels: Any, ids: Any, features: Tensor | None = None) -> None:
        """Take one batch: logits (batch, classes), labels (batch,) and ids (batch,).

        Only `feature_norm` needs features (batch, width), the input of the last layer. Keeps no
        autograd graph and does not wait for the device.
        """
        self._refuse_if_done("update")
        logits, labels, ids = as_batch(logits, labels, ids, self._description.classes)
        self._check_values(logits, labels, ids)
        norms = [as_norms(features, len(logits))] if "feature_norm" in self._signals else []
        self._waiting.append((logits.clone(), labels.clone(), ids.clone(), *norms))
        if sum(len(batch[0]) for batch in self._waiting) * logits.shape[1] >= _ENOUGH:
            self._compute()

    @torch.inference_mode(mode=False)
    @torch.no_grad()
    def _compute(self) -> None:
        """Compute the signals of several batches at once: small ones are all about the calls."""
        if not self._waiting:
            return
        logits, labels, ids, *norms = (torch.cat(each) for each in zip(*self._waiting, strict=True))
        self._waiting = []
        finite = logits.isfinite().all(1)
        known = labels.clamp(0, self._description.classes - 1)  # a bad index would end the device
        outputs = Outputs(logits, known)
        rows = {name: fn(outputs) for name, fn in SIGNALS.items() if name in self._signals}
        if "kl_step" in self._signals:
            now = outputs.probabilities
            rows["kl_step"] = self._kl_step(now, ids.to(logits.device), finite)
        if norms:
            rows["feature_norm"] = norms[0].to(logits.device)
            finite &= rows["feature_norm"].isfinite()
        self._batches.append({"id": ids, "label": labels, "finite": finite, **rows})

    def end_epoch(self) -> None:
        """Make this epoch durable: when this returns, a crash cannot lose it.

        If it could not be written, calling it again tries again; nothing was lost meanwhile.
        """
        self._refuse_if_done("end_epoch", pending=False)
        if self._pending is None:
            self._pending = self._collect()
        columns, counts = self._pending
        write_part(self._attempt, self.epoch, self._rank, columns, counts)
        self._labels[columns["id"]] = columns["label"]
        self._pending = None
        self.epoch += 1

    def close(self) -> None:
        """Stop recording; rows of an epoch that was not ended are not recorded."""
        if (self._waiting or self._batches or self._pending) and not self._closed:
            warnings.warn(
                f"epoch {self.epoch} was not ended with end_epoch() and is not recorded",
                stacklevel=2,
            )
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._waiting, self._batches = [], []
        self.close()

    @property
    def _signals(self) -> tuple[str, ...]:
        return self._description.signals

    def _refuse_if_done(self, call: str, *, pending: bool = True) -> None:
        if os.getpid() != self._process:
            raise InputError(f"{call}() in another process than the one that made the Recorder")
        if self._closed:
            raise InputError(f"{call}() after close(): make a new Recorder with start_epoch")
        if pending and self._pending is not None:
            raise InputError(
                f"epoch {self.epoch} could not be written; call end_epoch() again before {call}()"
            )

    def _check_values(self, logits: Tensor, labels: Tensor, ids: Tensor) -> None:
        if ids.device.type != "cpu":
            return
        check_ids(ids.numpy(), self._description.samples, self.epoch)
        if labels.device.type != "cpu":
            return
        check_labels(labels.numpy(), ids.numpy(), self._description.classes, self.epoch)
        if self._strict and not logits.isfinite().all():
            self._refuse_non_finite(ids[~logits.isfinite().all(1)].numpy())

    def _kl_step(self, now: Tensor, ids: Tensor, finite: Tensor) -> Tensor:
        samples, classes = self._description.samples, self._description.classes
        if self._previous is None:
            self._previous = torch.full((samples, classes), torch.nan, device=now.device)
            self._stored_in = torch.zeros(samples, dtype=torch.int32, device=now.device)
        ids = ids.clamp(0, samples - 1)
        before = self._previous[ids]
        new = finite & (self._stored_in[ids] < self.epoch)
        kept = torch.where(new[:, None], now, before)
        ordered, rows = ids.sort(stable=True)
        first = rows[torch.searchsorted(ordered, ordered)]  # of an id that occurs twice
        self._previous[ordered] = kept[first]
        self._stored_in[ids] = self.epoch
        return kl_step(now, before)

    def _collect(self) -> tuple[dict[str, Array], dict[str, int]]:
        """Sort this epoch's rows by id, first occurrence of each, and check what was not yet."""
        self._compute()
        if not self._batches and self._attempt.writers == 1:
            raise InputError(f"end_epoch() without any update() in epoch {self.epoch}")
        columns = _joined(self._batches, self._signals)
        check_ids(columns["id"], self._description.samples, self.epoch)
        check_labels(columns["label"], columns["id"], self._description.classes, self.epoch)
        rows = len(columns["id"])
        _, first = np.unique(columns["id"], return_index=True)
        columns = {name: values[first] for name, values in columns.items()}
        columns["label"] = columns["label"].astype(np.int32)
        self._check_same_labels(columns["id"], columns["label"])
        wrong = ~columns.pop("finite")
        missing = columns["id"][wrong]
        if len(missing):
            self._tell_non_finite(missing)
        for name in self._signals:
            columns[name][wrong] = -1 if name == "rival" else np.nan
        self._batches = []
        return columns, {"duplicates": rows - len(first), "non_finite": len(missing)}

    def _check_same_labels(self, ids: Array, labels: Array) -> None:
        before = self._labels[ids]
        changed = np.flatnonzero((before >= 0) & (before != labels))
        if len(changed):
            one = changed[0]
            raise InputError(
                f"epoch {self.epoch}: {len(changed)} labels changed; id {ids[one]} had label "
                f"{before[one]} before and has {labels[one]} now. Is this the same dataset, in the "
                "same order? If not, record into another folder."
            )

    def _tell_non_finite(self, ids: Array) -> None:
        if self._strict:
            self._refuse_non_finite(ids)
        warnings.warn(
            f"epoch {self.epoch}: {len(ids)} samples had logits that are not finite, the first is "
            f"id {ids[0]}; they are stored as missing",
            RuntimeWarning,
            stacklevel=4,
        )

    def _refuse_non_finite(self, ids: Array) -> None:
        raise InputError(
            f"epoch {self.epoch}: {len(ids)} samples have logits that are not finite, the first is "
            f"id {ids[0]}; without strict=True they are stored as missing"
        )


def _check_signals(signals: tuple[str, ...], writers: int) -> None:
    known = (*SIGNALS, *ON_REQUEST)
    for name in signals:
        if name not in known:
            raise InputError(f"there is no signal {name!r}; known are {', '.join(known)}")
    if "kl_step" in signals and writers > 1:
        raise InputError(
            f"kl_step compares a sample with its previous epoch, which another of the {writers} "
            "processes may have seen; record it in one process"
        )


def _joined(batches: list[Rows], signals: tuple[str, ...]) -> dict[str, Array]:
    """One host array per column, in the order of a part."""
    if not batches:
        empty = {"id": np.int64, "label": np.int32, "finite": bool, "rival": np.int32}
        names = ("id", "label", "finite", *signals)
        return {name: np.empty(0, empty.get(name, np.float32)) for name in names}
    return {
        name: torch.cat([rows[name] for rows in batches]).cpu().numpy()
        for name in ("id", "label", "finite", *signals)
    }
