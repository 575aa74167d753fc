"""Beta sampling moves: hard samples when much is kept, easier ones when little is.

    python examples/beta_moves.py [SAMPLES]

Learn how `beta` uses a budget. `beta_moves.png` shows the density of preferred confidences at three
shares pruned, and on the map what is kept at each. The samples are synthetic: each is learned at
its own time, some never. No model, no torch.
"""

import sys

import numpy as np

from dualprune import score, select
from dualprune.report.figures import beta_densities, coresets, figure

samples = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
rng = np.random.default_rng(0)
epoch, learned = np.arange(1, 31)[:, None], rng.gamma(1.5, 6, samples)
p = 1 / (1 + np.exp((learned - epoch) / 2 + rng.normal(0, 0.7, (30, samples))))

scores, confidence, variability = score.dual(p), score.confidence(p), score.variability(p)
mu = confidence[np.argsort(-scores)[:10]].mean()  # of the ten best, as `beta` takes it
pruned = (0.3, 0.7, 0.9)
kept = {
    f"{share:.0%} pruned": select.beta(
        scores, confidence, k=round((1 - share) * samples), seed=0, c_d=3.0
    )
    for share in pruned
}
for name, ids in kept.items():
    print(f"{name}: mean confidence of what is kept {confidence[ids].mean():.2f}")

canvas = figure(13, 8)
rows = canvas.subfigures(2, 1)
beta_densities(rows[0].subplots(), mu, pruned=pruned, c_d=3.0)
coresets(rows[1].subplots(1, 3), variability, confidence, kept)
canvas.savefig("beta_moves.png")
