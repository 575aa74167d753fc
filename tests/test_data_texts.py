"""Texts: which n-grams they become, in which language ever, and what is done with odd rows."""

import json
import unicodedata
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualprune.data import texts as texts_module
from dualprune.data.kept import write_kept
from dualprune.data.ngrams import HASHES, MOST_TOKENS, ngrams
from dualprune.data.split import only_readable
from dualprune.data.texts import texts_from
from dualprune.errors import InputError

WORDS = st.lists(
    st.sampled_from(["good", "film", "not", "好", "看", "ด", "!", "🙂", "3"]), max_size=9
)
FEW = settings(max_examples=50, deadline=None)


def grams(text):
    """The hashes of one text, in order."""
    return ngrams([text])[0].tolist()


def from_rows(texts, labels, **more):
    return texts_from(
        pa.table({"text": texts, "label": labels}, **more), text="text", label="label"
    )


# N-grams


def tokens_by_hand(text):
    """Tokens of a text of words, digits, and the characters that are tokens alone."""
    tokens, word = [], ""
    for character in unicodedata.normalize("NFKC", text).casefold() + " ":
        if character.isascii() and character.isalnum():
            word += character
            continue
        tokens += [word] * bool(word)
        word = ""
        tokens += [character] * (character in ",!🙂好看ด")
    return tokens


@FEW
@given(st.lists(WORDS.map(" ".join) | WORDS.map(", ".join) | WORDS.map("".join), max_size=5))
def test_n_grams_are_tokens_pairs_and_triples_without_spaces(texts):
    numbers, counts = ngrams(texts)
    by_text = np.split(numbers, np.cumsum(counts)[:-1]) if texts else []
    for text, own in zip(texts, by_text, strict=True):
        tokens = tokens_by_hand(text)
        pairs = pairwise(tokens)
        triples = [
            t
            for t in zip(tokens, tokens[1:], tokens[2:], strict=False)
            if set("".join(t)) <= set("好看ด")
        ]
        expected = [grams(token)[0] for token in tokens]
        expected += [grams(" ".join(pair))[2] for pair in pairs]
        expected += [grams(" ".join(triple))[5] for triple in triples]
        assert own.tolist() == expected


def test_case_width_and_composition_do_not_count():
    assert grams("STRASSE") == grams("straße")
    assert grams("\ufb01lm \uff21\uff22\uff11") == grams("film ab1")
    assert grams("\u3391") == grams("kHz"), "one character that stands for three"
    assert grams("cafe\u0301") == grams("café") != grams("cafe")
    assert grams("ΣΊΣΥΦΟΣ") == grams("Σίσυφος".casefold().upper())
    assert grams("हिन्दी")[1:] == [], "marks are part of a word"


def test_order_counts_in_words_and_pairs():
    assert grams("ab") != grams("ba")
    assert grams("a b")[2] != grams("b a")[2]
    assert grams("a b")[2] not in (grams("ab")[0], grams("a")[0])


BASE = 0x9E3779B97F4A7C15


def mix_by_hand(value):
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value = (value ^ value >> 33) * factor % 2**64
    return value ^ value >> 33


def hash_by_hand(token):
    terms = (mix_by_hand(ord(c)) * BASE**i for i, c in enumerate(token))
    return mix_by_hand(sum(terms) % 2**64)


def test_hashes_follow_their_formula_on_every_machine():
    good, film, hao, kan, xi = map(hash_by_hand, ["good", "film", "好", "看", "戏"])
    pair = [mix_by_hand((a * BASE + b) % 2**64) for a, b in pairwise([good, film, hao, kan, xi])]
    triple = mix_by_hand((pair[2] * BASE + xi) % 2**64)
    expected = [good, film, hao, kan, xi, *pair, triple]
    assert ngrams(["to be found later", "Good film 好看戏"])[0][7:].tolist() == [
        value % HASHES for value in expected
    ]


def test_different_words_rarely_share_a_number():
    words = [f"w{i}" for i in range(20_000)]
    numbers, counts = ngrams(words)
    assert (counts == 1).all()
    assert numbers.min() >= 0
    assert numbers.max() < HASHES
    shared = len(words) - len(np.unique(numbers))
    expected = len(words) ** 2 / 2 / HASHES
    assert shared < expected + 6 * expected**0.5


