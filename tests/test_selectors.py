"""Laws for every selector in the table, the law of each draw, and budgets."""

import random as global_random
from decimal import Decimal
from fractions import Fraction
from inspect import signature
from itertools import combinations, pairwise
from math import floor as rounded_down
from typing import Literal, get_origin

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta as beta_distribution
from scipy.stats import chi2, chisquare, kstest

from dualprune.arrays import inputs, knobs
from dualprune.errors import InputError
from dualprune.score import SCORES
from dualprune.select import (
    SELECTORS,
    anchor_confidence,
    beta,
    boss,
    budget,
    d2,
    random,
    stratified,
    top,
)
from dualprune.select.beta import log_density, parameters
from dualprune.select.keys import uniform
from dualprune.select.quotas import even, proportional
from tests.by_hand import (
    beta_weights_by_hand,
    budgets_by_hand,
    cut_off_by_hand,
    philox_by_hand,
    shares_by_hand,
    strata_by_hand,
    successive_draws_by_hand,
    uniform_by_hand,
)

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
    return {name: changed.get(name, data[name]) for name in inputs(fn)}


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


# Laws for all.


@every_selector
@pytest.mark.parametrize("k", [1, 7, SAMPLES - 1, SAMPLES])
def test_exactly_k_distinct_ids_come_back_sorted(fn, k):
    for seed in range(20):
        ids = fn(**data_for(fn), k=k, seed=seed)
        assert ids.dtype == np.int64
        assert ids.shape == (k,)
        assert all(before < after for before, after in pairwise(ids.tolist()))
        assert ids[0] >= 0
        assert ids[-1] < SAMPLES


@every_selector
def test_one_sample_can_be_kept_of_one(fn):
    data = {name: values[:1] for name, values in data_for(fn).items()}
    assert fn(**data, k=1, seed=0).tolist() == [0]


@every_selector
@pytest.mark.parametrize("k", [-1, 0, SAMPLES + 1])
def test_keeping_nothing_or_more_than_there_is_is_refused(fn, k):
    with pytest.raises(InputError, match=f"from 1 to {SAMPLES}.*got {k}"):
        fn(**data_for(fn), k=k, seed=0)


@every_selector
def test_the_same_seed_gives_the_same_subset(fn):
    one, other = (fn(**data_for(fn), k=9, seed=123) for _ in range(2))
    np.testing.assert_array_equal(one, other)


@every_selector
def test_another_seed_gives_another_subset_unless_the_data_alone_decide(fn):
    subsets = {tuple(fn(**data_for(fn), k=9, seed=seed)) for seed in range(20)}
    drawn = fn in (random, beta, stratified)
    assert len(subsets) > 10 if drawn else len(subsets) == 1 or fn in (d2, boss)  # class budgets


@every_selector
@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_of_more_than_64_bits_is_refused(fn, seed):
    with pytest.raises(InputError, match="seed"):
        fn(**data_for(fn), k=3, seed=seed)
    assert len(fn(**data_for(fn), k=3, seed=2**64 - 1)) == 3


@every_selector
def test_global_generators_are_neither_read_nor_moved(fn):
    subsets = []
    for seed in (1, 2):
        np.random.seed(seed)
        global_random.seed(seed)
        before = np.random.get_state()[1].tolist(), global_random.getstate()
        subsets.append(fn(**data_for(fn), k=9, seed=0).tolist())
        assert (np.random.get_state()[1].tolist(), global_random.getstate()) == before
    assert subsets[0] == subsets[1]


@every_selector
def test_selecting_leaves_its_inputs_as_they_were(fn):
    data, before = data_for(fn), data_for(fn)
    for values in data.values():
        values.flags.writeable = False
    fn(**data, k=9, seed=0)
    for name, values in data.items():
        np.testing.assert_array_equal(values, before[name])


@every_selector
def test_arrays_that_selectors_read_can_be_found_by_name(fn):
    assert set(inputs(fn)) <= {"scores", "labels", "features", *SCORES}
    assert {"k", "seed"} <= signature(fn).parameters.keys()
    assert all(knob.default is not knob.empty for knob in knobs(fn).values())


@every_selector
def test_arrays_of_different_lengths_are_refused(fn):
    for short in list(inputs(fn))[1:]:
        data = data_for(fn)
        data[short] = data[short][:-1]
        wanted = {"cut_off": 0.1, "balance": "uniform"}
        with pytest.raises(InputError):
            fn(**data, k=9, seed=0, **{n: wanted[n] for n in wanted if n in knobs(fn)})


@every_selector
def test_what_is_no_choice_of_a_knob_is_refused(fn):
    data, wanted = data_for(fn), {}
    if "unscored" in knobs(fn):
        data["scores"][3], wanted = np.nan, {"unscored": "drop"}
    for name, knob in knobs(fn).items():
        if get_origin(knob.annotation) is Literal:
            with pytest.raises(InputError, match=name):
                fn(**data, k=9, seed=0, **wanted | {name: "typo"})


