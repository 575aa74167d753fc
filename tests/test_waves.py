"""Choices among samples in blocks: the same as from whole arrays, however the blocks are cut."""

from concurrent.futures import ProcessPoolExecutor

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


def in_blocks(columns, count, map=map):  # noqa: A002
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


def of_blocks(fn, columns, knobs, count, map=map):  # noqa: A002
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
