"""Arguments of any type, shape and size: a lawful result or an error of our own, never another.

`DUALPRUNE_FUZZ=20000 pytest tests/test_fuzz.py` tries that many of each function, others every
time; without it a hundred, always the same.
"""

import os
from decimal import Decimal
from fractions import Fraction
from inspect import signature
from typing import get_args
from warnings import catch_warnings, filterwarnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dualprune.dynamic import DYNAMIC
from dualprune.errors import DualpruneError
from dualprune.score import SCORES
from dualprune.select import SELECTORS, budget
from dualprune.signatures import inputs, keyword_only, knobs

tried = settings(
    max_examples=int(os.environ.get("DUALPRUNE_FUZZ", "100")),
    derandomize="DUALPRUNE_FUZZ" not in os.environ,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

SHARES = [0.5, 0.25, 0.9, 0.0, 1.0]
PALETTES = [
    *[SHARES] * 3,
    [*SHARES, np.nan],
    [0.0, 1.0, np.nan],
    [0.5, -1.0, -0.0, 3.0, 40.0, 1e-8, 1e5],
    [0.5, 5e-324, 1e-310, 1e-160, 1e139, -1e200, 1e300],
    [0.5, 1e308, -1e308, 1.7e308],
    [0.5, np.nan, np.inf, -np.inf],
]

ANYTHING = [
    *(None, True, False, np.True_, -1, 0, 1, 2, 3.0, 0.5, -0.5, 1e-300, 5e-324, 1e99, 1e308),
    *(np.nan, np.inf, -np.inf, "", "abc", "1", "keep", b"x", 1j, [], [1], {}, (2, 3), object()),
    *(2**31, 2**53, 2**63, 2**64 - 1, 2**64, 10**9, 10**400, -(10**400), range(3)),
    *(np.int8(-1), np.int32(2), np.uint8(200), np.uint64(2**64 - 1), np.float16(0.5)),
    *(np.float32(0.1), np.float64(np.nan), np.longdouble("1e4000"), np.array(1), np.array([1, 2])),
    *(Decimal("0.5"), Fraction(1, 2), np.datetime64("2020-01-01")),
]
anything = st.sampled_from(ANYTHING)
dtypes = st.sampled_from(
    ["f2", "f4", "f8", ">f8", "g", "i1", "i8", "u1", "u8", "?", "c16", "U3", "S2", "O", "M8[D]"]
)


@st.composite
def arrays_of(draw, shape, palette):
    """Numbers in this shape, of any type that is meant to work, also as lists."""
    values = draw(arrays(np.float64, shape, elements=st.sampled_from(palette)))
    with np.errstate(all="ignore"):
        values = values.astype(draw(st.sampled_from(["f8", "f8", "f4", "f2", "g", ">f8", "i8"])))
    values = draw(st.sampled_from([values, np.asfortranarray(values), values[::-1]]))
    return draw(st.sampled_from([values, values, values.tolist()]))


def labels_of(shape):
    words = arrays("U2", shape, elements=st.sampled_from(["a", "b", "cc"]))
    few = arrays(np.int64, shape, elements=st.integers(-1, 2))
    return st.one_of(few, words, words.map(lambda values: values.astype(object)), few.map(float32))


def float32(values):
    return values.astype(np.float32)


@st.composite
def wrong_arrays(draw):
    shape = draw(st.lists(st.integers(0, 4), max_size=3).map(tuple))
    with np.errstate(all="ignore"):
        number = np.float64(draw(st.sampled_from(PALETTES).flatmap(st.sampled_from)))
        values = np.full(shape, number).astype(draw(dtypes))
    return draw(st.one_of(st.just(values), st.just(values.tolist()), anything))


@st.composite
def data_for(draw, names, sizes):
    """Arrays that fit together, of one palette."""
    palette = draw(st.sampled_from(PALETTES))
    kinds = {name: arrays_of(sizes.get(name, sizes[None]), palette) for name in names}
    if "labels" in kinds:
        kinds["labels"] = labels_of(sizes.get("labels", sizes[None]))
    return {name: draw(kind) for name, kind in kinds.items()}


@st.composite
def settings_for(draw, parameters):
    """Plausible values of some knobs."""
    values = {}
    for name, knob in parameters.items():
        if knob.default is knob.empty or draw(st.sampled_from([False, False, True])):
            choices = [choice for choice in get_args(knob.annotation) if isinstance(choice, str)]
            numbers = [1, 2, 3] if knob.annotation is int else [0.5, 1.0, 0.0, 0.3]
            values[name] = draw(st.sampled_from(choices or numbers))
    return values


@st.composite
def one_wrong(draw, values, names, strategy):
    """Replace one of these arguments, one time in three."""
    if names and draw(st.sampled_from([False, False, True])):
        values = values | {draw(st.sampled_from(list(names))): draw(strategy)}
    return values


def attempt(fn, *args, **named):
    """Give the result, or None for an error of our own; anything else escapes."""
    try:
        return fn(*args, **named)
    except DualpruneError:
        return None


@pytest.mark.parametrize("fn", SCORES.values(), ids=SCORES)
@tried
@given(st.data())
def test_a_score_is_one_finite_float64_per_sample_or_an_error_of_our_own(fn, data):
    epochs, samples = data.draw(st.sampled_from([*[(7, 5)] * 3, (3, 1), (1, 9), (5, 0), (0, 5)]))
    sizes = {None: (epochs, samples), "features": (samples, 3), "labels": (samples,)}
    values = data.draw(data_for(list(inputs(fn)), sizes))
    chosen = data.draw(settings_for(knobs(fn)))
    if "window" in knobs(fn):
        chosen["window"] = data.draw(st.integers(2, 4))
    values = data.draw(one_wrong(values, inputs(fn), wrong_arrays()))
    scores = attempt(fn, **values, **data.draw(one_wrong(chosen, knobs(fn), anything)))
    if scores is not None:
        first = np.asarray(next(iter(values.values())))
        assert type(scores) is np.ndarray
        assert scores.dtype == np.float64
        assert scores.shape == (first.shape[0 if "features" in inputs(fn) else 1],)
        assert not np.isinf(scores).any()


@pytest.mark.parametrize("fn", SELECTORS.values(), ids=SELECTORS)
@tried
@given(st.data())
def test_a_selector_gives_k_sorted_ids_or_an_error_of_our_own(fn, data):
    samples = data.draw(st.sampled_from([12, 12, 12, 5, 5, 1, 0]))
    sizes = {None: (samples,), "features": (samples, data.draw(st.integers(1, 4)))}
    values = data.draw(data_for(list(inputs(fn)), sizes))
    chosen = data.draw(settings_for(knobs(fn)))
    if "unscored" in knobs(fn):
        chosen.setdefault("unscored", "drop")
    chosen["k"] = data.draw(st.integers(1, max(1, samples)))
    chosen["seed"] = data.draw(st.integers(0, 2**64 - 1))
    values = data.draw(one_wrong(values, inputs(fn), wrong_arrays()))
    chosen = data.draw(one_wrong(chosen, ["k", "seed", "notes", *knobs(fn)], anything))
    ids = attempt(fn, **values, **chosen)
    if ids is not None:
        assert type(ids) is np.ndarray
        assert ids.dtype == np.int64
        assert ids.shape == (chosen["k"],)
        assert (np.diff(ids) > 0).all()
        assert ids[0] >= 0
        assert ids[-1] < min(len(array) for array in values.values() if array is not None)


def check_plan(plan, samples):
    for ids in (plan.train, plan.look):
        assert ids.dtype == np.int64
        assert (np.diff(ids) > 0).all()
        assert ((ids >= 0) & (ids < samples)).all()
    assert not set(plan.train.tolist()) & set(plan.look.tolist())
    assert plan.weights.dtype == np.float64
    assert plan.weights.shape == plan.train.shape
    assert np.isfinite(plan.weights).all()


def observe(method, ids, losses):
    with catch_warnings():
        filterwarnings("ignore", r"\d+ losses are not finite", RuntimeWarning)
        attempt(method.observe, ids, losses)


@pytest.mark.parametrize("kind", DYNAMIC.values(), ids=DYNAMIC)
@tried
@given(st.data())
def test_a_dynamic_method_plans_ids_and_weights_or_gives_an_error_of_our_own(kind, data):
    samples, names = data.draw(st.integers(1, 9)), [*signature(kind).parameters]
    chosen = {"samples": samples, **data.draw(settings_for(keyword_only(kind)))}
    chosen |= {"seed": data.draw(st.integers(0, 2**64 - 1))} if "seed" in names else {}
    chosen = data.draw(one_wrong(chosen, names, anything))
    if isinstance(chosen["samples"], int) and 1e6 < chosen["samples"] < 2**40:  # large machines can
        return
    method = attempt(kind, **chosen)
    if method is None:
        return
    for epoch in range(1, data.draw(st.integers(1, 8))):
        losses = data.draw(arrays_of((samples,), data.draw(st.sampled_from(PALETTES))))
        batch = {"ids": np.arange(samples), "losses": losses}
        observe(method, **data.draw(one_wrong(batch, batch, wrong_arrays())))
        plan = attempt(method.plan, **data.draw(one_wrong({"epoch": epoch}, ["epoch"], anything)))
        if plan is not None:
            check_plan(plan, 10**9)
    state = method.state()
    attempt(method.restore, data.draw(one_wrong(state, [*state, "more"], wrong_arrays())))
    check_plan(method.plan(1), 10**9)


amounts = st.one_of(
    anything,
    st.text(max_size=6),
    st.text("0123456789.%-+eE_ ", max_size=12),
    st.decimals(0, 1, places=3).map(str),
    st.sampled_from(["0x10", "nan", "-1", "1e400", "9" * 5000, "0." + "0" * 5000 + "1"]),
    st.sampled_from(["1e-999999", "1e-99999999999999999999", "-0", "sNaN", "inf%", "1e999999%"]),
)


@tried
@given(st.one_of(st.integers(1, 10**9), anything), amounts, st.booleans())
def test_a_budget_is_a_count_or_an_error_of_our_own(samples, amount, kept):
    k = attempt(budget, samples, **{"keep" if kept else "prune": amount})
    if k is not None:
        assert type(k) is int
        assert 1 <= k <= samples
