"""Runs from what other tools have written: tables, arrays, and the files of published code.

Everything becomes rows of (sample, epoch, label, values), and those a run.
"""

import io
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pyarrow import csv
from scipy.special import log_softmax

from dualprune.arguments import as_array, checked
from dualprune.errors import InputError, MissingError
from dualprune.files import entries, exists, on_disk, read, read_table, reading
from dualprune.integrations.logits import signals_of
from dualprune.run import Run
from dualprune.run.signals import SIGNALS
from dualprune.signatures import Array

_PROBABILITIES = ("target_prob", "prob")
_VALUES = (*SIGNALS, *_PROBABILITIES)
_WIDE = re.compile(rf"({'|'.join(_VALUES)})_(\d+)")
_AUM = {
    "sample_id": "id",
    "num_measurements": "epoch",
    "target_logit": "label",
    "other_logit": "rival",
    "margin": "margin",
}
_AUM_FILE = "full_aum_records.csv"
_KNOWN = (
    "a .csv, .tsv or .parquet table, a .npy array, or a folder with N_Loss.npy, N_Output.npy and "
    f"N_Index.npy (TDDS, DUAL), dynamics_epoch_N.jsonl (cartography) or {_AUM_FILE} (aum)"
)
_TOLERANCE = 1e-2  # between a loss that was stored and the same from stored logits


@dataclass(frozen=True)
class _Rows:
    """Values by row: `sample` and `epoch` are positions, `names` those of the samples."""

    sample: Array
    epoch: Array
    values: Mapping[str, Array]
    label: Array | None = None
    names: tuple[str, ...] = ()


@checked
def import_run(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    values: Literal["loss", "prob"] | None = None,
    labels: str | os.PathLike[str] | None = None,
) -> Run:
    """Write a run from a file or folder that another tool wrote.

    Parameters
    ----------
    path
        A table (CSV, TSV, Parquet) is long, with columns `id`, `epoch`, and `loss` or `prob`, or
        wide, a row per sample with columns `loss_1`, `loss_2`, ... or `prob_1`, ...; both may have
        `label`, and the long one other signals. Ids that are text become names. An array is
        (epochs, samples), or (epochs, samples, classes) of probabilities, which needs labels. A
        folder is that of TDDS or DUAL, of dataset cartography, or of aum.
    out
        Folder of the run, new or empty.
    values
        What an array holds: losses, or probabilities of the label.
    labels
        A .npy file with the class of every sample, beside an array.
    """
    source = Path(path)
    if not exists(source):
        raise MissingError(f"there is no {source}; give {_KNOWN}")
    if source.suffix != ".npy" and (values or labels):
        raise InputError(f"values and labels are for a .npy array; {source} states its own")
    rows = _array(source, values, labels) if source.suffix == ".npy" else _reader(source)(source)
    return _write(rows, source, on_disk(out))


def _reader(path: Path) -> Callable[[Path], _Rows]:
    names = [entry.name for entry in entries(path)]
    if any(_epoch_of(name, "_Loss.npy") is not None for name in names):
        return _dynamics
    if any(name.startswith("dynamics_epoch_") for name in names):
        return _cartography
    if _AUM_FILE in names:
        return lambda folder: _table(folder / _AUM_FILE)
    for inside in ("npy", "training_dynamics"):
        if inside in names:
            return lambda folder: _reader(folder / inside)(folder / inside)
    if path.suffix in (".csv", ".tsv", ".parquet") and not path.is_dir():
        return _table
    raise InputError(f"{path} is nothing that can be imported; give {_KNOWN}")


