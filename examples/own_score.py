"""A score of your own: a function of arrays, found by their names.

    python examples/own_score.py [SAMPLES]

Learn that a method needs no class and no registration: parameters that are arrays are read from the
run by their names, the others are knobs. `own_score.png` compares what DUAL keeps with what an
obvious first function keeps. The samples are synthetic; no model, no torch.
"""

import sys
from pathlib import Path

import numpy as np

import dualprune
from dualprune import Method, Run, score
from dualprune.report.figures import coresets, figure

samples = int(sys.argv[1]) if len(sys.argv) > 1 else 3000


def last_doubt(target_prob: np.ndarray, *, epochs: int = 5) -> np.ndarray:
    """Doubt in the label over the last epochs: high for what was never learned."""
    return 1 - target_prob[-epochs:].mean(axis=0)


if not Path("own_score/run.json").exists():
    rng = np.random.default_rng(0)
    epoch, learned = np.arange(1, 31)[:, None], rng.gamma(1.5, 6, samples)
    learned[: samples // 20] = 60  # wrong labels: never learned
    noise = rng.normal(0, 0.7, (30, samples))
    Run.from_arrays("own_score", loss=np.log1p(np.exp((learned - epoch) / 2 + noise)))

methods = {"dual": "dual", "last_doubt": Method(last_doubt, "top", score_knobs={"epochs": 3})}
kept = {name: dualprune.choose("own_score", m, keep=0.2).ids for name, m in methods.items()}
for name, ids in kept.items():
    print(f"{name}: {(ids < samples // 20).sum()} of {samples // 20} wrong labels kept")

p = Run("own_score")["target_prob"]
canvas = figure(10, 4)
coresets(canvas.subplots(1, 2), score.variability(p), score.confidence(p), kept)
canvas.savefig("own_score.png")
