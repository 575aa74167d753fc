"""A run with everything that makes choosing difficult, and maps whose workers are killed."""

import itertools
import os
import signal
from functools import partial

import numpy as np
import torch

from dualprune import Coreset, Recorder, Run
from dualprune.files import place
from dualprune.method import Arrays, choose_from, find_method
from dualprune.method.choose import choose_and_write
from dualprune.run.ranges import ranges

SAMPLES, CLASSES, EPOCHS = 90, 4, 12
UNREADABLE = np.r_[3, 30:45, 89]
METHODS = [
    ("dual", {"unscored": "keep"}),
    ("dual", {"unscored": "drop", "balance": "uniform"}),
    ("random", {}),
    ("random", {"floor": 0.5}),
    ("dual+beta", {"unscored": "drop", "floor": 4}),
    ("dual+beta", {"unscored": "keep", "balance": "proportional"}),
    ("beta", {"unscored": "drop", "floor": 0.5}),
    ("dual+stratified", {"unscored": "keep", "cut_off": 0.1}),
]


def record(path):
    """Record a run with samples that could not be read, or were seen too rarely to be scored."""
    draw = np.random.default_rng(0)
    labels, unreadable = draw.integers(0, CLASSES, SAMPLES), np.full(SAMPLES, -1)
    unreadable[UNREADABLE] = labels[UNREADABLE]
    readable = np.setdiff1d(np.arange(SAMPLES), UNREADABLE)
    names = [f"{number}.png" for number in range(SAMPLES)]
    more = {"unreadable": unreadable, "names": names}
    with Recorder(path, samples=SAMPLES, classes=CLASSES, **more) as recorder:
        for epoch in range(EPOCHS):
            ids = readable if epoch % 6 == 0 else readable[readable % 9 > 0]
            logits = torch.from_numpy(draw.normal(size=(len(ids), CLASSES))).float()
            recorder.update(logits, labels[ids], ids)
            recorder.end_epoch()
    return Run(path)


def method_of(name, knobs):
    method = find_method(name, 0.6)
    return type(method)(method.score, method.selector, select_knobs=knobs, reads=method.reads)


def in_memory(run, name, knobs):
    return choose_from(Arrays([run]), method_of(name, knobs), k=30, seed=1)


def in_parts(run, name, knobs, out, *, count=7, map=None):
    parts = ranges(run.samples, count)
    return choose_and_write(
        Arrays([run], map=map), method_of(name, knobs), parts, k=30, seed=1, out=place(out)
    )


def assert_same(one, out):
    """Check that a folder holds the coreset: ids, card and every column."""
    other = Coreset.load(out)
    assert other.card == one.card
    np.testing.assert_array_equal(other.ids, one.ids)
    assert list(other.columns) == list(one.columns)
    for name, column in one.columns.items():
        np.testing.assert_array_equal(other.columns[name], column)


def killing(each, folder, waves=None):
    """Give a map whose worker is killed once in every wave, or in those of `waves`."""
    numbers = itertools.count()

    def mapped(fn, items):
        wave = next(numbers)
        if waves is None or wave in waves:
            fn = partial(_once_killed, fn, str(folder / f"killed-{wave}"))
        return each(fn, items)

    return mapped


def killing_driver(wave, items_before):
    """Give a map that kills its own process in a wave, after so many items."""
    numbers = itertools.count()

    def mapped(fn, items):
        number = next(numbers)
        for count, item in enumerate(items):
            if number == wave and count == items_before:
                os.kill(os.getpid(), signal.SIGKILL)
            yield fn(item)

    return mapped


def _once_killed(fn, mark, item):
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return fn(item)
    return os.kill(os.getpid(), signal.SIGKILL)
