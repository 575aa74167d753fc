"""Rows of files: the same as pandas reads, written again as they were, or refused with a reason."""

import contextlib
import csv
import io
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dualprune.data import lines, rows
from dualprune.data.kept import GROUP, write_kept
from dualprune.data.labelled import with_labels
from dualprune.data.rows import path_and_digest, read_blocks
from dualprune.data.tables import table_from
from dualprune.errors import DamagedError, DualpruneError, InputError, MissingError

CELL = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=8)
MANY = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


def read(source, need=(), *, only=False, ignore=()):
    return pa.concat_tables(
        read_blocks(source, need, only=only, ignore=ignore), promote_options="default"
    )


def opened(path, rows_of):
    """What `write_kept` asks of data."""
    path, digest = path_and_digest(path)
    return SimpleNamespace(
        path=path, sha256=digest, source=np.arange(rows_of), relabelled=0, label=""
    )


def write_csv(path, table, *, delimiter=",", end="\n", blank=()):
    """Write rows with Python's own writer, and blank lines before some of them."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end)
    for number, row in enumerate(table):
        text.write(" \t".replace(delimiter, "") * (number % 2) + end if number in blank else "")
        writer.writerow(row)
    path.write_bytes(text.getvalue().encode())


@MANY
@given(
    table=st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=9),
    delimiter=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n"]),
    blank=st.sets(st.integers(0, 9)),
)
def test_any_csv_is_read_as_pandas_reads_it(tmp_path, table, delimiter, end, blank):
    path = tmp_path / "x.csv"
    write_csv(path, [("a", "b", "c"), *table], delimiter=delimiter, end=end, blank=blank)
    by_pandas = pd.read_csv(path, sep=delimiter, dtype=str, keep_default_na=False)
    assert (
        read(path).to_pydict()
        == by_pandas.to_dict("list")
        == dict(zip("abc", map(list, zip(*table, strict=True)), strict=True))
    )


@MANY
@given(
    table=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=9),
    ids=st.sets(st.integers(0, 8)),
    end=st.sampled_from(["\n", "\r\n"]),
    blank=st.sets(st.integers(1, 9)),
)
def test_kept_rows_of_a_csv_are_its_very_bytes(tmp_path, table, ids, end, blank):
    kept = [number for number in sorted(ids) if number < len(table)]
    write_csv(tmp_path / "x.csv", [("a", "b"), *table], end=end, blank=blank)
    write_csv(tmp_path / "by_hand.csv", [("a", "b"), *(table[i] for i in kept)], end=end)
    data = opened(tmp_path / "x.csv", len(table))
    write_kept(data, np.array(kept, int)[::-1], tmp_path / "kept.csv")
    assert (tmp_path / "kept.csv").read_bytes() == (tmp_path / "by_hand.csv").read_bytes()


def test_what_is_odd_in_a_csv_stays_as_it_is(tmp_path):
    header, first = b'\xef\xbb\xbf"a";b\r\n', b'"=1+1;""x""\n";@SUM(A1)\r\n'
    second, last = b'+2;5" pipe\n', b'"";-3'  # another line end, no line end
    (tmp_path / "x.csv").write_bytes(header + first + b"\r\n" + second + last)
    assert read(tmp_path / "x.csv").to_pydict() == {
        "a": ['=1+1;"x"\n', "+2", ""],
        "b": ["@SUM(A1)", '5" pipe', "-3"],
    }
    data = opened(tmp_path / "x.csv", 3)
    write_kept(data, np.array([0, 2]), tmp_path / "kept" / "x.csv")
    assert (tmp_path / "kept" / "x.csv").read_bytes() == header + first + last
    write_kept(data, np.array([1]), tmp_path / "x.csv.kept")
    assert (tmp_path / "x.csv.kept").read_bytes() == header + second


def test_a_line_of_delimiters_is_a_row(tmp_path):
    (tmp_path / "x.tsv").write_text("a\tb\n1\t2\n\t\n \n3\t4\n")
    assert read(tmp_path / "x.tsv").to_pydict() == {"a": ["1", "", "3"], "b": ["2", "", "4"]}


def test_a_column_without_a_name_is_called_by_its_place(tmp_path):
    pd.DataFrame({"a": [5, 6]}).to_csv(tmp_path / "x.csv")
    assert read(tmp_path / "x.csv").to_pydict() == {"column 1": ["0", "1"], "a": ["5", "6"]}


def test_json_lines_with_differing_keys(tmp_path):
    path = tmp_path / "x.jsonl"
    lines = ['{"a": 1.50, "b": "x"}', "", '  {"c": [1, {"d": null}], "a": true}\r', '{"b": null}']
    path.write_text("\n".join(lines), "utf-8", newline="")
    assert read(path).to_pydict() == {
        "a": ["1.50", "true", None],
        "b": ["x", None, None],
        "c": [None, '["1", {"d": null}]', None],
    }
    assert read(path, ["c"], only=True).column_names == ["c"]
    assert read(path, ignore=["a", "c"]).column_names == ["b"]
    write_kept(opened(path, 3), np.array([1, 2]), tmp_path / "kept.jsonl")
    assert (tmp_path / "kept.jsonl").read_bytes() == "\n".join(lines[2:]).encode()


def test_keys_that_come_late_are_columns_of_all_rows(tmp_path):
    many = [*[{"a": 1}] * (rows._BLOCK + 1), {"b": 2}]
    (tmp_path / "x.ndjson").write_text("\n".join(map(json.dumps, many)))
    table = read(tmp_path / "x.ndjson")
    assert table["b"].to_pylist() == [None] * (rows._BLOCK + 1) + ["2"]


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_a_parquet_file_keeps_its_schema(tmp_path, compression):
    count = GROUP + 10
    table = pa.table(
        {
            "number": pa.array(range(count), pa.int32()),
            "text": pa.array([f"t{i % 7}" for i in range(count)]).dictionary_encode(),
            "nested": [[{"x": i}] for i in range(count)],
            "when": pa.array(range(count), pa.timestamp("ns", "Europe/Berlin")),
        }
    ).replace_schema_metadata({"by": "hand"})
    pq.write_table(table, tmp_path / "x.parquet", compression=compression, row_group_size=5000)
    ids = np.array([3, 5000, GROUP - 1, GROUP, count - 1])
    write_kept(opened(tmp_path / "x.parquet", count), ids, tmp_path / "kept.parquet")
    kept = pq.read_table(tmp_path / "kept.parquet")
    schema = pq.read_schema(tmp_path / "x.parquet")
    assert kept.schema.equals(schema, check_metadata=True)
    assert kept.to_pylist() == table.take(ids).to_pylist()
    parts = [pq.ParquetFile(tmp_path / name) for name in ("x.parquet", "kept.parquet")]
    old, new = (part.metadata.row_group(0).column(0).compression for part in parts)
    assert old == new
    for part in parts:
        part.close()


def test_texts_and_bytes_in_views_are_kept(tmp_path):
    texts = [None, "b", "longer than twelve characters"] * 5
    views = pa.table(
        {
            "text": pa.array(texts, pa.string_view()),
            "raw": pa.array([b"x", b"y", None] * 5, pa.binary_view()),
            "label": pa.array(["dog", "cat", "cat"] * 5, pa.string_view()),
        }
    )
    pq.write_table(views, tmp_path / "x.parquet")
    with pytest.warns(UserWarning, match="left out columns"):
        data = table_from(tmp_path / "x.parquet", label="label")
    corrected = with_labels(data, np.where(np.arange(15) == 2, 1, -1))
    write_kept(corrected, np.array([1, 2]), tmp_path / "kept.parquet")
    kept = pq.read_table(tmp_path / "kept.parquet")
    assert kept.schema == views.schema
    assert kept.to_pydict() == {"text": texts[1:3], "raw": [b"y", None], "label": ["cat", "dog"]}


def test_an_arrow_table_is_read_like_a_file():
    table = pa.table({"a": pa.array(["x", None]).dictionary_encode(), "b": [1, 2], "c": ["y", "z"]})
    assert read(table, ignore=["b"]).schema == pa.schema(
        {"a": pa.large_string(), "c": "large_string"}
    )
    assert read(table, ["b"], only=True).to_pydict() == {"b": [1, 2]}
    with pytest.raises(InputError, match="not read from a file"):
        write_kept(SimpleNamespace(path=None, sha256="", source=np.arange(2)), np.arange(1), None)


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet"])
def test_a_file_that_changed_is_not_written_again(tmp_path, name):
    path = tmp_path / name
    table = pa.table({"a": ["1", "2"]})
    if name == "x.parquet":
        pq.write_table(table, path)
    else:
        path.write_text("a\n1\n2\n" if name == "x.csv" else '{"a": "1"}\n{"a": "2"}\n')
    data = opened(path, 2)
    path.write_bytes(path.read_bytes().replace(b"2", b"3", 1))
    (tmp_path / "kept").mkdir()
    with pytest.raises(DamagedError, match="not what it was"):
        write_kept(data, np.array([0]), tmp_path / "kept" / name)
    assert not [*(tmp_path / "kept").iterdir()]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", b"", "no column 'need'; it has none"),
        ("x.csv", b"Need,b\n1,2\n", "no column 'need'; it has 'Need', 'b'. Did you mean Need?"),
        ("x.csv", b"need,b\n1,2\n3\n", "line 3 has 1 cells, the header has 2"),
        ("x.csv", b'need,b\n"1\n2",2\n3,4,5\n', "line 4 has 3 cells, the header has 2"),
        ("x.csv", b'need,b\n1,2\n"3,4\n5,6\n', "line 3 is no CSV"),
        ("x.csv", b'need,b\n1,2\n"3"4,5\n', "line 3 is no CSV"),
        ("x.csv", b"need,b\r1,2\r", "line 1 is no CSV"),
        ("x.csv", b"need,b\n1,2\ncaf\xe9,3\n", "line 3 is not UTF-8 .byte 4 of it is 0xe9"),
        ("x.csv", "need,b\n1,2\n".encode("utf-16"), "line 1 is not UTF-8"),
        ("x.csv", "need,b\n1,2\n".encode("utf-16-le"), "line 1 holds a NUL"),
        ("x.csv", b"need,b\n1,2\n\0,3\n", "line 3 holds a NUL"),
        ("x.csv", b"need,b,b\n1,2,3\n", "several columns of the same name: 'b'"),
        ("x.csv", b"need,b,need\n1,2,3\n", "several columns of the same name: 'need'"),
        ("x.jsonl", b"", "no column 'need'; it has none"),
        ("x.jsonl", b'{"needs": 1}\n', "Did you mean needs"),
        ("x.jsonl", b'{"need": 1}\n{"need": 1\n', "line 2 is not JSON"),
        ("x.jsonl", b'{"need": 1}\n\n[1]\n', "line 3 is not a JSON object"),
        ("x.jsonl", b'{"need": "\\ud83d"}\n', "line 1 is not JSON"),
        ("x.jsonl", b"[" * 100_000 + b"\n", "line 1 is not JSON"),
        ("x.txt", b"need\n1\n", "none of the files whose rows can be read: .csv"),
        ("x", b"need\n1\n", "none of the files whose rows can be read: .csv"),
    ],
)
def test_what_cannot_be_read_says_where_and_why(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises((InputError, MissingError), match=message):
        read(tmp_path / name, ["need"])


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl"])
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    content=st.text('ab,"\t\r\n\\{}[]:1e.\ufeff', max_size=30).map(str.encode)
    | st.binary(max_size=30)
)
def test_any_bytes_are_read_or_refused_on_purpose(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with contextlib.suppress(DualpruneError):
        list(read_blocks(tmp_path / name, [], only=False))


def test_a_parquet_file_that_is_damaged_or_none(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1 but no more")
    with pytest.raises(DamagedError, match=r"x\.parquet is damaged"):
        read(path)
    with pytest.raises(DamagedError, match="cannot read"):
        read(tmp_path / "absent.parquet")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DamagedError, match="not a file"):
        read(tmp_path / "folder.csv")


def test_a_file_is_never_replaced_by_a_part_of_itself(tmp_path):
    (tmp_path / "x.csv").write_text("a\n1\n2\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "x.csv")
    with pytest.raises(InputError, match="the file that rows are taken from"):
        write_kept(opened(tmp_path / "link.csv", 2), np.array([0]), tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == "a\n1\n2\n"


def test_only_columns_that_are_used_must_be_sound(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"b,need,b\n1,2,3\n")
    assert read(tmp_path / "x.csv", ["need"], only=True).to_pydict() == {"need": ["2"]}
    assert read(tmp_path / "x.csv", ignore=["b"]).to_pydict() == {"need": ["2"]}
    with pytest.raises(MissingError, match="no column 'c'"):
        read(tmp_path / "x.csv", ignore=["c"])


class Endless(io.RawIOBase):
    """A file of one first line and then always the same, and how much of it was read."""

    def __init__(self, first, rest):
        self.lines, self.size = [first], 0
        self.rest = rest

    def readline(self, size):
        part = (self.lines.pop() if self.lines else self.rest)[:size]
        self.size += len(part)
        return part


@pytest.mark.parametrize(
    ("first", "rest", "message"),
    [
        (b"a\tb\n", b"c\td\n", "takes more than 1,048,576 bytes"),
        (b"a,b\n", b"x" * 2**17, "line 2 has more than 65,536 bytes"),
        (b'a\t"b\n', b"c\td\n", "field larger than field limit"),
    ],
)
def test_memory_is_bounded_whatever_the_file(monkeypatch, first, rest, message):
    """Neither columns, nor a line, nor what follows an open quote are read whole."""
    monkeypatch.setattr(rows, "IN_MEMORY", 2**20)
    monkeypatch.setattr(lines, "LONGEST", 2**16)
    file = Endless(first, rest)
    monkeypatch.setattr(rows, "open_file", lambda path: file)
    with pytest.raises(InputError, match=message):
        [*read_blocks("x.tsv", [], only=False)]
    assert file.size < 2**22


def test_the_limit_of_csv_cells_is_left_as_it_was(tmp_path):
    usual = csv.field_size_limit()
    long = "x" * (usual + 1)
    (tmp_path / "x.csv").write_text(f"a,b\n{long},1\n")
    assert read(tmp_path / "x.csv")["a"].to_pylist() == [long]
    assert csv.field_size_limit() == usual


CLASSES = ['a "b"', "c, d", "e\nf", "g\rh"]


def with_corrections(tmp_path, suffix, labels, now):
    """Write rows with these labels, correct them to those of `now`; give the data and the ids."""
    rows = pa.table({"label": labels, "x": [f"{n / 8:.3f}" for n in range(len(labels))]})
    path = tmp_path / f"x{suffix}"
    if suffix == ".parquet":
        kinds = pa.dictionary(pa.int8(), pa.string())
        pq.write_table(rows.set_column(0, "label", rows["label"].cast(kinds)), path)
    elif suffix == ".csv":
        table = [rows.column_names, *zip(*rows.to_pydict().values(), strict=True)]
        write_csv(path, table, end="\r\n")
        path.write_bytes(path.read_bytes().removesuffix(b"\r\n"))
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows.to_pylist()))
    data = table_from(path, label="label")
    wanted = np.array([data.class_names.index(name) for name in now])
    return replace(data, labels=wanted, relabelled=int((wanted != data.labels).sum()))


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@MANY
@given(st.data())
def test_kept_rows_have_the_labels_that_were_corrected(tmp_path, suffix, data):
    labels = [*CLASSES * 4, *data.draw(st.lists(st.sampled_from(CLASSES), max_size=9))]
    one = st.sampled_from(CLASSES)
    now = data.draw(st.lists(one, min_size=len(labels), max_size=len(labels)))
    ids = np.array(sorted(data.draw(st.sets(st.integers(0, len(labels) - 1)))), int)
    corrected = with_corrections(tmp_path, suffix, labels, now)
    write_kept(corrected, ids, tmp_path / f"kept{suffix}")
    if len(ids):
        kept = read(tmp_path / f"kept{suffix}").to_pydict()
        assert kept == {"label": [now[i] for i in ids], "x": [f"{i / 8:.3f}" for i in ids]}
    if suffix == ".parquet":
        schemas = [pq.read_schema(tmp_path / f"{name}.parquet") for name in ("x", "kept")]
        assert schemas[0] == schemas[1]


def test_labels_that_were_corrected_twice_are_all_written(tmp_path):
    data = with_corrections(tmp_path, ".csv", CLASSES * 4, CLASSES * 4)
    once = with_labels(data, np.array([*data.labels[:14], 3, 2]))  # the last line has no end
    twice = with_labels(once, once.labels)
    assert (data.relabelled, once.relabelled, twice.relabelled) == (0, 2, 2)
    write_kept(twice, np.arange(16), tmp_path / "kept.csv")
    assert read(tmp_path / "kept.csv")["label"].to_pylist() == [
        *CLASSES * 3,
        *CLASSES[:2],
        CLASSES[3],
        CLASSES[2],
    ]


def test_a_corrected_line_of_json_keeps_its_other_bytes(tmp_path):
    lines = ['{"n": 1.50, "label" : 1, "label2": [1]}\r\n', '{"label":2,"n":[{"label": 3}]}\n']
    (tmp_path / "x.jsonl").write_text("".join(lines * 6), newline="")
    data = table_from(tmp_path / "x.jsonl", label="label", ignore=["label2"])
    data = replace(data, labels=1 - data.labels, relabelled=12)
    write_kept(data, np.arange(2), tmp_path / "kept.jsonl")
    expected = ['{"n": 1.50, "label" : 2, "label2": [1]}\r\n', '{"label":1,"n":[{"label": 3}]}\n']
    assert (tmp_path / "kept.jsonl").read_bytes().decode() == "".join(expected)
