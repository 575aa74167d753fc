"""prune, compare, audit, report and select on texts, tables, and what people have in memory."""

import csv
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from datasets import Dataset, DatasetDict
from torch import nn

from dualprune import Coreset, Run, choose, compare, prune
from dualprune.data import NO_COLUMNS, Columns, load
from dualprune.errors import InputError
from dualprune.train import Setup
from dualprune.train import record as record_run
from dualprune.train.datasets import Samples
from dualprune.workflows.given import given_data
from tests.commands import dualprune as command

WORDS = {
    "animals": "cat dog horse fox",
    "plants": "oak rose fern moss",
    "stones": "ruby jade flint",
}
COUNT = 120
WRONG = [5, 17, 40]


def sentences():
    """Short texts of three classes; the labels of some are wrong."""
    rng, kinds = np.random.default_rng(0), list(WORDS)
    texts, labels = [], []
    for number in range(COUNT):
        kind = kinds[number % 3]
        words = rng.choice(WORDS[kind].split(), 3)
        texts.append(f"a {words[0]}, the {words[1]} and one {words[2]}")
        labels.append(kinds[(number + 1) % 3] if number in WRONG else kind)
    return texts, labels


def measures():
    """Rows of numbers and categories; the label follows from both."""
    rng = np.random.default_rng(1)
    x, colour = rng.normal(size=COUNT), rng.choice(["red", "blue", None], COUNT)
    y = np.where((x > 0) ^ (colour == "red"), "yes", "no")
    when = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(COUNT), "D")
    return pd.DataFrame({"x": x, "colour": colour, "when": when, "y": y})


@pytest.fixture
def reviews(tmp_path):
    path = tmp_path / "reviews.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "kind"), *zip(*sentences(), strict=True)])
    return path


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.parquet"
    measures().to_parquet(path)
    return path


def dualprune(*words, code=0):
    """Give what a command said."""
    ended, _, said = command(*words)
    assert ended == code, said
    return said


FEW = ("--epochs", "12", "--keep", "0.5")


def test_texts_of_a_file_to_a_page_and_the_kept_rows(reviews, tmp_path):
    out = tmp_path / "out"
    said = dualprune(
        "prune", reviews, "--text", "text", "--label", "kind", *FEW, "--out", out,
        "--materialize", "copy",
    )  # fmt: skip
    assert "bag with recipe text" in said
    coreset = Coreset.load(out)
    rows = reviews.read_text().splitlines()
    kept = (out / "kept.csv").read_text().splitlines()
    assert kept == [rows[0], *(rows[1 + i] for i in coreset.ids)]
    assert coreset.card.training.kind == "texts"
    page = (out / "report.html").read_text()
    assert "the oak and one" in page or "the fern and one" in page, "texts are shown"
    assert "prune reviews.csv --text text --label kind --run out --keep" in page
    assert "audit out/run --data reviews.csv --text text --label kind --review" in page
    frame = pd.read_csv(reviews)
    np.testing.assert_array_equal(
        frame.kind.iloc[coreset.ids],
        np.array(Run(out / "run").description.class_names)[coreset.columns["label"][coreset.ids]],
    )


def test_the_same_recording_serves_another_share_and_select(reviews, tmp_path):
    words = ("--text", "text", "--label", "kind")
    dualprune("prune", reviews, *words, *FEW, "--out", tmp_path / "a")
    more = ("--run", tmp_path / "a", "--out", tmp_path / "b")
    dualprune("prune", reviews, *words, "--keep", "0.25", *more)
    assert len(Coreset.load(tmp_path / "b")) == COUNT // 4
    chosen = ("select", "beta", tmp_path / "a", "--keep", "9", "--out", tmp_path / "c")
    dualprune(*chosen, "--materialize", "copy", "--data", reviews, *words)
    assert len((tmp_path / "c/kept.csv").read_text().splitlines()) == 10
    said = dualprune(
        "prune", reviews, *words, *FEW[:2], "--keep", "9", "--out", tmp_path / "a", code=2
    )
    assert "--text text --label kind" in said, "the command for another choice can be run"


