"""Kill what writes, at a random instant or at its n-th call of the system, and run it again.

What was acknowledged is there, everything opens, and the same work ends as if it had never been
killed, without temporary files.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from tests.killing import in_child
from tests.photos import save
from tests.recording import SAMPLES, check_run, labels_of, logits_of, recorder, seen_ids
from torch import distributed

from dualprune import Coreset, Run
from dualprune.cli.__main__ import main
from dualprune.experiments import results, runner
from dualprune.files import read_json
from torture.calls import between
from torture.instances import as_bytes, write_run
from torture.parts import Finding

LAST = 4
WAIT = 3  # seconds for a peer that was killed
FRESH = 32  # every so many numbers, fresh interpreters are killed
WEIGHTS = {"record": 55, "ranks": 8, "select": 20, "report": 8, "prune": 7, "reproduce": 2}
COMMANDS = ("select", "report", "prune", "reproduce")


class Undisturbed(NamedTuple):
    """What a work ends with if nobody kills it, its seconds, calls of the system, and files."""

    result: object
    seconds: float
    calls: int
    files: int


def prepare(home):
    write_run(home / "run")
    for number in range(24):
        save(home / f"photos/{number % 2}/{number}.png", size=(8, 8), seed=number)
    runner.processes_of_one_thread = lambda _: runner.InThisProcess()
    path, known = home / "killed", {}

    def attack(number, chance):
        names, how = (COMMANDS, kill_fresh) if number % FRESH == 0 else ([*WEIGHTS], kill)
        (name,) = chance.choices(names, [WEIGHTS[name] for name in names])
        if name not in known:
            known[name] = measured(name, home)
        renew(path)
        for _ in range(chance.randint(1, 3)):
            yield how(name, home, known[name], chance)
            open_all(path)
        (code, *_), _, _ = run(name, home)
        said = (home / "log").read_text()
        if code and not (name == "select" and "already holds a coreset" in said):
            yield Finding(f"{name}: cannot be run again, exit code {code} | {said[-500:]}")
        elif result_of(name, path) != known[name].result:
            yield Finding(f"{name}: another result than without a kill")
        if left := [str(file.relative_to(path)) for file in path.rglob(".*.tmp")]:
            yield Finding(f"{name}: leaves temporary files after it ran again | {left}")

    return attack


def renew(path):
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()


def words(name, home):
    path, run_ = home / "killed", home / "run"
    return {
        "select": ("select", "beta", run_, "--score", "forgetting", "--keep", 9, "--out", path),
        "report": ("report", run_, "--out", path / "report.html"),
        "prune": (
            *("prune", home / "photos", "--keep", 0.5, "--epochs", 3, "--recipe", "digits"),
            *("--method", "el2n", "--materialize", "copy", "--out", path),
        ),
        "reproduce": ("reproduce", "sampling-cifar10", "--scale", "smoke", "--out", path),
    }[name]


def command(arguments, _):
    sys.argv = ["dualprune", *map(str, arguments)]
    try:
        main()
    except SystemExit as stop:
        if stop.code:
            os._exit(stop.code)


def record(path, ranks, group, rank, pipe):
    """Record up to the last epoch, from where the run is, with names and features."""
    start = Run(path).epochs + 1 if (path / "run.json").exists() else None
    if ranks > 1:
        limit = timedelta(seconds=WAIT)
        distributed.init_process_group("gloo", group, limit, rank=rank, world_size=ranks)
    names = [f"name {n}" for n in range(SAMPLES)]
    with recorder(path, start, names=names, timeout=WAIT) as recording:
        while recording.epoch <= LAST:
            epoch = recording.epoch
            ids = seen_ids(epoch)[rank::ranks]
            batch = logits_of(ids, epoch), labels_of(ids), ids
            recording.update(*map(torch.from_numpy, batch))
            recording.end_epoch(features=np.full((SAMPLES, 2), epoch) if rank == 0 else None)
            os.write(pipe, b"%d %d\n" % (rank, epoch))


def functions(name, home):
    """Give what each process of a work does; it is given a pipe for what is acknowledged."""
    if name in COMMANDS:
        return [partial(command, words(name, home))]
    ranks, group = 1 + (name == "ranks"), f"file://{home}/group-{time.monotonic_ns()}"
    return [partial(record, home / "killed/run", ranks, group, rank) for rank in range(ranks)]


def run(name, home, *, die_at=None, victim=0, after=None, others=()):
    """Run a work in forked processes; gives their exit codes, calls, and acknowledged epochs.

    The victim dies at a call or is killed after some seconds; then these others are killed.
    """
    reading, writing = os.pipe()
    children = [
        in_child(partial(in_fork, work, writing, home, die_at if rank == victim else None))
        for rank, work in enumerate(functions(name, home))
    ]
    os.close(writing)
    if after is not None:
        time.sleep(after)
        os.kill(children[victim], signal.SIGKILL)
    first = os.waitpid(children[victim], 0)[1]
    for rank in others:
        os.kill(children[rank], signal.SIGKILL)
    rest = [os.waitpid(pid, 0)[1] for pid in children if pid != children[victim]]
    with os.fdopen(reading) as pipe:
        said = [line.split() for line in pipe]
    calls = max((int(n) for word, n in said if word == "calls"), default=0)
    last = [
        max((int(epoch) for word, epoch in said if word == str(rank)), default=0)
        for rank in range(len(children))
    ]
    return [os.waitstatus_to_exitcode(status) for status in (first, *rest)], calls, min(last)


def in_fork(work, pipe, home, die_at):
    log, calls = os.open(home / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), count(1)
    os.dup2(log, 1)
    os.dup2(log, 2)

    def around(call, name, *given):
        if next(calls) == die_at:
            if name == "write":  # half of it
                call(*given[:-1], memoryview(given[-1])[: len(given[-1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*given)

    with between(around, home):
        work(pipe)
    os.write(pipe, b"calls %d\n" % next(calls))


def measured(name, home):
    """Do a work here, so that its imports are done before any fork, and in processes of its own."""
    path = home / "killed"
    renew(path)
    if name != "ranks":  # whose group would start threads here
        functions(name, home)[0](os.open(os.devnull, os.O_WRONLY))
    renew(path)
    start = time.perf_counter()
    codes, calls, _ = run(name, home)
    seconds = time.perf_counter() - start
    assert not any(codes), (home / "log").read_text()[-500:]
    return Undisturbed(result_of(name, path), seconds, calls, len([*path.rglob("*")]))


def result_of(name, path):
    """Give what must be the same, however often it was killed."""
    if name in ("record", "ranks"):
        run_ = Run(path / "run")
        return check_run(run_.path, LAST), as_bytes({"features": run_.features(), **run_.names})
    if name == "report":
        return (path / "report.html").read_bytes()
    if name == "reproduce":
        values = {
            (*line.key, word): value
            for line in results.read(path / "results.jsonl")
            for word, value in line.values.items()
            if not word.endswith("_seconds")
        }
        return values, sorted(file.name for file in path.glob("sampling-*/*"))
    saved = Coreset.load(path)
    arrays, images = {"ids": saved.ids, **saved.columns}, sorted(path.glob("images/*/*"))
    if name == "prune":
        arrays["loss"] = Run(path / "run")["loss"]
    return as_bytes(arrays), (path / "report.html").is_file(), [*map(Path.read_bytes, images)]


def kill(name, home, undisturbed, chance):
    """Kill one process, perhaps the other one too; what they had said must be there."""
    ranks, how = range(1 + (name == "ranks")), {}
    if at_call := chance.random() < 0.5:
        how["die_at"] = chance.randint(1, undisturbed.calls)
    else:
        how["after"] = chance.uniform(0, undisturbed.seconds)
    victim = chance.choice(ranks)
    others = [rank for rank in ranks if rank != victim and chance.random() < 0.5]
    (code, *_), _, acknowledged = run(name, home, victim=victim, others=others, **how)
    if acknowledged:
        check_run(home / "killed/run", acknowledged)
    if code >= 0:
        return "ended before the kill"
    return "killed at a call" if at_call else "killed at an instant"


def kill_fresh(name, home, undisturbed, chance):
    """Kill a command in an interpreter of its own soon after it has written so many files."""
    path, files = home / "killed", chance.randrange(undisturbed.files)
    line = [sys.executable, "-m", "dualprune", *map(str, words(name, home))]
    nothing = subprocess.DEVNULL
    with subprocess.Popen(line, stdout=nothing, stderr=nothing) as process:
        while process.poll() is None and _files_in(path) < files:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.1))
        process.kill()
    return "ended before the kill" if process.returncode >= 0 else "fresh interpreter killed"


def _files_in(path):
    """Count files and folders, also while a process makes and removes them."""
    return sum(len(folders) + len(names) for _, folders, names in os.walk(path))


def open_all(path):
    """Open and read everything that is there; an error is a finding."""
    for file in path.rglob("run.json"):
        run_ = Run(file.parent)
        for name in run_.signals if run_.epochs else ():
            run_[name]
    for file in path.rglob("card.json"):
        Coreset.load(file.parent)
    for file in path.rglob("state.json"):
        read_json(file)
    results.read(path / "results.jsonl")
