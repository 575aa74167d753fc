"""Files are read with nothing but the facts of `docs/formats.md`, which names all they hold.

The reader below is what a stranger would write in another language: it imports nothing of
dualprune. Beside it, each test compares what it reads with what dualprune reads.
"""

import hashlib
import json
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import dualprune
from dualprune import Run
from dualprune.coreset import Arm, Card, Check, ShortClass, Training, WrongLabels
from dualprune.experiments.results import Line, append
from dualprune.run.writer import write_part
from dualprune.score.scored import Scored
from tests.run_by_hand import NOTHING_ODD, start

PAGE = (Path(__file__).parents[1] / "docs" / "formats.md").read_text("utf-8")
SAMPLES, EPOCHS = 50, 12


# ------------------------------------------------------------------- the reader of a stranger


def named(part):
    """Every name in code marks below a heading of the page, also those of its sub-headings."""
    level = len(re.search(rf"^(#+) {re.escape(part)}$", PAGE, re.MULTILINE)[1])
    text = re.split(rf"^#+ {re.escape(part)}$", PAGE, maxsplit=1, flags=re.MULTILINE)[1]
    text = re.split(rf"^#{{1,{level}}} ", text, maxsplit=1, flags=re.MULTILINE)[0]
    return set(re.findall(r"`([a-z][\w]*)`", text))


def seal(content):
    rest = {key: value for key, value in content.items() if key not in ("seal", "sealed")}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_sealed(path):
    content = json.loads(path.read_text("utf-8"))
    assert content["seal"] == seal(content)
    return content


def read_part(path):
    """Rows of a part and its facts; the hash in its name and its sums are checked."""
    data = path.read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - size : -8]
    assert hashlib.sha256(footer).hexdigest()[:32] == path.stem.rpartition("-")[2]
    file = pq.ParquetFile(path)
    facts = json.loads(file.metadata.metadata[b"dualprune"])
    for number, (first, last) in enumerate(facts["spans"]):
        group = file.read_row_group(number)
        ids = group["id"].to_numpy()
        assert (ids[0], ids[-1]) == (first, last)
        for name in group.column_names:
            data = group[name].to_numpy().tobytes()
            whole = len(data) // 8 * 8
            total = int(np.frombuffer(data[:whole], "<u8").sum()) + int.from_bytes(
                data[whole:], "little"
            )
            assert total % 2**64 == facts["sums"][name][number]
    return file.read().to_pydict(), facts


def parts_of(folder, writers):
    parts = {}
    for path in folder.glob("part-*.parquet"):
        match = re.fullmatch(r"part-(\d+)-of-(\d+)-[0-9a-f]{32}\.parquet", path.name)
        if match and int(match[2]) == writers:
            parts[int(match[1])] = path
    return parts if len(parts) == writers else None


def epochs_of(root):
    """Folders of parts by epoch, the filling ones last; see "Which epochs exist"."""
    own, epochs = {}, {}
    for folder in sorted((root / "attempts").iterdir(), key=lambda path: int(path.name)):
        if not (folder / "start.json").exists():
            continue
        begin = read_sealed(folder / "start.json")
        mine = {}
        for path in folder.iterdir():
            if path.is_dir() and (parts := parts_of(path, begin["writers"])):
                mine[int(path.name)] = [parts[rank] for rank in sorted(parts)]
        continued = {n: own[a][n] for n, a in enumerate(begin["continues"], 1)}
        first = begin["first_epoch"]
        if first in mine:
            mine[first] = mine[first] + continued.get(first, [])
            epochs = continued | mine
        own[int(folder.name)] = mine
    finished = []
    while len(finished) + 1 in epochs:
        finished.append(epochs[len(finished) + 1])
    return finished


def read_signal(root, name):
    about = read_sealed(root / "run.json")
    missing = np.nan if "f" in about["signals"][name] else -1
    rows = []
    for parts in epochs_of(root):
        row = np.full(about["samples"], missing, about["signals"][name])
        for path in reversed(parts):
            columns, _ = read_part(path)
            row[columns["id"]] = columns[name]
        rows.append(row)
    return np.stack(rows)


# -------------------------------------------------------------------------------- the tests


@pytest.fixture
def run(tmp_path):
    """A run of two attempts and two writers, with names, labels, features and an extra pass."""
    rng, root = np.random.default_rng(1), tmp_path / "run"
    signals = ("loss", "margin", "rival", "entropy", "error_norm")
    labels = (np.arange(SAMPLES) % 3).astype(np.int32)
    names = [f"photo é {i}" for i in range(SAMPLES)]

    def write(attempt, epoch, seen, **more):
        for writer in range(attempt.writers):
            ids = seen[seen % attempt.writers == writer]
            margin = rng.normal(2, 1, len(ids)).astype(np.float32)
            rows = {"id": ids, "label": labels[ids], "loss": np.log1p(np.exp(-margin))}
            rows |= {"margin": margin, "rival": (labels[ids] + 1) % 3}
            rows |= {"entropy": abs(margin), "error_norm": abs(margin)}
            write_part(attempt, epoch, writer, rows, NOTHING_ODD | more)

    everything = np.arange(SAMPLES)
    first = start(root, SAMPLES, 3, signals, names=names, class_names=list("abc"))
    for epoch in range(1, 9):
        write(first, epoch, everything[everything % 7 != epoch])
    second = start(
        root, SAMPLES, 3, signals, names=names, class_names=list("abc"), start_epoch=7, writers=2
    )
    write(second, 7, everything[20:])  # the rest of an epoch that was there
    for epoch in range(8, EPOCHS + 1):
        write(second, epoch, everything, step=10 * epoch)
    return Run(root)