def test_rows_of_a_table_say_how_columns_were_read(table, tmp_path):
    out = tmp_path / "out"
    said = dualprune("prune", table, "--label", "y", *FEW, "--out", out, "--materialize", "copy")
    assert "mlp with recipe table" in said
    assert "number: x" in said
    assert "colour" in said
    kept = pq.read_table(out / "kept.parquet")
    expected = pq.read_table(table).take(Coreset.load(out).ids)
    assert kept.equals(expected)
    assert kept.schema.equals(expected.schema, check_metadata=True)
    columns = json.loads((out / "card.json").read_text())["training"]["columns"]
    assert len(columns) == 3


def test_a_folder_with_the_name_of_a_model_is_no_checkpoint(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("auto", "mlp"):
        (tmp_path / name).mkdir()
    coreset = prune(table, label="y", keep=0.5, out="pruned", epochs=10)
    assert (coreset.card.training.recipe, coreset.card.training.model) == ("table", "mlp")


def test_ignored_columns_are_not_read(table, tmp_path):
    data, _ = load(table, columns=Columns(label="y", ignore=("when", "colour")))
    assert [line.partition(":")[0] for line in data.described()] == ["x"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "datasets"])
def test_tables_in_memory_are_pruned_as_their_file(kind, tmp_path):
    texts, labels = sentences()
    given = {
        "pandas": lambda d: pd.DataFrame(d, index=np.arange(COUNT)[::-1]),
        "polars": pl.DataFrame,
        "arrow": pa.table,
        "datasets": Dataset.from_dict,
    }[kind]({"text": texts, "kind": labels})
    how = {"text": "text", "label": "kind", "keep": 30, "epochs": 10}
    coreset = prune(given, out=tmp_path / "memory", **how)
    pq.write_table(pa.table({"text": texts, "kind": labels}), tmp_path / "x.parquet")
    same = prune(tmp_path / "x.parquet", out=tmp_path / "file", **how)
    assert coreset.card.ids_sha256 == same.card.ids_sha256
    assert len(coreset.apply(given)) == 30


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.Table.from_pandas, Dataset])
def test_a_table_in_memory_needs_a_label(kind, tmp_path):
    given = Dataset.from_pandas(measures()) if kind is Dataset else kind(measures())
    with pytest.raises(InputError, match="say which column holds the label"):
        prune(given, keep=0.5, out=tmp_path / "out")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pl.LazyFrame({"x": [1.0], "y": ["a"]}), "LazyFrame .* call .collect.. first"),
        (DatasetDict(train=Dataset.from_dict({"x": [1.0]})), "choose one of its parts"),
        ({"x": [1.0], "y": ["a"]}, "make a table of its columns first"),
        (Dataset.from_dict({"x": [1.0]}).to_iterable_dataset(), "make a Dataset of it first"),
        (pa.record_batch({"x": [1.0]}), "make a table of it first"),
        (pd.Series([1.0]), "Series is none"),
    ],
)
def test_what_is_almost_a_table_says_what_to_do_first(data, message):
    with pytest.raises(InputError, match=message):
        given_data(data, Columns(label="y"))


