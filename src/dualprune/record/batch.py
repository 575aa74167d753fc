"""Check what a training loop hands over: tensors, or what converts to them.

Shapes and types are known at once. Values are looked at here only on the host: looking at a value
on another device would wait for it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dualprune.arguments import as_array
from dualprune.errors import InputError
from dualprune.run.values import LARGEST, ROUNDING
from dualprune.signatures import Array

_INTEGERS = (
    *(torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
)


def as_batch(logits: Any, labels: Any, ids: Any, classes: int) -> tuple[Tensor, Tensor, Tensor]:
    """Give float32 logits (batch, classes), int64 labels and ids (batch,), or say what is wrong."""
    logits = _two_dimensional(_tensor("logits", logits), classes)
    ids = _integers("ids", ids)
    labels = _integers("labels", _hard(labels, classes))
    for name, value in (("labels", labels), ("ids", ids)):
        if value.shape != logits.shape[:1]:
            raise InputError(
                f"{name} have shape {tuple(value.shape)}, logits {tuple(logits.shape)}; "
                f"{name} need one entry per row of the logits"
            )
    return logits.float().contiguous(), labels.to(logits.device), ids


def as_rows(
    ids: Any, labels: Any, values: Mapping[str, Any], classes: int | None, signals: Iterable[str]
) -> dict[str, Tensor]:
    """Give ids, labels where there are classes, and the values of all signals, (batch,) each."""
    if set(values) != set(signals):
        raise InputError(
            f"this run has the signals {', '.join(signals)}; update_values was given "
            f"{', '.join(values) or 'none'}"
        )
    if (labels is None) != (classes is None):
        raise InputError(
            "this Recorder has no classes, so pass no labels, or make it with classes="
            if classes is None
            else f"this Recorder has {classes} classes; pass labels to update_values"
        )
    rows = {"id": _integers("ids", ids)}
    if classes is not None:
        rows["label"] = _integers("labels", _hard(labels, classes))
    for name, value in values.items():
        rows[name] = _integers(name, value) if name == "rival" else _bounded(name, value)
    for name, row in rows.items():
        if row.shape != rows["id"].shape or row.ndim != 1:
            raise InputError(
                f"{name} has shape {tuple(row.shape)}, ids {tuple(rows['id'].shape)}; give one "
                "number per sample"
            )
    return rows


def _bounded(name: str, values: Any) -> Tensor:
    """Give float32; an infinite loss, of p = 0, is the largest number."""
    row = _tensor(name, values).float().clamp(-LARGEST, LARGEST)
    return torch.where(row.abs() <= ROUNDING, row.abs(), row) if name == "loss" else row


def as_row(name: str, values: Any, logits: Tensor) -> Tensor:
    """Copy the values of a signal, float32 and beside the logits, or say what is wrong."""
    if not isinstance(values, Tensor) or values.shape != logits.shape[:1]:
        kind = tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__
        raise InputError(
            f"the signal {name} gave {kind}; it must give one number per sample, a tensor of shape "
            f"({len(logits)},)"
        )
    return values.to(logits.device, torch.float32, copy=True)


def _tensor(name: str, values: Any) -> Tensor:
    if isinstance(values, Tensor):
        return values
    array = as_array(name, values)
    try:
        return torch.tensor(array)  # a copy, since it may be read-only
    except TypeError as error:
        raise InputError(f"{name} must be of a type that torch has, got {array.dtype}") from error


def _two_dimensional(logits: Tensor, classes: int) -> Tensor:
    if not logits.is_floating_point():
        raise InputError(f"logits must be floats, got {logits.dtype}")
    shape = tuple(logits.shape)
    if classes == 2 and (len(shape) == 1 or shape[1:] == (1,)):
        one = logits.reshape(-1)
        return torch.stack([torch.zeros_like(one), one], dim=1)
    if len(shape) != 2 or shape[1] != classes:
        raise InputError(f"logits have shape {shape}; they must be (batch, {classes})")
    return logits


def _hard(labels: Any, classes: int) -> Any:
    """Let the 0.0 and 1.0 of a one-logit model pass as integers."""
    if classes == 2 and not isinstance(labels, Tensor) and np.asarray(labels).dtype.kind == "f":
        labels = torch.tensor(np.asarray(labels))
    if not (classes == 2 and isinstance(labels, Tensor) and labels.is_floating_point()):
        return labels
    whole = labels.to(torch.int64)
    if labels.device.type == "cpu" and not torch.equal(labels, whole.to(labels.dtype)):
        raise InputError(f"label {labels[labels != whole][0]} is neither 0 nor 1")
    return torch.where(labels == whole, whole, -1).reshape(-1)


def _integers(name: str, values: Any) -> Tensor:
    if not isinstance(values, Tensor):
        try:
            values = np.asarray(values)
        except ValueError as error:
            raise InputError(f"{name} must be one flat row of integers: {error}") from error
        if values.dtype.kind in "iu" or values.size == 0:
            values = torch.from_numpy(values.astype(np.int64))
    if values.dtype not in _INTEGERS:
        raise InputError(
            f"{name} must be 64-bit integers, got {values.dtype}; "
            + ("pass one hard label per sample" if name == "labels" else "pass positions")
        )
    return values.to(torch.int64)  # type: ignore[no-any-return] # Any came in


def check_ids(ids: Array, samples: int, epoch: int) -> None:
    """Refuse an id that is no position in the dataset."""
    if len(ids) and not 0 <= ids.min() <= ids.max() < samples:
        wrong = ids[(ids < 0) | (ids >= samples)][0]
        raise InputError(
            f"epoch {epoch}: id {wrong} is outside 0 to {samples - 1}; an id is the position in "
            "the dataset given to Indexed"
        )


def check_labels(labels: Array, ids: Array, classes: int, epoch: int) -> None:
    """Refuse a label that is no class."""
    if len(labels) and not 0 <= labels.min() <= labels.max() < classes:
        wrong = np.flatnonzero((labels < 0) | (labels >= classes))[0]
        raise InputError(
            f"epoch {epoch}: the label of id {ids[wrong]} is {labels[wrong]}, outside 0 to "
            f"{classes - 1}; leave out samples without a label"
        )
