"""Random numbers as a function of (seed, id)."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from dualprune.select.keys import ordered_bits, uniform, uniform_at
from tests.by_hand import philox_by_hand, uniform_by_hand
from tests.selecting import UNLIKELY, repeatable


def test_the_generator_by_hand_is_the_published_one():
    expected = "16554d9eca36314c db20fe9d672d0fdc d7e772cee186176b 7e68b68aec7ba23b"
    assert " ".join(f"{word:016x}" for word in philox_by_hand((0, 0, 0, 0), (0, 0))) == expected


@pytest.mark.parametrize("seed", [0, 7, 2**63, 2**64 - 1])
@pytest.mark.parametrize("start", [0, 1, 4001, 10**12 + 3, 2**62])
def test_random_numbers_are_philox_of_seed_and_id(seed, start):
    expected = [uniform_by_hand(seed, sample) for sample in range(start, start + 9)]
    assert uniform(seed, start, start + 9).tolist() == expected


@repeatable
@given(
    st.integers(0, 2**64 - 1),
    st.integers(0, 5),
    st.lists(st.integers(0, 2**62), min_size=1, max_size=20),
)
def test_random_numbers_of_single_ids_are_those_of_ranges(seed, stream, ids):
    expected = [uniform(seed, sample, sample + 1, stream=stream)[0] for sample in ids]
    assert uniform_at(seed, np.array(ids), stream=stream).tolist() == expected


@repeatable
@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=30), st.sampled_from("fd"))
def test_bits_are_ordered_like_the_numbers(numbers, kind):
    with np.errstate(over="ignore"):
        keys = np.array(numbers).astype(kind)
    bits = ordered_bits(keys)
    for one, other in pairwise(range(len(keys))):
        assert (bits[one] < bits[other]) == (keys[one] < keys[other])
        assert (bits[one] == bits[other]) == (keys[one] == keys[other])


def test_random_numbers_are_the_stream_of_numpy():
    raw = np.random.Philox(key=11).random_raw(1001)
    expected = [((int(word) >> 12) + 0.5) / 2**52 for word in raw]
    assert uniform(11, 0, 1001).tolist() == expected


@repeatable
@given(
    st.integers(0, 2**64 - 1), st.lists(st.integers(0, 300), min_size=1, max_size=8), st.randoms()
)
def test_random_numbers_do_not_depend_on_blocks_or_their_order(seed, cuts, shuffler):
    edges = [0, *sorted(cuts), 300]
    whole, pieces = uniform(seed, 0, 300), list(pairwise(edges))
    shuffler.shuffle(pieces)
    for start, stop in pieces:
        assert uniform(seed, start, stop).tolist() == whole[start:stop].tolist()


def test_random_numbers_are_uniform_and_strictly_between_zero_and_one():
    numbers = uniform(0, 0, 200_000)
    assert numbers.min() > 0
    assert numbers.max() < 1
    assert kstest(numbers, "uniform").pvalue > UNLIKELY
    across_seeds = np.array([uniform(seed, 5, 6)[0] for seed in range(2000)])
    assert kstest(across_seeds, "uniform").pvalue > UNLIKELY


def test_the_extreme_words_of_the_generator_stay_inside(monkeypatch):
    class Extremes:
        def __init__(self, key):
            del key

        def advance(self, steps):
            del steps
            return self

        def random_raw(self, count):
            del count
            return np.array([0, 2**64 - 1], np.uint64)

    monkeypatch.setattr(np.random, "Philox", Extremes)
    numbers = uniform(0, 0, 2)
    assert 0 < numbers[0] < numbers[1] < 1
    assert np.isfinite(np.log(-np.log(numbers))).all()