ODD = {
    "mixed": ["a", 1] * (COUNT // 2),
    "complex": np.arange(COUNT) * 1j,
    "sparse": pd.arrays.SparseArray([0, 1] * (COUNT // 2)),
    "objects": [object()] * COUNT,
    "large": [2**70] * COUNT,
    "categories": pd.Categorical(["a", 1] * (COUNT // 2)),
}


@pytest.mark.parametrize("name", ODD)
def test_a_column_that_cannot_be_read_is_named_if_it_is_used(name):
    table = measures().assign(**{name: ODD[name]})
    with pytest.raises(InputError, match=f"the column '{name}' of the table, of type .* ignore"):
        given_data(table, Columns(label="y"))
    same = given_data(measures(), Columns(label="y"))
    left_out = given_data(table, Columns(label="y", ignore=(name,)))
    assert left_out.fingerprint == same.fingerprint
    table["words"] = sentences()[0]
    assert len(given_data(table, Columns(text="words", label="y"))) == COUNT


def test_bins_of_numbers_are_labels_and_categories():
    x, bins = measures()["x"], pd.cut(measures()["x"], [-np.inf, -0.5, 0.5, np.inf])
    table = pd.DataFrame({"x": x, "bins": bins, "plain": pd.arrays.IntervalArray(bins)})
    data = given_data(table, Columns(label="bins"))
    assert data.class_names == ("(-0.5, 0.5]", "(-inf, -0.5]", "(0.5, inf]")
    assert data.described() == ["x: number", "plain: category with 3 levels"]
    assert given_data(table, Columns(label="plain")).labels.tolist() == data.labels.tolist()
    with pytest.raises(InputError, match=r"holds extension<pandas\.interval"):
        given_data(pa.Table.from_pandas(table), Columns(label="bins"))


def test_columns_of_the_same_name_are_refused_and_numbers_are_names_as_text():
    table = measures().rename(columns={"colour": "x"})
    with pytest.raises(InputError, match="several columns of the same name: 'x'"):
        given_data(table, Columns(label="y"))
    table.columns = range(4)
    assert given_data(table, Columns(label="3", ignore=("0",))).class_names == ("no", "yes")


class Pairs(torch.utils.data.Dataset):
    """A dataset of a user's own: points of two classes."""

    def __init__(self, count=80):
        draw = torch.Generator().manual_seed(0)
        self.y = torch.arange(count) % 2
        self.x = torch.randn(count, 3, generator=draw) + 2 * self.y[:, None]

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        return self.x[index], int(self.y[index])


def test_any_dataset_of_torch_with_a_module_of_ones_own(tmp_path):
    data, module = Pairs(), nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
    coreset = prune(data, model=module, keep=0.25, epochs=10, out=tmp_path / "a")
    assert len(coreset) == 20
    assert len(coreset.apply(data)) == 20
    run = Run(tmp_path / "a/run")
    np.testing.assert_array_equal(run.labels, data.y)
    again = prune(data, model=module, keep=0.25, epochs=10, out=tmp_path / "b")
    np.testing.assert_array_equal(coreset.ids, again.ids)
    with pytest.raises(InputError, match="without recording again") as told:
        prune(data, model=module, keep=0.5, epochs=10, out=tmp_path / "a")
    call = str(told.value).partition("without recording again: ")[2]
    other = eval(call, {"prune": prune, "data": data, "model": module})
    assert len(other) == 40
    assert other.card.runs == coreset.card.runs


def test_a_dataset_of_torch_is_compared(tmp_path):
    module = nn.Linear(3, 2)
    found = compare(Pairs(), model=module, keep=[0.5], seeds=1, out=tmp_path)
    assert {line.row for line in found.lines} >= {"dual+beta", "random"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([{"x": 1, "label": 0}], "must begin with an input and end with a class number"),
        ([(torch.zeros(2), 0.5), (torch.ones(2), 1.0)], "must be a class number, got 0.5"),
        ([(torch.zeros(2), 1), (torch.ones(2), 1)], "of two classes or more"),
        ([(torch.zeros(2), -1), (torch.ones(2), 1)], "class numbers from 0"),
        ([(torch.zeros(2), "cat"), (torch.ones(2), "dog")], "must be a class number, got 'cat'"),
        ([(torch.zeros(2), None), (torch.ones(2), 1)], "must be a class number, got None"),
        ([(torch.zeros(2), 3_000_000), (torch.ones(2), 0)], "got 3000000 among 2 samples"),
        (iter([]), "is no data that can be read"),
    ],
)
def test_what_is_no_dataset_is_refused_in_words(data, message, tmp_path):
    with pytest.raises(InputError, match=message):
        prune(data, model=nn.Linear(2, 2), keep=0.5, out=tmp_path / "out")


def test_the_classes_of_a_dataset_of_torch_may_be_an_array_and_must_suffice():
    data = Pairs()
    data.classes = np.array(["low", "high", "none of these"])
    assert Samples.of(data).class_names == ("low", "high", "none of these")
    for none in (2, [], lambda: ["low", "high"]):
        data.classes = none
        assert Samples.of(data).class_names == ("0", "1")
    data.classes = ["low"]
    with pytest.raises(InputError, match="names 1 classes, and a label is 1"):
        Samples.of(data)


def test_a_file_of_ones_own_may_be_called_datasets():
    own = type("Dataset", (Pairs,), {"__module__": "datasets"})
    assert isinstance(given_data(own(), NO_COLUMNS), Samples)


def test_a_dataset_of_torch_needs_a_module(tmp_path):
    with pytest.raises(InputError, match="give a module of your own"):
        prune(Pairs(), keep=0.5, out=tmp_path / "out")


def test_audit_and_compare_work_on_texts(reviews, tmp_path):
    words = ("--text", "text", "--label", "kind")
    dualprune("record", reviews, *words, "--epochs", "8", "--out", tmp_path / "run")
    sheet = tmp_path / "review.csv"
    dualprune("audit", tmp_path / "run", "--review", sheet, "--data", reviews, *words)
    with sheet.open() as file:
        rows = list(csv.DictReader(file))
    assert {int(row["id"]) for row in rows[:3]} == set(WRONG)
    assert rows[0]["content"] == sentences()[0][int(rows[0]["id"])]
    found = compare(reviews, text="text", label="kind", keep=[0.5], seeds=1, out=tmp_path / "c")
    assert all(np.isfinite(line.values["accuracy"]) for line in found.lines)


def test_labels_of_rows_can_be_corrected(reviews, tmp_path):
    sheet = tmp_path / "corrected.csv"
    sheet.write_text("id,label\n5,stones\n")
    out, words = tmp_path / "out", ("--text", "text", "--label", "kind")
    dualprune("prune", reviews, *words, *FEW, "--labels", sheet, "--out", out)
    assert Coreset.load(out).card.training.relabelled == 1


def test_corrected_labels_are_written_and_known_to_what_comes_after(reviews, tmp_path):
    kinds, words = list(WORDS), ("--text", "text", "--label", "kind")
    sheet, out = tmp_path / "corrected.csv", tmp_path / "out"
    sheet.write_text("id,label\n" + "".join(f"{n},{kinds[n % 3]}\n" for n in WRONG))
    dualprune("prune", reviews, *words, *FEW, "--labels", sheet, "--out", out)
    small = tmp_path / "small"
    dualprune(
        *("select", "random", out, "--keep", COUNT, "--data", reviews, *words),
        *("--materialize", "copy", "--out", small),
    )
    kept = pd.read_csv(small / "kept.csv")["kind"].tolist()
    assert kept == [kinds[number % 3] for number in range(COUNT)]
    dualprune("audit", out, "--data", reviews, *words)
    train = ("train", reviews, "--coreset", out, *words, "--epochs", "1", "--out", tmp_path / "t")
    assert "with the same --labels" in dualprune(*train, code=2)
    dualprune(*train, "--labels", sheet)


@pytest.mark.filterwarnings("ignore:.*left out")
@pytest.mark.parametrize("new", ["animals", "stones"])
def test_a_row_without_a_label_gets_none_by_correction(new, reviews, tmp_path):
    rows = reviews.read_text().splitlines()
    rows[1 + 7] = rows[1 + 7].rpartition(",")[0] + ","
    reviews.write_text("\n".join(rows))
    sheet = tmp_path / "corrected.csv"
    sheet.write_text(f"id,label\n5,stones\n7,{new}\n")
    with pytest.raises(InputError, match=r"row 3 of .* labels sample 7, which is left out"):
        prune(reviews, text="text", label="kind", keep=9, labels=sheet, out=tmp_path / "out")


def test_a_check_on_texts_is_told_in_samples(reviews, tmp_path):
    said = dualprune(
        *("prune", reviews, "--text", "text", "--label", "kind", "--keep", "0.5"),
        *("--check", "--check-seeds", "2", "--processes", "1", "--out", tmp_path / "out"),
    )
    assert "judged on 12 samples" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("{reviews}", "--text", "text"), "say which column holds the label"),
        (("{reviews}", "--text", "txet", "--label", "kind"), "Did you mean text"),
        (("{reviews}", "--label", "kind", "--materialize", "link"), "rows cannot be linked"),
        (("{reviews}", "--text", "text", "--label", "kind", "--size", "9"), "only image files"),
        (("{reviews}", "--text", "text", "--label", "kind", "--model", "cnn"), "no model 'cnn'"),
        (("digits", "--label", "kind"), "name columns of a file of rows"),
        (("digits", "--materialize", "copy"), "only images that are files"),
    ],
)
def test_what_cannot_be_is_refused_in_words(words, message, reviews, tmp_path):
    words = [word.format(reviews=reviews) for word in words]
    said = dualprune("prune", *words, *FEW, "--out", tmp_path / "out", code=2)
    assert message in said
    assert not (tmp_path / "out/run").exists()


def test_training_on_texts_resumes_to_the_same_result(reviews, tmp_path):
    """AdamW remembers more than SGD: all of it must be in the checkpoint."""
    setup = Setup.load(reviews, columns=Columns("text", "kind"))
    whole = record_run(setup, tmp_path / "whole", epochs=4)

    def stop(progress):
        if progress.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        record_run(setup, tmp_path / "parts", epochs=4, tell=stop)
    parts = record_run(setup, tmp_path / "parts", epochs=4)
    np.testing.assert_array_equal(whole["loss"], parts["loss"])


def test_a_choice_from_a_recording_of_texts_needs_no_torch_loop(reviews, tmp_path):
    setup = Setup.load(reviews, columns=Columns("text", "kind"))
    run = record_run(setup, tmp_path / "run", epochs=10)
    assert len(choose(run, "dual+beta", keep=0.1)) == COUNT // 10


@pytest.fixture
def checkpoint(tmp_path):
    """A tiny classifier of texts with a tokenizer, as `save_pretrained` leaves them."""
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    words = ["[PAD]", "[UNK]", *sorted({w for text in sentences()[0] for w in text.split()})]
    model = tokenizers.models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]")
    raw = tokenizers.Tokenizer(model)
    raw.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    folder = tmp_path / "tiny-bert"
    named = {"unk_token": "[UNK]", "pad_token": "[PAD]"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=raw, **named).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
    )
    torch.manual_seed(0)
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def test_a_checkpoint_of_transformers_is_fine_tuned(checkpoint, reviews, tmp_path):
    out = tmp_path / "out"
    words = ("--text", "text", "--label", "kind", "--keep", "0.5", "--model", checkpoint)
    dualprune("prune", reviews, *words, "--out", out)
    card = Coreset.load(out).card
    assert (card.k, card.training.recipe) == (COUNT // 2, "checkpoint")
    loss = Run(out / "run")["loss"]
    assert loss[-1].mean() < loss[0].mean()
    again = tmp_path / "again"
    dualprune("prune", reviews, *words[:5], "0.25", "--run", out, "--out", again)
    weights = checkpoint / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"abcd")
    said = dualprune("prune", reviews, *words, "--out", out, code=2)
    assert "another data, labels, model, recipe or size" in said


