"""Stratified sampling: budgets, strata and the cut-off."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualprune.errors import InputError
from dualprune.select import stratified
from dualprune.select.quotas import even, proportional
from tests.by_hand import budgets_by_hand, cut_off_by_hand, shares_by_hand, strata_by_hand
from tests.selecting import UNLIKELY, data_for, inclusions, p_of_equal_chances, repeatable


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


sizes_and_k = st.lists(st.integers(0, 30), min_size=1, max_size=40).flatmap(
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


def test_ties_at_the_cut_off_are_broken_at_random():
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


def test_any_number_of_strata_costs_no_more_than_the_samples_fill():
    scores = np.random.default_rng(0).random(300)
    ids = stratified(scores, k=70, seed=0, strata=10**7)  # one sample in each
    assert len(ids) == 70
    for strata in (10**9, 2**53):
        np.testing.assert_array_equal(stratified(scores, k=70, seed=0, strata=strata), ids)


@pytest.mark.parametrize("strata", [0, -1, 2**53 + 1])
def test_no_strata_are_refused(strata):
    with pytest.raises(InputError, match="strata"):
        stratified(**data_for(stratified), k=3, seed=0, strata=strata)
