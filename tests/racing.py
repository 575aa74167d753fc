"""Let processes race to record into one folder.

    python -m tests.racing FOLDER

A script, because it forks: that needs a process without other threads, and is fast.
"""

import multiprocessing
import sys
from pathlib import Path

import torch

from dualprune.errors import DualpruneError, InputError
from tests.recording import check_goes_on, check_run, record, recorder, see

RACERS = 8
ROUNDS = 10


def race(path, start_epoch):
    """All start at once, then all that could end an epoch at once; gives each one's outcome."""
    fork = multiprocessing.get_context("fork")
    line, outcomes = fork.Barrier(RACERS), fork.SimpleQueue()
    racers = [
        fork.Process(target=run_one, args=(version, path, start_epoch, line, outcomes))
        for version in range(1, RACERS + 1)
    ]
    for racer in racers:
        racer.start()
    told = [outcomes.get() for _ in racers]
    for racer in racers:
        racer.join()
    return told


def run_one(version, path, start_epoch, line, outcomes):
    outcome = started = None
    line.wait(60)
    try:
        started = recorder(path, start_epoch)
    except Exception as error:  # noqa: BLE001 - the parent judges what kind of error it was
        outcome = error
    line.wait(60)
    if started:
        try:
            see(started, version=version)
            started.end_epoch()
        except Exception as error:  # noqa: BLE001 - the parent judges what kind of error it was
            outcome = error
    attempt = started._attempt.number if started else 0
    kind = type(outcome) if isinstance(outcome, DualpruneError) else repr(outcome)
    outcomes.put((attempt, version, outcome and kind))


def main(folder):
    torch.set_num_threads(1)
    record(folder / "warm", 1)  # what is loaded at first use is loaded before any fork
    several = 0
    for number in range(ROUNDS):
        for name, epochs in (("new", 0), ("existing", 2)):
            path = folder / f"{name}-{number}"
            if epochs:
                record(path, epochs)
            told = sorted(race(path, epochs + 1 if epochs else None))
            *losers, (_, winner, error) = told
            assert error is None, told
            assert all(error is InputError for _, _, error in losers), told
            assert check_run(path, epochs + 1, versions={epochs + 1: winner}) == epochs + 1
            record(path, epochs + 1, start_epoch=epochs + 1)
            check_goes_on(path)
            several += sum(attempt > 0 for attempt, _, _ in told) > 1
    print(f"{2 * ROUNDS} races of {RACERS}; in {several} more than one could start")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
