"""Two or four processes record into one folder at once: no hole, at most one of them wins."""

import json
import os
import shutil
from multiprocessing import get_context

from tests.recording import check_run, expected, in_child, record, recorder, see

from dualprune import Run
from dualprune.errors import InputError

LAST = 4


def prepare(home):
    path, ends = home / "run", home / "ends"
    record(home / "two", 2)

    def attack(_, chance):
        start = chance.choice([None, 1, 2, 3])  # a new run, or one of two epochs
        together, writers = chance.random() < 0.5, range(1, chance.choice([2, 4]) + 1)
        for folder in (path, ends):
            shutil.rmtree(folder, ignore_errors=True)
        ends.mkdir()
        if start:
            shutil.copytree(home / "two", path)
        line = get_context("fork").Barrier(len(writers))
        children = [
            in_child(lambda n=n: write(n, path, start, line, together, ends / str(n)))
            for n in writers
        ]
        codes = [os.waitpid(pid, 0)[1] for pid in children]
        assert not any(codes), f"processes ended with {codes}"
        yield judged(
            path,
            start or 1,
            together,
            {n: json.loads((ends / str(n)).read_text()) for n in writers},
        )

    return attack


def write(version, path, start, line, together, end):
    """Record to the last epoch, all beginning at once if `together`; say how far it came."""
    attempt, epochs, error, recording = 0, 0, None, None
    line.wait(60)
    try:
        recording = recorder(path, start)
        attempt = recording._attempt.number
    except Exception as caught:  # noqa: BLE001 - the parent judges it
        error = caught
    if together:
        line.wait(60)
    try:
        while recording and recording.epoch <= LAST:
            see(recording, version=version)
            recording.end_epoch()
            epochs = recording.epoch - 1
    except Exception as caught:  # noqa: BLE001 - the parent judges it
        error = caught
    end.write_text(json.dumps([epochs > 0, attempt, epochs, error and type(error) is InputError]))


def judged(path, start, together, ends):
    """Refuse what must not be; give how many could begin."""
    assert all(ours in (None, True) for *_, ours in ends.values()), f"not an InputError: {ends}"
    winners = [version for version, (*_, refused) in ends.items() if not refused]
    assert len(winners) <= 1 or not together, f"{len(winners)} wrote every epoch: {ends}"
    newest = max(ends, key=lambda version: ends[version][:2])  # of those that ended an epoch
    versions, acknowledged = visible(path, ends), range(start, ends[newest][2] + 1)
    assert all(versions.get(epoch) == newest for epoch in acknowledged), (ends, versions)
    record(path, len(versions) + 1, start_epoch=len(versions) + 1)
    assert check_run(path, 0, versions=versions) == len(versions) + 1
    begun = sum(attempt > 0 for _, attempt, *_ in ends.values())
    return f"{begun} of {len(ends)} began, {len(winners)} to the end"


def visible(path, ends):
    """Give the version of every epoch: one of these, or that of the run before."""
    run = Run(path)
    return {
        epoch: next(
            version
            for version in (0, *ends)
            if expected(epoch, version=version)["margin"].tobytes() == margin.tobytes()
        )
        for epoch, margin in enumerate(run["margin"] if run.epochs else [], 1)
    }
