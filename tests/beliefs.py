"""Runs written by hand, of a model whose beliefs are known."""

import numpy as np

from dualprune.run import Run
from dualprune.run.attempts import Attempt, Description
from dualprune.run.writer import begin, write_part


def write_beliefs(root, probabilities, labels, *, class_names=None, notes="", data="", seen=None):
    """Write a run whose model believed these probabilities, (epochs, samples, classes)."""
    _, samples, classes = probabilities.shape
    signals = ("loss", "margin", "rival")
    about = Description(samples, classes, signals, "train", class_names, notes, data)
    number = begin(root, about, None, 1)
    attempt, everyone = Attempt.load(root / "attempts" / f"{number:04d}"), np.arange(samples)
    for epoch, belief in enumerate(probabilities, 1):
        ids = everyone if seen is None else np.flatnonzero(seen[epoch - 1])
        logits, true = np.log(belief), labels[:, None] == np.arange(classes)
        others = np.where(true, -np.inf, logits)
        columns = {
            "loss": -logits[true],
            "margin": logits[true] - others.max(1),
            "rival": others.argmax(1).astype(np.int32),
        }
        rows = {"id": ids, "label": labels[ids].astype(np.int32)}
        rows |= {name: values[ids] for name, values in columns.items()}
        write_part(attempt, epoch, 0, rows, {"duplicates": 0, "non_finite": 0})
    return Run(root)


def between_two(probability, labels, rivals, classes):
    """Beliefs (epochs, samples, classes): this much in the label, nearly all else in the rival."""
    others = 0.1 / max(classes - 2, 1)
    share = np.full((len(labels), classes), others)
    share[np.arange(len(labels)), rivals] = 0.9
    beliefs = (1 - probability[..., None]) * share
    beliefs[:, np.arange(len(labels)), labels] = probability
    return beliefs