@needs_scores
def test_samples_without_a_score_are_an_error_unless_told_otherwise(fn):
    data = data_for(fn)
    data["scores"][[2, 11, 30]] = np.nan
    with pytest.raises(InputError, match="3 of 40 samples have no score"):
        fn(**data, k=9, seed=0)


@needs_scores
@pytest.mark.parametrize("k", [3, 4, 20, 40])
def test_unscored_samples_can_all_be_kept(fn, k):
    data = data_for(fn)
    data["scores"][[2, 11, 30]] = np.nan
    for seed in range(10):
        ids = fn(**data, k=k, seed=seed, unscored="keep")
        assert len(set(ids)) == k
        assert {2, 11, 30} <= set(ids)
        assert (np.diff(ids) > 0).all()


@needs_scores
@pytest.mark.parametrize("k", [1, 20, 37])
def test_unscored_samples_can_all_be_dropped(fn, k):
    data = data_for(fn)
    data["scores"][[2, 11, 30]] = np.nan
    for seed in range(10):
        ids = fn(**data, k=k, seed=seed, unscored="drop")
        assert len(set(ids)) == k
        assert not {2, 11, 30} & set(ids)


@needs_scores
def test_what_the_unscored_make_impossible_is_refused(fn):
    data = data_for(fn)
    data["scores"][[2, 11, 30]] = np.nan
    with pytest.raises(InputError, match="3 of them have no score"):
        fn(**data, k=2, seed=0, unscored="keep")
    with pytest.raises(InputError, match="3 of them have no score"):
        fn(**data, k=38, seed=0, unscored="drop")


@needs_scores
def test_scores_that_are_all_missing_are_the_same_error(fn):
    data = data_for(fn, scores=np.full(SAMPLES, np.nan))
    with pytest.raises(InputError, match="40 of 40 samples have no score"):
        fn(**data, k=9, seed=0)
    assert len(fn(**data, k=SAMPLES, seed=0, unscored="keep")) == SAMPLES


# Top and random.


def test_top_keeps_the_highest_scores():
    scores = data_for(top)["scores"]
    for k in (1, 13, 39):
        best = sorted(range(SAMPLES), key=lambda i: -scores[i])[:k]
        assert top(scores, k=k, seed=0).tolist() == sorted(best)


def test_top_ranks_infinities_and_negative_scores():
    scores = np.array([-np.inf, -1.0, np.inf, 0.0, -2.0])
    assert [top(scores, k=k, seed=0).tolist() for k in (1, 2, 3, 4)] == [
        *([2], [2, 3], [1, 2, 3], [1, 2, 3, 4])
    ]


def test_top_takes_any_kind_of_number():
    for kind in (np.int8, np.uint8, np.int64, np.float32, bool):
        assert top(np.array([0, 1, 0], kind), k=1, seed=0).tolist() == [1]


def test_without_ties_the_ids_that_top_keeps_travel_with_the_samples():
    scores = data_for(top)["scores"]
    order = np.random.default_rng(0).permutation(SAMPLES)
    assert sorted(order[top(scores[order], k=9, seed=0)]) == top(scores, k=9, seed=0).tolist()


def test_ties_fall_by_lot_and_not_by_position():
    counts = inclusions(lambda seed: top(np.zeros(10), k=3, seed=seed), 10, 4000)
    assert p_of_equal_chances(counts, 4000, 3) > UNLIKELY


def test_ties_at_the_border_fall_by_lot_and_what_is_above_is_safe():
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


# Random numbers as a function of (seed, id).


def test_the_generator_by_hand_is_the_published_one():
    expected = "16554d9eca36314c db20fe9d672d0fdc d7e772cee186176b 7e68b68aec7ba23b"
    assert " ".join(f"{word:016x}" for word in philox_by_hand((0, 0, 0, 0), (0, 0))) == expected


@pytest.mark.parametrize("seed", [0, 7, 2**63, 2**64 - 1])
@pytest.mark.parametrize("start", [0, 1, 4001, 10**12 + 3, 2**62])
def test_random_numbers_are_philox_of_seed_and_id(seed, start):
    expected = [uniform_by_hand(seed, sample) for sample in range(start, start + 9)]
    assert uniform(seed, start, start + 9).tolist() == expected


def test_random_numbers_are_the_stream_of_numpy():
    raw = np.random.Philox(key=11).random_raw(1001)
    expected = [((int(word) >> 12) + 0.5) / 2**52 for word in raw]
    assert uniform(11, 0, 1001).tolist() == expected


