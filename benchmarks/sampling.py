"""Beta sampling of 10 %, against scipy's density followed by numpy's weighted choice."""

from collections.abc import Iterator

import numpy as np
from scipy import stats

from benchmarks.timing import SAMPLES, interleaved
from dualprune.select import beta
from dualprune.select.beta import parameters


def rows() -> Iterator[tuple[str, str, str]]:
    rng = np.random.default_rng(0)
    scores, confidence, k = rng.random(SAMPLES), rng.random(SAMPLES), SAMPLES // 10

    def obvious() -> np.ndarray:
        a, b = parameters(0.25, 1 - k / SAMPLES, c_d=5.5, concentration=15)
        weights = stats.beta.pdf(confidence, a, b) * scores
        return rng.choice(SAMPLES, k, replace=False, p=weights / weights.sum())

    def ours() -> np.ndarray:
        return beta(scores, confidence, k=k, seed=0, c_d=5.5)

    best = interleaved({"obvious": obvious, "beta": ours}, 9)
    yield "scipy pdf + choice / beta", f"{best['obvious'] / best['beta']:.2f}x", "at least 3x"
