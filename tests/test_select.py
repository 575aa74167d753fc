"""Laws for every selector in the table."""

import random as global_random
from inspect import signature
from itertools import combinations, pairwise
from typing import Literal, get_origin

import numpy as np
import pytest

from dualprune.errors import InputError
from dualprune.score import SCORES
from dualprune.select import Notes, beta, boss, d2, k_center, moderate, random, stratified, top
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
def test_integers_of_numpy_are_seeds_and_budgets_like_those_of_python(fn):
    for seed in (np.int64(3), np.int32(1), np.uint8(200), np.uint64(2**63), np.array(5)):
        ids = fn(**data_for(fn), k=9, seed=int(seed))
        for k in (9, np.int64(9), np.uint8(9)):
            np.testing.assert_array_equal(fn(**data_for(fn), k=k, seed=seed), ids)


@every_selector
@pytest.mark.parametrize("wrong", [3.0, np.float64(3), True, np.True_, "3", None, [3], 2**64])
def test_what_is_no_integer_is_neither_a_seed_nor_a_budget(fn, wrong):
    for name in ("k", "seed"):
        with pytest.raises(InputError, match=f"^{name} must be a whole number"):
            fn(**data_for(fn), **{"k": 3, "seed": 3, name: wrong})


def columns_of(fn):
    """What a selector reads that is one number per sample."""
    return [name for name in data_for(fn) if name not in ("labels", "features")]


@every_selector
def test_numbers_of_any_type_are_numbers(fn):
    exact = {"scores": np.arange(SAMPLES) * 7 % 31, "confidence": np.arange(SAMPLES) % 2}
    exact |= {"aum": np.arange(SAMPLES) * 11 % 40}
    exact |= {"features": np.arange(3 * SAMPLES).reshape(SAMPLES, 3) * 13 % 101}
    ids = fn(**data_for(fn, **exact), k=9, seed=0)
    for kind in (np.int8, np.uint64, np.float16, np.float32, ">f8", np.longdouble):
        changed = {name: values.astype(kind) for name, values in exact.items()}
        np.testing.assert_array_equal(fn(**data_for(fn, **changed), k=9, seed=0), ids)
    lists = {name: values.tolist() for name, values in data_for(fn, **exact).items()}
    np.testing.assert_array_equal(fn(**lists, k=9, seed=0), ids)


@every_selector
@pytest.mark.parametrize("wrong", [bool, object, str, complex, "M8[s]"])
def test_what_is_no_number_is_refused_by_name(fn, wrong):
    for name in [*columns_of(fn), *(["features"] if "features" in data_for(fn) else [])]:
        values = data_for(fn)[name].astype(np.int64).astype(wrong)
        with pytest.raises(InputError, match=f"^{name} must be an array of real numbers, got "):
            fn(**data_for(fn, **{name: values}), k=9, seed=0)


@every_selector
def test_shapes_other_than_one_number_per_sample_are_refused(fn):
    for name in columns_of(fn) or ["labels"]:
        values = data_for(fn)[name]
        for wrong in (values[:, None], np.stack([values, values], 1), values[0], [[1], [1, 2]]):
            with pytest.raises(InputError, match=r"shape|must be an array"):
                fn(**data_for(fn, **{name: wrong}), k=9, seed=0)


@every_selector
@pytest.mark.parametrize("wrong", [np.inf, -np.inf, 1e301])
def test_infinite_numbers_are_refused_with_their_count_and_the_first_of_them(fn, wrong):
    for name in columns_of(fn):
        values = data_for(fn)[name]
        values[[7, 23]] = wrong
        message = f"the {name} of 2 of 40 samples are infinite or .*first of sample 7"
        with pytest.raises(InputError, match=message):
            fn(**data_for(fn, **{name: values}), k=9, seed=0)


@every_selector
def test_large_scores_are_as_good_as_small_ones(fn):
    if "scores" in columns_of(fn) and fn is not d2:  # whose messages are at least 1e-7
        data = data_for(fn)
        ids = fn(**data, k=9, seed=0)
        scaled = data | {"scores": np.ldexp(data["scores"], 990)}
        np.testing.assert_array_equal(fn(**scaled, k=9, seed=0), ids)
    elif fn is d2:
        assert len(fn(**data_for(fn, scores=np.linspace(-1e300, 1e300, SAMPLES)), k=9, seed=0)) == 9


@every_selector
def test_features_too_large_to_square_are_refused_and_others_of_any_size_are_not(fn):
    if "features" in inputs(fn):
        features = data_for(fn)["features"]
        ids = fn(**data_for(fn), k=9, seed=0)
        if fn in (k_center, moderate):  # the choice of the others depends on the scale
            scaled = data_for(fn, features=np.ldexp(features, 440))
            np.testing.assert_array_equal(fn(**scaled, k=9, seed=0), ids)
        features[[3, 8], 1] = 1e200
        with pytest.raises(InputError, match=r"features of 2 of 40 samples .* first of sample 3"):
            fn(**data_for(fn, features=features), k=9, seed=0)


@every_selector
def test_classes_may_be_named_by_anything_that_can_be_compared(fn):
    if "labels" in inputs(fn):
        wanted = {"balance": "uniform"} if "balance" in knobs(fn) else {}
        numbers = data_for(fn)["labels"]
        names = np.array(["a", "bb", "c", "d"])[numbers]
        ids = fn(**data_for(fn), k=9, seed=0, **wanted)
        for labels in (
            names,
            names.tolist(),
            names.astype(object),
            names.astype("S"),
            numbers.astype(float),
            numbers.astype(np.uint8),
            numbers + 2**40,
        ):
            again = fn(**data_for(fn, labels=labels), k=9, seed=0, **wanted)
            np.testing.assert_array_equal(again, ids)
        mixed = np.array([*names[:-1].tolist(), None], object)
        unknown = np.where(numbers == 3, np.nan, numbers)
        for labels, message in ((mixed, "integers or strings"), (unknown, "10 labels are NaN")):
            with pytest.raises(InputError, match=message):
                fn(**data_for(fn, labels=labels), k=9, seed=0, **wanted)


@every_selector
def test_knobs_of_another_type_are_refused_by_name(fn):
    for name, knob in knobs(fn).items():
        kinds = {int: ("3", 2.5, True), float: ("3", True, np.nan, np.inf)}
        kinds[int | float] = ("3", True, np.nan, np.inf, 1.5, -1)
        kinds[float | None] = kinds[float]
        for wrong in kinds.get(knob.annotation, ([1], 3)):
            with pytest.raises(InputError, match=f"^{name} (must be|is a confidence)"):
                fn(**data_for(fn), k=9, seed=0, **{name: wrong})


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