def test_only_the_beginning_of_a_long_text_counts():
    long = "a " * MOST_TOKENS + "b"
    assert grams(long) == grams("a " * MOST_TOKENS)
    assert len(grams(long)) == 2 * MOST_TOKENS - 1
    assert grams("x" * 10**6 + " b") == grams("x" * 10**7), "one word without an end"


def test_a_nul_inside_a_text_separates_and_does_not_end_it():
    assert ngrams(["a\0b", "c"])[1].tolist() == [3, 1]


# Reading


def write(path, columns):
    frame = pd.DataFrame(columns)
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in frame.to_dict("records")))
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


REVIEWS = {
    "id": [*range(12)],
    "review": ['good, "very"\ngood', "schlecht", "とても良い", "แย่มาก", "=SUM(A1)", "NA"] * 2,
    "stars": [10, 9, 10, 9, 10, 9] * 2,
}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_every_format_gives_the_same_texts(tmp_path, suffix):
    path = tmp_path / f"reviews{suffix}"
    write(path, REVIEWS)
    data = texts_from(path, text="review", label="stars")
    assert data.texts.to_pylist() == REVIEWS["review"]
    assert data.class_names == ("9", "10"), "sorted as numbers"
    assert data.labels.tolist() == [1, 0] * 6
    assert data.unreadable is None
    again = texts_from(pa.Table.from_pandas(pd.DataFrame(REVIEWS)), text="review", label="stars")
    assert data.fingerprint == again.fingerprint
    write_kept(data.take(np.arange(3, 12)), np.array([0, 2]), tmp_path / f"kept{suffix}")
    kept = tmp_path / f"kept{suffix}"
    assert [
        row
        for block in texts_module.read_blocks(kept, ["review"], only=True)
        for row in block["review"].to_pylist()
    ] == ["แย่มาก", "NA"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_can_be_handed_in_as_arrow(frame):
    table = frame(REVIEWS)
    table = table.to_arrow() if frame is pl.DataFrame else pa.Table.from_pandas(table)
    assert texts_from(table, text="review", label="stars").texts.to_pylist() == REVIEWS["review"]


def test_rows_without_text_or_label_keep_their_ids():
    texts = ["a b", None, " \u3000\n", "c", "d", "...", *"efghijkl"]
    labels = ["y", "x", "y", "", "x", None, *"xyxyxyxy"]
    with pytest.warns(UserWarning, match="left out 4 of 14 rows, .*: 1, 2, 3, 5 "):
        data = from_rows(texts, labels)
    assert np.flatnonzero(data.unreadable).tolist() == [1, 2, 3, 5]
    assert data.labels.tolist() == [1, 0, 0, 0, 0, 0, *[0, 1] * 4]
    assert data.readable_ids.tolist() == [0, 4, *range(6, 14)]
    readable = only_readable(data)
    assert readable.source.tolist() == data.readable_ids.tolist()
    assert readable.unreadable.sum() == 0


def test_a_text_without_any_token_is_a_batch_of_padding():
    data = from_rows(["\u200b", "yes yes"] * 5, ["a", "b"] * 5)
    assert data.batch(np.array([0, 2])).tolist() == [[0], [0]]
    assert data.batch(np.array([], int)).shape == (0, 1)


@FEW
@given(st.data())
def test_batches_follow_what_is_taken(data):
    texts = ["good film", "bad", "a b c d e", "!", "bad film good", "\u200b"] * 2
    whole = from_rows(texts, ["x", "y"] * 6)
    ids = np.array(data.draw(st.lists(st.integers(0, 11), min_size=1, max_size=8)))
    batch = whole.batch(ids)
    assert batch.dtype == np.int32
    for sample, row in zip(ids, batch, strict=True):
        own = whole.grams[whole.starts[sample] : whole.starts[sample + 1]]
        assert row[row > 0].tolist() == own.tolist()
        assert not row[len(own) :].any()
    part = whole.take(ids)
    assert part.batch(np.arange(len(ids))).tolist() == batch.tolist()
    assert part.snippets(np.arange(len(ids))) == whole.snippets(ids) == [texts[i] for i in ids]
    assert [*part.contents()] == [[*whole.contents()][i] for i in ids]
    assert part.shape == whole.shape


def test_numbers_that_matter_are_those_seen_twice():
    data = from_rows(["a b", "a c", "a b d"] * 1 + ["e"] * 9, ["x", "y"] * 6)
    used = [row[row > 0].tolist() for row in data.batch(np.arange(4))]
    assert [len(row) for row in used] == [3, 1, 3, 1], "a, b, a b; a; a, b, a b; e"
    assert used[0] == used[2]
    assert data.shape == (5,)


def test_equal_texts_have_equal_contents_and_no_others():
    data = from_rows(["a", "A", "a ", "a", "b"] * 2, [0, 1] * 5)
    contents = [*data.contents()]
    assert len(set(contents)) == 4
    assert contents[0] == contents[3] == contents[5]


def test_the_fingerprint_is_of_texts_labels_and_class_names():
    texts, labels = [*"abcdefghij"], [0, 1] * 5
    prints = {
        from_rows(*columns).fingerprint
        for columns in [
            (texts, labels),
            (texts[::-1], labels),
            (["ab", "", *texts[2:]][:1] + texts[1:], labels),
            (texts, labels[::-1]),
            (texts, [2, 1] * 5),
        ]
    }
    assert len(prints) == 5


def test_a_long_text_is_shown_cut():
    data = from_rows(["x" * 301, "y" * 300] * 5, [0, 1] * 5)
    assert data.snippets(np.array([0, 1])) == ["x" * 300 + "…", "y" * 300]


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["a"] * 9, [0, 1] * 4 + [0], "9 rows to learn from"),
        (["a"] * 12, ["x"] * 12, "every label in the column 'label' of the table is 'x'"),
        (["a"] * 12, [None] * 12, "0 rows to learn from"),
        ([None] * 12, [0, 1] * 6, "0 rows to learn from"),
        (["a"] * 100, [i / 7 for i in range(100)], "regression target.*few bins"),
        (["a"] * 100, [*range(100)], "regression target"),
        (["a"] * 500, [i % 25 / 2 for i in range(500)], "25 different numbers in 500 rows"),
        (["a"] * 100, [f"id{i}" for i in range(100)], "name of each row"),
        (["a"] * 12, [[0], [1]] * 6, "holds list<.*labels must be texts, numbers"),
        ([*range(12)], [0, 1] * 6, "'text' of the table holds int64, not texts"),
        ([["a"]] * 12, [0, 1] * 6, "holds list<.*not texts"),
    ],
)
def test_what_cannot_be_learnt_says_why(texts, labels, message):
    with pytest.raises(InputError, match=message):
        from_rows(texts, labels)