def test_a_checkpoint_that_is_not_there_or_not_for_these_data_is_refused(table, reviews, tmp_path):
    out = ("--keep", "0.5", "--out", tmp_path / "out")
    words = ("--text", "text", "--label", "kind", "--model", tmp_path / "nothing")
    assert "cannot load the checkpoint" in dualprune("prune", reviews, *words, *out, code=2)
    said = dualprune("prune", table, "--label", "y", "--model", "some/bert", *out, code=2)
    assert "is a checkpoint for texts, and these are rows" in said


def test_a_module_must_be_given_again_to_choose_from_its_recording(tmp_path):
    torch.manual_seed(0)
    dataset = [(torch.randn(3) + number % 2, number % 2) for number in range(60)]
    model = torch.nn.Sequential(torch.nn.Linear(3, 2))
    prune(dataset, model=model, keep=0.5, epochs=11, out=tmp_path / "a")
    again = {"keep": 0.3, "run": tmp_path / "a", "out": tmp_path / "b"}
    assert len(prune(dataset, model=model, **again)) == 18
    with pytest.raises(InputError, match=r"a module of class Sequential, and .* given is Linear"):
        prune(dataset, model=model[0], **again)
    with pytest.raises(InputError, match=r"a module of class Sequential, and .* given is none"):
        prune("digits", **again)
