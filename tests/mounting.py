"""Record onto a small file system of our own: full, or read-only.

    unshare -rm python -m tests.mounting full_disk|read_only|read_only_parents FOLDER

A script, because only a process in its own namespace may mount.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from dualprune.coreset import Card, Coreset, digest
from dualprune.errors import WriteError
from dualprune.score.scored import Scored
from tests.recording import check_goes_on, check_run, record, recorder, see

SAMPLES = 5_000
LEVELS = 12


def mount(folder, *options):
    subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", folder], check=True)


def full_disk(folder):
    """From no space at all to almost enough, nothing is lost and freeing space is all it takes."""
    mount(folder, "size=8m")
    path = folder / "run"
    record(path, 2, samples=SAMPLES)
    needed = next(path.glob("attempts/0001/000002/*.parquet")).stat().st_size
    recording = recorder(path, 3, samples=SAMPLES)
    for level in range(LEVELS):
        see(recording, samples=SAMPLES)
        filled = fill(folder, leave=needed * level // LEVELS)
        before = free(folder)
        told = refused_by(recording.end_epoch)
        numbers = re.search(r"([\d,]+) bytes needed, ([\d,]+) free", told)
        wanted, left = (int(number.replace(",", "")) for number in numbers.groups())
        assert wanted > left == before, told
        assert check_run(path, recording.epoch - 1) == recording.epoch - 1
        assert free(folder) == before, "a failed write keeps space"
        filled.unlink()
        recording.end_epoch()
        assert check_run(path, recording.epoch - 1) == recording.epoch - 1
    start_on_a_full_disk(folder)
    print(f"{LEVELS} levels below {needed:,} bytes")


def start_on_a_full_disk(folder):
    filled = fill(folder, leave=0)
    refused_by(lambda: recorder(folder / "other"))
    filled.unlink()
    record(folder / "other", 1)
    check_goes_on(folder / "other")


def fill(folder, leave):
    path = folder / "ballast"
    path.write_bytes(b"")
    with path.open("r+b") as file:
        os.posix_fallocate(file.fileno(), 0, free(folder) - leave)
    return path


def free(folder):
    state = os.statvfs(folder)
    return state.f_bavail * state.f_frsize


def coreset_of(ids, samples):
    card = Card("random", None, "random", len(ids), samples, 0, 2, digest(ids), runs=[])
    return Coreset(ids, card)


def refused_by(call):
    try:
        call()
    except WriteError as error:
        return str(error)
    raise AssertionError("success without data")


def read_only(folder):
    """Every writer says so at once, every reader works, and nothing recorded so far is lost."""
    mount(folder)
    path, ids = folder / "run", np.arange(0, 300, 3)
    record(path, 2)
    coreset = coreset_of(ids, samples=300)
    scored = Scored(np.linspace(0, 1, 300), "dual", {}, 2, [])
    coreset.save(folder / "coreset")
    scored.save(folder / "scores" / "dual.parquet")
    recording = recorder(path, 3)
    see(recording)
    mount(folder, "remount", "ro")
    refused_by(recording.end_epoch)
    refused_by(lambda: recorder(path, 3))
    refused_by(lambda: recorder(folder / "new"))
    refused_by(lambda: coreset.save(folder / "new"))
    refused_by(lambda: scored.save(folder / "scores" / "other.parquet"))
    assert check_run(path, 2) == 2
    assert np.array_equal(Coreset.load(folder / "coreset").ids, ids)
    assert np.array_equal(Scored.load(folder / "scores" / "dual.parquet").values, scored.values)
    mount(folder, "remount", "rw")
    recording.end_epoch()
    assert check_run(path, 3) == 3
    check_goes_on(path)


def read_only_parents(folder):
    """The same error when not even the folders above can be made."""
    mount(folder)
    mount(folder, "remount", "ro")
    ids, deep = np.arange(3), folder / "not" / "there"
    refused_by(lambda: recorder(deep / "run"))
    refused_by(lambda: coreset_of(ids, samples=3).save(deep / "coreset"))
    refused_by(lambda: Scored(ids / 3, "dual", {}, 2, []).save(deep / "scores" / "dual.parquet"))


if __name__ == "__main__":
    {f.__name__: f for f in (full_disk, read_only, read_only_parents)}[sys.argv[1]](
        Path(sys.argv[2])
    )
