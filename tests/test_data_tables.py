"""Tables: how columns of every kind become inputs, and what is done with odd ones."""

import datetime
import decimal
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualprune.data.columns import FEW_NUMBERS, MOST_LEVELS, Column, read_column
from dualprune.data.kept import write_kept
from dualprune.data.rows import read_blocks
from dualprune.data.split import only_readable
from dualprune.data.tables import table_from
from dualprune.errors import InputError, MissingError

ROWS = 40
LABELS = ["yes", "no"] * (ROWS // 2)


def column(values, kind=None):
    if kind is None and any(isinstance(value, str) for value in values):
        kind = pa.large_string()
    return read_column(pa.chunked_array([pa.array(values, kind)]))


def from_columns(**columns):
    return table_from(pa.table({**columns, "label": LABELS}), label="label")


# One column


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=100, deadline=None)
@given(st.lists(FINITE | st.none(), min_size=4, max_size=30))
def test_any_numbers_become_finite_inputs_in_their_order(values):
    read = column([*values, 0.25, 0.5, 0.75])
    inputs = [*read.numbers]
    missing = np.array([value is None for value in values] + [False] * 3)
    assert len(inputs) == 1 + missing.any()
    assert all(np.isfinite(part).all() and part.dtype == np.float32 for part in inputs)
    present = inputs[0][~missing]
    numbers = np.array([value for value in values if value is not None] + [0.25, 0.5, 0.75])
    assert (np.diff(present[np.argsort(numbers, kind="stable")]) >= 0).all()
    if missing.any():
        assert inputs[1].tolist() == missing.tolist()
        assert not inputs[0][missing].any()


def test_numbers_are_standardised_by_median_and_middle_half():
    numbers = np.random.default_rng(0).normal(5, 3, 20_001)
    (inputs,) = column(numbers).numbers
    z = np.sinh(inputs.astype(float))
    np.testing.assert_allclose(np.median(z), 0, atol=1e-6)
    np.testing.assert_allclose(z, (numbers - 5) / 3, atol=0.1)
    wild = numbers.copy()
    wild[:100] = 1e12
    (with_outliers,) = column(wild).numbers
    np.testing.assert_allclose(with_outliers[100:], inputs[100:], atol=0.05)
    assert with_outliers.max() < 40


@pytest.mark.parametrize(
    "values",
    [
        [0, 5e-324, 1e-323],
        [*[0] * 8, 5e-324, 1e-323],
        [*[0] * 12, 0.5, *[1.7e308] * 3],
        [-1.7e308, 0, 0.5, 1.7e308],
        [*[-1.7e308] * 3, 0.5, 1.7e308],
    ],
)
def test_the_smallest_and_largest_numbers_become_finite_inputs(values):
    (inputs,) = column([float(value) for value in values]).numbers
    assert np.isfinite(inputs).all()
    assert (np.diff(inputs) >= 0).all()
    assert inputs[0] < inputs[-1]


def test_numbers_that_are_mostly_one_value_are_scaled_by_the_mean_distance():
    (inputs,) = column([0.0] * 6 + [1.5, -2.5]).numbers
    np.testing.assert_allclose(
        np.sinh(inputs[6:]), np.array([1.5, -2.5]) / (1.253 * 4 / 8), rtol=1e-4
    )


