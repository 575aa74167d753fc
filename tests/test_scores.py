"""Laws for every score in the table, a formula by hand for each, and worlds with a known answer."""

import re
import sys
from itertools import product
from math import sqrt
from typing import Literal, get_args, get_origin

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dualprune.errors import InputError
from dualprune.run.derived import DERIVED
from dualprune.run.signals import DEFAULT
from dualprune.score import SCORES, dual, dyn_unc, forgetting, tdds, windows
from dualprune.signatures import inputs, knobs
from tests.by_hand import ORACLES, dual_by_hand, dyn_unc_by_hand

EPOCHS, SAMPLES, CLASSES = 14, 40, 5

OF_SIGNALS = {name: fn for name, fn in SCORES.items() if "features" not in inputs(fn)}

every_score = pytest.mark.parametrize("fn", OF_SIGNALS.values(), ids=OF_SIGNALS)
windowed = pytest.mark.parametrize("fn", [f for f in SCORES.values() if "window" in knobs(f)])
by_windows = pytest.mark.parametrize("fn", [dual, dyn_unc, tdds])  # those of score/windows.py
repeatable = settings(derandomize=True, deadline=None, max_examples=60)


def signals_of(logits, labels):
    """All that a Run can give of logits with shape (epochs, samples, classes), in float64."""
    shifted = logits - logits.max(-1, keepdims=True)
    p = np.exp(shifted) / np.exp(shifted).sum(-1, keepdims=True)
    onehot = np.eye(logits.shape[-1])[labels]
    others = np.where(onehot == 1, -np.inf, logits)
    target, margin, rival = (p * onehot).sum(-1), (logits * onehot).sum(-1), others.argmax(-1)
    margin = margin - others.max(-1)
    steps = np.abs(p[1:] * (np.log(p[1:] + 1e-8) - np.log(p[:-1] + 1e-8))).sum(-1)
    return {
        "loss": -np.log(target),
        "margin": margin,
        "rival": rival,
        "entropy": -(p * np.log(p)).sum(-1),
        "error_norm": np.sqrt(((p - onehot) ** 2).sum(-1)),
        "kl_step": np.concatenate([np.full((1, len(labels)), np.nan), steps]),
        "target_prob": target,
        "correct": (margin > 0).astype(float),
        "prediction": np.where(margin > 0, labels, rival),
        "prob_margin": target * (1 - np.exp(-margin)),
        "grand_norm": np.sqrt(((p - onehot) ** 2).sum(-1)) * np.hypot(1, np.abs(logits).sum(-1)),
    }


@pytest.fixture
def signals():
    draw = np.random.default_rng(0)
    logits = draw.normal(0, 2, (EPOCHS, SAMPLES, CLASSES))
    return signals_of(logits, draw.integers(0, CLASSES, SAMPLES))


@pytest.fixture
def settling():
    """Give 200 samples that settle after four epochs, each to within another scale."""
    draw = np.random.default_rng(2)
    logits = draw.normal(0, 2, (EPOCHS, 200, CLASSES))
    logits[4:] = logits[4] + 10.0 ** -np.linspace(0, 10, 200)[:, None] * logits[4:]
    return signals_of(logits, draw.integers(0, CLASSES, 200))


def with_missing(signals, share=0.25):
    """Take away values here and there, all values of sample 0, and all but the last of sample 1."""
    unseen = np.random.default_rng(1).random(signals["loss"].shape) < share
    unseen[:, :2], unseen[-1, 1] = True, False
    return {name: np.where(unseen, np.nan, values) for name, values in signals.items()}


def scores_of(fn, signals, **settings):
    return fn(**{name: signals[name] for name in inputs(fn)}, **settings)


