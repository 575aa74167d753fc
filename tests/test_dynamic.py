"""Pruning while training: laws for all, values by hand, the law of each draw, and edges."""

from collections import Counter
from fractions import Fraction
from math import comb, floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from dualprune.dynamic import DYNAMIC, IES, InfoBatch, RandomEveryEpoch
from dualprune.errors import InputError

SAMPLES = 23
EPOCHS = 16
UNLIKELY = 1e-4  # seeds are fixed: a law that holds is never below this by chance again

MAKE = {
    "random-dynamic": lambda n, seed: RandomEveryEpoch(n, keep=0.3, seed=seed),
    "walk": lambda n, seed: RandomEveryEpoch(n, keep=0.3, seed=seed, through="permutations"),
    "infobatch": lambda n, seed: InfoBatch(n, epochs=EPOCHS, seed=seed),
    "published": lambda n, seed: InfoBatch(n, epochs=EPOCHS, seed=seed, form="published"),
    "ies": lambda n, seed: IES(n, threshold=0.2),
}
every_method = pytest.mark.parametrize("name", MAKE)
learning = pytest.mark.parametrize("name", ["infobatch", "ies"])
repeatable = settings(derandomize=True, deadline=None, max_examples=100)


def make(name, seed=1):
    return MAKE[name](SAMPLES, seed)


def losses_of(epoch):
    """Losses that settle, some earlier than others."""
    draw = np.random.default_rng(epoch)
    pace = np.linspace(0.2, 1.5, SAMPLES)
    return 2 * np.exp(-pace * epoch) + 0.5 * draw.random(SAMPLES) / epoch**1.5