@pytest.mark.parametrize(
    ("values", "kind", "described"),
    [
        (["1.5", " 2e3", "-7", "NA", "", "nan", "0"], None, "number, 3 missing"),
        ([1.5, float("inf"), 2.0, 3.0, float("nan")], None, "number, 2 missing"),
        ([*range(20), 5], None, "number"),
        ([1, 2, 3, None, 1], None, "category with 3 levels, 1 missing"),
        ([1.5, 2.5, 1.5, 2.5, None], None, "category with 2 levels, 1 missing"),
        (["1", "2", "3", "3", "1.0"], None, "category with 3 levels"),
        ([True, False, None, True, True], None, "category with 2 levels, 1 missing"),
        (["a", "b", "A", "a", "b", "A"], None, "category with 3 levels"),
        (["2024-01-31", "2023-12-01", "null"], None, "date, 1 missing"),
        (["2024-01-31 10:00", "2023-12-01T11:00:00.5"], None, "date and time"),
        (["2024-01-31T10:00:00Z", "2023-12-01T11:00:00+02:00"], None, "date and time"),
        ([datetime.date(1, 1, 1), datetime.date(9999, 12, 31)], None, "date"),
        ([0, 2**62, -(2**62)], pa.timestamp("s"), "date and time"),
        ([10**6, 3 * 10**6, None], pa.timestamp("ns", "Asia/Tokyo"), "date and time, 1 missing"),
        ([1, 2, 2, 5], pa.duration("ms"), "category with 3 levels"),
        ([1.5, 0.0, 2.5], pa.float16(), "number"),
        ([2**64 - 1, 0, 2**63, *range(20)], pa.uint64(), "number"),
        ([decimal.Decimal("1.5"), decimal.Decimal("2.25"), decimal.Decimal(0)], None, "number"),
        (["x", None, "x"], None, "category with 1 levels, 1 missing"),
        (["x", "x", "x"], None, "the same value in every row"),
        ([None, None], pa.float64(), "all missing"),
        ([float("nan"), float("inf")], None, "all missing"),
        (["", "NA", " "], None, "all missing"),
        ([None, None], pa.null(), "all missing"),
        ([f"id{i}" for i in range(9)], None, "a different text in most rows"),
        ([*range(5, 30)], None, "counts the rows"),
        ([[1], [2]], None, "values of type list<item: int64>"),
        ([{"a": 1}, {"a": 2}], None, "values of type struct<a: int64>"),
        ([b"a", b"b"], None, "values of type binary"),
    ],
)
def test_how_a_column_is_read(values, kind, described):
    read = column(values, kind)
    assert (read.described if isinstance(read, Column) else read) == described


def test_levels_beyond_the_most_frequent_are_one():
    values = [f"l{i}" for i in range(MOST_LEVELS + 2) for _ in range(100 - i)] + [None]
    read = column(values)
    assert read.levels == MOST_LEVELS + 2
    assert read.described.startswith(f"category with {MOST_LEVELS + 2} levels, all but the 32")
    by_level = dict(zip(values, read.codes.tolist(), strict=True))
    assert [by_level[f"l{i}"] for i in range(MOST_LEVELS)] == [*range(MOST_LEVELS)]
    assert by_level[f"l{MOST_LEVELS}"] == by_level[f"l{MOST_LEVELS + 1}"] == MOST_LEVELS
    assert by_level[None] == MOST_LEVELS + 1


def test_few_whole_numbers_are_categories_and_more_are_numbers():
    assert column([*range(FEW_NUMBERS)] * 2).levels == FEW_NUMBERS
    assert column([*range(FEW_NUMBERS + 1)] * 2).described == "number"


def test_dates_are_the_same_in_every_unit():
    days = ["2024-02-29", "1969-12-31", None, "1999-01-01"]
    parsed = pa.array(days, pa.large_string()).cast(pa.date32())
    kinds = (pa.date32(), pa.date64(), *map(pa.timestamp, ("s", "ms", "us", "ns")))
    first, *others = (column(days), *(column(parsed.cast(kind)) for kind in kinds))
    for other in others:
        assert other.described == first.described == "date, 1 missing"
        np.testing.assert_allclose(other.numbers, first.numbers, atol=1e-6)


def test_dates_say_when_in_the_year_the_week_and_the_day():
    times = pd.date_range("2024-01-01", periods=1000, freq="6h")
    read = column(pa.array(times))
    assert len(read.numbers) == 7
    first = np.array([part[0] for part in read.numbers[-2:]])
    np.testing.assert_allclose(first, [0, 1], atol=1e-6)  # midnight
    for days, place in ((7, 3), (1, 5)):
        np.testing.assert_allclose(
            read.numbers[place][: -4 * days], read.numbers[place][4 * days :], atol=1e-5
        )
    assert (np.diff(read.numbers[0]) > 0).all()


# A whole table