def settings_of(fn):
    """All combinations of choices, switches and a few numbers for the knobs of a score."""
    numbers = {"window": (10, 3, 4), "decay": (0.9, 0.5)}

    def values(name, knob):
        if get_origin(knob.annotation) is Literal:
            return get_args(knob.annotation)
        return (False, True) if knob.annotation is bool else numbers.get(name, (knob.default,))

    tried = [values(name, knob) for name, knob in knobs(fn).items()]
    return [dict(zip(knobs(fn), choice, strict=True)) for choice in product(*tried)]


every_setting = pytest.mark.parametrize(
    ("name", "given_knobs"),
    [(name, choice) for name, fn in OF_SIGNALS.items() for choice in settings_of(fn)],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)


# Laws: what holds for every score, also for one that is added tomorrow.


@every_score
def test_a_score_is_one_float64_per_sample(fn, signals):
    scores = scores_of(fn, signals)
    assert type(scores) is np.ndarray
    assert scores.shape == (SAMPLES,)
    assert scores.dtype == np.float64


@every_score
def test_scores_are_finite_where_nothing_is_missing(fn, signals):
    for choice in settings_of(fn):
        assert np.isfinite(scores_of(fn, signals, **choice)).all()


@every_score
def test_scores_are_finite_for_certain_and_for_impossible_labels(fn):
    logits = np.zeros((EPOCHS, 4, 2))
    logits[:, :, 0] = [700.0, -700.0, 0.0, 30.0]
    with np.errstate(divide="ignore", invalid="ignore"):
        signals = signals_of(logits, np.zeros(4, int))
    signals["entropy"] = np.nan_to_num(signals["entropy"], nan=0.0)  # 0 log 0
    assert np.isfinite(scores_of(fn, signals)).all()


@every_score
def test_reordering_samples_reorders_scores(fn, settling):
    order = np.random.default_rng(1).permutation(200)
    shuffled = {name: values[:, order] for name, values in settling.items()}
    np.testing.assert_array_equal(scores_of(fn, shuffled), scores_of(fn, settling)[order])


@every_score
@pytest.mark.parametrize("missing", [False, True])
def test_scoring_a_slice_of_the_samples_gives_the_slice_of_the_scores(fn, settling, missing):
    signals = with_missing(settling) if missing else settling
    whole = scores_of(fn, signals)
    alone = [slice(one, one + 1) for one in range(200)]
    for part in (slice(7, 23), slice(90, None), slice(None, None, 3), *alone):
        piece = {name: values[:, part] for name, values in signals.items()}
        np.testing.assert_array_equal(scores_of(fn, piece), whole[part])


@every_score
@pytest.mark.parametrize("missing", [False, True])
def test_dividing_samples_among_tasks_changes_no_score(fn, settling, missing, monkeypatch):
    signals = with_missing(settling) if missing else settling
    whole = scores_of(fn, signals)
    for width in (1, 7, 199):
        monkeypatch.setattr(windows, "_WIDTH", width)
        np.testing.assert_array_equal(scores_of(fn, signals), whole)


@every_score
def test_memory_layout_changes_no_score(fn, settling):
    columns_first = {name: np.asfortranarray(values) for name, values in settling.items()}
    np.testing.assert_array_equal(scores_of(fn, columns_first), scores_of(fn, settling))


@every_score
def test_scores_of_a_memory_map_are_those_of_the_array(fn, signals, tmp_path):
    for name in inputs(fn):
        np.save(tmp_path / f"{name}.npy", signals[name])
    mapped = {name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in inputs(fn)}
    scores = scores_of(fn, mapped)
    np.testing.assert_array_equal(scores, scores_of(fn, signals))
    assert not isinstance(scores, np.memmap)


@every_score
def test_scoring_leaves_its_inputs_as_they_were(fn, signals):
    signals = with_missing(signals)
    before = {name: values.copy() for name, values in signals.items()}
    for values in signals.values():
        values.flags.writeable = False
    for choice in settings_of(fn):
        scores = scores_of(fn, signals, **choice)
        scores += 1  # a view of an input would change it, or refuse
    for name, values in signals.items():
        np.testing.assert_array_equal(values, before[name])


