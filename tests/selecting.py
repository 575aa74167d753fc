"""What selectors are given, and how their draws are counted."""

import numpy as np
import pytest
from hypothesis import settings
from scipy.stats import chi2

from dualprune.select import SELECTORS, beta, random, top
from dualprune.signatures import inputs, knobs

SAMPLES = 40
UNLIKELY = 1e-4  # seeds are fixed: a law that holds is never below this by chance again

every_selector = pytest.mark.parametrize("fn", SELECTORS.values(), ids=SELECTORS)
by_class = pytest.mark.parametrize("fn", [top, random, beta])
needs_scores = pytest.mark.parametrize(
    "fn", [f for f in SELECTORS.values() if "unscored" in knobs(f)]
)
repeatable = settings(derandomize=True, deadline=None, max_examples=200)


def data_for(fn, **changed):
    draw = np.random.default_rng(5)
    data = {
        "scores": draw.random(SAMPLES) + 0.01,
        "confidence": draw.random(SAMPLES),
        "labels": np.arange(SAMPLES) % 4,
        "aum": draw.normal(size=SAMPLES),
        "features": draw.normal(size=(SAMPLES, 3)),
    }
    data |= changed
    return {name: data[name] for name in inputs(fn) if name in data}


def p_of_equal_chances(counts, draws, k):
    """Give the p-value of a number of inclusions per sample when every set of k is as likely."""
    n, share = len(counts), k / len(counts)
    statistic = ((counts - draws * share) ** 2).sum() / (draws * share * (1 - share)) * (n - 1) / n
    return chi2.sf(statistic, n - 1)


def inclusions(select, samples, seeds):
    counts = np.zeros(samples)
    for seed in range(seeds):
        counts[select(seed)] += 1
    return counts
