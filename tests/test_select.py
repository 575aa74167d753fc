"""Laws for every selector in the table."""

import random as global_random
from inspect import signature
from itertools import combinations, pairwise
from typing import Literal, get_origin

import numpy as np
import pytest

from dualprune.errors import InputError
from dualprune.score import SCORES
from dualprune.select import Notes, beta, boss, d2, random, stratified, top
from dualprune.signatures import inputs, knobs
from tests.selecting import SAMPLES, data_for, every_selector, needs_scores


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
    assert set(inputs(fn)) <= {"scores", "anchors", "labels", "features", *SCORES}
    assert {"k", "seed"} <= signature(fn).parameters.keys()
    assert all(knob.default is not knob.empty for knob in knobs(fn).values())


@every_selector
def test_arrays_of_different_lengths_are_refused(fn):
    for short in list(data_for(fn))[1:]:
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
def test_samples_without_a_score_are_an_error_unless_a_knob_says_otherwise(fn):
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


@every_selector
@pytest.mark.parametrize("k", [4, 17, 30])
def test_what_a_selector_notes_changes_nothing_and_is_about_these_samples(fn, k):
    data, wanted = data_for(fn), {}
    if "unscored" in knobs(fn):
        data["scores"][[2, 11, 30]], wanted = np.nan, {"unscored": "keep"}
        data["scores"][20:] *= 0 if fn is beta else 1
    wanted |= {"cut_off": 0.1} if "cut_off" in knobs(fn) else {}
    notes = Notes()
    ids = fn(**data, k=k, seed=5, **wanted, notes=notes)
    np.testing.assert_array_equal(ids, fn(**data, k=k, seed=5, **wanted))
    assert notes.kept == {
        top: "top",
        random: "sampled",
        beta: "sampled",
        stratified: "sampled",
    }.get(fn, "chosen")
    noted = [i for reason in notes.reasons.values() for i in reason.tolist()]
    assert len(noted) == len(set(noted))
    assert all(0 <= i < SAMPLES for i in noted)
    assert all((np.diff(ids) > 0).all() and len(ids) for ids in notes.reasons.values())
    assert ("unscored" in notes.reasons) == ("unscored" in wanted)
    assert ("cut_off" in notes.reasons) == ("cut_off" in wanted)
    assert ("mu" in notes.values) == (fn is beta)


@needs_scores
@pytest.mark.parametrize("unscored", ["keep", "drop"])
def test_samples_without_a_score_are_noted_kept_or_not(fn, unscored):
    data, notes = data_for(fn), Notes()
    data["scores"][[2, 11, 30]] = np.nan
    fn(**data, k=9, seed=0, unscored=unscored, notes=notes)
    assert notes.reasons["unscored"].tolist() == [2, 11, 30]
    assert set(notes.reasons) == {"unscored"}


@pytest.mark.parametrize("fn", [stratified, d2, boss])
def test_what_is_cut_off_is_noted_and_never_kept(fn):
    data, notes = data_for(fn), Notes()
    data["scores"][2] = np.nan
    data["aum"][2] = 1e9  # the hardest of all, but kept for want of a score
    ids = fn(**data, k=31, seed=0, cut_off=0.2, unscored="keep", notes=notes)
    cut = notes.reasons["cut_off"]
    assert not {*ids.tolist()} & {*cut.tolist()}
    assert len(cut) == 7
    hardest = np.argsort(-data["aum"])
    if fn is boss:  # per class
        hardest = np.concatenate([hardest[hardest % 4 == label][:2] for label in range(4)])
    assert {*cut.tolist(), 2} == set(hardest[:8].tolist())


def test_selectors_with_the_same_seed_draw_independently_of_each_other():
    n, k = 20_000, 6_000
    flat = np.ones(n)
    drawn = {
        "top": top(flat, k=k, seed=3),
        "random": random(np.zeros(n, int), k=k, seed=3),
        "beta": beta(flat, flat / 2, k=k, seed=3),
        "stratified": stratified(np.linspace(0, 1, n), k=k, seed=3),
    }
    expected, spread = k * k / n, np.sqrt(k * (k / n) * (1 - k / n) * (n - k) / (n - 1))
    for one, other in combinations(drawn.values(), 2):
        assert abs(len(np.intersect1d(one, other)) - expected) < 5 * spread