@every_score
def test_single_precision_signals_give_almost_the_same_scores(fn, signals):
    single = {name: values.astype(np.float32) for name, values in signals.items()}
    scores = scores_of(fn, single)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, scores_of(fn, signals), rtol=1e-5, atol=1e-6)


@every_score
def test_single_precision_signals_are_scored_in_double_precision(fn, signals):
    single = {name: values.astype(np.float32) for name, values in signals.items()}
    double = {name: values.astype(np.float64) for name, values in single.items()}
    np.testing.assert_array_equal(scores_of(fn, single), scores_of(fn, double))


@every_score
def test_a_sample_that_no_epoch_saw_has_no_score_and_disturbs_no_other(fn, signals):
    gappy = {name: values.astype(float) for name, values in signals.items()}
    for values in gappy.values():
        values[:, 3] = np.nan
    expected = scores_of(fn, signals)
    expected[3] = np.nan
    np.testing.assert_array_equal(scores_of(fn, gappy), expected)


@every_score
def test_a_signal_that_is_not_epochs_by_samples_is_refused(fn):
    with pytest.raises(InputError, match=r"\(epochs, samples\)"):
        fn(**{name: np.ones(EPOCHS) for name in inputs(fn)})


@every_score
def test_what_is_no_choice_of_a_knob_is_refused(fn, signals):
    for name, knob in knobs(fn).items():
        if get_origin(knob.annotation) is Literal:
            with pytest.raises(InputError, match=name):
                scores_of(fn, signals, **{name: "typo"})


@every_score
def test_all_inputs_are_signals_that_a_run_can_give(fn):
    pytest.importorskip("torch")
    from dualprune.record.signals import DEFERRED  # noqa: PLC0415 - needs torch

    assert set(inputs(fn)) <= {*DEFERRED, *DERIVED}
    assert all(inputs(fn).values()), "a score without its signal makes no sense"


def test_the_tests_know_every_signal_that_a_run_can_give(signals):
    pytest.importorskip("torch")
    from dualprune.record.signals import DEFERRED  # noqa: PLC0415 - needs torch

    assert signals.keys() == {*DEFERRED, *DERIVED}


# Formulas.


def test_every_score_has_an_oracle():
    assert ORACLES.keys() == OF_SIGNALS.keys()


@every_setting
def test_a_score_is_its_formula(name, given_knobs, signals):
    expected = scores_of_oracle(name, signals, given_knobs)
    actual = scores_of(SCORES[name], signals, **given_knobs)
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


@every_setting
def test_a_score_with_gaps_is_its_formula_on_what_was_observed(name, given_knobs, signals):
    gappy = with_missing(signals)
    expected = scores_of_oracle(name, gappy, given_knobs)
    actual = scores_of(SCORES[name], gappy, **given_knobs)
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


def scores_of_oracle(name, signals, given_knobs):
    rows = {each: signals[each].tolist() for each in inputs(SCORES[name])}
    return ORACLES[name](**rows, **given_knobs)


@repeatable
@given(
    st.integers(2, 6).flatmap(
        lambda window: st.tuples(
            st.just(window),
            arrays(
                np.float64,
                st.tuples(st.integers(window, 12), st.integers(1, 4)),
                elements=st.floats(0, 1) | st.just(np.nan),
            ),
        )
    )
)
def test_dual_is_its_formula_on_any_array(case):
    window, target_prob = case
    expected = dual_by_hand(target_prob.tolist(), window)
    # This law is about the formula; how exact the kernel is, is a law of its own below.
    np.testing.assert_allclose(dual(target_prob, window=window), expected, rtol=1e-6, atol=1e-7)


T1 = np.array([[0.1, 0.9, 0.2], [0.3, 0.9, 0.2], [0.2, 0.95, 0.8], [0.6, 0.97, 0.1]])


def printed(values):
    return [round(float(value), 6) for value in values]