def test_inputs_are_numbers_then_one_of_each_category():
    table = from_columns(
        kind=["a", "b", None, "a"] * 10, size=[0.5, 1.5, None, 9.5] * 10, flag=[True, False] * 20
    )
    assert table.shape == (2 + 3 + 2,)
    batch = table.batch(np.array([0, 1, 2]))
    assert batch.dtype == np.float32
    assert batch[:, 2:].tolist() == [[1, 0, 0, 1, 0], [0, 1, 0, 0, 1], [0, 0, 1, 1, 0]]
    assert batch[:, 1].tolist() == [0, 0, 1]
    assert batch[2, 0] == 0
    assert batch[0, 0] < batch[1, 0]
    assert table.described() == [
        "kind: category with 2 levels, 10 missing",
        "size: number, 10 missing",
        "flag: category with 2 levels",
    ]
    assert table.snippets(np.array([3, 2])) == [
        "kind: a, size: 9.5, flag: false",
        "kind: , size: , flag: true",
    ]


def frame():
    rng = np.random.default_rng(3)
    columns = {
        "": np.arange(ROWS),
        "size": rng.normal(size=ROWS).round(3),
        "town": rng.choice(["Köln", "東京", "a, b"], ROWS),
        "day": [f"2024-02-{i % 28 + 1:02}" for i in range(ROWS)],
        "key": [f"k{i}" for i in range(ROWS)],
        "same": 1,
        "label": LABELS,
    }
    table = pd.DataFrame(columns)
    table.loc[[3, 7], "size"] = np.nan
    return table


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_every_format_gives_the_same_inputs(tmp_path, suffix):
    path, table = tmp_path / f"x{suffix}", frame()
    if suffix == ".parquet":
        table.to_parquet(path)
    elif suffix == ".jsonl":
        rows = json.loads(table.to_json(orient="records"))
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        table.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    with pytest.warns(UserWarning, match="left out columns of .*'key' .a different text") as caught:
        data = table_from(path, label="label")
    assert "counts the rows" in str(caught[0].message)
    assert "'same' (the same value in every row)" in str(caught[0].message)
    with pytest.warns(UserWarning, match="left out columns"):
        expected = table_from(pa.Table.from_pandas(frame()), label="label")
    everything = np.arange(ROWS)
    np.testing.assert_array_equal(data.batch(everything), expected.batch(everything))
    assert data.described()[1:] == expected.described()[1:]
    assert [*data.contents()] == [*expected.contents()]
    assert data.class_names == ("no", "yes")
    part = data.take(np.arange(10, 20))
    write_kept(part, np.array([1, 2]), tmp_path / f"kept{suffix}")
    kept = [*keys_of(tmp_path / f"kept{suffix}")]
    assert kept == ["k11", "k12"]


def keys_of(path):
    for block in read_blocks(path, ["key"], only=True):
        yield from block["key"].to_pylist()


@settings(max_examples=30, deadline=None)
@given(ids=st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=12))
def test_what_is_taken_is_encoded_as_it_was(ids):
    whole = from_columns(x=np.linspace(0, 1, ROWS) ** 3, y=["a", "b", "c", None] * 10)
    part, ids = whole.take(np.array(ids)), np.array(ids)
    np.testing.assert_array_equal(part.batch(np.arange(len(ids))), whole.batch(ids))
    assert part.source.tolist() == ids.tolist()
    assert part.labels.tolist() == whole.labels[ids].tolist()
    assert part.snippets(np.arange(len(ids))) == whole.snippets(ids)
    assert [*part.contents()] == [[*whole.contents()][i] for i in ids]
    assert part.shape == whole.shape


def test_equal_rows_have_equal_contents_and_no_others():
    rows = {"x": [0.0, -0.0, 0.1, 0.1 + 1e-18, 0.3] * 8, "y": ["a", "a", None, "None", "b"] * 8}
    contents = [*from_columns(**rows).contents()]
    assert contents[0] == contents[1] == contents[5]
    assert len(set(contents)) == 3, "the word None is missing, too"
    rows["x"][3] += 1e-16
    assert len({*from_columns(**rows).contents()}) == 4


def test_the_fingerprint_is_of_values_labels_and_class_names():
    x = np.arange(ROWS) ** 2 / 7
    prints = [
        from_columns(x=x).fingerprint,
        from_columns(x=x[::-1]).fingerprint,
        from_columns(y=x).fingerprint,
        from_columns(x=x).take(np.arange(20)).fingerprint,
        table_from(pa.table({"x": x, "label": LABELS[::-1]}), label="label").fingerprint,
        table_from(pa.table({"x": x, "label": ["a", "no"] * 20}), label="label").fingerprint,
    ]
    assert len({*prints}) == len(prints)
    assert prints[0] == from_columns(x=x).fingerprint


