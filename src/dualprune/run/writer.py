"""Begin an attempt, and add one part to it."""

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from dualprune.arrays import Array
from dualprune.errors import InputError
from dualprune.files import make_folder, write
from dualprune.run.attempts import Attempt, Description, find_epochs, finished, newer_attempt
from dualprune.run.part import encode

__all__ = ["begin", "write_part"]


def begin(root: Path, description: Description, start_epoch: int | None, writers: int) -> int:
    """Start recording at `start_epoch`, counted from 1; gives the number of the new attempt."""
    _prepare(root, description)
    done = len(finished(find_epochs(root)))
    if start_epoch is None and done:
        raise InputError(
            f"{root} already holds epochs 1 to {done}. Pass start_epoch={done + 1} to go "
            "on, a smaller one to go back to a checkpoint, start_epoch=1 to begin again, "
            "or record into another folder."
        )
    first = 1 if start_epoch is None else start_epoch
    if not 1 <= first <= done + 1:
        raise InputError(
            f"start_epoch must be from 1 to {done + 1} ({done} epochs are complete in "
            f"{root}), got {first}"
        )
    return Attempt.make(root, description, first, writers, version("dualprune"))


def _prepare(root: Path, description: Description) -> None:
    if (root / "run.json").exists():
        _refuse_other(root, Description.load(root), description)
        return
    if root.exists() and (not root.is_dir() or any(_foreign(root))):
        raise InputError(f"{root} exists and is not a run; record into a new or empty folder")
    root.parent.mkdir(parents=True, exist_ok=True)
    make_folder(root)
    make_folder(root / "attempts")
    description.save(root)


def _foreign(root: Path) -> list[Path]:
    """Give what a recording that was killed in its first instant cannot have left."""
    return [p for p in root.iterdir() if p.name != "attempts" and p.suffix != ".tmp"]


def _refuse_other(root: Path, existing: Description, wanted: Description) -> None:
    before, now = existing.as_json(), wanted.as_json()
    different = [name for name in before if before[name] != now[name]]
    if different:
        told = "; ".join(f"{name} is {before[name]!r}, not {now[name]!r}" for name in different)
        raise InputError(f"{root} holds another run: {told}. Record into another folder.")


def write_part(
    attempt: Attempt,
    epoch: int,
    writer: int,
    columns: Mapping[str, Array],
    counts: Mapping[str, int],
) -> None:
    """Make durable what one process saw in one epoch."""
    if newer := newer_attempt(attempt):
        raise InputError(
            f"attempt {newer} has taken over this run; attempt {attempt.number} must not write "
            f"epoch {epoch} any more"
        )
    facts = {"attempt": attempt.identity, "epoch": epoch, "writer": writer, **counts}
    data, digest = encode(columns, facts)
    folder = attempt.folder / f"{epoch:06d}"
    make_folder(folder)
    write(folder / f"part-{writer}-of-{attempt.writers}-{digest}.parquet", data)