def test_the_example_of_three_samples_has_the_published_values():
    assert printed(SCORES["dyn_unc"](T1, window=3)) == [0.154083, 0.032462, 0.362502]
    skipped = SCORES["dyn_unc"](T1, window=3, skip_last=True)
    assert printed(skipped) == [0.1, 0.028868, 0.34641]
    assert printed(dual(T1, window=3)) == [0.105919, 0.002284, 0.223811]
    assert printed(SCORES["confidence"](T1)) == [0.3, 0.93, 0.325]


def test_a_sample_that_flips_every_epoch_has_the_spread_of_a_coin():
    flips = np.array([[0.0], [1.0], [0.0], [1.0]])
    assert printed(dual(flips, window=2)) == [0.353553]
    assert printed(dyn_unc(flips, window=2)) == [0.707107]


T3 = np.array([[0.5, 0.5], [0.6, 0.4], [0.9, 0.1], [0.8, 0.2]])


def test_tdds_of_four_predictions_has_the_published_value():
    steps = signals_of(np.log(T3)[:, None], np.zeros(1, int))["kl_step"]
    assert printed(steps[1:, 0]) == [0.19865, 0.503548, 0.232856]
    assert printed(tdds(steps[:3], window=3) / 0.9) == [0.215595]
    assert printed(tdds(steps, window=3)) == [0.191671]


def test_recorded_steps_are_those_of_the_published_example():
    torch = pytest.importorskip("torch")
    from dualprune.record.signals import kl_step  # noqa: PLC0415 - needs torch

    p = torch.tensor(T3, dtype=torch.float32)
    np.testing.assert_allclose(kl_step(p[1:], p[:-1]), [0.19865, 0.503548, 0.232856], atol=1e-6)


def test_two_predictions_have_the_published_signals():
    torch = pytest.importorskip("torch")
    from dualprune.record.signals import DEFERRED, Outputs  # noqa: PLC0415 - needs torch

    logits, labels = torch.tensor([[2.0, 1.0, 0.0], [0.0, 1.0, 3.0]]), torch.tensor([0, 0])
    outputs = Outputs(logits, labels)
    rows = {name: DEFERRED[name](outputs).numpy() for name in DEFAULT}
    derived = {
        name: fn(*map(rows.get, inputs(fn)))
        for name, fn in DERIVED.items()
        if inputs(fn).keys() <= rows.keys()
    }
    tolerance = {"atol": 5e-7, "rtol": 0}
    np.testing.assert_allclose(rows["margin"], [1.0, -3.0], **tolerance)
    np.testing.assert_allclose(derived["prob_margin"], [0.420512, -0.801785], **tolerance)
    np.testing.assert_allclose(rows["error_norm"], [0.424336, 1.281708], **tolerance)
    np.testing.assert_allclose(rows["entropy"], [0.832396, 0.524267], **tolerance)
    assert rows["rival"].tolist() == [1, 2]
    assert derived["correct"].tolist() == [1.0, 0.0]
    assert SCORES["aum"](rows["margin"][:, None]).tolist() == [1.0]
    assert SCORES["aum"](rows["margin"][:, None], keep="easy").tolist() == [-1.0]


def test_forgetting_counts_what_was_right_and_became_wrong():
    correct = np.array([[int(c) for c in row] for row in ("00000", "11111", "01010", "00111")]).T
    assert forgetting(correct, never_learned="zero").tolist() == [0, 0, 2, 0]
    assert forgetting(correct).tolist() == [5, 0, 2, 0]


def test_forgetting_looks_past_the_epochs_that_did_not_see_the_sample():
    correct = np.array([[1.0], [np.nan], [np.nan], [0.0]])
    assert forgetting(correct).tolist() == [1]


def test_truth_values_count_as_right_and_wrong():
    correct = np.array([[True, False], [False, False]])
    assert forgetting(correct).tolist() == [1, 2]


# Windows: their edges, their range, their exactness, their engines.


