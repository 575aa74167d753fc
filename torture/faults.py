"""Let the n-th call of the system fail, once or for ever: no raw error, nothing silent."""

import errno
import os
import shutil
from functools import partial
from itertools import count

import numpy as np
from tests.commands import dualprune
from tests.photos import save, striped
from tests.recording import check_run, record, recorder, see
from torch.optim import SGD

from dualprune import Run, choose
from dualprune.data import load, write_tree
from dualprune.errors import DualpruneError, InputError
from dualprune.experiments import results
from dualprune.train.checkpoint import store
from torture import instances
from torture.calls import between
from torture.parts import Finding, raw

CODES = (errno.EIO, errno.ENOSPC, errno.EMFILE, errno.EACCES)
LINE = results.Line("torture", "smoke", "row", 0.5, 9, {"accuracy": 0.5}, "same", 2, "numpy")


def prepare(home):
    write_template(home / "template")
    for _ in range(2):  # what is loaded at first use is loaded before any fault
        expected = {name: undisturbed(name, home) for name in OPERATIONS}

    def attack(number, chance):
        name = [*OPERATIONS][number % len(OPERATIONS)]
        lasting, code = divmod(number // len(OPERATIONS) % (2 * len(CODES)), len(CODES))
        for n in count(1):
            hits = []
            around = failing(n, CODES[code], lasting, hits)
            outcomes = list(faulty(name, fresh(home), expected[name], around))
            if not hits:
                break
            how = f"{name}, call {n}, {hits[0]}: {errno.errorcode[CODES[code]]}"
            for word in outcomes:
                yield Finding(f"{word}; {how}") if type(word) is Finding else word

    return attack


def fresh(home):
    shutil.rmtree(home / "copy", ignore_errors=True)
    return shutil.copytree(home / "template", home / "copy")


def undisturbed(name, home):
    begin, look = OPERATIONS[name]
    return look(home / "copy", begin(fresh(home))())


def failing(n, code, lasting, hits):
    calls = count(1)

    def around(call, name, *given):
        number = next(calls)
        if number < n or (number > n and not lasting):
            return call(*given)
        hits.append(f"{name} {given[:1]}")
        if name == "close":
            call(*given)
        raise OSError(code, os.strerror(code))

    return around


def faulty(name, home, expected, around):
    """Do it with a fault, look what it did, and do it again without."""
    begin, look = OPERATIONS[name]
    call = begin(home)
    try:
        with between(around, home):
            result = call()
        same = look(home, result) == expected
        yield "absorbed" if same else Finding(f"{name}: another result, silently | ")
    except DualpruneError:
        yield "refused"
    except Exception as error:  # noqa: BLE001 - any other exception is what this looks for
        yield raw("not an error of ours", error)
    try:
        result = call()
    except DualpruneError as error:
        result = error  # it may have been done all the same
    if (after := look(home, result)) != expected:
        yield Finding(f"{name}: cannot be repeated | {after!s:.300}")
    if left := [path.name for path in home.rglob(".*.tmp")]:
        yield Finding(f"{name}: leaves temporary files after it was repeated | {left}")


def write_template(home):
    instances.write_all(home)
    record(home / "recorded", 2)
    images = striped(20, 2)
    np.savez(home / "data.npz", x=images.pixels, y=images.labels)
    for number in range(4):
        save(home / f"photos/{number % 2}/{number}.png", seed=number)


def command(*words):
    def call():
        code, printed, said = dualprune(*words)
        if code:
            raise InputError(said)
        return printed

    return call


def end_epoch(home):
    recording = recorder(home / "recorded", 3)
    see(recording)
    return partial(recording.end_epoch, features=np.ones((300, 2)))


def checkpoint(home):
    model, state = instances.linear(), {"epoch": 3, "settings": {}}
    optimizer = SGD(model.parameters(), 0.5)
    return partial(
        store, home / "trained/checkpoint", model, optimizer, state, {"uses": np.ones(9)}
    )


def recorded(home, _):
    run = Run(home / "recorded")
    return check_run(run.path, 2), [run.features(n).tolist() for n in run.with_features]


def files(name):
    """Look at the content of all files in a folder."""
    return lambda home, _: {
        path.relative_to(home): path.read_bytes()
        for path in (home / name).rglob("*")
        if path.is_file() and path.suffix != ".tmp"
    }


def reading(read):
    return lambda home: partial(read, home), lambda _, result: repr(result)


# What begins an operation in a folder, and what looks at what it did there.
OPERATIONS = {
    "start": (
        lambda home: partial(recorder, home / "new"),
        lambda home, _: Run(home / "new").epochs,
    ),
    "resume": (lambda home: partial(recorder, home / "recorded", 3), recorded),
    "end_epoch": (end_epoch, recorded),
    "save coreset": (
        lambda home: partial(choose(home / "run", "random", keep=9).save, home / "new"),
        files("new"),
    ),
    "checkpoint": (checkpoint, files("trained/checkpoint")),
    "append a result": (
        lambda home: partial(results.append, home / "results.jsonl", LINE),
        lambda home, _: instances.read_results(home)[LINE.key],
    ),
    "materialize": (
        lambda home: partial(write_tree, load(home / "photos")[0], home / "new", "copy"),
        files("new"),
    ),
    "report": (
        lambda home: command("report", home / "run", "--out", home / "report.html"),
        lambda home, _: (home / "report.html").read_bytes(),
    ),
    "doctor": (lambda home: command("doctor", home / "run"), lambda _, result: repr(result)),
    "read an .npz": reading(lambda home: load(home / "data.npz")[0].fingerprint),
    "read photos": reading(lambda home: load(home / "photos")[0].names),
    **{read.__name__: reading(read) for _, read in instances.FILES.values()},
}
COMBINATIONS = len(OPERATIONS) * len(CODES) * 2
