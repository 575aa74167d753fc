"""Runs written by hand, of a model whose beliefs are known."""

import numpy as np

from dualprune.run import Run
from dualprune.run.writer import write_part
from tests.run_by_hand import NOTHING_ODD, start


def write_beliefs(root, probabilities, labels, *, seen=None, **more):
    """Write a run whose model believed these probabilities, (epochs, samples, classes)."""
    _, samples, classes = probabilities.shape
    attempt = start(root, samples, classes, ("loss", "margin", "rival"), **more)
    everyone = np.arange(samples)
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
        write_part(attempt, epoch, 0, rows, NOTHING_ODD)
    return Run(root)


def between_two(probability, labels, rivals, classes):
    """Beliefs (epochs, samples, classes): this much in the label, nearly all else in the rival."""
    others = 0.1 / max(classes - 2, 1)
    share = np.full((len(labels), classes), others)
    share[np.arange(len(labels)), rivals] = 0.9
    beliefs = (1 - probability[..., None]) * share
    beliefs[:, np.arange(len(labels)), labels] = probability
    return beliefs
