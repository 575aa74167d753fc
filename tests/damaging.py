"""Damage one file in every way, and read: the same as before or a clear error, nothing else.

    python -m tests.damaging KIND FOLDER

A script, so that a reader which crashes is seen.
"""

import json
import pickle
import sys
from pathlib import Path

import numpy as np

from dualprune import Run
from dualprune.coreset import Card, Coreset, digest
from dualprune.errors import DamagedError
from dualprune.run.writer import write_part
from dualprune.score.scored import Scored
from tests.recording import CLASSES, COUNTS, SIGNALS, columns_of, seen_ids, without_fsync
from tests.run_by_hand import start

SAMPLES = 33  # one bit of this number makes it 1, and an array of one value fits everywhere
PART = "run/attempts/0001/{:06d}/part-0-of-1-*.parquet"


def write_all(folder):
    root, ids = folder / "run", np.arange(0, SAMPLES, 3)
    attempt = start(root, SAMPLES, CLASSES, SIGNALS)
    for epoch in (1, 2):
        write_part(attempt, epoch, 0, columns_of(np.sort(seen_ids(epoch, SAMPLES)), epoch), COUNTS)
    scores = np.linspace(0, 1, SAMPLES)
    Scored(scores, "dual", {"window": 10}, 2, [Run(root).fingerprint]).save(
        folder / "scores" / "dual.parquet"
    )
    card = Card("dual+beta", "dual", "beta", len(ids), SAMPLES, 0, 2, digest(ids), runs=[])
    Coreset(ids, card, {"score": scores}).save(folder / "coreset")


def read_run(folder):
    run = Run(folder / "run")
    return as_bytes({name: run[name] for name in (*SIGNALS, "labels")}), run.description


def read_scores(folder):
    scored = Scored.load(folder / "scores" / "dual.parquet")
    return as_bytes({"score": scored.values}), scored.card


def read_coreset(folder):
    coreset = Coreset.load(folder / "coreset")
    return as_bytes({"ids": coreset.ids, **coreset.columns}), coreset.card


def as_bytes(arrays):
    return [(name, array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()]


# Each kind of file: where it is, and what reads it. The second part has gaps between its ids.
KINDS = {
    "run": ("run/run.json", read_run),
    "start": ("run/attempts/0001/start.json", read_run),
    "part": (PART.format(1), read_run),
    "part_with_gaps": (PART.format(2), read_run),
    "scores": ("scores/dual.parquet", read_scores),
    "coreset": ("coreset/coreset.parquet", read_coreset),
    "card": ("coreset/card.json", read_coreset),
}


class Touch:
    """Unpickling this makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def damages(data, canary):
    """Every way to spoil a file, as its name and the bytes that are left."""
    for step in range(64):
        yield f"cut after {step}/64", data[: len(data) * step // 64]
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        yield f"bit {bit % 8} of byte {bit // 8} flipped", bytes(changed)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        yield f"replaced by a pickle (protocol {protocol})", pickle.dumps(Touch(canary), protocol)


def verdict(read, folder, before, file):
    """What is wrong with how the reader took it; nothing if it noticed or nothing changed."""
    try:
        after = read(folder)
    except DamagedError as error:
        return "" if file.name in str(error) else "DamagedError without the file's name"
    except Exception as error:  # noqa: BLE001 - any other exception is what this looks for
        return type(error).__name__
    return "" if after == before else "another result"


def main(kind, folder):
    with without_fsync():
        write_all(folder)
    pattern, read = KINDS[kind]
    (file,) = folder.glob(pattern)
    data, before, canary = file.read_bytes(), read(folder), folder / "canary"
    wrong, tried = {}, 0
    for name, damaged in damages(data, canary):
        file.unlink()  # ext4 waits for the disk when a file is emptied and written again
        file.write_bytes(damaged)
        tried += 1
        if told := verdict(read, folder, before, file):
            wrong.setdefault(told, []).append(name)
    assert not canary.exists(), "a file was unpickled"
    summary = {told: f"{len(names)} times, first: {names[0]}" for told, names in wrong.items()}
    assert not wrong, f"{file.name} of {len(data)} bytes\n{json.dumps(summary, indent=1)}"
    print(f"{tried} damages")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
