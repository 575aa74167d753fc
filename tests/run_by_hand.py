"""A run written by hand, epoch by epoch."""

import numpy as np

from dualprune.run import Run
from dualprune.run.description import Description
from dualprune.run.names import digest_of, names_table
from dualprune.run.signals import column_of
from dualprune.run.writer import begin, write_part

NOTHING_ODD = {"duplicates": 0, "non_finite": 0}


def start(root, samples, classes, signals, *, start_epoch=None, writers=1, names=None, **more):
    """Begin an attempt without a Recorder; `names` are those of the samples."""
    table = None if names is None else names_table(names, np.arange(samples))
    types = {name: column_of(name).dtype for name in signals}
    digest = "" if table is None else digest_of(table)
    about = Description(samples, classes, types, names=digest, **more)
    return begin(root, about, start_epoch, writers, table)


def write_run(
    path,
    losses,
    margins=None,
    *,
    labels=None,
    mode="train",
    signals=("loss", "margin"),
    features=None,
    names=None,
):
    """Write a run by hand, one part per epoch; what is NaN was not seen; features by epoch."""
    losses = np.asarray(losses, np.float32)
    columns = {"loss": losses, "margin": np.asarray(-losses if margins is None else margins)}
    labels = np.arange(losses.shape[1]) % 2 if labels is None else np.asarray(labels)
    attempt = start(path, losses.shape[1], 2, signals, mode=mode, names=names)
    for epoch in range(len(losses)):
        ids = np.flatnonzero(~np.isnan(losses[epoch]))
        rows = {name: columns[name][epoch, ids].astype(np.float32) for name in signals}
        rows = {"id": ids, "label": labels[ids].astype(np.int32), **rows}
        write_part(attempt, epoch + 1, 0, rows, NOTHING_ODD, (features or {}).get(epoch + 1))
    return Run(path)


def trajectories(epochs=12, samples=40, seed=0):
    return np.random.default_rng(seed).gamma(1.0, 1.0, (epochs, samples))