@repeatable
@given(
    st.integers(0, 2**64 - 1), st.lists(st.integers(0, 300), min_size=1, max_size=8), st.randoms()
)
def test_random_numbers_do_not_depend_on_blocks_or_their_order(seed, cuts, shuffler):
    edges = [0, *sorted(cuts), 300]
    whole, pieces = uniform(seed, 0, 300), list(pairwise(edges))
    shuffler.shuffle(pieces)
    for start, stop in pieces:
        assert uniform(seed, start, stop).tolist() == whole[start:stop].tolist()


def test_random_numbers_are_uniform_and_strictly_between_zero_and_one():
    numbers = uniform(0, 0, 200_000)
    assert numbers.min() > 0
    assert numbers.max() < 1
    assert kstest(numbers, "uniform").pvalue > UNLIKELY
    across_seeds = np.array([uniform(seed, 5, 6)[0] for seed in range(2000)])
    assert kstest(across_seeds, "uniform").pvalue > UNLIKELY


def test_the_extreme_words_of_the_generator_stay_inside(monkeypatch):
    class Extremes:
        def __init__(self, key):
            del key

        def advance(self, steps):
            del steps
            return self

        def random_raw(self, count):
            del count
            return np.array([0, 2**64 - 1], np.uint64)

    monkeypatch.setattr(np.random, "Philox", Extremes)
    numbers = uniform(0, 0, 2)
    assert 0 < numbers[0] < numbers[1] < 1
    assert np.isfinite(np.log(-np.log(numbers))).all()


# Beta: weights, and the law of the draw.

T1 = np.array([[0.1, 0.9, 0.2], [0.3, 0.9, 0.2], [0.2, 0.95, 0.8], [0.6, 0.97, 0.1]])


def anchored(scores, confidence, seed=0, **wanted):
    return anchor_confidence(scores, confidence, uniform(seed, 0, len(scores)), **wanted)


def normalised(scores, confidence, a, b):
    weights = scores * np.exp(log_density(confidence, a, b))
    return weights / weights.sum()


def test_beta_has_the_published_parameters_and_weights():
    scores, confidence = SCORES["dual"](T1, window=3), SCORES["confidence"](T1)
    mu = anchored(scores, confidence, anchor=1)
    a, b = parameters(mu, 0.9, c_d=4, concentration=15)
    assert (round(mu, 12), round(a, 7), round(b, 7)) == (0.325, 12.5180125, 3.4819875)
    weights = normalised(scores, confidence, a, b)
    assert weights.round(6).tolist() == [0.026101, 0.847207, 0.126692]


@repeatable
@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(0.5, 12), st.floats(2, 40))
def test_weights_are_score_times_beta_density(mu, pruned, c_d, concentration):
    scores, confidence = [0.2, 0.1, 0.4], [0.15, 0.5, 0.8]
    a, b = parameters(mu, pruned, c_d=c_d, concentration=concentration)
    assert a + b == pytest.approx(concentration + 1)
    expected = beta_weights_by_hand(scores, confidence, mu, pruned, c_d, concentration)
    actual = normalised(np.array(scores), np.array(confidence), a, b)
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


@repeatable
@given(st.floats(0, 1), st.floats(0.5, 12), st.floats(0, 0.99), st.floats(0, 0.99))
def test_the_more_is_pruned_the_easier_the_density_and_a_larger_c_d_delays_it(mu, c_d, one, other):
    less, more = sorted((one, other))
    a_less, b_less = parameters(mu, less, c_d=c_d, concentration=15)
    a_more, b_more = parameters(mu, more, c_d=c_d, concentration=15)
    assert a_less <= a_more
    assert b_more <= b_less
    assert parameters(mu, more, c_d=c_d + 1, concentration=15)[1] >= b_more


def test_without_pruning_the_density_starts_near_mu():
    a, b = parameters(0.25, 0.0, c_d=4, concentration=15)
    assert (a - 1) / (a + b - 2) == pytest.approx(0.25, abs=0.02)


def frequencies(fn, samples, k, seeds):
    """How often each set of k comes out, in the order of the exact probabilities."""
    counts = {}
    for seed in range(seeds):
        ids = tuple(fn(seed).tolist())
        counts[ids] = counts.get(ids, 0) + 1
    assert all(len(ids) == k and ids[-1] < samples for ids in counts)
    return counts


@pytest.mark.parametrize(
    ("scores", "confidence", "k"),
    [
        ([1, 2, 3, 4, 5, 6], [0.5] * 6, 3),
        ([1, 1, 1, 10, 10], [0.5] * 5, 2),
        ([0.3, 0.1, 0.2, 0.05, 0.2], [0.2, 0.5, 0.6, 0.8, 0.4], 2),
    ],
    ids=["six", "two kinds", "with density"],
)
def test_the_draw_is_that_of_one_after_the_other_by_weight(scores, confidence, k):
    seeds, pruned = 20_000, 1 - k / len(scores)
    a, b = parameters(0.3, pruned, c_d=3.0, concentration=15.0)
    density = beta_distribution(a, b).pdf(confidence)
    exact = successive_draws_by_hand((np.array(scores) * density).tolist(), k)
    arrays = np.array(scores, float), np.array(confidence)
    counts = frequencies(lambda seed: beta(*arrays, k=k, seed=seed, mu=0.3), len(scores), k, seeds)
    expected = np.array(list(exact.values())) * seeds
    seen = np.array([counts.get(ids, 0) for ids in exact])
    assert expected.min() > 5, "cells too rare for a chi-square test"
    assert chisquare(seen, expected).pvalue > UNLIKELY