def test_the_fingerprint_also_knows_values_that_give_the_same_input():
    levels = [f"l{i}" for i in range(MOST_LEVELS + 2) for _ in range(4)]
    labels = ["yes", "no"] * (len(levels) // 2)
    others = [level.replace("l33", "l34") for level in levels]
    data, other = (
        table_from(pa.table({"x": x, "label": labels}), label="label") for x in (levels, others)
    )
    rows = np.arange(len(levels))
    np.testing.assert_array_equal(data.batch(rows), other.batch(rows))
    assert data.fingerprint != other.fingerprint


def test_rows_without_a_label_keep_their_ids():
    table = pa.table({"x": np.arange(ROWS) / 3, "label": [None, " ", *LABELS[2:]]})
    with pytest.warns(UserWarning, match="left out 2 of 40 rows, which are without a label: 0, 1 "):
        data = table_from(table, label="label")
    assert data.readable_ids.tolist() == [*range(2, ROWS)]
    assert data.labels[:3].tolist() == [0, 0, 1]
    assert only_readable(data).source[0] == 2


def test_columns_can_be_ignored():
    table = pa.table({"x": np.arange(ROWS) / 3, "z": [0, 1] * 20, "label": LABELS})
    assert table_from(table, label="label", ignore=["z"]).described() == ["x: number"]
    with pytest.raises(MissingError, match=r"no column 'zz'; it has .* Did you mean z"):
        table_from(table, label="label", ignore=["zz"])
    with pytest.raises(InputError, match="'label' is the label"):
        table_from(table, label="label", ignore=["label"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"label": LABELS}, "no column to learn from: only the label"),
        ({"x": [1] * ROWS, "label": LABELS}, "no column to learn from: 'x' .the same value"),
        ({"x": [], "label": []}, "no rows|0 rows to learn from"),
        ({"x": [1.5] * ROWS, "label": np.linspace(0, 1, ROWS)}, "40 different numbers in 40 rows"),
        ({"x": [1.5] * ROWS, "label": ["yes"] * ROWS}, "every label"),
    ],
)
def test_what_cannot_be_learnt_says_why(columns, message):
    with pytest.raises(InputError, match=message):
        table_from(pa.table(columns), label="label")


def test_a_hundred_thousand_different_labels_are_refused(tmp_path):
    numbers = np.random.default_rng(0).random(100_000)
    pq.write_table(pa.table({"x": numbers, "y": numbers}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"100,000 different numbers .* regression target.* bins"):
        table_from(tmp_path / "x.parquet", label="y")


NO_THREADS = """
import os, sys
from pathlib import Path
import numpy as np
from dualprune.data.kept import write_kept
from dualprune.data.tables import table_from
from dualprune.data.texts import texts_from

before = len(os.listdir("/proc/self/task"))
for data in (texts_from(sys.argv[1], text="t", label="y"), table_from(sys.argv[1], label="y")):
    part = data.take(np.arange(10_000))
    part.fingerprint, part.batch(np.arange(9)), part.snippets(np.arange(9))
    write_kept(part, np.arange(9), Path(sys.argv[2]))
print(len(os.listdir("/proc/self/task")) - before, "torch" in sys.modules)
"""


def test_neither_threads_nor_torch_are_needed(tmp_path):
    """Arrow's threads can outlive the interpreter and abort the process at its exit."""
    rows = {"t": ["a b", "c"] * 10_000, "x": np.arange(20_000) / 7, "y": [0, 1] * 10_000}
    pq.write_table(pa.table(rows), tmp_path / "x.parquet", row_group_size=1000)
    command = [sys.executable, "-c", NO_THREADS, tmp_path / "x.parquet", tmp_path / "kept.parquet"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "False"]


def test_a_wide_table_has_no_gaps():
    many = {f"c{i}": [i % 3, i % 5, None, i % 7] * 10 for i in range(300)}
    many |= {f"x{i}": np.random.default_rng(i).normal(size=ROWS) for i in range(300)}
    table = from_columns(**many)
    batch = table.batch(np.arange(ROWS))
    assert batch.shape == (ROWS, *table.shape)
    assert (batch[:, 300:].sum(1) == 300).all(), "one of each category"
    assert (batch != 0).any(0).all()
