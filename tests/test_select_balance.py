"""Balance between classes, for the three selectors that share one key per sample."""

import numpy as np
import pytest

from dualprune.errors import InputError
from dualprune.select import beta, top
from dualprune.signatures import inputs
from tests.by_hand import budgets_by_hand, shares_by_hand
from tests.selecting import SAMPLES, UNLIKELY, by_class, data_for, inclusions, p_of_equal_chances

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