def test_a_scale_of_the_scores_changes_no_draw_however_tiny():
    scores, confidence = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.full(5, 0.5)
    for seed in range(300):
        kept = beta(scores, confidence, k=2, seed=seed).tolist()
        for scale in (1e-300, 5e-324, 1e300, 10.0):
            assert beta(scores * scale, confidence, k=2, seed=seed).tolist() == kept


def test_a_density_that_would_underflow_still_orders_the_draw():
    confidence = np.array([1e-30, 1e-25, 1e-9, 1e-7, 1e-5])
    with np.errstate(under="ignore"):
        assert beta_distribution(15.9, 0.1).pdf(1e-30) == 0
    kept = beta(np.ones(5), confidence, k=2, seed=0, mu=0.99)
    assert kept.tolist() == [3, 4]


def test_one_huge_weight_is_always_kept_and_the_others_are_still_drawn():
    scores = np.ones(20)
    scores[7] = 1e300
    counts = inclusions(lambda seed: beta(scores, np.full(20, 0.5), k=4, seed=seed), 20, 1000)
    assert counts[7] == 1000
    assert p_of_equal_chances(np.delete(counts, 7), 1000, 3) > UNLIKELY


@pytest.mark.parametrize("value", [0.0, 5e-324, 0.3])
def test_equal_weights_give_equal_chances(value):
    arrays = np.full(12, value), np.full(12, 0.5)
    counts = inclusions(lambda seed: beta(*arrays, k=5, seed=seed), 12, 4000)
    assert p_of_equal_chances(counts, 4000, 5) > UNLIKELY


def test_zero_weights_come_in_last_and_by_lot():
    scores = np.zeros(15)
    scores[[1, 4, 9]] = [5e-324, 1e-300, 1.0]
    counts = inclusions(lambda seed: beta(scores, np.linspace(0, 1, 15), k=5, seed=seed), 15, 3000)
    assert counts[[1, 4, 9]].tolist() == [3000] * 3
    assert p_of_equal_chances(np.delete(counts, [1, 4, 9]), 3000, 2) > UNLIKELY


def test_negative_scores_are_refused_with_the_lowest():
    with pytest.raises(InputError, match="not negative, the lowest is -2"):
        beta(np.array([1.0, np.nan, -1.0, -2.0]), np.full(4, 0.5), k=2, seed=0)


def test_confidence_of_exactly_zero_or_one_has_a_finite_weight():
    for kind in (np.float64, np.float32):
        edges = np.array([0, 0.5, 1], kind)
        for a, b in ((15.5, 0.5), (1.0, 15.0), (16.0, 0.0), (8.0, 8.0)):
            assert np.isfinite(log_density(edges, a, b)).all()


def test_the_density_follows_its_formula_far_into_both_ends():
    ends = np.array([1e-6, 1e-11])
    near_zero, near_one = log_density(ends, 4.0, 3.0), log_density(1 - ends, 4.0, 3.0)
    assert near_zero[0] - near_zero[1] == pytest.approx(3 * np.log(1e5), rel=1e-6)
    assert near_one[0] - near_one[1] == pytest.approx(2 * np.log(1e5), rel=1e-6)


def test_single_precision_confidence_selects_like_double_precision():
    confidence = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.0, 0.5, 0.25])
    for k, seed in ((1, 0), (4, 1), (7, 2)):
        kept = beta(np.ones(8), confidence, k=k, seed=seed)
        single = beta(np.ones(8, np.float32), confidence.astype(np.float32), k=k, seed=seed)
        np.testing.assert_array_equal(single, kept)


@pytest.mark.parametrize("k", [1, 5, 19])
def test_extreme_pruning_where_the_density_is_infinite_at_one_still_keeps_k(k):
    assert parameters(0.25, 1 - k / 1000, c_d=4, concentration=15)[1] < 1
    confidence = np.linspace(0, 1, 1000)
    ids = beta(np.ones(1000), confidence, k=k, seed=0, c_d=4, mu=0.25)
    assert len(set(ids)) == k
    assert confidence[ids].min() > 0.5


