"""Labels that are probably wrong: the ranking, its columns, and files that are safe to open."""

import csv
import json
import shlex
import shutil
from dataclasses import asdict, replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from dualprune import choose
from dualprune.coreset import Card, Coreset, WrongLabels
from dualprune.data import flip_labels, load
from dualprune.errors import InputError
from dualprune.run import Run
from dualprune.suspects import audit, corrected, write_review
from dualprune.suspects.estimate import count_wrong
from dualprune.suspects.sheet import read_sheet, write_sheet
from dualprune.train import Setup, record

from .beliefs import write_beliefs
from .commands import dualprune

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


def margins(wrong, *, clean=(0.5, 1.3), low=(-3.3, 1.6), samples=4000):
    """Mean margins of which the last so many are those of wrong labels."""
    rng = np.random.default_rng(wrong)
    return np.append(rng.normal(*clean, samples - wrong), rng.normal(*low, wrong))


@pytest.mark.parametrize("wrong", [200, 400, 800, 1600])
def test_the_count_of_wrong_labels_lies_in_its_interval_where_groups_overlap(wrong):
    count = count_wrong(margins(wrong))
    assert count.low <= wrong <= count.high
    assert count.estimate is not None
    assert abs(count.estimate - wrong) < 0.3 * wrong + 40


@pytest.mark.parametrize("mean", [-1.0, 0.0, 0.7, 5.0])
def test_clean_labels_are_not_called_wrong_whatever_the_model_knows(mean):
    rng = np.random.default_rng(0)
    skewed = mean + rng.gamma(4, 0.7, 4000) - 2.8
    for margin in (rng.normal(mean, 1.5, 4000), skewed, 2 * mean - skewed):
        assert not count_wrong(margin).estimate


def test_one_group_of_two_widths_is_not_two_groups():
    """Most labels near one place, others around the same place but far from each other."""
    rng = np.random.default_rng(0)
    margin = np.append(rng.normal(1, 0.7, 3000), rng.normal(1, 2.5, 1000))
    assert not count_wrong(margin).estimate


def test_a_count_does_not_depend_on_order_scale_or_one_huge_margin():
    margin = margins(200)
    count = count_wrong(margin)
    assert count_wrong(margin[::-1]) == count
    assert abs(count_wrong(1000 * margin).estimate - count.estimate) <= 1
    assert abs(count_wrong(np.append(margin, [1e9, np.nan])).estimate - count.estimate) < 20


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (WrongLabels(194, 162, 231), "about 190 (160 to 230) labels are probably wrong"),
        (WrongLabels(0, 0, 0), "no labels look wrong"),
        (WrongLabels(0, 0, 7), "no labels look wrong (at most 7)"),
        (
            WrongLabels(None, 0, 1234),
            "0 to 1,200 labels may be wrong, how many cannot be told: look at the 50 worst, and go "
            "on if many of them are wrong",
        ),
    ],
)
def test_how_many_are_wrong_is_said_in_the_same_words(count, words):
    assert str(count) == words


def test_where_it_cannot_be_told_it_is_said_what_to_do_and_that_works(tmp_path):
    rng = np.random.default_rng(0)
    beliefs = rng.dirichlet(np.full(CLASSES, 5.0), (6, 500))
    run = write_beliefs(tmp_path / "my run", beliefs, rng.integers(0, CLASSES, 500))
    ranked = audit(run)
    code, printed, _ = dualprune("audit", run.path)
    *table, told, more = printed.splitlines()
    assert (code, len(table) - 4, told) == (0, 50, str(ranked.wrong))
    words = shlex.split(more.removeprefix("to go on: ").partition(";")[0])
    assert words == ["dualprune", "audit", str(run.path), "--show", "100"]
    review = ("--review", tmp_path / "labels.csv")
    code, printed, _ = dualprune(*words[1:], *review)
    assert (code, "--show 200; to correct labels, add --review" in printed) == (0, True)
    written = [int(row["id"]) for row in rows_of(review[1])]
    assert written == ranked.columns["id"][:100].tolist()


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


NAMES = ("a/1.png", "=b/2.png", "'=b/3.png")
CLASS_NAMES = ("cat", "=dog", "'=dog", "-cow")


def reviewed(tmp_path):
    """A sheet of three samples, of which the first two got another class than their label."""
    beliefs = believing(np.array([2, 3, 2]), [0.9] * 3)
    run = write_beliefs(
        tmp_path / "run", beliefs, LABELS, class_names=CLASS_NAMES, names=list(NAMES)
    )
    sheet = tmp_path / "sheets/review.csv"
    assert write_review(audit(run), sheet) == 3
    return sheet


def rows_of(sheet):
    with sheet.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def fill(sheet, rows, **options):
    with sheet.open("w", newline="", encoding=options.pop("encoding", "utf-8")) as file:
        writer = csv.DictWriter(file, rows[0], **options)
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize("found_by", ["id", "name"])
@pytest.mark.parametrize(
    "saved", [{}, {"encoding": "utf-8-sig", "delimiter": ";"}, {"lineterminator": "\r"}]
)
def test_accepted_suggestions_become_labels(tmp_path, found_by, saved):
    sheet = reviewed(tmp_path)
    rows = rows_of(sheet)
    assert list(rows[0]) == [
        *("id", "name", "given_label", "suggested_label", "label_quality", "label")
    ]
    assert corrected(sheet, LABELS, CLASS_NAMES, NAMES).tolist() == LABELS.tolist()
    rows = [row | {"label": row["suggested_label"]} for row in rows]
    rows = [{found_by: row[found_by], "label": row["label"], "why": "seen; sure"} for row in rows]
    fill(sheet, rows, **saved)
    assert corrected(sheet, LABELS, CLASS_NAMES, NAMES).tolist() == [2, 3, 2]
    with pytest.raises(InputError, match="may hold corrections"):
        write_review(audit(Run(tmp_path / "run")), sheet)