@windowed
@pytest.mark.parametrize("window", [-1, 0, 1])
def test_a_window_without_a_spread_is_refused(fn, window, signals):
    with pytest.raises(InputError, match="at least"):
        scores_of(fn, signals, window=window)


@windowed
def test_fewer_epochs_than_a_window_are_refused(fn, signals):
    few = {name: values[:9] for name, values in signals.items()}
    with pytest.raises(InputError, match="at least 10 epochs, got 9"):
        scores_of(fn, few, window=10)


@windowed
def test_as_many_epochs_as_a_window_make_one_window(fn, signals):
    few = {name: values[:10] for name, values in signals.items()}
    scores = scores_of(fn, few, window=10)
    expected = scores_of_oracle(fn.__name__, few, {"window": 10})
    np.testing.assert_allclose(scores, expected, rtol=1e-9)
    assert (scores > 0).all()


@windowed
def test_a_sample_seen_too_rarely_for_a_window_has_no_score_and_disturbs_no_other(fn, signals):
    gappy = {name: values.astype(float) for name, values in signals.items()}
    for values in gappy.values():
        values[: EPOCHS - 8, 5] = np.nan
    expected = scores_of(fn, signals, window=10)
    expected[5] = np.nan
    np.testing.assert_array_equal(scores_of(fn, gappy, window=10), expected)
    assert np.isfinite(scores_of(fn, gappy, window=8)[5])


@windowed
def test_where_the_gaps_are_does_not_matter(fn, signals):
    gappy = {}
    for name in inputs(fn):
        spaced = np.full((2 * EPOCHS, SAMPLES), np.nan)
        spaced[::2] = signals[name]
        gappy[name] = spaced
    np.testing.assert_array_equal(scores_of(fn, gappy), scores_of(fn, signals))


def highest_dual(window):
    return 3 * sqrt(3) / 16 * sqrt(window / (window - 1))


@repeatable
@given(arrays(np.float64, (12, 3), elements=st.floats(0, 1)), st.integers(2, 12))
def test_dual_is_between_zero_and_its_bound(target_prob, window):
    scores = dual(target_prob, window=window)
    assert (scores >= 0).all()
    assert (scores <= highest_dual(window) * (1 + 1e-12)).all()


def test_the_bound_of_dual_is_reached_by_one_success_in_four():
    assert dual(np.array([[0.0], [1.0], [0.0], [0.0]]), window=4)[0] == pytest.approx(
        highest_dual(4), rel=1e-12
    )


def test_turning_time_around_changes_dual_and_dyn_unc_little_but_tdds_a_lot(signals):
    p = signals["target_prob"]
    np.testing.assert_allclose(dual(p[::-1]), dual(p), rtol=1e-9)
    np.testing.assert_allclose(dyn_unc(p[::-1]), dyn_unc(p), rtol=1e-9)
    steps = signals["kl_step"]
    assert not np.allclose(tdds(steps[::-1]), tdds(steps), rtol=0.1)


def test_spread_scales_with_the_values_and_does_not_see_a_shift(signals):
    p = signals["target_prob"]
    np.testing.assert_allclose(dyn_unc(p / 4 + 0.5), dyn_unc(p) / 4, rtol=1e-9)


def near_one(draw, scale):
    return 1 - np.abs(draw.normal(0, scale, (200, 60)))


def then(start, draw, value, scale, wide=20):
    """Let belief waver widely for a while, then settle at `value` within `scale`."""
    wide_then_settled = draw.random((200, 60))
    settled = np.abs(draw.normal(0, scale, (200 - wide, 60)))
    wide_then_settled[wide:] = settled if value == 0 else 1 - settled
    return wide_then_settled[start:]


