"""Open and score a run while another process records into it, resumes and goes back."""

import os
import shutil

from tests.killing import in_child
from tests.recording import SIGNALS, expected, record, recorder, see

from dualprune import Run
from dualprune.errors import MissingError
from dualprune.method import Arrays
from dualprune.score import SCORES

STARTS, MOST = 60, 8


def prepare(home):
    path = home / "run"
    record(home / "warm", 2)  # what is loaded at first use is loaded before any fork

    def attack(_, chance):
        shutil.rmtree(path, ignore_errors=True)
        steps = list(plan(chance))
        states = [(), *(state for _, _, state in steps)]
        writer, at, ended = in_child(lambda: write(path, steps)), 0, False
        while not ended:
            ended = os.waitpid(writer, os.WNOHANG)[0]
            at = look(path, states, at)
            yield "a prefix seen" if at else "nothing recorded yet"
        assert at == len(states) - 1, f"at the end there is {states[at]}, not {states[-1]}"

    return attack


def plan(chance):
    """Give an attempt's first epoch, its version, and the versions visible after each epoch."""
    state = ()
    for version in range(STARTS):
        first = chance.randint(1, len(state) + 1) if chance.random() < 0.5 else len(state) + 1
        for epoch in range(first, min(first + chance.randint(1, 4), MOST)):
            state = (*state[: epoch - 1], version)
            yield first, version, state


def write(path, steps):
    last = None
    for first, version, _ in steps:
        if version != last:
            recording, last = recorder(path, first), version
        see(recording, version=version)
        recording.end_epoch()


def look(path, states, at):
    """Open and read the run; gives which of the states from `at` on it showed."""
    try:
        run = Run(path)
    except MissingError:
        assert at == 0, "what was there is gone"
        return 0
    found = {name: run[name] for name in SIGNALS}
    if run.epochs:
        Arrays([run]).score(SCORES["forgetting"])
    for place in range(at, len(states)):
        if len(states[place]) == run.epochs and all(
            found[name][epoch - 1].tobytes() == values.tobytes()
            for epoch, version in enumerate(states[place], 1)
            for name, values in expected(epoch, version=version).items()
        ):
            return place
    raise AssertionError(f"{run.epochs} epochs, which are none of the states {states[at:]}")
