"""The signals of logits that are numpy arrays, as a Recorder computes them of tensors."""

import numpy as np
from scipy.special import entr, logsumexp, softmax

from dualprune.signatures import Array


def signals_of(logits: Array, labels: Array) -> dict[str, Array]:
    """Give what a Recorder stores of logits (samples, classes), in float64.

    >>> signals = signals_of(np.log([[0.5, 0.3, 0.2], [0.8, 0.1, 0.1]]), np.array([0, 1]))
    >>> signals["loss"].round(3).tolist(), signals["rival"].tolist()
    ([0.693, 2.303], [1, 0])
    """
    logits, rows = np.asarray(logits, np.float64), np.arange(len(labels))
    true, p = logits[rows, labels], softmax(logits, axis=1)
    others, error = logits.copy(), p.copy()
    others[rows, labels] = -np.inf
    error[rows, labels] -= 1
    return {
        "loss": np.logaddexp(0, logsumexp(others - true[:, None], axis=1)),
        "margin": true - others.max(axis=1),
        "rival": others.argmax(axis=1),
        "entropy": entr(p).sum(axis=1),
        "error_norm": np.linalg.norm(error, axis=1),
    }
