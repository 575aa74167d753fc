"""A run written by hand, epoch by epoch."""

import numpy as np

from dualprune.run import Run
from dualprune.run.attempts import Attempt, Description
from dualprune.run.writer import begin, write_part


def write_run(path, losses, margins=None, *, labels=None, mode="train", signals=("loss", "margin")):
    """Write a run by hand, one part per epoch; what is NaN was not seen."""
    losses = np.asarray(losses, np.float32)
    columns = {"loss": losses, "margin": np.asarray(-losses if margins is None else margins)}
    labels = np.arange(losses.shape[1]) % 2 if labels is None else np.asarray(labels)
    number = begin(path, Description(losses.shape[1], 2, signals, mode), None, 1)
    attempt = Attempt.load(path / "attempts" / f"{number:04d}")
    for epoch in range(len(losses)):
        ids = np.flatnonzero(~np.isnan(losses[epoch]))
        rows = {name: columns[name][epoch, ids].astype(np.float32) for name in signals}
        rows = {"id": ids, "label": labels[ids].astype(np.int32), **rows}
        write_part(attempt, epoch + 1, 0, rows, {"duplicates": 0, "non_finite": 0})
    return Run(path)


def trajectories(epochs=12, samples=40, seed=0):
    return np.random.default_rng(seed).gamma(1.0, 1.0, (epochs, samples))