TRAJECTORIES = {
    "anywhere": lambda draw: draw.random((200, 60)),
    "confident": lambda draw: near_one(draw, 1e-6),
    "settled at one within 1e-6": lambda draw: then(0, draw, 1, 1e-6),
    "settled at zero within 1e-6": lambda draw: then(0, draw, 0, 1e-6),
    "settled at zero at once within 1e-6": lambda draw: then(19, draw, 0, 1e-6),
    "settled at one within 1e-9": lambda draw: then(0, draw, 1, 1e-9),
    "settled at zero within 1e-9": lambda draw: then(0, draw, 0, 1e-9),
    "settled at zero at once within 1e-9": lambda draw: then(19, draw, 0, 1e-9),
    "spikes": lambda draw: np.where(
        (np.arange(200) % 15 == 0)[:, None], draw.random((200, 60)), draw.random((200, 60)) * 1e-6
    ),
}


@pytest.mark.parametrize("window", [2, 10, 30])
@pytest.mark.parametrize(
    ("fn", "oracle"), [(dual, dual_by_hand), (dyn_unc, dyn_unc_by_hand)], ids=["dual", "dyn_unc"]
)
@pytest.mark.parametrize("shape", TRAJECTORIES)
def test_windows_are_exact_to_1e_8_and_to_a_millionth(shape, fn, oracle, window):
    p = TRAJECTORIES[shape](np.random.default_rng(0))
    expected = np.array(oracle(p.tolist(), window))
    error = np.abs(fn(p, window=window) - expected)
    assert error.max() < 1e-8
    assert (error / expected).max() < 1e-6


def test_tdds_stays_exact_when_predictions_settle():
    draw = np.random.default_rng(0)
    steps = np.abs(draw.normal(0, 5, (60, 40)))
    steps[20:] *= 1e-6
    steps[0] = np.nan
    expected = np.array(ORACLES["tdds"](steps.tolist()))
    error = np.abs(tdds(steps) - expected)
    assert error.max() < 1e-8
    assert (error / expected).max() < 1e-6


def test_a_belief_that_never_moves_scores_exactly_zero():
    for value in (0.0, 0.1, 1 / 3, 1 - 1e-9, 1.0):
        assert dual(np.full((50, 3), value)).tolist() == [0, 0, 0]


@by_windows
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("window", [3, 10])
def test_numba_and_numpy_give_the_same_bits(fn, missing, dtype, window, monkeypatch):
    pytest.importorskip("numba")
    draw = np.random.default_rng(3)
    monkeypatch.setattr(windows, "_WIDTH", 300)
    values = draw.random((16, 1000)).astype(dtype)
    values[:, ::5] = (1 - values[:, ::5] * 1e-6).astype(dtype)
    values[8:, ::7] *= dtype(1e-7)
    if missing:
        values[draw.random(values.shape) < 0.3] = np.nan
    values.flags.writeable = False
    (name,) = inputs(fn)

    def scored_with_numba_from(size):
        monkeypatch.setattr(windows, "JIT_FROM", size)
        return fn(**{name: values}, window=window)

    with_numpy = scored_with_numba_from(10**18)
    with_numba = scored_with_numba_from(0)
    assert "dualprune.score.windows_jit" in sys.modules
    assert with_numba.tobytes() == with_numpy.tobytes()
    assert np.isfinite(with_numpy).any()


