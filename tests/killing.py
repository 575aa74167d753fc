"""Kill a process that records, at random instants or at every system call, and look what is left.

    python -m tests.killing at_random_instants|at_every_call FOLDER

A script, because it forks: that needs a process without other threads.
"""

import os
import random
import shutil
import signal
import sys
import time
from itertools import count
from pathlib import Path

import torch

from dualprune.errors import MissingError
from tests.recording import (
    check_goes_on,
    check_run,
    in_child,
    record,
    recorder,
    see,
    system_calls,
    without_fsync,
)

ROUNDS = 200
MOST_EPOCHS = 12


def at_random_instants(folder):
    path, chance = folder / "run", random.Random(20240229)
    span = longest_life(folder)
    left = progressed = torn = traces = 0
    for number in range(ROUNDS):
        start = 1 if left >= MOST_EPOCHS else left + 1
        # Half of the kills are counted from the start, half from when recording has begun.
        acknowledged = killed_after(path, start, chance.uniform(0, span), begun=number % 2)
        kept = left if start > 1 else 0
        left = epochs_left(path) or 0
        assert left >= max([kept, *acknowledged]), (number, kept, acknowledged, left)
        progressed += bool(acknowledged)
        before, traces = traces, unfinished(path)
        torn += traces > before
    check_goes_on(path)
    assert progressed, "no round finished an epoch"
    assert torn, "no kill hit a write"
    print(f"{ROUNDS} kills within {span * 1000:.0f} ms: {progressed} progressed, {torn} mid-write")


def longest_life(folder):
    """How long a start and an epoch take a child here, so that kills hit all of it."""
    record(folder / "warm", 2)  # what is loaded at first use is loaded before any fork
    check_goes_on(folder / "warm")
    return min(lifetime(folder / f"measured-{number}") for number in range(3))


def lifetime(path):
    start = time.perf_counter()
    pid = in_child(lambda: record(path, 1))
    assert os.waitpid(pid, 0)[1] == 0
    return time.perf_counter() - start


def killed_after(path, start_epoch, seconds, begun):
    """Record without end and be killed; gives the epochs whose end_epoch() returned."""
    reading, writing = os.pipe()
    pid = in_child(lambda: record_and_tell(path, start_epoch, writing))
    os.close(writing)
    told = os.read(reading, 1) if begun else b""
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status), "the recording process failed by itself"
    with os.fdopen(reading, "rb") as pipe:
        return [int(line) for line in (told + pipe.read()).splitlines()[1:]]


def record_and_tell(path, start_epoch, writing):
    recording = recorder(path, start_epoch)
    os.write(writing, b"begun\n")
    while True:
        see(recording)
        recording.end_epoch()
        os.write(writing, b"%d\n" % (recording.epoch - 1))


def unfinished(path):
    """Count what only a process leaves that died while writing: empty folders, temporary files."""
    return sum(
        (not folders and not files) + sum(name.endswith(".tmp") for name in files)
        for _, folders, files in os.walk(path)
    )


def at_every_call(folder):
    """Kill right before the n-th system call, n = 1, 2, ... until the work gets done."""
    with without_fsync():
        record(folder / "three", 3)
        for work, (prepared, allowed) in WORKS.items():
            done, calls = False, 0
            while not done:
                calls += 1
                path = folder / f"{work.__name__}-{calls}"
                if prepared:
                    shutil.copytree(folder / prepared, path)
                done = killed_at(calls, work, path, allowed)
            assert calls > len(SHORTEST), f"{work.__name__} made only {calls - 1} system calls"
            print(f"{work.__name__}: killed at each of {calls - 1} calls")


def killed_at(n, work, path, allowed):
    """Check what a kill at the n-th call leaves; gives whether the work was done before."""
    code = os.waitstatus_to_exitcode(os.waitpid(in_child(lambda: work(path, n)), 0)[1])
    assert code in (0, 9), f"{work.__name__}: exit code {code} with a kill at call {n}"
    left = epochs_left(path)
    assert left in (allowed[-1:] if code == 0 else allowed), (work.__name__, n, left)
    if left is None:
        record(path, 1)
    check_goes_on(path)
    return code == 0


def epochs_left(path):
    try:
        return check_run(path, 0)
    except MissingError:
        return None


def first_start(path, n):
    with system_calls(dying_at(n)):
        recorder(path)


def end_epoch(path, n):
    recording = recorder(path, 4)
    see(recording)
    with system_calls(dying_at(n)):
        recording.end_epoch()


def go_on(path, n):
    with system_calls(dying_at(n)):
        recorder(path, 4)


def go_back(path, n):
    with system_calls(dying_at(n)):
        recorder(path, 2)


# What the work begins with, and how many epochs may be left; the last of them when it got done.
WORKS = {
    first_start: (None, (None, 0)),
    end_epoch: ("three", (3, 4)),
    go_on: ("three", (3,)),
    go_back: ("three", (3,)),
}
SHORTEST = ("open", "write", "fsync", "close", "replace")


def dying_at(n):
    calls = count(1)

    def around(call, name, arguments):
        if next(calls) == n:
            if name == "write":
                descriptor, data = arguments
                os.write(descriptor, data[: len(data) // 2])
            os._exit(9)
        return call(*arguments)

    return around


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"at_random_instants": at_random_instants, "at_every_call": at_every_call}[sys.argv[1]](
        Path(sys.argv[2])
    )
