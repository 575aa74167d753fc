"""What the fault tests record, and what must hold afterwards.

All that is recorded is a pure function of id and epoch, so the expected arrays need no second run.
"""

import contextlib
import os
import re
import subprocess
import sys
import traceback
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import dualprune
from dualprune import Run, files

SAMPLES = 300
CLASSES = 5
SIGNALS = ("margin", "rival")
COUNTS = {"duplicates": 0, "non_finite": 0}
SYSTEM_CALLS = ("open", "write", "fsync", "close", "replace", "mkdir")

_KNOWN_FILE = re.compile(
    r"run\.json|(.+/)?\.[0-9a-f]{32}\.tmp|attempts/\d{4}/start\.json|"
    r"attempts/\d{4}/\d{6}/part-\d+-of-\d+-[0-9a-f]{32}\.parquet"
)


def labels_of(ids):
    return (ids * 3 % CLASSES).astype(np.int32)


def logits_of(ids, epoch, version=0):
    """Distinct eighths, so that differences are exact in float32 and no two classes tie."""
    steps = np.array([0, 29, 116, 10, 213])
    whole = (ids[:, None] * 37 + epoch * 101 + version * 13 + steps) % 251
    return (whole / 8).astype(np.float32)


def seen_ids(epoch, samples=SAMPLES):
    """Every other epoch misses some samples, because full and gappy parts are read differently."""
    ids = np.random.default_rng(epoch).permutation(samples)
    return ids if epoch % 2 else ids[ids % 7 != 2]


def columns_of(ids, epoch, version=0):
    """The rows of a part, as numpy computes them."""
    logits, labels = logits_of(ids, epoch, version), labels_of(ids)
    rows = np.arange(len(ids))
    true = logits[rows, labels]
    logits[rows, labels] = -np.inf
    rival = logits.argmax(1).astype(np.int32)
    return {"id": ids, "label": labels, "margin": true - logits.max(1), "rival": rival}


def expected(epoch, samples=SAMPLES, version=0):
    """What a reader must see of an epoch."""
    ids = seen_ids(epoch, samples)
    columns = columns_of(ids, epoch, version)
    margin = np.full(samples, np.nan, np.float32)
    rival = np.full(samples, -1, np.int32)
    margin[ids], rival[ids] = columns["margin"], columns["rival"]
    return {"margin": margin, "rival": rival}


def recorder(path, start_epoch=None, *, samples=SAMPLES, signals=SIGNALS, **settings):
    settings = {"classes": CLASSES, **settings}
    return dualprune.Recorder(
        path, samples=samples, signals=signals, start_epoch=start_epoch, **settings
    )


def see(recording, *, samples=SAMPLES, version=0):
    """Hand over one epoch in three batches."""
    import torch  # noqa: PLC0415 - the damage tests read without torch

    for ids in np.array_split(seen_ids(recording.epoch, samples), 3):
        logits = torch.from_numpy(logits_of(ids, recording.epoch, version))
        recording.update(logits, torch.from_numpy(labels_of(ids)), torch.from_numpy(ids))


def record(path, last, start_epoch=None, *, samples=SAMPLES, version=0):
    """Record up to the epoch `last`."""
    with recorder(path, start_epoch, samples=samples) as recording:
        while recording.epoch <= last:
            see(recording, samples=samples, version=version)
            recording.end_epoch()


def check_run(path, acknowledged, *, versions=None):
    """Nothing acknowledged is lost, and nothing visible is torn; gives the number of epochs."""
    run = Run(path)
    assert run.epochs >= acknowledged, f"{acknowledged} epochs acknowledged, {run.epochs} left"
    found = {name: run[name] for name in SIGNALS}
    for epoch in range(1, run.epochs + 1):
        wanted = expected(epoch, run.samples, (versions or {}).get(epoch, 0))
        for name, values in wanted.items():
            row = found[name][epoch - 1]
            same = row.dtype == values.dtype and row.tobytes() == values.tobytes()
            assert same, f"{name} of epoch {epoch} is not what was recorded"
    if run.epochs:
        assert np.array_equal(run["labels"], labels_of(np.arange(run.samples)))
    return run.epochs


def check_goes_on(path):
    """Recording continues after a fault without any repair, and no unknown file lies around."""
    epochs = check_run(path, 0)
    names = [p.relative_to(path).as_posix() for p in Path(path).rglob("*") if not p.is_dir()]
    assert all(_KNOWN_FILE.fullmatch(name) for name in names), names
    record(path, epochs + 1, start_epoch=epochs + 1, samples=Run(path).samples)
    assert check_run(path, epochs + 1) == epochs + 1


@contextlib.contextmanager
def system_calls(around):
    """Hand every system call of dualprune.files to `around(call, name, arguments)` instead."""
    before = files.os

    def hand_over(name):
        return lambda *arguments: around(getattr(before, name), name, arguments)

    replaced = {name: hand_over(name) for name in SYSTEM_CALLS}
    files.os = SimpleNamespace(**{**vars(os), **replaced})
    try:
        yield
    finally:
        files.os = before


def without_fsync():
    """Do not wait for the disk: only a power cut would tell the difference."""
    return system_calls(lambda call, name, given: None if name == "fsync" else call(*given))


@contextlib.contextmanager
def fault(n, code, *, lasting=False, late=False):
    """Let the n-th system call fail, and those after it if lasting; a late one did its work."""
    calls, hits = count(1), []

    def around(call, name, given):
        number = next(calls)
        if number < n or (number > n and not lasting):
            return call(*given)
        hits.append(name)
        if late or name == "close":
            with contextlib.suppress(FileExistsError):
                result = call(*given)
                if name == "open":
                    os.close(result)
        raise OSError(code, os.strerror(code))

    with system_calls(around):
        yield hits


@contextlib.contextmanager
def watch_syncs():
    """Gives the set of files and folders with changes that a power cut could still take back."""
    opened, unsynced = {}, set()

    def around(call, name, given):
        result = call(*given)
        if name == "open":
            opened[result] = Path(given[0])
        elif name == "write":
            unsynced.add(opened[given[0]])
        elif name == "fsync":
            unsynced.discard(opened[given[0]])
        elif name in ("mkdir", "replace"):
            assert given[0] not in unsynced, "renamed before its data was safe"
            unsynced.add(Path(given[-1]).parent)
        return result

    with system_calls(around):
        yield unsynced


def in_child(work):
    """Fork a process that does `work` and exits with 0."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
        os._exit(0)
    except BaseException:  # noqa: BLE001 - the child must not run the parent's code
        traceback.print_exc()
        os._exit(1)


def run_script(module, *arguments, before=()):
    """Run a module of this folder in a process of its own, and show what it said if it fails."""
    done = subprocess.run(
        [*before, sys.executable, "-m", f"tests.{module}", *map(str, arguments)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
