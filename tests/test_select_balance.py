"""Balance between classes, for the three selectors that share one key per sample."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualprune.errors import InputError
from dualprune.select import beta, top
from dualprune.select.candidates import choose
from dualprune.select.keys import smallest_of_each
from dualprune.select.quotas import numbered
from dualprune.signatures import inputs
from tests.by_hand import (
    budgets_by_hand,
    shares_by_hand,
    smallest_of_each_by_hand,
    with_floor_by_hand,
)
from tests.selecting import (
    SAMPLES,
    UNLIKELY,
    by_class,
    data_for,
    inclusions,
    p_of_equal_chances,
    repeatable,
)

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
@pytest.mark.parametrize("floor", [0.25, 0.5, 1.0])
def test_a_floor_can_be_a_share_of_the_fair_share(fn, floor):
    for k in (4, 10, 33, 100):
        _, counts = select_by_class(fn, k, floor=floor)
        quotas = [floor * size * k / 100 for size in SIZES]
        fits = sum(map(math.ceil, quotas)) <= k  # else some are rounded down
        assert all(c > q - 1 + fits * (1 - 1e-9) for c, q in zip(counts, quotas, strict=True))
        assert fits or floor == 1
        _, again = select_by_class(fn, k, floor=np.float32(floor))
        assert again == counts


def test_a_whole_number_is_a_count_and_a_decimal_a_share():
    scores, labels = np.arange(40.0), np.repeat([0, 1], [30, 10])[::-1]  # class 0 is the better one
    for floor, kept in ((1, 1), (np.int64(1), 1), (1.0, 5), (0.5, 3), (0, 0), (0.0, 0)):
        ids = top(scores, labels, k=20, seed=0, floor=floor)
        assert (labels[ids] == 1).sum() == kept


@by_class
def test_shares_of_more_classes_than_can_be_kept_go_to_the_largest_of_them(fn):
    sizes = np.array([4, 3, 2, *[1] * 31])
    labels = np.repeat(np.arange(len(sizes)), sizes)
    data = data_for(fn, labels=labels)
    assert len(labels) == SAMPLES
    kept = set(labels[fn(**data, k=3, seed=0, floor=1.0)])
    assert kept == {0, 1, 2}


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
    for floor in (1, 0.5):
        with pytest.raises(InputError, match=f"balance='uniform' or floor={floor}, not both"):
            select_by_class(fn, 15, floor=floor, balance="uniform")


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
def test_ties_inside_a_class_are_broken_at_random(fn):
    same = {"scores": np.ones(12), "confidence": np.full(12, 0.5), "labels": np.arange(12) % 2}
    data = data_for(fn, **same)
    counts = inclusions(lambda seed: fn(**data, k=4, seed=seed, balance="uniform"), 12, 3000)
    assert p_of_equal_chances(counts[::2], 3000, 2) > UNLIKELY
    assert p_of_equal_chances(counts[1::2], 3000, 2) > UNLIKELY


@by_class
def test_a_floor_beyond_all_classes_is_that_of_all_samples(fn):
    for floor in (SAMPLES, 2**63, 2**64 - 1):
        assert len(fn(**data_for(fn), k=SAMPLES, seed=0, floor=floor)) == SAMPLES
        with pytest.raises(InputError, match="a floor of 10 per class needs 40"):
            fn(**data_for(fn), k=9, seed=0, floor=floor)


close = st.integers(-3, 3).map(lambda step: 1 + step * 2.0**-52)  # the same in single precision
far = st.sampled_from([-np.inf, -1e300, -1e-300, -0.0, 0.0, 5e-324, 0.5, 2.0, 1e300, np.inf])
samples = st.lists(
    st.tuples(
        st.one_of(close, far, st.floats(-5, 5)), st.integers(0, 4), st.sampled_from([0.2, 0.5, 0.7])
    ),
    min_size=1,
    max_size=60,
)


@repeatable
@given(samples, st.lists(st.integers(0, 20), min_size=5, max_size=9))
def test_the_smallest_of_each_group_are_those_of_a_full_sort(case, quotas):
    keys, groups, ties = map(np.array, zip(*case, strict=True))
    chosen = smallest_of_each(keys, groups, np.array(quotas), ties)
    assert chosen.dtype == np.int64
    assert chosen.tolist() == smallest_of_each_by_hand(keys, groups, quotas, ties)


@repeatable
@given(samples, st.integers(1, 4), st.data())
def test_a_floor_is_that_of_a_full_sort(case, floor, data):
    keys, groups, ties = map(np.array, zip(*case, strict=True))
    quotas = np.minimum(np.bincount(groups), floor)
    k = data.draw(st.integers(int(quotas.sum()), len(keys)))
    chosen = choose(keys, k, ties, labels=groups, floor=floor)
    assert chosen.tolist() == with_floor_by_hand(keys, groups, quotas, ties, k)


@pytest.mark.parametrize("groups", [1, 2, 300, 70_000])
def test_any_number_of_groups_is_balanced(groups):
    draw = np.random.default_rng(groups)
    keys, own = draw.integers(0, 50, 100_000) / 7 - 3, draw.integers(0, groups, 100_000)
    ties, quotas = draw.random(100_000), draw.integers(0, 200_000 // groups, groups)
    order = np.lexsort((ties, keys, own))
    ranks = np.arange(100_000) - np.searchsorted(own[order], own[order])
    expected = np.sort(order[ranks < quotas[own[order]]])
    np.testing.assert_array_equal(smallest_of_each(keys, own, quotas, ties), expected)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int64, np.uint64, float, str])
@pytest.mark.parametrize("names", [(0, 1, 2), (5, 3, 9), (100, 0, 7)])
def test_labels_of_any_kind_are_balanced_alike(kind, names):
    labels, keys = np.array(names)[np.arange(30) % 3], np.random.default_rng(0).random(30)
    groups, sizes = numbered(labels.astype(kind))
    assert sizes[groups].tolist() == [10] * 30
    expected = [i for i in np.argsort(keys) if sorted(keys[i % 3 :: 3]).index(keys[i]) < 2]
    chosen = choose(keys, 6, keys, labels=labels.astype(kind), balance="uniform")
    assert chosen.tolist() == sorted(expected)


def test_samples_without_a_score_can_be_all_that_is_kept_of_balanced_classes():
    scores, labels = np.array([np.nan, 0.5, np.nan]), np.array([0, 1, 1])
    for wanted in ({"balance": "uniform"}, {"balance": "proportional"}, {"floor": 0}):
        assert top(scores, labels, k=2, seed=0, unscored="keep", **wanted).tolist() == [0, 2]
    nothing = np.full(3, np.nan)
    assert len(top(nothing, labels, k=3, seed=0, unscored="keep", balance="uniform")) == 3