def test_numba_comes_in_only_from_a_size_on(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setitem(sys.modules, "dualprune.score.windows_jit", None)
    dual(np.full((10, 1000), 0.5))
    with pytest.raises(ImportError):
        dual(np.full((16, windows.JIT_FROM // 16), 0.5))


# A world with a known answer: four kinds of samples that differ in how they are learned.

EASY, SLOW, NEVER, WRONG = (slice(start, start + 25) for start in range(0, 100, 25))


@pytest.fixture(scope="module")
def world():
    """Label 0 is easy, or learned slowly and forgotten, or never more than a guess, or wrong."""
    draw = np.random.default_rng(7)
    logits = draw.normal(0, 0.05, (30, 100, 10))
    logits[:, EASY, 0] += 9
    logits[:, SLOW, 0] += np.linspace(0, 4, 30)[:, None] + draw.normal(0, 1.5, (30, 25))
    logits[:, NEVER, 0] -= 1
    logits[:, WRONG, 3] += 9
    return signals_of(logits, np.zeros(100, int))


def above(scores, high, low):
    return scores[high].min() > scores[low].max()


@pytest.mark.parametrize("name", ["dual", "dyn_unc", "tdds", "variability"])
def test_what_wavers_is_kept_before_what_is_known_and_what_is_never_learned(name, world):
    scores = scores_of(SCORES[name], world)
    assert all(above(scores, SLOW, other) for other in (EASY, NEVER, WRONG))


def test_confidence_keeps_the_easy_and_drops_the_mislabelled(world):
    scores = scores_of(SCORES["confidence"], world)
    assert above(scores, EASY, SLOW)
    assert above(scores, SLOW, NEVER)
    assert above(scores, NEVER, WRONG)


@pytest.mark.parametrize("name", ["aum", "aum_prob"])
def test_the_margin_keeps_the_mislabelled_or_with_the_other_choice_the_easy(name, world):
    hard, easy = (scores_of(SCORES[name], world, keep=keep) for keep in ("hard", "easy"))
    for better, worse in ((WRONG, NEVER), (NEVER, SLOW), (SLOW, EASY)):
        assert above(hard, better, worse)
        assert above(easy, worse, better)


@pytest.mark.parametrize("over", ["last", "mean", "sum"])
def test_el2n_keeps_the_mislabelled_first_and_the_easy_last(over, world):
    scores = scores_of(SCORES["el2n"], world, over=over)
    assert above(scores, WRONG, NEVER)
    assert above(scores, NEVER, SLOW)
    assert above(scores, SLOW, EASY)


def test_entropy_keeps_what_is_only_guessed_and_drops_what_is_surely_right_or_surely_wrong(world):
    scores = scores_of(SCORES["entropy"], world)
    for sure in (EASY, WRONG):
        assert above(scores, NEVER, sure)


def test_forgetting_puts_the_never_learned_first_or_with_the_other_choice_last(world):
    counts = forgetting(world["correct"])
    assert (counts[NEVER] == 30).all()
    assert (counts[WRONG] == 30).all()
    assert above(counts, NEVER, SLOW)
    assert above(counts, SLOW, EASY)
    zero = forgetting(world["correct"], never_learned="zero")
    assert all(above(zero, SLOW, other) for other in (EASY, NEVER, WRONG))


of_probabilities = pytest.mark.parametrize("name", ["dual", "dyn_unc", "confidence", "variability"])


@of_probabilities
@pytest.mark.parametrize("kind", [np.float32, np.float64, ">f4"])
@pytest.mark.parametrize("wrong", [-3.5, 1.25, np.inf, -np.inf])
def test_what_is_no_probability_is_refused(name, kind, wrong):
    values = np.random.default_rng(0).random((12, 50)).astype(kind)
    values[:3, :9] = np.nan
    values[7, 20] = wrong
    with pytest.raises(InputError, match=f"from 0 to 1; got {wrong:g}. For logits or losses"):
        SCORES[name](values)


@of_probabilities
def test_the_ends_missing_values_and_rounding_are_probabilities(name):
    values = np.random.default_rng(0).random((12, 6), np.float32)
    values[:, 0], values[:, 1], values[:, 2], values[3, 4] = 0, 1, -0.0, np.nan
    values[5, 1] = np.nextafter(np.float32(1), np.float32(2))
    assert np.isfinite(SCORES[name](values)).all()
    assert np.isfinite(SCORES[name](np.arange(24).reshape(12, 2) % 2)).all()
    assert SCORES[name](np.ones((12, 0))).shape == (0,)


def test_the_first_value_of_many_blocks_that_is_no_probability_is_named():
    values = np.full((3, 100_000), 0.5)
    values[1, [40_000, 90_000]] = 7, 8
    for _ in range(5):
        with pytest.raises(InputError, match="got 7"):
            dual(values, window=2)


@every_score
def test_numbers_of_any_type_are_signals(fn):
    (name,) = inputs(fn)
    values = np.random.default_rng(0).integers(0, 2, (12, 30))
    expected = fn(values.astype(np.float64))
    for kind in (np.int8, np.uint64, np.float16, np.float32, ">f8", np.longdouble):
        scores = fn(**{name: values.astype(kind)})
        np.testing.assert_array_equal(scores, expected)
        assert scores.dtype == np.float64
    np.testing.assert_array_equal(fn(values.tolist()), expected)


@every_score
def test_what_is_no_array_of_numbers_is_refused_by_name(fn):
    (name,) = inputs(fn)
    numbers = np.ones((12, 3))
    wrong = [numbers.astype(kind) for kind in (str, object, complex, "M8[s]")]
    for values in (
        *wrong,
        None,
        "values",
        [[1, 2], [3]],
        *([numbers > 0] * (fn is not forgetting)),
    ):
        with pytest.raises(InputError, match=f"^{name} must be an array of "):
            fn(values)


@every_score
@pytest.mark.parametrize("shape", [(), (12,), (12, 3, 2), (0, 3), (0, 0), (0,)])
def test_other_shapes_than_epochs_and_samples_are_refused(fn, shape):
    with pytest.raises(InputError, match=f"(epochs, samples).*got {re.escape(str(shape))}"):
        fn(np.ones(shape))
    assert fn(np.ones((12, 0))).shape == (0,)


@every_score
@pytest.mark.parametrize("wrong", [np.inf, -np.inf, 1e308])
@pytest.mark.parametrize("jit", [False, True])
def test_infinite_signals_are_refused(fn, wrong, jit, monkeypatch):
    monkeypatch.setattr(windows, "JIT_FROM", 0 if jit else 2**20)
    values = np.random.default_rng(0).random((12, 30)).round()
    values[-3:, [7, 23]] = wrong
    with pytest.raises(
        InputError, match=r"from 0 to 1; got|correct is 1|2 samples have values that are inf"
    ):
        fn(values)
    values[-2, [7, 23]] = -wrong
    with pytest.raises(
        InputError, match=r"from 0 to 1; got|correct is 1|2 samples have values that are inf"
    ):
        fn(values)


@every_score
def test_knobs_of_another_type_are_refused_by_name(fn):
    for name, knob in knobs(fn).items():
        kinds = {int: ("3", 2.5, True), float: ("3", True, np.nan), bool: (1, None, "no")}
        for wrong in kinds.get(knob.annotation, ([1], 3)):
            with pytest.raises(InputError, match=f"^{name} must be"):
                fn(np.ones((12, 3)), **{name: wrong})


def test_a_decay_outside_its_range_is_refused():
    for decay in (0, -1.0, 1.5):
        with pytest.raises(InputError, match=f"decay must be above 0 and at most 1, got {decay}"):
            tdds(np.ones((12, 3)), decay=decay)


def test_forgetting_takes_booleans_and_nothing_but_right_and_wrong():
    correct = np.array([[0, 1, 0], [0, 1, 1], [0, 1, 0]])
    assert forgetting(correct > 0).tolist() == [3, 0, 1]
    with pytest.raises(InputError, match=r"got 0.7. For margins use run\['correct'\]"):
        forgetting(np.where(correct == 1, 0.7, np.nan))


def test_too_few_epochs_may_be_samples_and_epochs_swapped():
    with pytest.raises(InputError, match=r"got 3; .*shape \(3, 30\): .*pass \(samples, epochs\)\?"):
        dual(np.full((3, 30), 0.5))
    with pytest.raises(InputError, match=r"got 3; record more epochs or choose a shorter window$"):
        dual(np.full((3, 5), 0.5))
