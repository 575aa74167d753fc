"""What one process does: make a recording, or measure a cell."""

import multiprocessing
import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from dualprune.agreement import mean_overlap, overlap, rank_correlation
from dualprune.coreset import Coreset, digest
from dualprune.experiments.cells import Cell, Recording
from dualprune.experiments.experiment import find_experiment
from dualprune.experiments.setting import Shifted
from dualprune.files import make_folders, read_json, seal, write_table
from dualprune.record.signals import DEFAULT
from dualprune.run import Run
from dualprune.select import budget, random
from dualprune.signatures import Array
from dualprune.train import Dynamic, record, train
from dualprune.workflows.recording import APART, choose, choose_anew

__all__ = [
    "chosen",
    "end_with_parent",
    "images_of",
    "is_recorded",
    "make_recording",
    "measure",
    "one_thread",
    "run_of",
]

_TRAINED = 100_000  # from the seed of a recording to that of what is trained on its choice
_QUANTILES = 101


def one_thread() -> None:
    """Let this process use one core: two such processes do more than one with two threads."""
    torch.set_num_threads(1)


def end_with_parent() -> None:
    """Let this process end as soon as the one that started it is gone, however it went."""

    def wait() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def make_recording(wanted: Recording, home: Path) -> None:
    """Record a training, unless it is there; one that was interrupted starts again.

    Going on would leave a gap in `kl_step`, and the table would be another one.
    """
    folder = _folder(wanted, home)
    if is_recorded(wanted, home):
        return
    shutil.rmtree(folder, ignore_errors=True)
    setting, shifted = wanted.setting, images_of(wanted)
    if shifted.wrong:
        make_folders(folder.parent)
        write_table(folder.with_suffix(".truth.parquet"), _truth(shifted))
    record(
        setting.setup(shifted, wanted.model, {}),
        folder,
        epochs=setting.record,
        seed=wanted.seed + APART * wanted.number,
        signals=[*DEFAULT, *setting.also],
        features=setting.features,
    )
    for tensors in folder.glob("checkpoint/*.safetensors"):
        tensors.unlink()


def is_recorded(wanted: Recording, home: Path) -> bool:
    """Whether it is there, to its end."""
    return (_folder(wanted, home) / "names.parquet").exists()  # which is written last


def _truth(shifted: Shifted) -> pa.Table:
    """Say of every sample what was done to it, one column per kind of damage."""
    ids = np.arange(len(shifted.images))
    damaged = {name: np.isin(ids, wrong) for name, wrong in shifted.wrong.items()}
    return pa.table({"id": ids, **damaged})


def run_of(wanted: Recording, home: Path) -> Run:
    """Open what was recorded."""
    return Run(_folder(wanted, home))


def measure(cell: Cell, home: Path) -> dict[str, Any]:
    """Give the numbers of a cell, by name."""
    if cell.row.is_whole:
        return _whole(cell, home)
    if cell.row.is_dynamic:
        return _trained(cell, home, None)
    coreset = chosen(cell, home)
    wrong = images_of(cell).wrong
    values: dict[str, Any] = {"kept": len(coreset), "ids_sha256": digest(coreset.ids)}
    if wrong:
        values["removed"] = {name: _removed(coreset.ids, ids) for name, ids in wrong.items()}
    if cell.kind == "agreement":
        return values | _agreement(cell, coreset, home)
    return values | (_trained(cell, home, coreset) if cell.kind == "accuracy" else {})


def _folder(wanted: Recording, home: Path) -> Path:
    return home / "recordings" / wanted.digest


def images_of(wanted: Cell | Recording) -> Shifted:
    """Give the images that this is about."""
    return wanted.setting.images(wanted.shift, wanted.seed)


