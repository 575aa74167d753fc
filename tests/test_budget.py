"""How many samples are kept."""

from decimal import Decimal
from fractions import Fraction
from math import floor as rounded_down

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualprune.errors import InputError
from dualprune.select import budget
from dualprune.select.budget import share_of
from tests.selecting import repeatable


@given(st.integers(1, 10**9), st.data())
def test_the_share_of_a_count_means_that_count(samples, data):
    k = data.draw(st.integers(1, samples))
    assert budget(samples, prune=repr(share_of(k, samples))) == k


@given(st.integers(10, 10**9), st.integers(1, 99))
def test_a_share_in_percent_is_found_again_unless_a_shorter_one_means_the_same(samples, percent):
    k = budget(samples, prune=f"{percent}%")
    assert len(repr(share_of(k, samples))) <= len(repr(percent / 100))
    if samples >= 1000:
        assert share_of(k, samples) == percent / 100


def test_a_tenth_and_a_fifth_of_fifty_thousand_lose_no_sample():
    assert budget(50_000, keep="0.1") == budget(50_000, prune="0.9") == 5000
    assert budget(50_000, keep="0.2") == budget(50_000, prune="0.8") == 10_000


@pytest.mark.parametrize("text", ["100%", "1.0", "1.", "1e0", "100.0%", "1797"])
def test_everything_can_be_kept(text):
    assert budget(1797, keep=text) == 1797


@pytest.mark.parametrize("text", ["0%", "0.0", "1e-12", "0.0%"])
def test_nothing_can_be_pruned(text):
    assert budget(1797, prune=text) == 1797


def half_up(exact):
    return rounded_down(exact + Fraction(1, 2))


shares = st.decimals(0, 1, allow_nan=False, allow_infinity=False, places=6).map(
    lambda share: f"{share:f}"
)


@repeatable
@given(st.integers(1, 10**9), shares, st.booleans())
def test_a_share_is_rounded_half_up_on_the_exact_decimal(samples, text, kept):
    share = Fraction(text)
    expected = half_up(samples * (share if kept else 1 - share))
    asked = {"keep": text} if kept else {"prune": text}
    if expected:
        assert budget(samples, **asked) == expected
    else:
        with pytest.raises(InputError, match="keep 1 or more"):
            budget(samples, **asked)


@repeatable
@given(st.integers(1, 10**6), st.integers(0, 100_00))
def test_percent_are_hundredths(samples, hundredths):
    text = f"{hundredths // 100}.{hundredths % 100:02d}%"
    expected = half_up(samples * Fraction(hundredths, 100_00))
    if expected:
        assert budget(samples, keep=text) == expected
    else:
        with pytest.raises(InputError, match="keep 1 or more"):
            budget(samples, keep=text)


@pytest.mark.parametrize(
    ("samples", "keep", "k"),
    [(5, "0.5", 3), (5, "0.3", 2), (5, "0.1", 1), (3, "0.5", 2), (7, "50%", 4)],
)
def test_a_half_is_rounded_up(samples, keep, k):
    assert budget(samples, keep=keep) == k


def test_a_share_of_many_digits_is_still_exact():
    almost_half = "0.4" + "9" * 40
    assert budget(3, keep=almost_half) == 1
    assert budget(3, keep="0.5") == 2
    assert budget(3, prune="0.5" + "0" * 40 + "1") == 1


@repeatable
@given(st.integers(2, 10**9).flatmap(lambda n: st.tuples(st.just(n), st.integers(2, n))))
def test_a_whole_number_is_a_count(case):
    samples, count = case
    assert budget(samples, keep=str(count)) == count
    if count < samples:
        assert budget(samples, prune=str(count)) == samples - count


AMOUNTLESS = [
    "1.1",
    "-0.1",
    "-5",
    "nan",
    "inf",
    "-inf",
    "abc",
    "",
    "%",
    "101%",
    "-1%",
    "1e3",
    "2.0",
    "0.3%%",
    "nan%",
    "1/2",
    "0,3",
    "0x10",
    "1e400",
    "sNaN",
    float("nan"),
    float("inf"),
    1e200,
    True,
    [0.5],
]


@pytest.mark.parametrize("name", ["keep", "prune"])
@pytest.mark.parametrize("text", AMOUNTLESS)
def test_what_is_no_amount_is_refused_with_the_choices(name, text):
    with pytest.raises(InputError, match=f"--{name}.*a share.*a count"):
        budget(100, **{name: text})


@pytest.mark.parametrize("name", ["keep", "prune"])
@pytest.mark.parametrize(("text", "percent"), [("1", "100%"), ("0", "0%")])
def test_one_and_zero_are_refused_as_ambiguous_and_the_message_says_what_to_write(
    name, text, percent
):
    with pytest.raises(InputError, match=rf"ambiguous: say {text}\.0 or {percent}"):
        budget(100, **{name: text})


@pytest.mark.parametrize(
    "asked",
    [
        {"keep": "0.0"},
        {"keep": "0%"},
        {"keep": "1e-12"},
        {"keep": "0.004"},
        {"prune": "1.0"},
        {"prune": "100%"},
        {"prune": "100"},
        {"prune": "0.996"},
    ],
    ids=str,
)
def test_keeping_nothing_is_refused(asked):
    with pytest.raises(InputError, match="would keep 0; keep 1 or more"):
        budget(100, **asked)


@pytest.mark.parametrize("name", ["keep", "prune"])
def test_a_count_above_the_samples_is_refused(name):
    with pytest.raises(InputError, match="101 is more than the 100 samples"):
        budget(100, **{name: "101"})


@pytest.mark.parametrize("name", ["keep", "prune"])
def test_an_amount_of_thousands_of_digits_is_read_as_any_other(name):
    with pytest.raises(InputError, match="more than the 100 samples"):
        budget(100, **{name: "9" * 5000})
    assert budget(100, **{name: "0.5" + "0" * 5000}) == 50


def test_numbers_are_amounts_like_their_texts():
    for half in (0.5, np.float64(0.5), np.float32(0.5), Decimal("0.5")):
        assert budget(np.int64(100), keep=half) == budget(np.int32(100), prune=half) == 50
    for samples in (100.0, "100", True, None):
        with pytest.raises(InputError, match="samples must be a whole number"):
            budget(samples, keep="0.5")


def test_keep_and_prune_exclude_each_other_and_one_is_needed():
    for asked in ({}, {"keep": "0.5", "prune": "0.5"}):
        with pytest.raises(InputError, match="either keep or prune"):
            budget(100, **asked)