def test_many_classes_that_are_whole_numbers_are_classes():
    assert len(from_rows(["a"] * 500, [i % 25 for i in range(500)]).class_names) == 25


def test_the_same_column_twice_is_refused():
    with pytest.raises(InputError, match="same column, 'text'"):
        texts_from(pa.table({"text": ["a"]}), text="text", label="text")


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ([0.5, 5, 4.5], ("0.5", "4.5", "5")),
        ([-0.0, 0.0, 1.0], ("0", "1")),
        (["10", "9", "1e1"], ("9", "10", "1e1")),
        (["b", "10", "a"], ("10", "a", "b")),
        ([True, False, None], ("False", "True")),
        (["None", "NA", "nan"], ("NA", "None", "nan")),
    ],
)
@pytest.mark.filterwarnings("ignore:.*left out")
def test_classes_are_named_as_they_stand_and_sorted(labels, names):
    assert from_rows(["a"] * 15, labels * 5).class_names == names


def test_too_many_n_grams_are_refused_while_reading(monkeypatch, tmp_path):
    monkeypatch.setattr(texts_module, "IN_MEMORY", 10_000)
    with pytest.raises(InputError, match="n-grams of its texts take more than 10,000 bytes"):
        from_rows(["a b c d"] * 2000, [0, 1] * 1000)


def test_an_empty_file_of_rows(tmp_path):
    (tmp_path / "x.csv").write_text("text,label\n")
    with pytest.raises(InputError, match="0 rows to learn from"):
        texts_from(tmp_path / "x.csv", text="text", label="label")
    pq.write_table(pa.table({"text": pa.array([], pa.string()), "label": []}), tmp_path / "x.pq")
    with pytest.raises(InputError, match="0 rows to learn from"):
        texts_from(tmp_path / "x.pq", text="text", label="label")
