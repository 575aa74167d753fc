"""InfoMax: its objective by hand, all choices of a few samples, solvers it is never below."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualprune.errors import InputError
from dualprune.select import infomax, top
from dualprune.select.infomax import costs, exchanged, greedy, objective, relaxed
from tests.by_hand_geometry import cosine_by_hand, nearest_by_hand

repeatable = settings(derandomize=True, deadline=None, max_examples=50)


def world(seed, samples, width=3):
    """Scores from 0 to 1 and features, some of them alike."""
    rng = np.random.default_rng(seed)
    scores = rng.random(samples)
    scores[:2] = 0, 1
    return scores, rng.normal(size=(samples, width)) + rng.integers(0, 2, (samples, 1)) * 3


def objective_by_hand(scores, features, kept, alpha, neighbours):
    """The definition: scores of the kept, minus alpha for each ordered pair of similar ones."""
    units = [row / (np.linalg.norm(row) or 1) for row in features]
    near = [{j for _, j in row} for row in nearest_by_hand(units, neighbours)]
    low, high = min(scores), max(scores)
    total = sum((scores[i] - low) / (high - low) for i in kept)
    for i in kept:
        for j in kept:
            if i != j and (j in near[i] or i in near[j]):
                total -= alpha * max(0.0, cosine_by_hand(features[i], features[j]))
    return total


worlds = (st.integers(0, 10**6), st.integers(4, 40), st.sampled_from([0.1, 0.3, 1.0, 3.0]))


@repeatable
@given(*worlds, st.integers(1, 3), st.data())
def test_the_objective_is_the_definition(seed, samples, alpha, neighbours, data):
    scores, features = world(seed, samples)
    kept = data.draw(st.sets(st.integers(0, samples - 1)))
    inside = np.isin(np.arange(samples), list(kept))
    value = objective(scores, costs(features, neighbours, alpha), inside)
    assert value == pytest.approx(
        objective_by_hand(scores, features, kept, alpha, neighbours), abs=1e-9
    )


@repeatable
@given(*worlds, st.integers(1, 8), st.floats(0.05, 0.95))
def test_it_is_never_below_greedy_or_the_relaxed_gradient(seed, samples, alpha, neighbours, share):
    scores, features = world(seed, samples)
    k, edges = max(1, round(share * samples)), costs(features, neighbours, alpha)
    kept = infomax(scores, features, k=k, seed=seed, alpha=alpha, neighbours=neighbours)
    value = objective(scores, edges, np.isin(np.arange(samples), kept))
    for start in (greedy, relaxed):
        assert value >= objective(scores, edges, start(scores, edges, np.zeros(samples), k)) - 1e-9


@repeatable
@given(*worlds, st.integers(1, 8), st.floats(0.05, 0.95))
def test_no_exchange_of_two_samples_is_better(seed, samples, alpha, neighbours, share):
    scores, features = world(seed, samples)
    k, edges = max(1, round(share * samples)), costs(features, neighbours, alpha)
    kept = infomax(scores, features, k=k, seed=seed, alpha=alpha, neighbours=neighbours)
    inside = np.isin(np.arange(samples), kept)
    value = objective(scores, edges, inside)
    for out in kept:
        for into in np.flatnonzero(~inside):
            other = inside.copy()
            other[[out, into]] = False, True
            assert objective(scores, edges, other) <= value + 1e-8


def test_it_is_the_best_of_all_choices_where_exchanges_lead_there():
    reached = []
    for seed in range(40):
        scores, features = world(seed, 9)
        edges = costs(features, 2, 0.3)
        masks = [np.isin(np.arange(9), ids) for ids in combinations(range(9), 4)]
        best = max(objective(scores, edges, mask) for mask in masks)
        kept = infomax(scores, features, k=4, seed=0, alpha=0.3, neighbours=2)
        value = objective(scores, edges, np.isin(np.arange(9), kept))
        assert value <= best + 1e-9
        reached.append(value >= best - 1e-9)
    assert np.mean(reached) > 0.9, "a local optimum of exchanges is seldom not the best"


def test_the_relaxed_gradient_is_far_above_chance():
    gains = []
    for seed in range(20):
        scores, features = world(seed, 30)
        edges, rng = costs(features, 3, 1.0), np.random.default_rng(seed)
        drawn = [np.isin(np.arange(30), rng.permutation(30)[:10]) for _ in range(20)]
        chance = [objective(scores, edges, mask) for mask in drawn]
        inside = relaxed(scores, edges, np.zeros(30), 10)
        assert inside.sum() == 10
        gains.append(objective(scores, edges, inside) > max(chance))
    assert np.mean(gains) > 0.9


def test_an_exchange_mends_what_greedy_cannot_undo():
    # two of 0.9 beside the 1.0, which costs with either more than it adds
    starts, others = np.array([0, 2, 3, 4]), np.array([1, 2, 0, 0])
    scores, edges = np.array([1.0, 0.9, 0.9]), (starts, others, np.full(4, 0.5))
    first = greedy(scores, edges, np.zeros(3), 2)
    assert first[0]
    assert exchanged(scores, edges, first).tolist() == [False, True, True]


def test_without_a_cost_it_keeps_the_highest_scores():
    scores, features = world(3, 50)
    for k in (1, 20, 49):
        kept = infomax(scores, features, k=k, seed=0, alpha=0.0)
        assert kept.tolist() == top(scores, k=k, seed=0).tolist()


def test_of_copies_one_is_kept_before_any_second_one():
    features = np.repeat(np.eye(6), 5, axis=0)
    scores = np.linspace(0, 1, 30)
    kept = infomax(scores, features, k=6, seed=0, alpha=1.0, neighbours=4)
    assert sorted(kept // 5) == [0, 1, 2, 3, 4, 5]
    assert sorted(kept % 5) == [4] * 6, "and of each kind the best"


def test_parts_are_solved_by_themselves_and_share_the_budget():
    scores, features = world(5, 60)
    one = infomax(scores, features, k=20, seed=0)
    several = [infomax(scores, features, k=20, seed=seed, parts=4) for seed in range(5)]
    assert all(len(kept) == 20 for kept in several)
    assert len({tuple(kept) for kept in several}) > 1, "parts are drawn by the seed"
    edges = costs(features, 5, 0.3)
    values = [objective(scores, edges, np.isin(np.arange(60), ids)) for ids in (one, *several)]
    assert values[0] >= max(values[1:]) - 1e-9
    assert infomax(scores, features, k=7, seed=0, parts=1000).shape == (7,)


@pytest.mark.parametrize("knobs", [{"alpha": -0.1}, {"parts": 0}, {"neighbours": 0}])
def test_knobs_that_mean_nothing_are_refused(knobs):
    ((name, value),) = knobs.items()
    with pytest.raises(InputError, match=f"{name} must .*got {value}"):
        infomax(*world(0, 10), k=3, seed=0, **knobs)
