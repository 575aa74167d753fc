"""The c_D that is found from a recording: what it gives, and that blocks do not change it."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualprune.select import Notes, beta
from dualprune.select.beta import beta_of_blocks, log_weights, parameters
from dualprune.select.ease import (
    ENOUGH,
    KNOWN,
    LIMITS,
    expected_confidence,
    find_c_d,
    sampled,
    target,
)
from dualprune.select.waves import Block, Waves
from tests.by_hand import successive_draws_by_hand
from tests.selecting import repeatable


def recorded(samples, a, b, seed=0):
    """Scores that are highest in the middle, and confidences with the density of a Beta."""
    confidence = np.random.default_rng(seed).beta(a, b, samples)
    return 0.01 + (1 - confidence) * confidence, confidence


def found(scores, confidence, k, **knobs):
    notes = Notes()
    ids = beta(scores, confidence, k=k, seed=1, notes=notes, **knobs)
    return notes.values["c_d"], ids


@pytest.mark.parametrize("shape", [(2, 2), (5, 2), (8, 1), (2, 4), (0.5, 0.5)])
@pytest.mark.parametrize("kept", [0.1, 0.3, 0.5, 0.8])
def test_what_is_kept_is_as_easy_as_it_should_be(shape, kept):
    scores, confidence = recorded(10_000, *shape)
    c_d, ids = found(scores, confidence, round(kept * 10_000))
    wanted, reached = target(confidence, 1 - kept), confidence[ids].mean()
    smallest, largest = LIMITS
    if smallest < c_d < largest:
        assert reached == pytest.approx(wanted, abs=0.02)
    else:
        assert (reached < wanted) == (c_d == smallest)


@repeatable
@given(
    st.lists(st.floats(0, KNOWN), min_size=1, max_size=9),
    st.lists(st.floats(KNOWN, 1, exclude_min=True), max_size=9),
    st.floats(0, 0.99),
)
def test_the_target_is_the_mean_after_some_of_what_was_known_is_gone_by_hand(others, known, pruned):
    gone = min(pruned * len(others + known), 3 / 4 * len(known))  # so many of them, at random
    left = sum(others) + sum(known) * (1 - gone / len(known) if known else 0)
    mean = left / (len(others + known) - gone)
    wanted = mean + pruned**2 * (1 - mean) / 4
    assert target(np.array(others + known), pruned) == pytest.approx(wanted)


@pytest.mark.parametrize("kept", [0.1, 0.3, 0.5])
def test_what_the_model_knew_from_the_beginning_goes_first(kept):
    scores, confidence = recorded(10_000, 5, 2)
    confidence[::2], scores[::2] = 0.99, 0.02
    _, ids = found(scores, confidence, round(kept * 10_000))
    assert np.mean(ids % 2 == 0) < 0.3
    assert confidence[ids].mean() < confidence.mean()


def test_a_given_c_d_is_taken_and_the_one_that_was_found_gives_the_same_choice():
    scores, confidence = recorded(3000, 4, 2)
    c_d, ids = found(scores, confidence, 900)
    np.testing.assert_array_equal(beta(scores, confidence, k=900, seed=1, c_d=c_d), ids)
    notes = Notes()
    assert beta(scores, confidence, k=900, seed=1, c_d=9.0, notes=notes).tolist() != ids.tolist()
    assert "c_d" not in notes.values


def test_the_harder_the_samples_the_larger_the_c_d():
    easy, hard = (recorded(5000, *shape) for shape in ((8, 2), (3, 3)))
    assert found(*easy, 1500)[0] < found(*hard, 1500)[0]


@repeatable
@given(
    st.lists(st.floats(0.05, 5), min_size=5, max_size=7),
    st.integers(1, 3),
    st.lists(st.floats(0, 1), min_size=7, max_size=7),
)
def test_the_expected_confidence_is_near_that_of_all_draws_by_hand(weights, k, confidence):
    """About: few samples are the worst case of the formula, and it is exact for equal weights."""
    confidence = np.array(confidence[: len(weights)])
    draws = successive_draws_by_hand(weights, k)
    exact = sum(chance * confidence[[*ids]].mean() for ids, chance in draws.items())
    assert expected_confidence(np.log(weights), confidence, k) == pytest.approx(exact, abs=0.1)
    same = expected_confidence(np.zeros(len(weights)), confidence, k)
    assert same == pytest.approx(confidence.mean())


def test_weights_of_zero_are_never_expected():
    confidence = np.array([0.1, 0.5, 0.9])
    weights = np.array([-np.inf, 0.0, 0.0])
    assert expected_confidence(weights, confidence, 1) == pytest.approx(0.7)
    assert expected_confidence(weights, confidence, 2) == pytest.approx(0.7)
    nothing = np.full(3, -np.inf)
    assert expected_confidence(nothing, confidence, 1) == pytest.approx(0.5)


def test_weights_that_differ_by_many_orders_of_magnitude_have_a_finite_answer():
    confidence = np.linspace(0, 1, 1000)
    assert expected_confidence(-600 * confidence, confidence, 999) == pytest.approx(0.5, abs=0.01)


@repeatable
@given(st.integers(1, 10**7), st.lists(st.floats(0, 1), max_size=4))
def test_any_blocks_look_at_the_same_samples(samples, cuts):
    ends = sorted({0, samples, *(int(cut * samples) for cut in cuts)})
    parts = [sampled(*pair, samples) for pair in pairwise(ends)]
    whole = sampled(0, samples, samples)
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert len(whole) == min(samples, ENOUGH)
    assert (np.diff(whole) > 0).all()
    assert whole[0] >= 0
    assert whole[-1] < samples


def test_samples_that_alternate_are_looked_at_evenly():
    looked_at = sampled(0, 20 * ENOUGH, 20 * ENOUGH) % 10
    assert np.bincount(looked_at).min() > 0.08 * ENOUGH


def test_blocks_find_the_same_c_d_as_all_samples_at_once():
    scores, confidence = recorded(50_000, 4, 2)
    scores[::7] = np.nan
    c_d, ids = found(scores, confidence, 5_000, unscored="drop")
    columns = {"scores": scores, "confidence": confidence}
    ends = [0, 17, 20_001, 50_000]
    waves = Waves(
        Block(first, stop - first, {n: c[first:stop] for n, c in columns.items()})
        for first, stop in pairwise(ends)
    )
    choice = beta_of_blocks(waves, k=5_000, seed=1, unscored="drop")
    assert choice.values["c_d"] == c_d
    kept = np.concatenate(
        [np.unpackbits(m, count=b.samples) for m, b in zip(choice.kept, waves.blocks, strict=True)]
    )
    np.testing.assert_array_equal(np.flatnonzero(kept), ids)


def test_the_c_d_is_the_one_at_which_the_expectation_meets_the_target():
    """By hand: every c_D with two digits is tried."""
    scores, confidence = recorded(2000, 3, 2)

    def weights_at(c_d):
        return log_weights(scores, confidence, *parameters(0.4, 0.8, c_d=c_d, concentration=15.0))

    def distance(c_d):
        expected = expected_confidence(weights_at(c_d), confidence, 400)
        return abs(expected - target(confidence, 0.8))

    tried = [float(f"{c_d:.2g}") for c_d in np.geomspace(*LIMITS, 800)]
    best = min(dict.fromkeys(tried), key=distance)
    assert find_c_d(weights_at, confidence, 0.8, 400) == pytest.approx(best, rel=0.02)
