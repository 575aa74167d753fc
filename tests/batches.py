"""What a Recorder is given, and what is read back from it."""

import gc
import json
import math

import pyarrow.parquet as pq
import torch
from torch import Tensor

from dualprune import Recorder, Run

DEFAULT = ("loss", "margin", "rival", "entropy", "error_norm")
NAN, INF = math.nan, math.inf


def record(path, *epochs, samples, classes, **knobs):
    """Record epochs, each a list of (logits, labels, ids)."""
    with Recorder(path, samples=samples, classes=classes, **knobs) as recorder:
        for batches in epochs:
            for batch in batches:
                recorder.update(*batch)
            recorder.end_epoch()
    return Run(path)


def facts(path):
    """What each part states about itself, oldest first, read without dualprune."""
    parts = sorted(path.glob("attempts/*/*/part-*.parquet"))
    return [json.loads(pq.read_metadata(part).metadata[b"dualprune"]) for part in parts]


def counts(path):
    return [(fact["duplicates"], fact["non_finite"]) for fact in facts(path)]


def reference(logits, labels):
    """The same signals straight from their definitions, in float64."""
    logits = logits.detach().double()
    log_p, rows = logits.log_softmax(1), torch.arange(len(logits))
    p, truth = log_p.exp(), torch.zeros_like(log_p)
    truth[rows, labels] = 1
    others = logits.masked_fill(truth.bool(), -INF)
    best, rival = others.max(1)
    margin = logits[rows, labels] - best
    return {
        "loss": -log_p[rows, labels],
        "margin": margin,
        "rival": rival,
        "entropy": -(p * log_p).sum(1),
        "error_norm": (p - truth).norm(dim=1),
        "target_prob": p[rows, labels],
        "correct": (margin > 0).double(),
        "prediction": logits.argmax(1),
        "prob_margin": p[rows, labels] - p[rows, rival],
    }


def batch(samples, classes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(samples, classes, generator=generator) * 4
    labels = torch.randint(classes, (samples,), generator=generator)
    return logits, labels, torch.arange(samples)


def new(tmp_path, **knobs):
    return Recorder(tmp_path / "run", **{"samples": 4, "classes": 3} | knobs)


def live_tensors():
    gc.collect()
    return [each for each in gc.get_objects() if issubclass(type(each), Tensor)]