def test_light_pruning_stays_with_the_hard_and_heavy_pruning_moves_to_the_easy():
    confidence = np.linspace(0.01, 0.99, 2000)
    means = [
        confidence[beta(np.ones(2000), confidence, k=k, seed=0, c_d=4, mu=0.25)].mean()
        for k in (1000, 600, 400, 200, 40)
    ]
    assert means == sorted(means)
    assert means[0] < 0.4
    assert means[-1] > 0.85


def test_the_anchor_is_the_mean_confidence_of_the_ten_best():
    data = data_for(beta)
    best = sorted(range(SAMPLES), key=lambda i: -data["scores"][i])[:10]
    mu = anchored(data["scores"], data["confidence"])
    assert mu == pytest.approx(sum(data["confidence"][i] for i in best) / 10, rel=1e-12)
    for k, seed in ((1, 0), (9, 1), (30, 2)):
        kept = beta(**data, k=k, seed=seed)
        np.testing.assert_array_equal(beta(**data, k=k, seed=seed, mu=mu), kept)


def test_fewer_samples_than_the_anchor_wants_are_all_used():
    scores, confidence = np.array([0.1, np.nan, 0.3]), np.array([0.2, 0.9, 0.6])
    assert anchored(scores, confidence) == pytest.approx(0.4)
    assert beta(scores, confidence, k=2, seed=0, unscored="drop").tolist() == [0, 2]


def test_ties_at_the_anchor_fall_by_lot():
    mus = {anchored(np.zeros(50), np.arange(50) / 50, seed) for seed in range(20)}
    assert len(mus) == 20


@pytest.mark.parametrize("anchor", [0, -1])
def test_an_anchor_of_no_samples_is_refused(anchor):
    with pytest.raises(InputError, match="anchor"):
        beta(**data_for(beta), k=9, seed=0, anchor=anchor)


def test_beta_without_scores_weighs_by_the_density_alone():
    confidence = data_for(beta)["confidence"]
    for seed in range(20):
        alone = beta(None, confidence, k=9, seed=seed, mu=0.3)
        equal = beta(np.ones(SAMPLES), confidence, k=9, seed=seed, mu=0.3)
        np.testing.assert_array_equal(alone, equal)