def _write(rows: _Rows, source: Path, out: Path) -> Run:
    samples = len(rows.names) or int(rows.sample.max()) + 1
    epochs, epoch = np.unique(rows.epoch, return_inverse=True)
    cell = epoch * samples + rows.sample
    if len(np.unique(cell)) < len(cell):
        again = np.setdiff1d(np.arange(len(cell)), np.unique(cell, return_index=True)[1])[0]
        raise InputError(
            f"{source}: sample {_name(rows, again)!r} occurs twice in epoch {rows.epoch[again]}"
        )
    labels, class_names = _labels(rows, samples, source)
    known: dict[str, Any] = {"labels": labels, "class_names": class_names, "names": rows.names}
    for name, column in _as_losses(rows.values, source).items():
        known[name] = np.full((len(epochs), samples), np.nan, np.float32)
        known[name][epoch, rows.sample] = as_array(name, column)
    if labels is not None and class_names is None:  # a class may occur as a rival only
        known["classes"] = int(max(1, labels.max(), np.nanmax(known.get("rival", 0)))) + 1
    elif "rival" in known:
        raise InputError(f"{source}: rival is the number of a class, so label must be one, too")
    return Run.from_arrays(out, **known, notes=f"imported from {source.name}")


def _name(rows: _Rows, row: Any) -> Any:
    return rows.names[rows.sample[row]] if rows.names else int(rows.sample[row])


def _as_losses(values: Mapping[str, Array], source: Path) -> dict[str, Array]:
    """Give probabilities as losses."""
    signals = {name: column for name, column in values.items() if name in SIGNALS}
    for name in set(values) - set(signals):
        prob = as_array(name, values[name])
        if len(wrong := prob[(prob < 0) | (prob > 1)]):
            raise InputError(f"{source}: {name} must be from 0 to 1, got {wrong[0]}; is it a loss?")
        with np.errstate(divide="ignore"):
            signals.setdefault("loss", -np.log(prob))
    return signals


def _labels(rows: _Rows, samples: int, source: Path) -> tuple[Array | None, list[str] | None]:
    """Give one label per sample; a sample that was never seen keeps the first class unread."""
    if rows.label is None:
        return None, None
    names, numbers = None, rows.label
    if numbers.dtype.kind not in "iu":
        names, numbers = np.unique(numbers.astype(str), return_inverse=True)
    if numbers.min() < 0:
        raise InputError(f"{source}: label {numbers.min()} is no class; leave out such samples")
    labels = np.zeros(samples, np.int64)
    labels[rows.sample] = numbers
    if len(other := np.flatnonzero(labels[rows.sample] != numbers)):
        raise InputError(f"{source}: sample {_name(rows, other[0])!r} has two different labels")
    return labels, None if names is None else names.tolist()


def _table(path: Path) -> _Rows:
    table = _read_table(path)
    if set(_AUM) <= set(table.column_names):
        table = table.select(list(_AUM)).rename_columns(list(_AUM.values()))
    known = set(table.column_names)
    if not len(table):
        raise InputError(f"{path} has no rows")
    if {"id", "epoch"} <= known and known & set(_VALUES):
        return _long(table, path)
    if any(map(_WIDE.fullmatch, known)):
        return _wide(table, path)
    hint = (
        "; it holds sums only: make AUMCalculator with compressed=False" if "aum" in known else ""
    )
    raise InputError(
        f"{path} has the columns {', '.join(table.column_names)}{hint}. Name them id, epoch and "
        f"loss or prob (a row per sample and epoch), or loss_1, loss_2, ... or prob_1, ... (a row "
        f"per sample); other signals are {', '.join(SIGNALS)}"
    )


