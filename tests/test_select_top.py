"""Top and random: what is kept, and how ties are broken."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chisquare

from dualprune.select import random, top
from tests.selecting import SAMPLES, UNLIKELY, data_for, inclusions, p_of_equal_chances


def test_top_keeps_the_highest_scores():
    scores = data_for(top)["scores"]
    for k in (1, 13, 39):
        best = sorted(range(SAMPLES), key=lambda i: -scores[i])[:k]
        assert top(scores, k=k, seed=0).tolist() == sorted(best)


def test_top_ranks_large_and_negative_scores():
    scores = np.array([-1e300, -1.0, 1e300, 0.0, -2.0])
    assert [top(scores, k=k, seed=0).tolist() for k in (1, 2, 3, 4)] == [
        *([2], [2, 3], [1, 2, 3], [1, 2, 3, 4])
    ]


def test_top_takes_any_kind_of_number():
    for kind in (np.int8, np.uint8, np.int64, np.float32, np.float16):
        assert top(np.array([0, 1, 0], kind), k=1, seed=0).tolist() == [1]


def test_without_ties_the_ids_that_top_keeps_travel_with_the_samples():
    scores = data_for(top)["scores"]
    order = np.random.default_rng(0).permutation(SAMPLES)
    assert sorted(order[top(scores[order], k=9, seed=0)]) == top(scores, k=9, seed=0).tolist()


def test_ties_are_broken_at_random_and_not_by_position():
    counts = inclusions(lambda seed: top(np.zeros(10), k=3, seed=seed), 10, 4000)
    assert p_of_equal_chances(counts, 4000, 3) > UNLIKELY


def test_ties_at_the_border_are_broken_at_random_and_what_is_above_is_safe():
    scores = np.array([5.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    counts = inclusions(lambda seed: top(scores, k=3, seed=seed), 8, 4000)
    assert counts[0] == 4000
    assert counts[7] == 0
    assert p_of_equal_chances(counts[1:7], 4000, 2) > UNLIKELY


def test_every_subset_is_as_likely_in_random():
    counts = {}
    for seed in range(6000):
        ids = tuple(random(np.zeros(6), k=3, seed=seed))
        counts[ids] = counts.get(ids, 0) + 1
    assert len(counts) == 20
    assert chisquare(list(counts.values())).pvalue > UNLIKELY


@pytest.mark.parametrize("fn", [top, random])
@pytest.mark.parametrize("tied", [False, True])
def test_with_the_same_seed_a_smaller_subset_lies_inside_a_larger_one(fn, tied):
    data = data_for(fn, **({"scores": np.arange(SAMPLES) // 10} if tied else {}))
    subsets = [set(fn(**data, k=k, seed=3)) for k in range(1, SAMPLES + 1)]
    assert all(smaller < larger for smaller, larger in pairwise(subsets))