def train(method, first=1, last=EPOCHS):
    """Follow the plans with batches of four, and give them."""
    plans = []
    for epoch in range(first, last + 1):
        plans.append(plan := method.plan(epoch))
        seen = np.concatenate([plan.train, plan.look])[::-1]
        for ids in np.array_split(seen, -(-len(seen) // 4)):
            method.observe(ids, losses_of(epoch)[ids])
    return plans


def told(plans):
    return [tuple(part.tolist() for part in (p.train, p.weights, p.look)) for p in plans]


# Laws for all.


@every_method
def test_a_plan_is_sorted_ids_and_a_weight_for_each(name):
    assert {*DYNAMIC} < {*MAKE}
    plans = train(make(name))
    for plan in plans:
        assert (plan.train.dtype, plan.weights.dtype) == (np.int64, np.float64)
        assert plan.weights.shape == plan.train.shape
        assert (plan.weights > 0).all()
        both = np.concatenate([plan.train, plan.look])
        assert both.dtype == np.int64
        assert both.min() >= 0
        assert both.max() < SAMPLES
        assert len(set(both)) == len(both)
        assert all((np.diff(ids) > 0).all() for ids in (plan.train, plan.look))
    assert any(len(plan.train) < SAMPLES for plan in plans)


@every_method
def test_the_same_seed_gives_the_same_plans_and_another_one_others(name):
    assert told(train(make(name))) == told(train(make(name)))
    if name != "ies":
        assert told(train(make(name, seed=1))) != told(train(make(name, seed=2)))


@every_method
def test_a_plan_depends_on_what_was_observed_and_not_on_what_was_asked(name):
    asked, fresh = make(name), make(name)
    train(asked, last=7), train(fresh, last=7)
    for epoch in (9, 3, 8, 3):
        asked.plan(epoch)
    asked.observe([], [])  # no news
    later = asked.plan(8)
    later.train[:], later.weights[:], later.look[:] = 0, 0, 0  # belongs to the caller
    assert told(train(asked, first=8)) == told(train(fresh, first=8))


@every_method
def test_a_restored_state_goes_on_identically(name):
    before, after, again = make(name), make(name), make(name)
    train(after, last=3)  # is replaced
    train(before, last=8)
    state = before.state()
    after.restore(state)
    plans = train(before, first=9)  # changes neither the state nor what was restored
    for array in after.state().values():
        array[...] = 1
    assert told(train(after, first=9)) == told(plans)
    again.restore(state)
    assert told(train(again, first=9)) == told(plans)


@every_method
def test_a_wrong_state_or_epoch_is_refused(name):
    for wrong in ({"loss": np.zeros(SAMPLES)}, {"losses": np.zeros(3)}):
        with pytest.raises(InputError, match="same number of samples"):
            make(name).restore(wrong)
    with pytest.raises(InputError, match="counted from 1, got 0"):
        make(name).plan(0)


# What a loop hands over.


class _Graph:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


@learning
@pytest.mark.parametrize(
    ("ids", "losses", "message"),
    [
        ([0, SAMPLES], [1.0, 1.0], f"id {SAMPLES} is outside 0 to {SAMPLES - 1}"),
        (np.array([2**64 - 1], np.uint64), [1.0], "is outside"),
        ([3, 0, 3], [1.0, 1.0, 1.0], "id 3 occurs more than once"),
        ([0, 1], 0.5, r"losses \(\); each id needs its own"),
        ([[0, 1]], [[1.0, 2.0]], "each id needs its own"),
        ([0.0, 1.0], [1.0, 1.0], "ids must be an array of integers, got float64"),
        ([0, 1], [[1.0], [1.0, 2.0]], "losses must be an array"),
        ([0], _Graph(), "losses must be an array of real numbers: .*requires grad"),
    ],
)
def test_a_wrong_batch_is_refused_and_changes_nothing(name, ids, losses, message):
    method = make(name)
    train(method, last=7)
    before = method.state()
    with pytest.raises(InputError, match=message):
        method.observe(ids, losses)
    for key, array in method.state().items():
        np.testing.assert_array_equal(array, before[key])


@pytest.mark.parametrize(
    ("method", "knobs", "message"),
    [
        (IES, {"samples": 0}, "from 1 to 2.*40 samples, got 0"),
        (IES, {"threshold": 0}, "threshold must be positive, got 0"),
        (RandomEveryEpoch, {"keep": 0.5, "seed": -1}, "seed must be from 0"),
        (RandomEveryEpoch, {"keep": 1.5, "seed": 0}, "share from 0.0 to 1.0"),
        (RandomEveryEpoch, {"keep": 0.5, "seed": 0, "through": "walks"}, "'permutations', got"),
        (InfoBatch, {"epochs": 0, "seed": 0}, "epochs must be at least 1"),
        (InfoBatch, {"epochs": 9, "seed": 0, "prune": 0.95}, "prune must be from 0 to 0.9"),
        (InfoBatch, {"epochs": 9, "seed": 0, "until": 1.1}, "until must be a share"),
        (InfoBatch, {"epochs": 9, "seed": 0, "form": "biased"}, "form must be"),
        (InfoBatch, {"epochs": 9.0, "seed": 0}, "epochs must be a whole number"),
        (InfoBatch, {"epochs": 9, "seed": 0, "prune": "0.5"}, "prune must be a number"),
        (RandomEveryEpoch, {"keep": 0.5, "seed": 1.0}, "seed must be a whole number"),
        (RandomEveryEpoch, {"keep": 0.5, "seed": True}, "seed must be a whole number"),
        (RandomEveryEpoch, {"keep": np.nan, "seed": 0}, "keep must be a number"),
        (IES, {"samples": 3.0}, "samples must be a whole number"),
        (IES, {"threshold": np.inf}, "threshold must be a number"),
    ],
)
def test_a_wrong_setting_is_refused(method, knobs, message):
    with pytest.raises(InputError, match=message):
        method(**{"samples": 3} | knobs)


@every_method
@pytest.mark.parametrize("seed", [np.int64(3), np.uint64(2**63), np.int32(1)])
def test_integers_of_numpy_are_like_those_of_python(name, seed):
    plain, other = MAKE[name](SAMPLES, int(seed)), MAKE[name](np.int32(SAMPLES), seed)
    assert told(train(plain)) == told(train(other))
    assert told([plain.plan(3)]) == told([other.plan(np.int64(3))])
    for epoch in (3.0, True, "3", 0):
        with pytest.raises(InputError, match="epoch"):
            plain.plan(epoch)


@learning
def test_losses_too_large_to_add_are_as_none(name):
    method, other = make(name), make(name)
    losses = losses_of(1)
    for some in (losses, losses, losses):
        other.observe(range(1, SAMPLES), some[1:])
        with pytest.warns(RuntimeWarning, match="1 losses are not finite or beyond 1e.300"):
            method.observe(range(SAMPLES), np.r_[1.7e308, some[1:]])
    assert told([method.plan(4)]) == told([other.plan(4)])


@learning
def test_a_state_of_another_type_is_refused(name):
    method = make(name)
    for wrong in (str, object):
        state = {key: array.astype(wrong) for key, array in method.state().items()}
        with pytest.raises(InputError, match="must be an array of"):
            method.restore(state)


# Random every epoch.


@repeatable
@given(
    through=st.sampled_from(["draws", "permutations"]),
    samples=st.integers(1, 40),
    keep=st.one_of(st.floats(0, 1), st.decimals(0, 1, places=2).map(float)),
    seed=st.integers(0, 2**64 - 1),
)
def test_every_epoch_keeps_the_share_rounded_half_up(through, samples, keep, seed):
    k = floor(Fraction(repr(keep)) * samples + Fraction(1, 2))
    if k == 0:
        with pytest.raises(InputError, match="would keep 0"):
            RandomEveryEpoch(samples, keep=keep, seed=seed, through=through)
        return
    method = RandomEveryEpoch(samples, keep=keep, seed=seed, through=through)
    used = np.zeros(samples, int)
    for epoch in range(1, 12):
        plan = method.plan(epoch)
        assert len(set(plan.train)) == len(plan.train) == k
        assert told([plan])[0][1:] == ([1] * k, [])
        used[plan.train] += 1
        if through == "permutations":
            assert {*used} <= {epoch * k // samples, -(-epoch * k // samples)}


@pytest.mark.parametrize(
    ("through", "samples", "keep", "epochs"),
    [
        ("draws", 4, 0.5, (1, 2)),
        ("permutations", 4, 0.5, (1, 3)),  # of two packs
        ("permutations", 5, 0.4, (3, 6)),  # the first takes of two packs
        ("permutations", 5, 0.6, (3, 6)),  # as before, of the omitted
    ],
)
def test_every_subset_is_as_likely_and_two_epochs_are_independent(through, samples, keep, epochs):
    seen = Counter()
    for seed in range(2500):
        method = RandomEveryEpoch(samples, keep=keep, seed=seed, through=through)
        seen[tuple(tuple(method.plan(epoch).train) for epoch in epochs)] += 1
    cells = comb(samples, round(keep * samples)) ** 2
    assert chisquare(np.array([*seen.values()] + [0] * (cells - len(seen)))).pvalue > UNLIKELY


# InfoBatch.


def informed(losses, **knobs):
    method = InfoBatch(len(losses), **({"epochs": 10**6, "seed": 0} | knobs))
    method.observe(np.arange(len(losses)), losses)
    return method


def test_one_of_three_easy_samples_is_kept_another_one_in_another_epoch():
    method = informed([0.1, 0.2, 0.3, 2.0], form="published")
    plans = [method.plan(epoch) for epoch in range(2, 32)]
    assert {tuple(plan.weights) for plan in plans} == {(2, 1)}
    assert {tuple(plan.train) for plan in plans} == {(0, 3), (1, 3), (2, 3)}


@pytest.mark.parametrize(
    ("losses", "prune", "form", "kept", "weight"),
    [
        ([0.1, 0.2, 0.3, 2.0], 0.5, "unbiased", 1, 3),
        ([0.1, 0.2, 0.3, 2.0], 0.5, "published", 1, 2),
        ([0.1, 0.4, 0.2, 0.3, 0.35, 2.0, 2.5], 0.5, "unbiased", 2, 2.5),
        ([0.1, 0.4, 0.2, 0.3, 0.35, 2.0, 2.5], 0.6, "published", 2, 2.5),
        ([0.1, 5.0, 5.0], 0.9, "unbiased", 1, 1),
        ([0.1, 5.0, 5.0], 0.9, "published", 0, 10),
        ([0.1] * 10 + [1.0], 0.9, "published", 1, 10),  # int((1 - 0.9) * 10) is 0 in floats
    ],
)
def test_the_expected_weighted_sum_of_losses(losses, prune, form, kept, weight):
    losses, draws = np.array(losses), 1500
    easy = losses < losses.mean()
    sums, weights = np.zeros(draws), np.zeros(len(losses))
    for draw in range(draws):
        plan = informed(losses, seed=draw, prune=prune, form=form).plan(2)
        sums[draw] = plan.weights @ losses[plan.train]
        weights[plan.train] += plan.weights / draws
        assert plan.weights.sum() == pytest.approx(kept * weight + (~easy).sum(), rel=1e-12)
    share = kept / easy.sum()  # of the draws that hold an easy sample
    means = np.where(easy, share * weight, 1)
    assert form == "published" or means == pytest.approx(1, rel=1e-12)
    spread = losses[easy].var(ddof=1) if easy.sum() > 1 else 0
    error = weight * np.sqrt(kept * (1 - share) * spread / draws)  # drawn without replacement
    assert sums.mean() == pytest.approx(means @ losses, rel=0, abs=5 * error + 1e-9)
    error = weight * np.sqrt(share * (1 - share) / draws)
    assert weights == pytest.approx(means, rel=0, abs=5 * error + 1e-9)


@pytest.mark.parametrize(
    ("epochs", "until", "last"),
    [(90, 0.875, 78), (200, 0.875, 175), (100, 0.57, 57), (8, 1.0, 8), (8, 0.0, 0), (3, 0.3, 0)],
)
def test_the_last_epochs_train_on_everything(epochs, until, last):
    method = informed([0.1, 0.2, 0.3, 2.0], epochs=epochs, until=until)
    pruned = [epoch for epoch in range(1, epochs + 3) if len(method.plan(epoch).train) < 4]
    assert pruned == list(range(1, last + 1))
    assert method.plan(last + 1).weights.tolist() == [1, 1, 1, 1]


def test_what_was_never_seen_is_trained_on_and_no_part_of_the_mean():
    method = InfoBatch(6, epochs=10, seed=0)
    assert method.plan(1).train.tolist() == [0, 1, 2, 3, 4, 5]
    method.observe([0, 1, 2], [1.0, 1.0, 4.0])
    plan = method.plan(2)
    assert plan.train.tolist() in ([0, 2, 3, 4, 5], [1, 2, 3, 4, 5])
    assert plan.weights.tolist() == [2, 1, 1, 1, 1]
    method.observe([2], [1.0])  # the others keep their losses
    assert method.plan(3).train.tolist() == [0, 1, 2, 3, 4, 5]
    method.observe([0], [0.5])
    method.observe([0], [9.0])  # the last one counts
    assert 0 in method.plan(4).train
    assert {1, 2} - set(method.plan(4).train)


@pytest.mark.parametrize("loss", [np.nan, np.inf, -np.inf])
def test_a_sample_whose_loss_is_not_finite_is_as_one_never_seen(loss):
    method = informed([1.0, 1.0, 4.0, 0.0])
    with pytest.warns(
        RuntimeWarning, match="1 losses are not finite or .*, the first is that of id 3"
    ):
        method.observe([2, 3], [4.0, loss])
    assert told([method.plan(2)])[0][1] == [2, 1, 1]
    assert 3 in method.plan(2).train


@repeatable
@given(samples=st.integers(1, 50), loss=st.floats(-1e6, 1e6), prune=st.floats(0, 0.9))
def test_nothing_is_below_the_mean_of_equal_losses(samples, loss, prune):
    plan = informed([loss] * samples, prune=prune).plan(2)
    assert plan.train.tolist() == list(range(samples))
    assert (plan.weights == 1).all()


# IES.


def mastered_by_hand(history, threshold):
    """Keep every loss since the last one that was not finite, and follow the definition."""
    wrong = [t for t, loss in enumerate(history) if not np.isfinite(loss)]
    history = history[wrong[-1] + 1 :] if wrong else history
    second = [abs(c - 2 * b + a) for a, b, c in zip(history, history[1:], history[2:])]  # noqa: B905
    return len(second) >= 4 and sum(second[-3:]) / 3 < threshold


def test_second_differences_by_hand():
    method = IES(2, threshold=0.4)
    for loss in [2, 1, 0.6, 0.5, 0.49]:
        method.observe([1], [loss])
    assert method.state()["changes"][:, 1] == pytest.approx([0.6, 0.3, 0.09])
    assert method.plan(6).train.tolist() == [0, 1]  # their mean is 0.33, but they are only three
    for loss, mean in [(0.489, 0.133), (0.4885, 0.033167)]:
        method.observe([1], [loss])
        for threshold, looked in [(mean * 1.001, [1]), (mean * 0.999, [])]:
            other = IES(2, threshold=threshold)
            other.restore(method.state())
            assert other.plan(7).look.tolist() == looked


def test_a_mastered_sample_returns_and_leaves_again():
    method, looked = IES(1), []
    for loss in [6, 5, 4, 3, 2, 1, 0, 0.5, 1, 1.5, 2, 2.5, 2.5]:  # falls, turns, rises, stops
        method.observe([0], [loss])
        looked.append(len(method.plan(1).look))
    assert looked == [0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0]


@pytest.mark.filterwarnings("ignore:.*not finite")
@repeatable
@given(seed=st.integers(0), samples=st.integers(1, 5), threshold=st.sampled_from([0.01, 0.1, 5]))
def test_the_short_memory_decides_as_whole_histories_do(seed, samples, threshold):
    method, histories = IES(samples, threshold=threshold), [[] for _ in range(samples)]
    draw = np.random.default_rng(seed)
    for epoch in range(1, 30):
        ids = np.flatnonzero(draw.random(samples) < 0.9)  # some are not seen
        losses = draw.integers(0, 64 if epoch % 20 < 5 else 3, len(ids)) / 16
        losses[draw.random(len(ids)) < 0.02] = [np.nan, np.inf][epoch % 2]
        method.observe(ids, losses)
        for i, loss in zip(ids, losses, strict=True):
            histories[i].append(loss)
        expected = [i for i, past in enumerate(histories) if mastered_by_hand(past, threshold)]
        plan = method.plan(epoch + 1)
        assert plan.look.tolist() == expected
        assert plan.train.tolist() == sorted({*range(samples)} - {*expected})