def test_beta_without_scores_needs_mu():
    with pytest.raises(InputError, match="needs mu"):
        beta(None, data_for(beta)["confidence"], k=9, seed=0)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"mu": mu} for mu in (-0.1, 1.1, float("nan"))),
        *({"c_d": c_d} for c_d in (0, -1, float("nan"))),
        *({"concentration": c} for c in (0, -15, float("nan"))),
    ],
    ids=str,
)
def test_knobs_of_beta_outside_their_range_are_refused_by_name(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        beta(**data_for(beta), k=9, seed=0, **wrong)


@pytest.mark.parametrize("mu", [0.0, 1.0])
def test_mu_may_be_at_either_end(mu):
    for k in (1, 20, SAMPLES):
        assert len(set(beta(**data_for(beta), k=k, seed=0, mu=mu))) == k


# Stratified sampling.


@pytest.mark.parametrize(
    ("sizes", "k", "budgets"),
    [
        ((100, 1, 10), 30, [19, 1, 10]),
        ((0, 0, 5, 100), 30, [0, 0, 5, 25]),
        ((3, 3, 3), 7, [2, 2, 3]),
    ],
)
def test_budgets_are_the_published_ones(sizes, k, budgets):
    assert even(np.array(sizes), k).tolist() == budgets
    assert budgets_by_hand(sizes, k) == budgets


sizes_and_k = st.lists(st.integers(0, 30), min_size=1, max_size=12).flatmap(
    lambda sizes: st.tuples(st.just(sizes), st.integers(0, sum(sizes)))
)


@repeatable
@given(sizes_and_k)
def test_an_even_division_uses_the_whole_budget_and_favours_nobody(case):
    sizes, k = case
    budgets = even(np.array(sizes), k).tolist()
    assert budgets == budgets_by_hand(sizes, k)
    assert sum(budgets) == k
    for size, own in zip(sizes, budgets, strict=True):
        assert 0 <= own <= size
        assert own == size or own >= max(budgets) - 1


@repeatable
@given(sizes_and_k.filter(lambda case: sum(case[0]) > 0))
def test_a_proportional_division_uses_the_whole_budget_and_is_off_by_less_than_one(case):
    sizes, k = case
    shares = proportional(np.array(sizes), k).tolist()
    assert shares == shares_by_hand(sizes, k)
    assert sum(shares) == k
    for size, own in zip(sizes, shares, strict=True):
        assert 0 <= own <= size
        assert abs(own - size * k / sum(sizes)) < 1


@pytest.mark.parametrize("shift", [0.0, -0.5, -3.0])
@pytest.mark.parametrize("cut_off", [0.0, 0.1, 0.37])
@pytest.mark.parametrize(("strata", "k"), [(50, 60), (7, 60), (1, 60), (200, 126), (10, 3)])
def test_each_stratum_gives_its_budget(shift, cut_off, strata, k):
    draw = np.random.default_rng(9)
    scores, aum = draw.beta(0.5, 4, 200) + shift, draw.normal(size=200)
    left = sorted(set(range(200)) - cut_off_by_hand(aum.tolist(), cut_off))
    inside = strata_by_hand(scores.tolist(), left, strata)
    ids = set(stratified(scores, aum, k=k, seed=1, strata=strata, cut_off=cut_off).tolist())
    counts = [len(ids & set(stratum)) for stratum in inside]
    assert counts == budgets_by_hand([len(stratum) for stratum in inside], k)


def test_the_highest_score_can_be_kept_also_when_scores_are_negative():
    scores = np.concatenate([np.full(100, -2.0), [-1.0]])
    for seed in range(20):
        assert 100 in stratified(scores, k=2, seed=seed)
    assert stratified(np.linspace(-1, 0, 30), k=30, seed=0).tolist() == list(range(30))


def test_inside_a_stratum_every_sample_has_the_same_chance():
    scores = np.repeat([0.0, 1.0], [8, 12])
    counts = inclusions(lambda seed: stratified(scores, k=7, seed=seed, strata=2), 20, 4000)
    assert p_of_equal_chances(counts[:8], 4000, 3) > UNLIKELY
    assert p_of_equal_chances(counts[8:], 4000, 4) > UNLIKELY


def test_equal_scores_are_one_stratum():
    counts = inclusions(lambda seed: stratified(np.full(10, 0.7), k=4, seed=seed), 10, 4000)
    assert p_of_equal_chances(counts, 4000, 4) > UNLIKELY


@pytest.mark.parametrize("share", [0.1, 0.29, 0.57, 0.999])
def test_a_cut_off_drops_exactly_its_share_of_the_hardest(share):
    draw = np.random.default_rng(2)
    scores, aum = draw.random(100), draw.normal(size=100)
    count = int(Decimal(str(share)) * 100)
    hardest = set(np.argsort(-aum)[:count].tolist())
    kept = stratified(scores, aum, k=100 - count, seed=0, cut_off=share)
    assert set(kept.tolist()) == set(range(100)) - hardest
    with pytest.raises(InputError, match=f"{100 - count} are left"):
        stratified(scores, aum, k=101 - count, seed=0, cut_off=share)


def test_ties_at_the_cut_off_fall_by_lot():
    aum = np.array([0.0, 1, 1, 1, 1, 1, 1, 2])
    counts = inclusions(
        lambda seed: stratified(np.zeros(8), aum, k=5, seed=seed, cut_off=0.375), 8, 4000
    )
    assert counts[7] == 0
    assert counts[0] == 4000
    assert p_of_equal_chances(counts[1:7], 4000, 4) > UNLIKELY


def test_a_sample_without_aum_is_not_cut_off_before_one_that_has_it():
    aum = np.array([np.nan, 1.0, 2.0, 3.0])
    assert stratified(np.ones(4), aum, k=2, seed=0, cut_off=0.5).tolist() == [0, 1]


@pytest.mark.parametrize("cut_off", [-0.1, 1.0, 1.1, float("nan")])
def test_a_cut_off_that_is_no_share_is_refused(cut_off):
    with pytest.raises(InputError, match="cut_off"):
        stratified(**data_for(stratified), k=3, seed=0, cut_off=cut_off)


def test_a_cut_off_needs_aum():
    with pytest.raises(InputError, match="aum"):
        stratified(data_for(stratified)["scores"], k=3, seed=0, cut_off=0.1)


@pytest.mark.parametrize("strata", [0, -1])
def test_no_strata_are_refused(strata):
    with pytest.raises(InputError, match="strata"):
        stratified(**data_for(stratified), k=3, seed=0, strata=strata)


# Balance between classes, for the three selectors that share one key per sample.

SIZES = (50, 30, 19, 1)
NAMES = (7, -3, 100, 0)  # classes need not be counted from 0


def classes():
    draw = np.random.default_rng(4)
    labels = draw.permutation(np.repeat(NAMES, SIZES))
    return {"scores": draw.random(100) + 0.01, "confidence": draw.random(100), "labels": labels}


def select_by_class(fn, k, seed=0, **wanted):
    data = {name: values for name, values in classes().items() if name in inputs(fn)}
    ids = fn(**data, k=k, seed=seed, **wanted)
    assert len(set(ids)) == k
    assert (np.diff(ids) > 0).all()
    return ids, [int((data["labels"][ids] == name).sum()) for name in NAMES]


def in_order_of_labels(fn, k):
    """Apply a division to the sizes in the order of the labels, which decides equal claims."""
    order = np.argsort(NAMES)
    quotas = fn([SIZES[i] for i in order], k)
    return [quotas[list(order).index(i)] for i in range(len(NAMES))]


@by_class
@pytest.mark.parametrize("k", [1, 3, 10, 33, 99, 100])
def test_proportional_balance_keeps_the_same_share_of_every_class(fn, k):
    _, counts = select_by_class(fn, k, balance="proportional")
    assert counts == in_order_of_labels(shares_by_hand, k)
    assert all(abs(c - size * k / 100) < 1 for c, size in zip(counts, SIZES, strict=True))


@by_class
@pytest.mark.parametrize("k", [1, 2, 3, 4, 10, 33, 80, 100])
def test_uniform_balance_keeps_the_same_number_of_every_class_as_far_as_it_goes(fn, k):
    _, counts = select_by_class(fn, k, balance="uniform")
    assert counts == in_order_of_labels(budgets_by_hand, k)


@by_class
@pytest.mark.parametrize(("k", "floor"), [(4, 1), (16, 5), (40, 10), (100, 1), (70, 19)])
def test_a_floor_keeps_that_many_of_every_class_or_all_of_a_smaller_one(fn, k, floor):
    for seed in range(5):
        _, counts = select_by_class(fn, k, seed=seed, floor=floor)
        assert all(c >= min(floor, size) for c, size in zip(counts, SIZES, strict=True))
        assert sum(counts) == k


@by_class
def test_a_floor_that_needs_more_than_the_budget_is_refused(fn):
    with pytest.raises(InputError, match="a floor of 5 per class needs 16 samples, k is 15"):
        select_by_class(fn, 15, floor=5)


@by_class
def test_a_negative_floor_is_refused(fn):
    with pytest.raises(InputError, match="floor"):
        select_by_class(fn, 15, floor=-1)


@by_class
def test_a_floor_and_a_balance_exclude_each_other(fn):
    with pytest.raises(InputError, match="not both"):
        select_by_class(fn, 15, floor=1, balance="uniform")


@pytest.mark.parametrize("fn", [top, beta])
@pytest.mark.parametrize(
    "wanted", [{"balance": "uniform"}, {"balance": "proportional"}, {"floor": 1}]
)
def test_balance_without_labels_is_refused(fn, wanted):
    data = data_for(fn)
    del data["labels"]
    with pytest.raises(InputError, match="labels"):
        fn(**data, k=9, seed=0, **wanted)


def test_top_keeps_the_best_of_every_class():
    data = classes()
    for balance in ("uniform", "proportional"):
        ids, counts = select_by_class(top, 33, balance=balance)
        for name, count in zip(NAMES, counts, strict=True):
            members = np.flatnonzero(data["labels"] == name)
            best = members[np.argsort(-data["scores"][members])[:count]]
            assert set(best) <= set(ids)


def test_top_with_a_floor_keeps_the_best_of_every_class_and_then_the_best_of_the_rest():
    data = classes()
    sure = set()
    for name in NAMES:
        members = np.flatnonzero(data["labels"] == name)
        sure |= set(members[np.argsort(-data["scores"][members])[:4]].tolist())
    rest = sorted(set(range(100)) - sure, key=lambda i: -data["scores"][i])
    ids, _ = select_by_class(top, 40, floor=4)
    assert set(ids.tolist()) == sure | set(rest[: 40 - len(sure)])


@by_class
def test_one_class_is_balanced_like_none(fn):
    data = data_for(fn, labels=np.zeros(SAMPLES, int))
    plain = fn(**data, k=9, seed=0)
    for wanted in ({"balance": "uniform"}, {"balance": "proportional"}, {"floor": 3}):
        np.testing.assert_array_equal(fn(**data, k=9, seed=0, **wanted), plain)


@by_class
def test_ties_inside_a_class_fall_by_lot(fn):
    same = {"scores": np.ones(12), "confidence": np.full(12, 0.5), "labels": np.arange(12) % 2}
    data = data_for(fn, **same)
    counts = inclusions(lambda seed: fn(**data, k=4, seed=seed, balance="uniform"), 12, 3000)
    assert p_of_equal_chances(counts[::2], 3000, 2) > UNLIKELY
    assert p_of_equal_chances(counts[1::2], 3000, 2) > UNLIKELY


# Budgets.


def test_a_tenth_and_a_fifth_of_fifty_thousand_lose_no_sample():
    assert budget(50_000, keep="0.1") == budget(50_000, prune="0.9") == 5000
    assert budget(50_000, keep="0.2") == budget(50_000, prune="0.8") == 10_000


@pytest.mark.parametrize("text", ["100%", "1.0", "1.", "1e0", "100.0%", "1797"])
def test_everything_can_be_kept(text):
    assert budget(1797, keep=text) == 1797


@pytest.mark.parametrize("text", ["0%", "0.0", "1e-12", "0.0%"])
def test_nothing_can_be_pruned(text):
    assert budget(1797, prune=text) == 1797


def half_up(exact):
    return rounded_down(exact + Fraction(1, 2))


shares = st.decimals(0, 1, allow_nan=False, allow_infinity=False, places=6).map(
    lambda share: f"{share:f}"
)


@repeatable
@given(st.integers(1, 10**9), shares, st.booleans())
def test_a_share_is_rounded_half_up_on_the_exact_decimal(samples, text, kept):
    share = Fraction(text)
    expected = half_up(samples * (share if kept else 1 - share))
    asked = {"keep": text} if kept else {"prune": text}
    if expected:
        assert budget(samples, **asked) == expected
    else:
        with pytest.raises(InputError, match="keep 1 or more"):
            budget(samples, **asked)


@repeatable
@given(st.integers(1, 10**6), st.integers(0, 100_00))
def test_percent_are_hundredths(samples, hundredths):
    text = f"{hundredths // 100}.{hundredths % 100:02d}%"
    expected = half_up(samples * Fraction(hundredths, 100_00))
    if expected:
        assert budget(samples, keep=text) == expected
    else:
        with pytest.raises(InputError, match="keep 1 or more"):
            budget(samples, keep=text)


@pytest.mark.parametrize(
    ("samples", "keep", "k"),
    [(5, "0.5", 3), (5, "0.3", 2), (5, "0.1", 1), (3, "0.5", 2), (7, "50%", 4)],
)
def test_a_half_is_rounded_up(samples, keep, k):
    assert budget(samples, keep=keep) == k


def test_a_share_of_many_digits_is_still_exact():
    almost_half = "0.4" + "9" * 40
    assert budget(3, keep=almost_half) == 1
    assert budget(3, keep="0.5") == 2
    assert budget(3, prune="0.5" + "0" * 40 + "1") == 1


@repeatable
@given(st.integers(2, 10**9).flatmap(lambda n: st.tuples(st.just(n), st.integers(2, n))))
def test_a_whole_number_is_a_count(case):
    samples, count = case
    assert budget(samples, keep=str(count)) == count
    if count < samples:
        assert budget(samples, prune=str(count)) == samples - count


AMOUNTLESS = [
    "1.1",
    "-0.1",
    "-5",
    "nan",
    "inf",
    "-inf",
    "abc",
    "",
    "%",
    "101%",
    "-1%",
    "1e3",
    "2.0",
    "0.3%%",
    "nan%",
    "1/2",
    "0,3",
]


@pytest.mark.parametrize("name", ["keep", "prune"])
@pytest.mark.parametrize("text", AMOUNTLESS)
def test_what_is_no_amount_is_refused_with_the_choices(name, text):
    with pytest.raises(InputError, match=f"--{name}.*a share.*a count"):
        budget(100, **{name: text})


@pytest.mark.parametrize("name", ["keep", "prune"])
@pytest.mark.parametrize(("text", "percent"), [("1", "100%"), ("0", "0%")])
def test_one_and_zero_are_refused_as_ambiguous_and_the_message_says_what_to_write(
    name, text, percent
):
    with pytest.raises(InputError, match=rf"ambiguous: say {text}\.0 or {percent}"):
        budget(100, **{name: text})


@pytest.mark.parametrize(
    "asked",
    [
        {"keep": "0.0"},
        {"keep": "0%"},
        {"keep": "1e-12"},
        {"keep": "0.004"},
        {"prune": "1.0"},
        {"prune": "100%"},
        {"prune": "100"},
        {"prune": "0.996"},
    ],
    ids=str,
)
def test_keeping_nothing_is_refused(asked):
    with pytest.raises(InputError, match="would keep 0; keep 1 or more"):
        budget(100, **asked)


@pytest.mark.parametrize("name", ["keep", "prune"])
def test_a_count_above_the_samples_is_refused(name):
    with pytest.raises(InputError, match="101 is more than the 100 samples"):
        budget(100, **{name: "101"})


def test_keep_and_prune_exclude_each_other_and_one_is_needed():
    for asked in ({}, {"keep": "0.5", "prune": "0.5"}):
        with pytest.raises(InputError, match="either keep or prune"):
            budget(100, **asked)


def test_selectors_with_the_same_seed_draw_independently_of_each_other():
    n, k = 20_000, 6_000
    flat = np.ones(n)
    drawn = {
        "random": random(np.zeros(n, int), k=k, seed=3),
        "beta": beta(flat, flat / 2, k=k, seed=3),
        "stratified": stratified(np.linspace(0, 1, n), k=k, seed=3),
    }
    expected, spread = k * k / n, np.sqrt(k * (k / n) * (1 - k / n) * (n - k) / (n - 1))
    for one, other in combinations(drawn.values(), 2):
        assert abs(len(np.intersect1d(one, other)) - expected) < 5 * spread
