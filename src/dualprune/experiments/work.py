"""What one process does: make a recording, choose from it, train on what was chosen."""

import shutil
from collections.abc import Callable
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dualprune.coreset import Card, Coreset, digest
from dualprune.dynamic import IES, InfoBatch, RandomEveryEpoch
from dualprune.experiments.grid import ANEW, SHORTER, Cell, Recording, train_as_coreset
from dualprune.experiments.setting import Shifted
from dualprune.files import exists, make_folders, read_json, read_table, reading, seal, write_table
from dualprune.method import Arrays, choose_from
from dualprune.method.choose import select_ids
from dualprune.run import Run
from dualprune.run.signals import DEFAULT
from dualprune.select import budget
from dualprune.signatures import Array, name_of
from dualprune.train import APART, Dynamic, Result, Watch, record, seconds_recorded, train
from dualprune.train.checkpoint import remove_tensors

_TRAINED = 100_000  # from the seed of a recording to that of what is trained on its choice
_QUANTILES = 101


def make_recording(wanted: Recording, home: Path, watch: Watch) -> None:
    """Record a training, unless it is there; one that was interrupted starts again."""
    folder = _folder(wanted, home)
    if is_recorded(wanted, home):
        return
    shutil.rmtree(folder, ignore_errors=True)
    setting, shifted = wanted.setting, images_of(wanted)
    if shifted.wrong:
        make_folders(folder.parent)
        write_table(folder.with_suffix(".truth.parquet"), _truth(shifted))
    more = f", {wanted.number + 1}" if wanted.number else ""
    record(
        setting.setup(shifted, wanted.model, {}),
        folder,
        epochs=setting.record,
        seed=wanted.seed + APART * wanted.number,
        signals=[*DEFAULT, *setting.also],
        features=setting.features,
        tell=watch(f"seed {wanted.seed}: recording{more}"),
    )
    remove_tensors(folder / "checkpoint")


def is_recorded(wanted: Recording, home: Path) -> bool:
    """Whether it is there, to its end.

    The checkpoint decides: it follows the last recorded epoch, and holds what that one reached.
    """
    state = _folder(wanted, home) / "checkpoint/state.json"
    return exists(state) and len(read_json(state)["history"]) >= wanted.setting.record


def _truth(shifted: Shifted) -> pa.Table:
    """Say of every sample what was done to it, one column per kind of damage."""
    ids = np.arange(len(shifted.images))
    damaged = {name: np.isin(ids, wrong) for name, wrong in shifted.wrong.items()}
    return pa.table({"id": ids, **damaged})


def _folder(wanted: Recording, home: Path) -> Path:
    return home / "recordings" / wanted.digest


def run_of(wanted: Recording, home: Path) -> Run:
    """Open what was recorded."""
    return Run(_folder(wanted, home))


def images_of(wanted: Cell | Recording) -> Shifted:
    """Give the images that this is about."""
    return wanted.setting.images(wanted.shift, wanted.seed)


def chosen(cell: Cell, home: Path) -> Coreset:
    """Choose; a method that reads labels alone needs no recording."""
    method, labels = cell.method, images_of(cell).images.labels
    k = budget(len(labels), prune=repr(cell.pruned))
    if cell.recordings:
        runs = [run_of(wanted, home) for wanted in cell.recordings]
        arrays = Arrays(runs, epochs=method.epochs, features=method.features)
        return choose_from(arrays, method, k=k, seed=cell.seed)
    ids = select_ids(method, {"labels": labels}, len(labels), k=k, seed=cell.seed)
    return Coreset(
        ids,
        Card(
            method=method.name,
            score=None,
            selector=name_of(method.select),
            k=k,
            samples=len(labels),
            seed=cell.seed,
            epochs=0,
            ids_sha256=digest(ids),
            runs=[],
        ),
    )


def identity(coreset: Coreset) -> dict[str, Any]:
    """Give how much is kept, and which samples."""
    return {"kept": len(coreset), "ids_sha256": coreset.card.ids_sha256}


def train_on_all(cell: Cell, home: Path, watch: Watch) -> dict[str, Any]:
    """Train on all the data; where all epochs were recorded, that was it."""
    if not cell.setting.records_all:
        return train_on(cell, home, None, watch)
    (wanted,) = cell.recordings
    history = read_json(_folder(wanted, home) / "checkpoint/state.json")["history"]
    accuracies = [epoch["accuracy"] for epoch in history if epoch["accuracy"] is not None]
    return {
        "accuracy": accuracies[-1],
        "best_accuracy": max(accuracies),
        "training_seconds": sum(epoch["seconds"] for epoch in history),
        "forward": sum(epoch["forward"] for epoch in history),
        "backward": sum(epoch["backward"] for epoch in history),
        "recorded": 0,
    }


