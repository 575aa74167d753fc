"""Beta: weights, and the law of the draw."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta as beta_distribution
from scipy.stats import chisquare

from dualprune.errors import InputError
from dualprune.score import SCORES
from dualprune.select import Notes, anchor_confidence, beta
from dualprune.select.beta import draw_keys, log_density, log_weights, parameters
from dualprune.select.keys import BETA, ties, uniform
from tests.by_hand import beta_weights_by_hand, successive_draws_by_hand
from tests.selecting import SAMPLES, UNLIKELY, data_for, inclusions, p_of_equal_chances, repeatable

T1 = np.array([[0.1, 0.9, 0.2], [0.3, 0.9, 0.2], [0.2, 0.95, 0.8], [0.6, 0.97, 0.1]])


def anchored(scores, confidence, seed=0, **wanted):
    return anchor_confidence(scores, confidence, ties(seed, len(scores)), **wanted)


def normalised(scores, confidence, a, b):
    weights = np.exp(log_weights(scores, confidence, a, b))
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
    draw = partial(beta, *arrays, k=k, mu=0.3, c_d=3.0)
    counts = frequencies(lambda seed: draw(seed=seed), len(scores), k, seeds)
    expected = np.array(list(exact.values())) * seeds
    seen = np.array([counts.get(ids, 0) for ids in exact])
    assert expected.min() > 5, "cells too rare for a chi-square test"
    assert chisquare(seen, expected).pvalue > UNLIKELY


def test_a_scale_of_the_scores_changes_no_draw_however_tiny():
    scores, confidence = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.full(5, 0.5)
    for seed in range(300):
        kept = beta(scores, confidence, k=2, seed=seed).tolist()
        for scale in (1e-300, 5e-324, 1e299, 10.0):
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


def test_zero_weights_come_in_last_and_at_random():
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


@pytest.mark.parametrize("mu", [None, 0.0, 0.4])
def test_the_mu_that_is_noted_is_the_one_that_was_used(mu):
    data, notes = data_for(beta), Notes()
    data["scores"][:30] = 0
    ids = beta(**data, k=15, seed=3, mu=mu, notes=notes)
    assert notes.values["mu"] == (
        anchored(data["scores"], data["confidence"], 3) if mu is None else mu
    )
    np.testing.assert_array_equal(beta(**data, k=15, seed=3, mu=notes.values["mu"]), ids)
    assert notes.reasons["filled"].tolist() == [i for i in ids if i < 30]
    zeros = sorted(range(30), key=lambda i: ties(3, SAMPLES)[i])[:5]
    assert sorted(zeros) == notes.reasons["filled"].tolist()


def test_the_draw_can_be_repeated_from_its_keys():
    data = data_for(beta)
    a, b = parameters(0.3, 1 - 9 / SAMPLES, c_d=3.0, concentration=15.0)
    weights = log_weights(data["scores"], data["confidence"], a, b)
    keys = draw_keys(uniform(7, 0, SAMPLES, stream=BETA), weights)
    assert sorted(np.argsort(keys)[:9]) == beta(**data, k=9, seed=7, mu=0.3, c_d=3.0).tolist()


def test_fewer_samples_than_the_anchor_wants_are_all_used():
    scores, confidence = np.array([0.1, np.nan, 0.3]), np.array([0.2, 0.9, 0.6])
    assert anchored(scores, confidence) == pytest.approx(0.4)
    assert beta(scores, confidence, k=2, seed=0, unscored="drop").tolist() == [0, 2]


def test_the_anchor_needs_a_score_and_a_confidence():
    scores, confidence = np.array([0.9, 0.5, 0.4, 0.3]), np.array([np.nan, 0.5, 0.6, 0.7])
    assert anchored(scores, confidence) == pytest.approx(0.6)
    known = beta(scores[1:], confidence[1:], k=3, seed=0) + 1
    kept = beta(scores, confidence, k=3, seed=0, unscored="drop")
    np.testing.assert_array_equal(kept, known)


def test_ties_at_the_anchor_are_broken_at_random():
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
