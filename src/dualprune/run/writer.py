"""Begin an attempt, and add one part to it."""

from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from uuid import uuid4

from dualprune.errors import InputError
from dualprune.files import make_folder, make_folders, write, write_json
from dualprune.run.attempts import (
    Attempt,
    Description,
    find_epochs,
    finished,
    newest_claim,
    refuse_holes,
)
from dualprune.run.part import encode
from dualprune.signatures import Array

_VERSION = version("dualprune")


def begin(root: Path, description: Description, start_epoch: int | None, writers: int) -> int:
    """Start recording at `start_epoch`, counted from 1; returns the number of the new attempt."""
    _prepare(root, description)
    epochs = find_epochs(root)
    last = len(finished(epochs))
    if start_epoch is None:
        refuse_holes(epochs)
        if last:
            raise InputError(
                f"{root} already holds epochs 1 to {last}. Pass start_epoch={last + 1} to go on, "
                "a smaller one to go back to a checkpoint, start_epoch=1 to begin again, or "
                "record into another folder."
            )
    first = 1 if start_epoch is None else start_epoch
    if not 1 <= first <= last + 1:
        raise InputError(
            f"start_epoch must be from 1 to {last + 1} ({last} epochs are complete in {root}), "
            f"got {first}"
        )
    folder = _claim(root, last)
    start = {"first_epoch": first, "writers": writers, "identity": uuid4().hex}
    write_json(folder / "start.json", start | {"run": description.digest, "version": _VERSION})
    return int(folder.name)


def _claim(root: Path, last: int) -> Path:
    """Make the next attempt's folder, unless another process writes here at the same time.

    It looks at the epochs after its claim, and `write_part` looks at claims after its part is
    there: of two processes at least one sees the other.
    """
    folder = root / "attempts" / f"{newest_claim(root) + 1:04d}"
    busy = InputError(
        f"another process is recording into {root} right now; let it finish, or record into "
        "another folder"
    )
    try:
        make_folder(folder, exist_ok=False)
    except FileExistsError as error:
        raise busy from error
    if len(finished(find_epochs(root))) != last:
        folder.rmdir()
        raise busy
    return folder


def _prepare(root: Path, description: Description) -> None:
    known = (root / "run.json").exists()
    if known:
        _refuse_other(root, Description.load(root), description)
    elif root.exists() and (not root.is_dir() or any(_foreign(root))):
        raise InputError(f"{root} exists and is not a run; record into a new or empty folder")
    make_folders(root)
    make_folder(root / "attempts")  # also makes durable what a failed start left here
    if not known:
        description.save(root)


def _foreign(root: Path) -> list[Path]:
    """Files that no recording leaves, not even one that was killed while it started."""
    ours = ("attempts", "run.json")
    return [path for path in root.iterdir() if path.name not in ours and path.suffix != ".tmp"]


def _refuse_other(root: Path, existing: Description, wanted: Description) -> None:
    before, now = asdict(existing), asdict(wanted)
    different = [name for name in before if before[name] != now[name]]
    if different:
        changes = "; ".join(f"{name} is {before[name]!r}, not {now[name]!r}" for name in different)
        raise InputError(f"{root} holds another run: {changes}. Record into another folder.")


def write_part(
    attempt: Attempt,
    epoch: int,
    writer: int,
    columns: Mapping[str, Array],
    counts: Mapping[str, int],
) -> None:
    """Write durably what one process saw in one epoch."""
    _refuse_if_taken_over(attempt, epoch)
    facts = {"attempt": attempt.identity, "epoch": epoch, "writer": writer, **counts}
    data, digest = encode(columns, facts)
    folder = attempt.folder / f"{epoch:06d}"
    make_folder(folder)
    write(folder / f"part-{writer}-of-{attempt.writers}-{digest}.parquet", data)
    _refuse_if_taken_over(attempt, epoch)


def _refuse_if_taken_over(attempt: Attempt, epoch: int) -> None:
    root = attempt.folder.parent.parent
    if (newer := newest_claim(root)) > attempt.number:
        raise InputError(
            f"attempt {newer} has taken over {root}; attempt {attempt.number} must not write epoch "
            f"{epoch} any more"
        )
