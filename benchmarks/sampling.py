"""Beta sampling of 10 %, against scipy's density and numpy's weighted choice; balanced classes."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy import stats

from benchmarks.timing import SAMPLES, interleaved
from dualprune.select import beta, top
from dualprune.select.beta import parameters

MANY, CLASSES = 20_000_000, 1_000


def _balanced() -> Iterator[tuple[str, str, str]]:
    """Give every class its share, against the same choice regardless of class."""
    rng, k = np.random.default_rng(0), MANY // 10
    scores, confidence, labels = (
        rng.random(MANY),
        rng.random(MANY),
        rng.integers(0, CLASSES, MANY),
    )
    calls = {
        "top": lambda **how: top(scores, labels, k=k, seed=0, **how),
        "beta": lambda **how: beta(scores, confidence, labels, k=k, seed=0, **how),
    }
    for name, call in calls.items():
        ways = {
            "none": call,
            "proportional": partial(call, balance="proportional"),
            "floor": partial(call, floor=100),
            "share": partial(call, floor=0.5),
        }
        best = interleaved(ways, 5)
        for way in ("proportional", "floor", "share"):
            ratio = f"{best[way] / best['none']:.2f}x"
            yield f"{name}: {way} / unbalanced at 2e7", ratio, "at most 2x"


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
    yield from _balanced()
