"""Kill a process that pushes a run, again and again, and look what a reader sees of it.

    python -m tests.pushing at_uploads|at_random_instants FOLDER URL COUNT

A script, because it forks: that needs a process without other threads, so readers are forked, too.
"""

import os
import random
import signal
import sys
import time
from itertools import count
from pathlib import Path

import numpy as np

from dualprune import Run
from dualprune.errors import MissingError
from dualprune.files import place
from dualprune.run import RunWriter
from dualprune.run.health import examine
from dualprune.urls import Url
from dualprune.workflows.pushing import push
from tests.recording import in_child

SAMPLES, EPOCHS = 50, 4


def losses_of(epoch):
    return ((np.arange(SAMPLES) * 37 + epoch * 11) % 53 / 8).astype(np.float32)


def record(path):
    """Record two attempts: the second one goes back to the last epoch of the first one."""
    for start, last in ((None, 3), (3, EPOCHS)):
        writer = RunWriter(
            path, samples=SAMPLES, signals=["loss"], start_epoch=start, names=names()
        )
        while writer.epoch <= last:
            writer.write_epoch({"loss": losses_of(writer.epoch)})


def names():
    return [f"{number}.png" for number in range(SAMPLES)]


def check(url, least=0):
    """A reader sees whole epochs or no run, and no damage; only at the end all of them."""
    try:
        run = Run(url)
    except MissingError:
        assert not least, "the run is lost"
        return
    assert run.epochs >= least, (run.epochs, least)
    for number, losses in enumerate(run["loss"], 1):
        np.testing.assert_array_equal(losses, losses_of(number))
    assert run.names["name"].tolist() == names()
    assert not examine(place(url)).damage


def ends(work):
    """Give how a child that does `work` ended: 0, or the number of a signal."""
    return os.waitpid(in_child(work), 0)[1]


def at_uploads(folder, url, kills):
    """Kill before and after uploads, chosen at random; everything is done anew for each."""
    chance = random.Random(7)
    total = 2 * uploads(folder, f"{url}-counted")
    for moment in sorted(chance.sample(range(total), min(kills, total))):
        killed_at(moment, folder, f"{url}-{moment}")
    print(f"{min(kills, total)} kills at {total} moments")


def killed_at(moment, folder, url):
    assert ends(lambda: push_and_die(folder, url, moment)) == signal.SIGKILL, moment
    assert ends(lambda: check(url)) == 0, moment
    assert ends(lambda: push_the_rest(folder, url, moment // 2)) == 0, moment
    assert ends(lambda: check(url, EPOCHS)) == 0, moment


def uploads(folder, url):
    read, write = os.pipe()

    def work():
        os.write(write, bytes([push(folder, url).copied]))

    assert ends(work) == 0
    return os.read(read, 1)[0]


def push_and_die(folder, url, moment):
    """Push, and be killed before (even) or after (odd) an upload."""
    upload, numbers = Url.upload, count()

    def dying(goal, source):
        number = next(numbers)
        if moment == 2 * number:
            os.kill(os.getpid(), signal.SIGKILL)
        upload(goal, source)
        if moment == 2 * number + 1:
            os.kill(os.getpid(), signal.SIGKILL)

    Url.upload = dying
    push(folder, url)


def push_the_rest(folder, url, copied):
    """What was copied is not copied again; others may have been under way."""
    assert push(folder, url).there >= copied
    assert push(folder, url).copied == 0


def at_random_instants(folder, url, kills):
    """Push over and over again into the same place while an earlier state of the run is there."""
    chance, start = random.Random(7), time.perf_counter()
    assert ends(lambda: push(folder, f"{url}-measured")) == 0
    span = time.perf_counter() - start
    killed = 0
    for number in range(kills):
        goal = f"{url}-{number // 3}"  # three kills for each
        child = in_child(lambda goal=goal: push(folder, goal))
        time.sleep(chance.uniform(0, span))
        os.kill(child, signal.SIGKILL)
        killed += os.waitpid(child, 0)[1] == signal.SIGKILL
        assert ends(lambda goal=goal: check(goal)) == 0, number
    assert ends(lambda: push(folder, goal)) == 0
    assert ends(lambda: check(goal, EPOCHS)) == 0
    assert killed, "no kill hit a push"
    print(f"{killed} of {kills} kills within {span:.1f} s")


if __name__ == "__main__":
    how, where, goal, number = sys.argv[1:]
    record(Path(where))
    {"at_uploads": at_uploads, "at_random_instants": at_random_instants}[how](
        Path(where), goal, int(number)
    )