def train_on(cell: Cell, home: Path, coreset: Coreset | None, watch: Watch) -> dict[str, Any]:
    """Train from a start of its own: not from that of the recording, which it would suit best."""
    row, seed = cell.row, cell.seed + _TRAINED
    shifted, changes = images_of(cell), dict(row.train)
    if row in (SHORTER, ANEW):
        samples = len(shifted.images)
        kept = budget(samples, prune=repr(cell.pruned))
        changes = train_as_coreset(row, cell.setting.trained, kept, samples)
    length: dict[str, Any] = {
        name: changes.pop(name) for name in ("iterations", "epochs") if name in changes
    }
    setup = cell.setting.setup(shifted, cell.model, changes)
    ids = None if coreset is None else coreset.ids
    weights = _weights(cell, coreset)
    content = setup.settings(
        seed=seed,
        judged=setup.test.fingerprint,
        ids=None if ids is None else digest(ids),
        length=length,
        dynamic=[row.method, row.dynamic, cell.pruned] if row.is_dynamic else None,
        weighted=None if weights is None else sha256(weights.tobytes()).hexdigest(),
    )
    folder = home / "trained" / seal(content)[:16]
    if not exists(folder / "result.json"):
        chooser = _chooser(cell) if row.is_dynamic else None
        tell = watch(f"seed {cell.seed}: {row.name}, {cell.pruned:.3g} pruned")
        train(
            setup, folder, ids=ids, seed=seed, dynamic=chooser, weights=weights, tell=tell, **length
        )
        shutil.rmtree(folder / "checkpoint")
    return _values(Result.load(folder), cell, coreset, home) | _uses(folder)


def _weights(cell: Cell, coreset: Coreset | None) -> Array | None:
    """Give the scores scaled to 0 to 1 if the method weighs by them, as TDDS does.

    All weigh the same where all scores are equal; samples without a score weigh nothing.
    """
    if coreset is None or not cell.method.weighted:
        return None
    scores = coreset.columns["score"]
    low, high = np.nanmin(scores), np.nanmax(scores)
    if low == high:
        return np.ones(len(scores))
    return np.asarray(np.nan_to_num((scores - low) / (high - low)))


def recording_cost(cell: Cell, home: Path) -> tuple[int, float]:
    """Give the samples that went through the model in its recordings, and the seconds."""
    epochs, samples = cell.setting.record, len(images_of(cell).images)
    seconds = sum(seconds_recorded(_folder(wanted, home)) for wanted in cell.recordings)
    return epochs * samples * len(cell.recordings), seconds


def _values(result: Result, cell: Cell, coreset: Coreset | None, home: Path) -> dict[str, Any]:
    """Give what was reached and what it cost: images that went through the model, also before."""
    names = ("accuracy", "best_accuracy", "forward", "backward")
    sources = [] if coreset is None else cell.recordings
    passes = 0 if coreset is None else coreset.card.epochs * len(sources)
    return {name: getattr(result, name) for name in names} | {
        "training_seconds": result.seconds,
        "recorded": passes * result.samples,
        "recording_seconds": sum(seconds_recorded(_folder(run, home)) for run in sources),
    }


def _uses(folder: Path) -> dict[str, Any]:
    """Say how unevenly a dynamic method used the samples, in quantiles.

    Results of format 1 do not state the hash of the file.
    """
    path, sha = folder / "uses.parquet", read_json(folder / "result.json").get("uses_sha256")
    if sha is None and not exists(path):
        return {}
    table = read_table(path, sha256=sha)
    with reading(path):
        uses = table.column("uses").to_numpy()
        return {"uses": np.quantile(uses, np.linspace(0, 1, _QUANTILES)).tolist()}


def _chooser(cell: Cell) -> Callable[[int, int], Dynamic]:
    """Make a dynamic method, as `train` wants it, once the samples and epochs are known.

    Only `random-dynamic` keeps a share that can be said; the others have the knobs of the row.
    """
    name, knobs, seed = cell.row.method, cell.row.dynamic, cell.seed
    keep = float(1 - Decimal(repr(cell.pruned)))

    def make(samples: int, epochs: int) -> Dynamic:
        if name == "random-dynamic":
            return RandomEveryEpoch(samples, keep=keep, seed=seed)
        if name == "infobatch":
            return InfoBatch(samples, epochs=epochs, seed=seed, **knobs)
        return IES(samples, **knobs)

    return make