def test_a_run_is_read_from_the_facts_of_the_page(run):
    assert len(epochs_of(run.path)) == run.epochs == EPOCHS
    for name in run.signals:
        np.testing.assert_array_equal(read_signal(run.path, name), run[name])
    filled = read_signal(run.path, "loss")[6, :20]
    assert np.isfinite(filled).sum() > 15, "an epoch that is completed keeps its old rows"


def test_the_page_names_all_that_a_run_holds(run):
    known = named("Run")
    assert read_sealed(run.path / "run.json").keys() <= known
    for begin in run.path.glob("attempts/*/start.json"):
        assert read_sealed(begin).keys() <= known
    for path in run.path.glob("attempts/*/*/part-*.parquet"):
        columns, facts = read_part(path)
        assert columns.keys() <= known
        assert facts.keys() <= known
    names = pq.read_table(run.path / "names.parquet")
    assert set(names.column_names) <= known


def test_digests_of_names_and_run_are_as_the_page_says(run):
    about = read_sealed(run.path / "run.json")
    names = pq.read_table(run.path / "names.parquet")
    text = json.dumps(names["name"].to_pylist()).encode()
    content = text + names["source"].to_numpy().astype("<i8").tobytes()
    assert hashlib.sha256(content).hexdigest() == about["names"]
    hashes = [path.stem.rpartition("-")[2] for parts in epochs_of(run.path) for path in parts]
    text = "".join([about["seal"], *hashes])
    assert hashlib.sha256(text.encode()).hexdigest() == run.fingerprint


def test_derived_signals_are_as_the_page_says(run):
    loss, margin = (read_signal(run.path, name).astype(float) for name in ("loss", "margin"))
    p = np.exp(-loss)
    np.testing.assert_allclose(run["target_prob"], p)
    np.testing.assert_array_equal(run["correct"] == 1, margin > 0)
    rival = read_signal(run.path, "rival")
    seen = np.isfinite(margin)
    prediction = np.where(margin > 0, np.arange(SAMPLES) % 3, rival)
    np.testing.assert_array_equal(run["prediction"][seen], prediction[seen])
    np.testing.assert_allclose(run["prob_margin"], p * -np.expm1(-margin), atol=1e-12)
    names = {"target_prob", "correct", "prediction", "prob_margin", "grand_norm"}
    assert names <= named("Derived signals")


def test_scores_are_read_from_the_facts_of_the_page(run, tmp_path):
    p = run["target_prob"]
    values = dualprune.score.dual(p)
    scored = Scored(values, "dual", {"window": 10}, EPOCHS, [run.fingerprint])
    scored.save(tmp_path / scored.file_name)
    table = pq.read_table(tmp_path / scored.file_name)
    card = json.loads(table.schema.metadata[b"dualprune"])
    assert card["seal"] == seal(card)
    stored = table["score"].to_numpy()
    assert hashlib.sha256(stored.tobytes()).hexdigest() == card["scores_sha256"]
    np.testing.assert_array_equal(stored, values)
    assert card.keys() | set(table.column_names) <= named("Scores")
    short = {key: card[key] for key in ("score", "knobs", "epochs", "runs")}
    assert scored.file_name == f"dual-{seal(short)[:12]}.parquet"


def test_a_coreset_is_read_from_the_facts_of_the_page(run, tmp_path):
    coreset = dualprune.choose(run, "dual+beta", keep=0.3)
    folder = coreset.save(tmp_path / "small")
    card = read_sealed(folder / "card.json")
    for name, sha in card["files"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == sha
    table = pq.read_table(folder / "coreset.parquet")
    ids = table["id"].to_numpy()[table["kept"].to_numpy()]
    assert hashlib.sha256(ids.astype("<i8").tobytes()).hexdigest() == card["ids_sha256"]
    np.testing.assert_array_equal(ids, coreset.ids)
    assert card["runs"] == [run.fingerprint]
    assert card.keys() | set(table.column_names) <= named("Coreset")
    assert set(table["why"].to_pylist()) - {"", None} <= named("Coreset")


def test_the_page_names_all_of_a_card_and_of_a_line():
    known = named("Coreset")
    for kind in (Card, Training, WrongLabels, ShortClass, Check, Arm):
        assert {field.name for field in fields(kind)} <= known, kind
    assert {field.name for field in fields(Line)} | {"seal", "sealed"} <= named("Results")


def test_results_are_read_from_the_facts_of_the_page(tmp_path):
    line = Line("digits", "smoke", "random", 0.5, 0, {"accuracy": 0.9}, "ab12", 2, "numpy 2")
    append(tmp_path / "results.jsonl", line)
    text = (tmp_path / "results.jsonl").read_text("utf-8")
    content = json.loads(text)
    assert text.endswith("\n")
    assert content["seal"] == seal(content)
    assert content["values"]["accuracy"] == 0.9
    committed = Path(__file__).parents[1] / "docs" / "results" / "results.jsonl"
    values = {key for line in committed.read_text("utf-8").splitlines() for key in json.loads(line)}
    assert values <= named("Results")