def chosen(cell: Cell, home: Path) -> Coreset:
    """Choose; what random keeps needs no recording."""
    setting = cell.setting
    images = images_of(cell).images
    k = budget(len(images), prune=repr(cell.pruned))
    if not cell.recordings:
        ids = random(images.labels, k=k, seed=cell.seed)
        return Coreset(ids, {"samples": len(images), "epochs": 0, "k": k})
    method = cell.row.found(setting, cell.pruned)
    runs = [run_of(wanted, home) for wanted in cell.recordings]
    c_d = setting.trained.c_d
    return choose(method, runs, k=k, seed=cell.seed, c_d=c_d, epochs=setting.record)


def _removed(kept: Array, wrong: Array) -> float:
    """Share of the damaged samples that were pruned."""
    return float(1 - np.isin(wrong, kept).mean()) if len(wrong) else 0.0


def _whole(cell: Cell, home: Path) -> dict[str, Any]:
    """Train on everything; where all epochs were recorded, that was it."""
    (wanted,) = cell.recordings
    if cell.setting.record < cell.setting.trained.epochs:
        return _trained(cell, home, None)
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


def _trained(cell: Cell, home: Path, coreset: Coreset | None) -> dict[str, Any]:
    """Train from a start of its own: not from that of the recording, which it would suit best."""
    setting, row, seed = cell.setting, cell.row, cell.seed + _TRAINED
    changes = dict(row.train)
    length = {name: changes.pop(name) for name in ("iterations", "epochs") if name in changes}
    setup = setting.setup(images_of(cell), cell.model, changes)
    ids = None if coreset is None else coreset.ids
    told = setup.settings(
        seed=seed,
        judged=setup.test_images.fingerprint,
        ids=None if ids is None else digest(ids),
        length=length,
        dynamic=[row.method, row.dynamic, cell.pruned] if row.is_dynamic else None,
    )
    folder = home / "trained" / seal(told)[:16]
    if not (folder / "result.json").exists():
        chooser = _chooser(cell) if row.is_dynamic else None
        train(setup, folder, ids=ids, seed=seed, dynamic=chooser, **length)
        shutil.rmtree(folder / "checkpoint")
    return _values(read_json(folder / "result.json"), cell, coreset) | _uses(folder)


def _values(result: dict[str, Any], cell: Cell, coreset: Coreset | None) -> dict[str, Any]:
    """Give what was reached and what it cost: images that went through the model, also before."""
    names = ("accuracy", "best_accuracy", "forward", "backward")
    seen = 0 if coreset is None else coreset.card["epochs"] * len(cell.recordings)
    return {name: result[name] for name in names} | {
        "training_seconds": result["seconds"],
        "recorded": seen * result["samples"],
    }


def _uses(folder: Path) -> dict[str, Any]:
    """Say how unevenly a dynamic method used the samples, in quantiles."""
    if not (folder / "uses.parquet").exists():
        return {}
    uses = pq.read_table(folder / "uses.parquet").column("uses").to_numpy()
    return {"uses": np.quantile(uses, np.linspace(0, 1, _QUANTILES)).tolist()}


def _chooser(cell: Cell) -> Callable[[int, int], Dynamic]:
    keep = float(1 - Decimal(repr(cell.pruned)))
    return choose_anew(cell.row.method, keep=keep, seed=cell.seed, given=cell.row.dynamic)


def _agreement(cell: Cell, coreset: Coreset, home: Path) -> dict[str, Any]:
    """Compare with the other rows of the same seed, with other seeds, and with their mean score."""
    rows = find_experiment(cell.experiment).rows_at(cell.scale)
    others = {row.name: chosen(replace(cell, row=row), home) for row in rows}
    again = [chosen(replace(cell, seed=s), home) for s in range(cell.setting.seeds)]
    found: dict[str, Any] = {
        "overlap": {name: overlap(coreset.ids, other.ids) for name, other in others.items()},
        "overlap_of_seeds": mean_overlap([other.ids for other in again]),
    }
    if "score" in coreset.columns:
        scores = np.stack([other.columns["score"] for other in again])
        mine = coreset.columns["score"]
        found["rank_correlation"] = rank_correlation([mine, scores.mean(axis=0)])
    return found