def _read_table(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return read_table(path)
    parse = csv.ParseOptions(
        delimiter="\t" if path.suffix == ".tsv" else ",", newlines_in_values=True
    )
    with reading(path):
        options = csv.ReadOptions(use_threads=False)
        return csv.read_csv(io.BytesIO(read(path)), read_options=options, parse_options=parse)


def _long(table: pa.Table, path: Path) -> _Rows:
    sample, names = _samples(table, path)
    epoch = as_array("epoch", _column(table, "epoch", path))
    if (epoch != epoch.astype(np.int64)).any():
        raise InputError(f"{path}: epoch must be whole numbers")
    values = {name: table[name].to_numpy() for name in _VALUES if name in table.column_names}
    return _Rows(sample, epoch.astype(np.int64), values, _label_column(table, path), names)


def _wide(table: pa.Table, path: Path) -> _Rows:
    if "id" not in table.column_names:
        table = table.append_column("id", pa.array(range(len(table))))
    sample, names = _samples(table, path)
    found = list(filter(None, map(_WIDE.fullmatch, table.column_names)))
    epochs = sorted({int(match[2]) for match in found})
    signals = dict.fromkeys(match[1] for match in found)
    values = {}
    for name in signals:
        columns = {int(match[2]): match[0] for match in found if match[1] == name}
        if sorted(columns) != epochs:
            raise InputError(f"{path}: {name} has not all of the epochs {epochs[0]}-{epochs[-1]}")
        values[name] = np.concatenate([table[columns[epoch]].to_numpy() for epoch in epochs])
    label = _label_column(table, path)
    label = None if label is None else np.tile(label, len(epochs))
    rows = np.repeat(epochs, len(table))
    return _Rows(np.tile(sample, len(epochs)), rows, values, label, names)


def _column(table: pa.Table, name: str, path: Path) -> Array:
    if missing := table[name].null_count:
        raise InputError(f"{path}: {missing} rows have no {name}")
    values: Array = table[name].to_numpy()
    return values


def _label_column(table: pa.Table, path: Path) -> Array | None:
    return _column(table, "label", path) if "label" in table.column_names else None


def _samples(table: pa.Table, path: Path) -> tuple[Array, tuple[str, ...]]:
    """Give positions: whole numbers are those, text is numbered as it comes and becomes names."""
    ids = _column(table, "id", path)
    if ids.dtype.kind not in "iu":
        return _numbered(ids.astype(str).tolist())
    different, last = len(np.unique(ids)), int(ids.max())
    if ids.min() < 0 or last >= 2 * different:
        raise InputError(
            f"{path}: ids from {ids.min()} to {last} of {different} samples are no positions, "
            "which count from 0; as text they would become names"
        )
    return ids.astype(np.int64), ()


def _numbered(names: list[str]) -> tuple[Array, tuple[str, ...]]:
    position = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([position[name] for name in names]), tuple(position)


def _array(
    path: Path, values: Literal["loss", "prob"] | None, labels: str | os.PathLike[str] | None
) -> _Rows:
    array = _load(path)
    if array.ndim not in (2, 3) or 0 in array.shape:
        raise InputError(
            f"{path} has shape {array.shape}; it must be (epochs, samples), or (epochs, samples, "
            "classes) of probabilities"
        )
    if array.ndim == 2 and values is None:
        raise InputError(f"say what {path} holds with values (--values): 'loss' or 'prob'")
    epochs, samples = array.shape[:2]
    label = None if labels is None else _load(Path(labels))
    if label is not None and label.shape != (samples,):
        raise InputError(f"{labels} has shape {label.shape}; {path} has {samples} samples")
    per_row = None if label is None else np.tile(label, epochs)
    signals: dict[str, Array] = {values or "": array.ravel()}
    if array.ndim == 3:
        if per_row is None or values == "loss":
            raise InputError(f"{path} has shape {array.shape}: probabilities, which need labels")
        signals = _of_probabilities(array.reshape(-1, array.shape[2]), per_row, path)
    sample, epoch = np.tile(np.arange(samples), epochs), np.repeat(np.arange(epochs), samples)
    return _Rows(sample, epoch, signals, per_row)


def _load(path: Path) -> Array:
    with reading(path):
        array: Array = np.load(io.BytesIO(read(path)), allow_pickle=False)
    return array


def _of_probabilities(probabilities: Array, label: Array, path: Path) -> dict[str, Array]:
    sums = as_array("probabilities", probabilities).sum(1)
    if probabilities.min() < 0 or np.nanmax(np.abs(sums - 1)) > _TOLERANCE:
        raise InputError(f"{path}: the last axis must be probabilities, which sum to 1")
    return _of_logits(np.log(np.maximum(probabilities, np.finfo(np.float32).tiny)), label, path)


def _of_logits(logits: Array, label: Array, path: Path) -> dict[str, Array]:
    logits = as_array("logits", logits)
    if label.dtype.kind not in "iu" or label.min() < 0 or label.max() >= logits.shape[1]:
        raise InputError(f"{path}: labels must be from 0 to {logits.shape[1] - 1}")
    return signals_of(logits, label)


def _epoch_of(name: str, end: str, start: str = "") -> int | None:
    middle = name.removeprefix(start).removesuffix(end)
    return int(middle) if middle.isdecimal() and name == f"{start}{middle}{end}" else None


def _epochs(folder: Path, end: str, start: str = "") -> list[int]:
    """Give the epochs of a folder's files; it may begin anywhere, but may have no hole."""
    numbers = (_epoch_of(entry.name, end, start) for entry in entries(folder))
    epochs = sorted(number for number in numbers if number is not None)
    if epochs != list(range(epochs[0], epochs[-1] + 1)):
        missing = min(set(range(epochs[0], epochs[-1])) - set(epochs))
        raise InputError(f"{folder} lacks epoch {missing}: {start}{missing}{end}")
    return epochs


def _dynamics(folder: Path) -> _Rows:
    """Read `N_Loss.npy`, `N_Output.npy` (logits) and `N_Index.npy`.

    Labels are not stored: a sample's is the class whose losses, over all epochs, are those stored.
    """
    epochs = _epochs(folder, "_Loss.npy")
    last = max(int(_load(folder / f"{epoch}_Index.npy").max()) for epoch in epochs)
    off = np.zeros((last + 1, _load(folder / f"{epochs[0]}_Output.npy").shape[-1]), np.float32)
    for epoch in epochs:
        index, loss, logits = _of_epoch(folder, epoch)
        off[index] += np.abs(-log_softmax(logits, axis=1) - loss[:, None])
    labels = off.argmin(1)
    if off.min(1).max() > _TOLERANCE * len(epochs):
        sample = off.min(1).argmax()
        raise InputError(f"{folder}: the losses of sample {sample} are not those of its outputs")
    parts = []
    for epoch in epochs:
        index, _, logits = _of_epoch(folder, epoch)
        values = _of_logits(logits, labels[index], folder)
        parts.append((index, np.full(len(index), epoch), labels[index], values))
    return _joined(parts)


def _of_epoch(folder: Path, epoch: int) -> tuple[Array, Array, Array]:
    index, loss, logits = (
        as_array(name, _load(folder / f"{epoch}_{name}.npy"))
        for name in ("Index", "Loss", "Output")
    )
    if index.ndim != 1 or logits.ndim != 2 or not len(index) == len(loss) == len(logits):
        raise InputError(f"{folder}: the files of epoch {epoch} are of different samples")
    return index.astype(np.int64), loss, logits


def _cartography(folder: Path) -> _Rows:
    """Read `dynamics_epoch_N.jsonl`: lines with `guid`, `gold` and `logits_epoch_N`."""
    parts, names = [], dict[str, int]()
    for epoch in _epochs(folder, ".jsonl", "dynamics_epoch_"):
        path = folder / f"dynamics_epoch_{epoch}.jsonl"
        with reading(path):
            lines = [json.loads(line) for line in read(path).decode().splitlines() if line.strip()]
            sample = np.array([names.setdefault(str(row["guid"]), len(names)) for row in lines])
            label = np.array([row["gold"] for row in lines])
            logits = np.array([row[f"logits_epoch_{epoch}"] for row in lines], float)
        if logits.ndim != 2:
            raise InputError(f"{path} must have logits of the same number of classes in every line")
        values = _of_logits(logits, label, path)
        parts.append((sample, np.full(len(sample), epoch), label, values))
    return _joined(parts, tuple(names))


def _joined(
    parts: list[tuple[Array, Array, Array, dict[str, Array]]], names: tuple[str, ...] = ()
) -> _Rows:
    sample, epoch, label = (np.concatenate([part[i] for part in parts]) for i in range(3))
    values = {name: np.concatenate([part[3][name] for part in parts]) for name in parts[0][3]}
    return _Rows(sample, epoch, values, label, names)
