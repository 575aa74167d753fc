"""Begin an attempt, and add one part to it."""

import os
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from dualprune.errors import InputError
from dualprune.files import (
    draft,
    entries,
    exists,
    make_folder,
    make_folders,
    on_disk,
    reading,
    remove_abandoned,
    write_json,
    write_table,
    writing,
)
from dualprune.run.attempts import (
    Attempt,
    Epoch,
    continues,
    find_epochs,
    finished,
    newest_claim,
    refuse_holes,
)
from dualprune.run.description import Description, check_count
from dualprune.run.features import write_features
from dualprune.run.part import write_rows
from dualprune.signatures import Array

_VERSION = version("dualprune")


def begin(
    root: Path,
    description: Description,
    start_epoch: int | None,
    writers: int,
    names: pa.Table | None = None,
) -> Attempt:
    """Start recording at `start_epoch`, counted from 1; returns the new attempt."""
    _prepare(root, description, names)
    before = find_epochs(root)
    first = _first_epoch(root, before, start_epoch)
    folder = _claim(root, before)
    start = {"first_epoch": first, "writers": writers, "identity": uuid4().hex}
    start |= {"run": description.digest, "version": _VERSION}
    start["continues"] = continues(finished(before), first)
    write_json(folder / "start.json", start)
    if newest_claim(root) > int(folder.name):
        raise _busy(root)  # without an epoch, this attempt hides nothing
    return Attempt.load(folder)


def _first_epoch(root: Path, epochs: dict[int, Epoch], start_epoch: int | None) -> int:
    """Say with which epoch to begin, or refuse to choose."""
    last = len(finished(epochs))
    if start_epoch is None:
        refuse_holes(epochs)
        if last:
            raise InputError(
                f"{root} already holds epochs 1 to {last}. Pass start_epoch={last + 1} to go on, "
                "a smaller one to go back to a checkpoint, start_epoch=1 to begin again, or "
                "record into another folder."
            )
        return 1
    first = check_count("start_epoch", start_epoch)
    if not 1 <= first <= last + 1:
        raise InputError(
            f"start_epoch must be from 1 to {last + 1} ({last} epochs are complete in {root}), "
            f"got {first}"
        )
    return first


def _claim(root: Path, before: dict[int, Epoch]) -> Path:
    """Make the next attempt's folder, unless another process writes here at the same time.

    It looks at the epochs after its claim, and `write_part` looks at claims after its part is
    there: of two processes at least one sees the other.
    """
    folder = root / "attempts" / f"{newest_claim(root) + 1:04d}"
    try:
        make_folder(folder, exist_ok=False)
    except InputError as error:
        raise _busy(root) from error
    if len(finished(find_epochs(root))) != len(finished(before)):
        with writing(folder):
            folder.rmdir()
        raise _busy(root)
    return folder


def _busy(root: Path) -> InputError:
    return InputError(
        f"another process is recording into {root} right now; let it finish, or record into "
        "another folder"
    )


def _prepare(root: Path, description: Description, names: pa.Table | None) -> None:
    known = exists(root / "run.json")
    if known:
        _refuse_other(root, Description.load(root), description)
    elif exists(root) and _is_foreign(root):
        raise InputError(f"{root} exists and is not a run; record into a new or empty folder")
    make_folders(root)
    make_folder(root / "attempts")  # also makes durable what a failed start left here
    for folder, _, _ in os.walk(root):
        remove_abandoned(Path(folder))
    if not known:
        if names is not None:
            write_table(root / "names.parquet", names)
        description.save(root)


def _is_foreign(root: Path) -> bool:
    """Whether it is what no recording leaves, not even one that was killed while it started."""
    ours = ("attempts", "run.json", "names.parquet")
    with reading(root):
        names = [entry.name for entry in entries(root)]
        return not root.is_dir() or any(n not in ours and not n.endswith(".tmp") for n in names)


def _refuse_other(root: Path, existing: Description, wanted: Description) -> None:
    before, now = asdict(existing), asdict(wanted)
    if existing.format < wanted.format:
        raise InputError(
            f"{root} was recorded in format {existing.format}, which is read but not continued; "
            "record into another folder"
        )
    different = [name for name in before if before[name] != now[name]]
    if different:
        changes = "; ".join(f"{name} is {before[name]!r}, not {now[name]!r}" for name in different)
        raise InputError(f"{root} holds another run: {changes}. Record into another folder.")


def write_part(
    attempt: Attempt,
    epoch: int,
    writer: int,
    columns: Mapping[str, Array],
    facts: Mapping[str, Any],
    features: Array | None = None,
    *,
    order: Array | None = None,
) -> None:
    """Write durably what one process saw in one epoch, and before it the features after it.

    `order` sorts the rows by a unique id, and leaves out those that are not to be written; without
    it they are sorted.
    """
    _refuse_if_taken_over(attempt, epoch)
    folder = on_disk(attempt.folder) / f"{epoch:06d}"
    make_folder(folder)
    stated = {"attempt": attempt.identity, "epoch": epoch, "writer": writer, **facts}
    if features is not None:
        stated["features"] = write_features(folder, features)
    order = np.arange(len(columns["id"])) if order is None else order
    with draft(folder, f"part-{writer}-of-{attempt.writers}") as file:
        file.name += f"-{write_rows(file, columns, order, stated)}.parquet"
    _refuse_if_taken_over(attempt, epoch)


def _refuse_if_taken_over(attempt: Attempt, epoch: int) -> None:
    root = attempt.folder.parent.parent
    if (newer := newest_claim(root)) > attempt.number:
        raise InputError(
            f"attempt {newer} has taken over {root}; attempt {attempt.number} must not write epoch "
            f"{epoch} any more"
        )
