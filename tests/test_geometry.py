"""Selectors that read features: neighbours, D2, k-centre and BOSS, against slow copies and laws."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualprune.errors import InputError
from dualprune.select import neighbours as module
from dualprune.select.boss import boss
from dualprune.select.d2 import d2, forward, greedy
from dualprune.select.infomax import infomax
from dualprune.select.k_center import k_center
from dualprune.select.keys import ties
from dualprune.select.neighbours import graph, nearest
from dualprune.select.quotas import even, proportional
from dualprune.signatures import inputs
from tests.by_hand_geometry import (
    boss_by_hand,
    cut_off_by_hand,
    d2_by_hand,
    k_center_by_hand,
    nearest_by_hand,
    of_each_class_by_hand,
)

SAMPLES = 40
repeatable = settings(derandomize=True, deadline=None, max_examples=60)
seeds = st.integers(0, 10**6)

everywhere = {
    "d2": d2,
    "d2 global": partial(d2, scope="global"),
    "k_center": k_center,
    "k_center proportional": partial(k_center, balance="proportional"),
    "k_center uniform": partial(k_center, balance="uniform"),
    "boss": boss,
    "boss, few neighbours": partial(boss, neighbours=2),
    "infomax": infomax,
}
every = pytest.mark.parametrize("fn", everywhere.values(), ids=everywhere)
scoring = pytest.mark.parametrize("fn", [d2, partial(d2, scope="global"), boss])


def data_for(fn, seed=5, **changed):
    draw = np.random.default_rng(seed)
    data = {
        "scores": draw.random(SAMPLES),
        "features": draw.normal(size=(SAMPLES, 6)).astype(np.float32),
        "labels": np.sort(np.arange(SAMPLES) % 4),
        "aum": draw.normal(size=SAMPLES),
    }
    return {name: changed.get(name, data[name]) for name in inputs(getattr(fn, "func", fn))}


def drawn(seed, samples, width=3, grid=False):
    draw = np.random.default_rng(seed)
    features = draw.integers(0, 3, (samples, width)) if grid else draw.normal(size=(samples, width))
    return draw, features.astype(np.float32)


def check_neighbours(features, k, atol=0.0):
    distances, ids = nearest(features, k)
    expected = nearest_by_hand(features.astype(float).tolist(), k)
    assert ids.dtype == np.int64
    assert ids.tolist() == [[j for _, j in row] for row in expected]
    np.testing.assert_allclose(
        distances, [[gap for gap, _ in row] for row in expected], rtol=1e-12, atol=atol
    )


# Neighbours.


@repeatable
@given(seeds, st.integers(2, 40), st.integers(1, 39), st.booleans(), st.integers(1, 5))
def test_neighbours_are_those_of_a_full_scan_and_ties_fall_by_id(seed, samples, k, grid, width):
    _, features = drawn(seed, samples, width, grid)
    check_neighbours(features, min(k, samples - 1))


@pytest.mark.parametrize("cells", [1, 1000, 2**22])
def test_neighbours_do_not_depend_on_the_blocks(monkeypatch, cells):
    _, features = drawn(3, 300)
    expected = nearest(features, 4)
    monkeypatch.setattr(module, "CELLS", cells)
    monkeypatch.setattr(module, "CACHED", cells)
    for one, other in zip(nearest(features, 4), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_thirty_near_duplicates_far_from_the_origin_are_told_apart():
    draw, features = drawn(0, 250, 8)
    features[100:130] = features[100] + draw.normal(size=(30, 8)) * 1e-5
    check_neighbours(features, 4)
    check_neighbours(features.astype(np.float64) + 1e6, 4)
    features[7] = 1e4  # one that is far off makes all others near duplicates in float32
    check_neighbours(features, 4)


def test_a_duplicate_is_a_neighbour_and_a_sample_is_not_its_own():
    distances, ids = nearest(np.zeros((300, 2), np.float32), 2)
    assert not distances.any()
    assert ids[:3].tolist() == [[1, 2], [0, 2], [0, 1]]
    assert ids[3:].tolist() == [[0, 1]] * 297


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_squares_of_features_neither_overflow_nor_vanish(scale):
    _, features = drawn(1, 60)
    check_neighbours((features * scale).astype(np.float32), 3)


@pytest.mark.parametrize("k", [0, 3])
def test_more_neighbours_than_others_are_refused(k):
    with pytest.raises(InputError, match=f"from 1 to 2.*got {k}"):
        nearest(np.eye(3), k)


def test_a_graph_joins_what_is_near_from_either_side():
    _, features = drawn(9, 50)
    near = [{j for _, j in row} for row in nearest_by_hand(features.astype(float).tolist(), 3)]
    starts, others, distances = graph(features, 3)
    for i in range(50):
        part = slice(starts[i], starts[i + 1])
        assert others[part].tolist() == [j for j in range(50) if j in near[i] or i in near[j]]
        gaps = np.linalg.norm(features[others[part]].astype(float) - features[i], axis=1)
        np.testing.assert_allclose(distances[part], gaps, rtol=1e-12)


def test_an_offset_of_all_samples_makes_no_more_candidates():
    _, features = drawn(2, 500, 16)
    for moved in (features, features + 1e4):
        pairs = module._candidates(module._centred(moved), 5)
        assert sum(len(rows) for _, rows, _ in pairs) < 500 * 25


@pytest.mark.parametrize("spread", [1.0, 1e-5, 0.0])
def test_faiss_finds_the_same_neighbours(monkeypatch, spread):
    pytest.importorskip("faiss")
    draw, features = drawn(2, 2000, 256)
    features[50:110] = features[50] + spread * draw.normal(size=(60, 256))
    found = nearest(features, 5)
    monkeypatch.setattr(module, "_index", lambda _: None)
    for one, other in zip(found, nearest(features, 5), strict=True):
        np.testing.assert_array_equal(one, other)


# D2.


def test_d2_has_the_values_and_the_order_computed_by_hand():
    features, scores = np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 2.0, 4.0])
    edges = graph(features, 1)
    values = forward(scores, edges)
    assert values.round(4).tolist() == [1.7358, 2.9092, 4.2707]
    assert greedy(values, edges, np.zeros(3), 3, gamma=0.1) == [2, 0, 1]
    first, order = d2_by_hand([1.0, 2.0, 4.0], features.tolist(), [0] * 3, 3, 1, 0.1)
    assert (np.round(first, 4).tolist(), order) == ([1.7358, 2.9092, 4.2707], [2, 0, 1])


@repeatable
@given(seeds, st.integers(2, 30), st.integers(1, 8), st.floats(0, 2), st.booleans())
def test_d2_is_that_of_dense_tables_and_full_scans(seed, samples, neighbours, gamma, grid):
    draw, features = drawn(seed, samples, 2, grid)
    scores, k = draw.normal(draw.choice([-1, 0, 1]), 1, samples), int(draw.integers(1, samples))
    tie_keys = ties(seed, samples)
    values, order = d2_by_hand(scores, features.tolist(), tie_keys, k, neighbours, gamma)
    edges = graph(features, neighbours)
    np.testing.assert_allclose(forward(scores, edges), values, rtol=1e-12, atol=1e-12)
    assert greedy(forward(scores, edges), edges, tie_keys, k, gamma=gamma) == order
    knobs = {"neighbours": neighbours, "gamma": gamma, "scope": "global"}
    labels = np.arange(samples) % 2
    assert d2(scores, features, labels, k=k, seed=seed, **knobs).tolist() == sorted(order)


@repeatable
@given(seeds, st.integers(8, 40), st.sampled_from([0.0, 0.1, 0.3]))
def test_d2_cuts_off_the_hardest_and_divides_evenly_among_classes(seed, samples, cut_off):
    draw, features = drawn(seed, samples)
    scores, aum, labels = (
        draw.random(samples),
        draw.normal(size=samples),
        draw.integers(0, 3, samples),
    )
    aum[0], tie_keys = np.nan, ties(seed, samples)
    left = cut_off_by_hand(aum, range(samples), int(cut_off * 10 * samples) // 10, tie_keys)
    k = int(draw.integers(1, len(left) + 1))

    def select(ids, quota):
        return d2_by_hand(scores[ids], features[ids].tolist(), tie_keys[ids], quota, 5, 0.1)[1]

    quotas = even(np.unique(labels[left], return_counts=True)[1], k)
    expected = of_each_class_by_hand(labels, left, quotas, select)
    kept = d2(scores, features, labels, aum, k=k, seed=seed, cut_off=cut_off)
    assert kept.tolist() == expected


def test_a_value_of_d2_that_rises_overtakes():
    scores, features = np.array([-1.0, -1.5, -1.2]), np.array([[0.0], [0.01], [100.0]])
    kept = d2(scores, features, k=2, seed=0, neighbours=1, scope="global")
    assert kept.tolist() == [0, 1]  # -1.5 rose to -0.5 when 0 was kept; -1.2 did not


def test_two_clusters_and_outliers_share_what_d2_keeps():
    _, noise = drawn(4, 42)
    features = noise * 0.01 + np.repeat([0.0, 10.0, 100.0], [20, 20, 2])[:, None]
    scores = np.r_[np.linspace(1, 2, 20), np.linspace(1, 2, 20), 0.1, 0.1]
    kept = d2(scores, features, k=2, seed=0, neighbours=19, gamma=0.1, scope="global")
    assert (kept // 20).tolist() == [0, 1]  # not both of one cluster, and no outlier
    ends = k_center(features, k=3, seed=0) // 20
    assert ends.tolist() == [0, 1, 2]


def test_ties_of_d2_are_broken_at_random():
    features = np.repeat([[0.0], [1.0]], 10, axis=0)
    knobs = {"neighbours": 9, "scope": "global"}
    kept = {int(d2(np.ones(20), features, k=1, seed=seed, **knobs)[0]) for seed in range(200)}
    assert kept == set(range(20))


# K-centre and BOSS.


@repeatable
@given(seeds, st.integers(2, 30), st.integers(1, 4))
def test_k_center_is_that_of_full_scans(seed, samples, width):
    draw, features = drawn(seed, samples, width)
    k, tie_keys = int(draw.integers(1, samples)), ties(seed, samples)
    kept = k_center(features, k=k, seed=seed)
    assert kept.tolist() == sorted(k_center_by_hand(features.tolist(), tie_keys, k))


@pytest.mark.parametrize(("balance", "divide"), [("proportional", proportional), ("uniform", even)])
def test_k_center_covers_every_class_when_balanced(balance, divide):
    _, features = drawn(8, 30)
    labels, tie_keys = np.repeat([3, 1, 7], [4, 20, 6]), ties(2, 30)
    for k in range(1, 31):
        expected = of_each_class_by_hand(
            labels,
            range(30),
            divide(np.array([20, 4, 6]), k),
            lambda ids, quota: k_center_by_hand(features[ids].tolist(), tie_keys[ids], quota),
        )
        assert k_center(features, labels, k=k, seed=2, balance=balance).tolist() == expected


def test_k_center_finds_small_gaps_far_from_the_origin():
    features = 1e6 + np.array([[0.0], [0.001], [0.002], [0.0051], [0.0052]])
    assert k_center(features, k=3, seed=0).tolist() == [0, 2, 4]


@repeatable
@given(seeds, st.integers(6, 30), st.floats(1, 4), st.floats(1, 4), st.sampled_from([0.0, 0.3]))
def test_boss_with_all_neighbours_is_exact_facility_location(seed, samples, alpha, beta, cut_off):
    draw, features = drawn(seed, samples)
    scores, aum, labels = (
        draw.random(samples),
        draw.normal(size=samples),
        draw.integers(0, 2, samples),
    )
    tie_keys, left = ties(seed, samples), []
    for label in np.unique(labels):
        ids = np.flatnonzero(labels == label).tolist()
        left += cut_off_by_hand(aum, ids, int(cut_off * 10 * len(ids)) // 10, tie_keys)
    k = int(draw.integers(1, len(left) + 1))

    def select(ids, quota):
        return boss_by_hand(
            scores[ids].tolist(), features[ids].tolist(), tie_keys[ids], quota, alpha, beta
        )

    quotas = proportional(np.unique(labels[left], return_counts=True)[1], k)
    expected = of_each_class_by_hand(labels, sorted(left), quotas, select)
    knobs = {"alpha": alpha, "beta": beta, "cut_off": cut_off}
    assert boss(scores, features, labels, aum, k=k, seed=seed, **knobs).tolist() == expected


def test_to_boss_those_that_are_no_neighbours_are_not_similar_at_all():
    angles = np.radians([0, 1, 2, 3, 90, 91, 92])  # nearly the same four, and three others
    features, scores = np.c_[np.cos(angles), np.sin(angles)], np.zeros(7)
    kept = [boss(scores, features, scores, k=2, seed=0, neighbours=n).tolist() for n in (2, 50)]
    assert [[i in (1, 2), i == 5] for i in kept[0]] == [[True, False], [False, True]]
    assert kept[1] == sorted(
        boss_by_hand(scores.tolist(), features.tolist(), ties(0, 7), 2, 2.0, 2.0)
    )


def test_a_row_of_zeros_is_at_right_angles_to_everything_in_boss():
    features = np.array([[0.0, 0], [0, 0], [1, 0], [1, 1], [0, 1], [-1, 0]])
    scores, tie_keys = np.array([0.3, 0.4, 0.0, 0.6, 1.0, 0.7]), ties(0, 6)
    for k in range(1, 6):
        expected = sorted(boss_by_hand(scores.tolist(), features.tolist(), tie_keys, k, 2.0, 2.0))
        assert boss(scores, features, np.zeros(6), k=k, seed=0).tolist() == expected


# Laws for all.


@every
@pytest.mark.parametrize("k", [1, 3, 17, SAMPLES - 1, SAMPLES])
def test_exactly_k_distinct_ids_come_back_sorted_and_again(fn, k):
    ids = fn(**data_for(fn), k=k, seed=3)
    assert (ids.dtype, ids.shape) == (np.int64, (k,))
    assert all(before < after for before, after in pairwise([-1, *ids.tolist(), SAMPLES]))
    np.testing.assert_array_equal(fn(**data_for(fn), k=k, seed=3), ids)


@every
@pytest.mark.parametrize("k", [4, 12, 24])
def test_without_ties_the_kept_travel_with_the_samples(fn, k):
    data, order = data_for(fn), np.random.default_rng(0).permutation(SAMPLES)
    moved = {name: values[order] for name, values in data.items()}
    flat = {"alpha": 1.02, "beta": 1.0} if "boss" in str(fn) else {}  # so that each adds something
    kept = fn(**data, k=k, seed=3, **flat)
    assert sorted(order[fn(**moved, k=k, seed=3, **flat)]) == kept.tolist()


@every
@pytest.mark.parametrize("kind", ["zeros", "duplicates", "equal scores", "classes of one"])
def test_degenerate_data_still_give_exactly_k(fn, kind):
    data = data_for(fn)
    changes = {
        "zeros": {"features": np.zeros_like(data["features"])},
        "duplicates": {"features": np.repeat(data["features"][:4], SAMPLES // 4, axis=0)},
        "equal scores": {"scores": np.zeros(SAMPLES)},
        "classes of one": {"labels": np.r_[0, 1, np.full(SAMPLES - 2, 2)]},
    }[kind]
    for k in (1, 2, 11, 39):
        ids = fn(**data_for(fn, **changes), k=k, seed=0)
        assert len(set(ids.tolist())) == k
    assert fn(**{name: values[:1] for name, values in data.items()}, k=1, seed=0).tolist() == [0]


@every
def test_features_that_are_missing_or_misshapen_are_refused(fn):
    features = data_for(fn)["features"]
    features[[7, 31], 2] = np.nan, np.inf
    with pytest.raises(
        InputError, match=r"of 2 of 40 samples are not finite or .*first of sample 7"
    ):
        fn(**data_for(fn, features=features), k=9, seed=0)
    for wrong, message in ((np.ones(SAMPLES), r"\(40,\)"), (np.ones((SAMPLES, 0)), r"\(40, 0\)")):
        with pytest.raises(InputError, match=rf"shape \(samples, width\), got {message}"):
            fn(**data_for(fn, features=wrong), k=9, seed=0)
    with pytest.raises(InputError, match="entries"):
        fn(**data_for(fn, features=np.ones((SAMPLES - 1, 3))), k=9, seed=0)


@scoring
def test_samples_without_a_score_are_refused_kept_or_dropped(fn):
    data = data_for(fn)
    data["scores"][[2, 11, 30]] = np.nan
    with pytest.raises(InputError, match="3 of 40 samples have no score"):
        fn(**data, k=9, seed=0)
    for k in (3, 4, 40):
        assert {2, 11, 30} <= set(fn(**data, k=k, seed=0, unscored="keep").tolist())
    for k in (1, 37):
        assert not {2, 11, 30} & set(fn(**data, k=k, seed=0, unscored="drop").tolist())
    nothing = data | {"scores": np.full(SAMPLES, np.nan)}
    assert len(fn(**nothing, k=SAMPLES, seed=0, unscored="keep")) == SAMPLES


@scoring
def test_what_a_graph_of_scores_cannot_use_is_refused(fn):
    data = data_for(fn)
    with pytest.raises(InputError, match=r"cannot keep 39 .*cut-off of 0.2: 32 are left"):
        fn(**data, k=39, seed=0, cut_off=0.2)
    with pytest.raises(InputError, match="needs aum"):
        fn(**data | {"aum": None}, k=9, seed=0, cut_off=0.2)
    with pytest.raises(InputError, match="neighbours must be at least 1, got 0"):
        fn(**data, k=9, seed=0, neighbours=0)


def test_knobs_that_mean_nothing_are_refused():
    for fn, knobs, message in (
        (d2, {"gamma": -1.0}, "gamma must not be negative, got -1.0"),
        (d2, {"scope": "typo"}, "scope must be 'class' or 'global'"),
        (d2, {"labels": None}, "needs the labels"),
        (boss, {"alpha": 0.5}, "at least 1, got 0.5 and 2.0"),
        (k_center, {"balance": "typo"}, "balance must be"),
        (k_center, {"balance": "uniform", "labels": None}, "needs the labels"),
    ):
        with pytest.raises(InputError, match=message):
            fn(**data_for(fn) | knobs, k=9, seed=0)
