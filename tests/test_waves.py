"""Choices among samples in blocks: the same as from whole arrays, however the blocks are cut."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dualprune.errors import DualpruneError, InputError
from dualprune.run.ranges import ranges, threads
from dualprune.select import OF_BLOCKS, Notes, beta, random, stratified, top, waves
from dualprune.select.waves import Block, Waves, positions
from dualprune.signatures import inputs

patched = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def in_blocks(columns, count, map=map):
    samples = len(next(iter(columns.values())))
    parts = ranges(samples, count)
    return Waves(
        [
            Block(ids.start, len(ids), {n: c[ids.start : ids.stop] for n, c in columns.items()})
            for ids in parts
        ],
        map,
    )


def outcome(choose):
    """What is chosen and why; or the words of the refusal."""
    try:
        return choose()
    except DualpruneError as error:
        return str(error)


def of_arrays(fn, columns, knobs):
    def choose():
        notes = Notes()
        ids = fn(**{name: columns.get(name) for name in inputs(fn)}, **knobs, notes=notes)
        reasons = {name: members.tolist() for name, members in notes.reasons.items()}
        return ids.tolist(), notes.kept, reasons, str(notes.values)

    return outcome(choose)


def of_blocks(fn, columns, knobs, count, map=map):
    def choose():
        blocks = in_blocks(columns, count, map)
        choice = OF_BLOCKS[fn](blocks, **knobs)
        reasons = {name: positions(blocks, m).tolist() for name, m in choice.reasons.items()}
        return positions(blocks, choice.kept).tolist(), choice.why, reasons, str(choice.values)

    return outcome(choose)


@pytest.fixture(params=["all at once", "few looked at", "looked at wrongly"])
def how(request, monkeypatch):
    """Compare everything at once; or look at some first, so well or so badly as it gets."""
    if request.param != "all at once":
        monkeypatch.setattr(waves, "FEW", 4)
        monkeypatch.setattr(waves, "_OF_GROUP", 0)
    if request.param == "looked at wrongly":
        monkeypatch.setattr(waves, "_APART", 1e-3)


values = st.sampled_from([0.0, 0.0, 1e-300, 0.1, 0.25, 0.25, 0.5, 1.0, 3.0])
scores = st.one_of(values, st.floats(0, 5), st.just(float("nan")))
confidences = st.one_of(values.map(lambda v: min(v, 1.0)), st.floats(0, 1))
unscored = st.sampled_from(["error", "keep", "keep", "drop", "drop"])
by_class = st.one_of(
    st.sampled_from([{}, {"balance": "uniform"}, {"balance": "proportional"}]),
    st.sampled_from([0, 1, 3, 0.25, 0.5, 1.0]).map(lambda floor: {"floor": floor}),
)
knobs_of = {
    top: st.tuples(by_class, unscored.map(lambda u: {"unscored": u})),
    random: st.tuples(by_class),
    beta: st.tuples(
        by_class,
        unscored.map(lambda u: {"unscored": u}),
        st.sampled_from([{}, {"mu": 0.3}, {"anchor": 1}, {"anchor": 90}, {"c_d": 5.5}]),
    ),
    stratified: st.tuples(
        unscored.map(lambda u: {"unscored": u}),
        st.sampled_from([1, 3, 50, 2**53]).map(lambda s: {"strata": s}),
        st.sampled_from([0.0, 0.1, 0.5]).map(lambda c: {"cut_off": c}),
    ),
}


@st.composite
def cases(draw, fn):
    rows = draw(
        st.lists(st.tuples(scores, confidences, st.integers(-1, 4)), min_size=1, max_size=80)
    )
    known, confidence, labels = map(np.array, zip(*rows, strict=True))
    columns = {"scores": known, "confidence": confidence, "labels": labels, "aum": known[::-1]}
    if fn is beta and draw(st.booleans()):
        columns["anchors"] = columns.pop("scores")
    knobs = {name: value for part in draw(knobs_of[fn]) for name, value in part.items()}
    k = draw(st.one_of(st.sampled_from([1, len(rows)]), st.integers(1, len(rows))))
    return columns, {**knobs, "k": k, "seed": draw(st.integers(0, 3))}


@pytest.mark.parametrize("fn", OF_BLOCKS, ids=lambda fn: fn.__name__)
@patched
@given(data=st.data())
def test_any_blocks_give_what_the_whole_arrays_give(fn, how, data):
    columns, knobs = data.draw(cases(fn))
    read = {name: column for name, column in columns.items() if name in inputs(fn)}
    expected = of_arrays(fn, read, knobs)
    for count in (1, 2, 7):
        assert of_blocks(fn, read, knobs, count) == expected


@pytest.mark.parametrize("fn", OF_BLOCKS, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("count", [1, 2, 7, 1000])
def test_many_samples_are_looked_at_in_part_and_chosen_alike(fn, count, monkeypatch):
    monkeypatch.setattr(waves, "FEW", 200)
    monkeypatch.setattr(waves, "_OF_GROUP", 20)
    draw = np.random.default_rng(0)
    columns = {
        "scores": np.where(draw.random(3000) < 0.1, np.nan, draw.integers(0, 40, 3000) / 8),
        "confidence": draw.random(3000),
        "labels": np.sort(draw.integers(-1, 12, 3000)),
        "aum": draw.random(3000),
    }
    more = {stratified: [{"cut_off": 0.2}], random: [{}, {"floor": 0.5}, {"balance": "uniform"}]}
    always = {"k": 300, "seed": 4} | ({} if fn is random else {"unscored": "drop"})
    for own in more.get(fn, [{}, {"floor": 0.9}, {"balance": "proportional"}]):
        knobs = always | own
        read = {name: column for name, column in columns.items() if name in inputs(fn)}
        assert of_blocks(fn, read, knobs, count, threads) == of_arrays(fn, read, knobs)


def test_few_of_many_samples_are_compared_in_one_place():
    scores = np.random.default_rng(0).integers(0, 5, 2**21).astype(float)  # most are tied
    given = []

    def watched(fn, items):
        results = list(map(fn, items))
        given.extend(inside.at.size for result in results if (inside := _entries(result)))
        return results

    blocks = in_blocks({"scores": scores}, 8, watched)
    kept = positions(blocks, OF_BLOCKS[top](blocks, k=2**18, seed=0).kept)
    np.testing.assert_array_equal(kept, top(scores, k=2**18, seed=0))
    assert 0 < sum(given) < len(scores) / 4


def _entries(result):
    found = result[2] if isinstance(result, tuple) and len(result) == 3 else result
    return found if isinstance(found, waves._Entries) else None


def test_scores_that_cannot_be_compared_are_refused_alike():
    scores = np.array([0.5, 0.25, np.inf, 1.0, -np.inf])
    knobs = {"k": 2, "seed": 0}
    told = of_arrays(top, {"scores": scores}, knobs)
    assert "2 of 5 samples are infinite" in told
    assert of_blocks(top, {"scores": scores}, knobs, 3) == told
    for k in (0, 6):
        knobs = {"k": k, "seed": 0}
        with pytest.raises(InputError, match="k must be from 1 to 5"):
            OF_BLOCKS[random](in_blocks({"labels": np.zeros(5, int)}, 2), **knobs)


def test_what_a_function_raises_on_a_thread_comes_back():
    with pytest.raises(ZeroDivisionError):
        list(threads(lambda number: 1 // number, [1, 0, 2]))