@pytest.mark.parametrize("text", ["a\u2028b, c", "d\x0ce", "f\x85g", "h\r\ni", "j\nk", "l\x1cm"])
def test_texts_with_ends_of_lines_keep_their_labels(tmp_path, text):
    columns = {"id": [1, 2], "content": [text, text], "label": ["-cow", "cat"]}
    write_sheet(tmp_path / "s.csv", {name: np.array(of, object) for name, of in columns.items()})
    rows = read_sheet(tmp_path / "s.csv")
    assert [row["label"] for row in rows] == ["-cow", "cat"]
    assert {row["content"] for row in rows} == {text}
    assert corrected(tmp_path / "s.csv", LABELS, CLASS_NAMES, NAMES)[1:].tolist() == [3, 0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("id,label\n0,bird\n", "row 2 of .* there is no class 'bird'; there are cat, "),
        ("id,label\n0,\n3,cat\n", "row 3 of .* id must be from 0 to 2, got '3'"),
        ("id,label\n-1,cat\n", "got '-1'"),
        ("id,label\n1,cat\n1,-cow\n", "row 3 of .* labels sample 1 again, as row 2 did"),
        ("name,label\nb.png,cat\n", "no sample with the name 'b.png'"),
        ("id,name,label\n0,b.png,cat\n", "sample 0 of this data is 'a/1.png', not 'b.png'"),
        ("id,tag\n0,cat\n", r"columns `label` and `id` or `name`, got \['id', 'tag'\]"),
        ("label\ncat\n", "got .'label'."),
        ("", r"got \[\]"),
        ("id,label\n0,caf\xe9\n", "cannot be read as CSV in UTF-8"),
    ],
)
def test_corrections_that_do_not_fit_are_refused_in_words(tmp_path, content, words):
    (tmp_path / "sheet.csv").write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match=words):
        corrected(tmp_path / "sheet.csv", LABELS, CLASS_NAMES, NAMES)


@pytest.mark.filterwarnings("ignore:.*fair share")
def test_a_card_with_one_number_of_suspects_can_be_read(tmp_path):
    run = write_beliefs(tmp_path, believing([1, 1, 2], [0.9] * 3), LABELS)
    card = json.loads(json.dumps(asdict(choose(run, "random", keep=2).card)))
    card["training"] = {
        **{"data": "d", "model": "m", "recipe": "r", "published": False, "epochs": 1},
        **{"settings": {}, "suspects": 6, "full_passes": 2.0, "coreset_passes": 1.0},
    }
    assert Card.from_json(card).training.suspects == WrongLabels(6, 6, 6)


def wrongly_sorted(folder):
    """A folder of digits of which 5 % lie in a wrong class, and one image twice; the true names."""
    images, _ = load("digits")
    images = images.take(np.arange(400))
    labels, _ = flip_labels(images.labels, 0.05, 10, seed=0)
    truth = {}
    for number, (label, true) in enumerate(zip(labels, images.labels, strict=True)):
        name = f"c{label}/{number}.png"
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(images.pixels[number, :, :, 0]).save(folder / name)
        truth[name] = f"c{true}"
    first = next(iter(truth))
    copy = f"c{(images.labels[0] + 1) % 10}/copy.png"
    shutil.copy(folder / first, folder / copy)
    return truth | {copy: truth[first]}, {first, copy}


def test_from_suspects_to_corrected_labels_that_are_trained_on(tmp_path):
    truth, same = wrongly_sorted(tmp_path / "photos")
    command = (
        "prune",
        tmp_path / "photos",
        "--keep",
        "0.5",
        "--epochs",
        "10",
        "--recipe",
        "digits",
    )
    code, _, said = dualprune(*command, "--out", tmp_path / "first")
    assert code == 0, said
    assert "2 images have exactly the pixels of another, 2 of them with different labels" in said
    sheet = tmp_path / "review.csv"
    code, printed, said = dualprune("audit", tmp_path / "first/run", "--review", sheet)
    assert code == 0, said
    assert {name for name in same if f"{name} (" in printed} == same
    assert str(Coreset.load(tmp_path / "first").card.training.suspects) in printed
    rows = rows_of(sheet)
    wrong = {name for name, true in truth.items() if not name.startswith(true)}
    assert len({row["name"] for row in rows} & wrong) > 0.8 * len(wrong)
    fill(sheet, [row | {"label": truth[row["name"]]} for row in rows])
    correcting = (*command, "--labels", sheet, "--materialize", "copy", "--out")
    code, _, said = dualprune(*correcting, tmp_path / "first")
    assert (code, "another data, labels, model, recipe or size" in said) == (2, True)
    code, _, said = dualprune(*correcting, tmp_path / "second")
    changed = sum(not row["name"].startswith(truth[row["name"]]) for row in rows)
    assert f"{changed} labels were changed" in said
    coreset = Coreset.load(tmp_path / "second")
    assert coreset.card.training.relabelled == changed
    table = pq.read_table(tmp_path / "second/coreset.parquet").to_pydict()
    reviewed_names = {row["name"] for row in rows}
    used = {n: f"c{label}" for n, label in zip(table["name"], table["label"], strict=True)}
    assert all(used[name] == truth[name] for name in reviewed_names)
    kept = {n for n, is_kept in zip(table["name"], table["kept"], strict=True) if is_kept}
    root = tmp_path / "second/images"
    places = {path.relative_to(root).as_posix() for path in root.rglob("*.png")}
    assert places == {
        name if name.startswith(used[name]) else f"{used[name]}/{name}" for name in kept
    }
