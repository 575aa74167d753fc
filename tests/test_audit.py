"""Labels that are probably wrong: the ranking, its columns, and files that are safe to open."""

import csv
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from dualprune.data import flip_labels, load
from dualprune.errors import InputError
from dualprune.run import Run
from dualprune.suspects import audit
from dualprune.train import Setup, record

from .beliefs import write_beliefs

CLASSES = 4
LABELS = np.array([0, 1, 2])


def believing(classes, sure, epochs=6, count=CLASSES):
    """Probabilities of a model that gives each sample's class this much, and the rest evenly."""
    rest = (1 - np.asarray(sure)) / (count - 1)
    one = np.where(np.eye(count)[classes] == 1, np.asarray(sure)[:, None], rest[:, None])
    return np.repeat(one[None], epochs, axis=0)


def test_quality_is_the_logistic_function_of_the_mean_margin(tmp_path):
    labels = np.array([0, 1, 2])
    beliefs = believing(np.array([0, 3, 2]), [0.7, 0.7, 0.25])
    found = audit(write_beliefs(tmp_path, beliefs, labels)).columns
    assert found["id"].tolist() == [1, 2, 0]
    margins = np.log([0.1 / 0.7, 1.0, 0.7 / 0.1])
    np.testing.assert_allclose(found["label_quality"], 1 / (1 + np.exp(-margins)), atol=1e-6)
    assert (found["given_label"][0], found["predicted_label"][0]) == (1, 3)
    assert found["predicted_label"][2] == found["given_label"][2] == 0


def test_a_hard_sample_is_not_taken_for_a_wrong_label(tmp_path):
    """Both labels get little belief, but only one has a rival."""
    beliefs = np.array([[0.1, 0.85, 0.03, 0.02], [0.24, 0.26, 0.25, 0.25]])[None].repeat(6, axis=0)
    found = audit(write_beliefs(tmp_path, beliefs, np.array([0, 0]))).columns
    assert found["id"].tolist() == [0, 1]
    assert found["label_quality"][0] < 0.2
    assert found["label_quality"][1] > 0.45


def test_no_label_is_called_wrong_where_no_group_stands_apart(tmp_path):
    """A weak model doubts many labels a little, which says nothing of any of them."""
    rng = np.random.default_rng(0)
    beliefs = rng.dirichlet(np.full(CLASSES, 5.0), (6, 500))
    found = audit(write_beliefs(tmp_path, beliefs, rng.integers(0, CLASSES, 500)))
    assert (found.columns["label_quality"] < 0.5).sum() > 250
    assert found.suspects == 0


@pytest.mark.parametrize("share", [0.05, 0.2, 0.4])
def test_flipped_labels_are_found_where_the_model_resists_them(tmp_path, share):
    rng = np.random.default_rng(0)
    true = rng.integers(0, CLASSES, 1000)
    labels, flipped = flip_labels(true, share, CLASSES, seed=1)
    beliefs = believing(true, rng.uniform(0.55, 0.95, 1000))
    found = audit(write_beliefs(tmp_path, beliefs, labels))
    assert found.suspects == len(flipped)
    assert set(found.columns["id"][: found.suspects]) == set(flipped)
    order = found.columns["id"]
    assert (found.columns["predicted_label"] == true[order]).all()


def test_the_first_epochs_alone_can_be_asked_and_the_never_seen_come_last(tmp_path):
    beliefs = np.concatenate([believing([1, 0, 0], [0.9] * 3, 3), believing([0] * 3, [0.8] * 3, 7)])
    seen = np.ones((10, 3), bool)
    seen[:, 1] = False
    run = write_beliefs(tmp_path, beliefs, np.array([0, 0, 0]), seen=seen)
    early, late = audit(run, epochs=3).columns, audit(run).columns
    assert early["id"].tolist() == [0, 2, 1]
    assert early["label_quality"][0] < 0.1
    assert late["label_quality"][0] > 0.5
    assert np.isnan(early["label_quality"][-1])
    assert not early["is_label_issue"][-1]


def test_files_hold_all_rows_and_no_formula(tmp_path):
    hostile = ('=HYPERLINK("http://x")', "+1", "-1", "@SUM(A1)")
    names = ("=cmd|' /C calc'!A0", 'a,b\n"c"', "Käfer/1.png")
    beliefs = believing(np.array([1, 1, 2]), [0.9] * 3)
    labels = np.array([0, 1, 2])
    write_beliefs(tmp_path / "run", beliefs, labels, class_names=hostile, names=names)
    found = audit(Run(tmp_path / "run"))
    parquet, text = found.save(tmp_path / "out")
    table = pq.read_table(parquet)
    assert table.column_names == [
        *("id", "name", "given_label", "predicted_label", "label_quality", "is_label_issue")
    ]
    assert table["name"].to_pylist()[0] == names[0]
    with text.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["id"]) for row in rows] == table["id"].to_pylist()
    assert rows[0]["given_label"] == "'" + hostile[0]
    cells = [cell for row in rows for cell in row.values()]
    assert not any(cell.startswith(("=", "+", "-", "@", "\t")) for cell in cells)
    assert {row["name"].removeprefix("'") for row in rows} == set(names)


@pytest.mark.parametrize("named", [{}, {"names": ["a", "b", "c"]}])
def test_an_audit_replaces_an_audit_and_nothing_else(tmp_path, named):
    found = audit(write_beliefs(tmp_path / "run", believing([1, 1, 2], [0.9] * 3), LABELS, **named))
    for _ in range(2):
        paths = found.save(tmp_path / "out")
    for path in paths:
        ours = path.read_bytes()
        for foreign in (b"", b"id,label\n0,1\n", (tmp_path / "run/run.json").read_bytes()):
            path.write_bytes(foreign)
            with pytest.raises(InputError, match=rf"{path.name} exists and is not an audit"):
                found.save(tmp_path / "out")
            assert path.read_bytes() == foreign
        path.write_bytes(ours)
    assert found.save(tmp_path / "out") == paths


def test_wrong_labels_of_digits_are_found_by_a_model_that_learns_them(tmp_path):
    images, test = load("digits")
    labels, flipped = flip_labels(images.labels, 0.1, 10, seed=0)
    setup = Setup.of(replace(images, labels=labels), test, name="digits")
    found = audit(record(setup, tmp_path, epochs=12))
    worst = found.columns["id"][: len(flipped)]
    assert np.isin(worst, flipped).mean() > 0.9
    assert 0.7 < found.suspects / len(flipped) < 1.3
    assert audit(record(Setup.of(images, test, name="digits"), tmp_path / "clean")).suspects < 20
