"""Runs of values that somebody has: written from arrays, with and without labels."""

import contextlib
import errno
import subprocess
import sys

import numpy as np
import pytest

from dualprune import Coreset, InputError, Method, MissingError, Run, WriteError, audit, choose
from dualprune.method import Arrays
from dualprune.report.facts import gather
from dualprune.report.page import write_report
from dualprune.run import RunWriter
from dualprune.run.health import examine
from dualprune.score import SCORES
from tests.commands import dualprune
from tests.recording import fault
from tests.run_by_hand import trajectories

LOSS_ALONE = ("dual", "dyn_unc", "confidence", "variability")


@pytest.fixture
def loss():
    return trajectories().astype(np.float32)


@pytest.fixture
def run(tmp_path, loss):
    return Run.from_arrays(tmp_path / "run", loss=loss)


def test_what_was_written_is_read_back_and_missing_stays_missing(tmp_path, loss):
    loss[3, 5] = loss[:, 7] = np.nan
    labels, names = np.arange(40) % 3, [f"text {i}" for i in range(40)]
    margin, rival = -loss, np.where(np.isnan(loss), -1, (labels + 1) % 3)
    run = Run.from_arrays(
        tmp_path / "run",
        loss=loss,
        margin=margin,
        rival=rival,
        labels=labels,
        names=names,
        class_names=["a", "b", "c"],
    )
    np.testing.assert_array_equal(run["loss"], loss)
    np.testing.assert_array_equal(run["margin"], margin)
    np.testing.assert_array_equal(run["rival"], rival)
    assert run["labels"].tolist() == np.where(np.arange(40) == 7, -1, labels).tolist()
    assert run.names["name"].tolist() == names
    health = examine(run.path)
    assert (health.damage, health.never_seen, health.epochs[3].seen) == ([], 1, 38)


def test_scores_of_a_loss_alone_are_those_of_its_arrays(run, loss):
    belief = np.exp(-loss.astype(float))
    for name in LOSS_ALONE:
        np.testing.assert_allclose(Arrays([run])[name], SCORES[name](belief), err_msg=name)


@pytest.mark.parametrize("name", sorted(set(SCORES) - set(LOSS_ALONE)))
def test_a_score_that_needs_more_says_what_is_missing(run, name):
    with pytest.raises(MissingError, match=r"run.* has (no (labels|features)|loss)"):
        Arrays([run])[name]


@pytest.mark.parametrize("method", ["dual+beta", "dual", "dyn_unc", "random"])
def test_without_labels_what_is_kept_is_what_the_selector_keeps(tmp_path, run, method):
    coreset = choose(run, method, keep=9, seed=4)
    assert len(coreset) == 9
    assert "label" not in coreset.columns
    assert coreset.card.short == []
    again = Coreset.load(coreset.save(tmp_path / "small"))
    assert again.ids.tolist() == coreset.ids.tolist()


@pytest.mark.parametrize("wanted", [{"balance": "uniform"}, {"floor": 2}])
def test_without_labels_classes_are_not_balanced_but_refused(run, wanted):
    with pytest.raises(InputError, match="needs labels, and this run has none"):
        choose(run, "dual+beta", keep=9, **wanted)


def test_a_selector_that_needs_labels_says_so(run):
    with pytest.raises(MissingError, match="has no labels; it was recorded without classes"):
        choose(run, Method("dual", first_by_label), keep=9)


def first_by_label(scores: np.ndarray, labels: np.ndarray, *, k: int, seed: int) -> np.ndarray:
    return np.argsort(labels)[:k]


def test_runs_without_labels_are_averaged(tmp_path, run, loss):
    other = Run.from_arrays(tmp_path / "other", loss=loss[::-1])
    mean = (Arrays([run])["dual"] + Arrays([other])["dual"]) / 2
    np.testing.assert_allclose(Arrays([run, other])["dual"], mean)


@pytest.mark.parametrize("chosen", [False, True])
def test_the_page_of_a_loss_alone_speaks_of_no_labels(tmp_path, run, chosen):
    coreset = choose(run, "dual+beta", keep=9) if chosen else None
    page = write_report(tmp_path / "page.html", gather(run, coreset)).read_text()
    body = page[page.index("<body>") : page.index("<script")]
    assert "40 samples" in body
    for word in ("label", "suspect", "Classes", "audit"):
        assert word not in body.replace("aria-label", "").replace("<label", "").replace(
            "</label", ""
        ), word


def test_the_page_of_losses_and_labels_shows_classes_and_judges_nothing(tmp_path, loss):
    run = Run.from_arrays(tmp_path / "run", loss=loss, labels=["cat", "dog"] * 20)
    page = write_report(tmp_path / "page.html", gather(run, None)).read_text()
    body = page[page.index("<body>") : page.index("<script")]
    assert "cat" in body
    assert "uspect" not in body


def test_an_audit_without_labels_or_margins_says_what_is_missing(tmp_path, run, loss):
    with pytest.raises(MissingError, match="has no labels and no margin and no rival: without"):
        audit(run)
    labelled = Run.from_arrays(tmp_path / "labelled", loss=loss, labels=np.arange(40) % 2)
    with pytest.raises(MissingError, match="has no margin and no rival: without"):
        audit(labelled)


def test_a_run_of_margins_is_audited_and_has_no_page(tmp_path, loss):
    labels = np.arange(40) % 2
    rival = np.broadcast_to(1 - labels, loss.shape)
    run = Run.from_arrays(tmp_path / "run", margin=1 - loss, rival=rival, labels=labels)
    assert audit(run).columns["label_quality"].min() < 0.5
    with pytest.raises(MissingError, match=r"need the loss; .* has margin, rival"):
        gather(run, None)


@pytest.mark.parametrize(
    "words", ["doctor RUN", "score dual RUN", "select beta RUN --keep 0.3 --out OUT", "report RUN"]
)
def test_commands_work_without_labels(tmp_path, run, words):
    places = {"RUN": str(run.path), "OUT": str(tmp_path / "out")}
    code, _, said = dualprune(*(places.get(word, word) for word in words.split()))
    assert code == 0, said


def test_labels_may_be_names(tmp_path, loss):
    labels = ["dog", "cat"] * 20
    run = Run.from_arrays(tmp_path / "a", loss=loss, labels=labels)
    assert run.description.class_names == ["cat", "dog"]
    assert run["labels"].tolist() == [1, 0] * 20
    ordered = Run.from_arrays(
        tmp_path / "b", loss=loss, labels=labels, class_names=["dog", "bird", "cat"]
    )
    assert ordered["labels"].tolist() == [0, 2] * 20


def test_an_infinite_loss_is_a_probability_of_zero_and_rounding_below_zero_is_zero(tmp_path):
    run = Run.from_arrays(tmp_path / "run", loss=[[np.inf, -1e-7, 1.0]])
    assert run["target_prob"].round(3).tolist() == [[0.0, 1.0, 0.368]]


def values(**changes):
    return {"loss": np.ones((2, 4)), "labels": [0, 1, 1, 0], **changes}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"loss": None}, "give at least one signal"),
        ({"loss": np.ones(4)}, r"loss has shape \(4,\); signals are \(epochs, samples\)"),
        ({"loss": np.ones((0, 4))}, r"loss has shape \(0, 4\)"),
        ({"loss": [["a"]]}, "loss must be an array of real numbers"),
        ({"loss": [[1, 1, -0.5, 1]]}, "epoch 1: the loss of id 2 is -0.5; it must be at least 0"),
        ({"margin": np.ones((3, 4))}, r"margin has shape \(3, 4\), but loss has \(2, 4\)"),
        ({"entropy": -np.ones((2, 4))}, "the entropy of id 0 is -1.0; it must be at least 0"),
        ({"rival": np.full((2, 4), 2)}, "the rival of id 0 is 2; it must be a class below 2"),
        ({"rival": np.ones((2, 4)), "labels": None}, "rival is a class; give labels="),
        ({"labels": [0, 1]}, r"labels have shape \(2,\); 4 samples need one each"),
        ({"labels": [0, 1, -1, 0]}, "the label of id 2 is -1, outside 0 to 1"),
        ({"labels": [0, 1, 2, 0], "classes": 2}, "the label of id 2 is 2, outside 0 to 1"),
        ({"labels": [0, 1, 0.5, 0]}, "the label of id 2 is 0.5, no whole number"),
        (
            {"labels": list("abca"), "class_names": ["a", "b"]},
            "id 2 is 'c', which is not among the",
        ),
        ({"labels": None, "classes": 2}, "classes need labels"),
        ({"names": ["one"]}, "1 names for 4 samples"),
    ],
)
def test_bad_values_are_refused_by_name_and_leave_nothing(tmp_path, changes, said):
    with pytest.raises(InputError, match=said):
        Run.from_arrays(tmp_path / "run", **values(**changes))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_is_not_written_over(tmp_path, run):
    before = run.fingerprint
    with pytest.raises(InputError, match="already there; choose a new or empty folder"):
        Run.from_arrays(run.path, loss=[[1.0]])
    assert Run(run.path).fingerprint == before


def test_a_disk_that_fails_at_any_call_leaves_nothing_or_all(tmp_path):
    loss, n, failed = np.ones((2, 3)), 0, True
    while failed:
        n += 1
        path = tmp_path / str(n) / "run"
        with fault(n, errno.ENOSPC) as failed, contextlib.suppress(WriteError):
            Run.from_arrays(path, loss=loss)
        left = [entry.name for entry in path.parent.iterdir()] if path.parent.exists() else []
        assert left in ([], ["run"])
        assert not left or Run(path).epochs == 2
    assert left == ["run"]
    assert n > 20


def test_epochs_one_by_one_are_the_same_run(tmp_path, run, loss):
    writer = RunWriter(tmp_path / "one", samples=40)
    for row in loss[:5]:
        writer.write_epoch({"loss": row})
    assert Run(tmp_path / "one").epochs == 5
    writer = RunWriter(tmp_path / "one", samples=40, start_epoch=writer.epoch)
    order = np.random.default_rng(0).permutation(40)
    for row in loss[5:]:
        writer.write_epoch({"loss": row[order].tolist()}, ids=order)
    np.testing.assert_array_equal(Run(tmp_path / "one")["loss"], loss)


def test_of_a_sample_that_occurs_twice_the_first_value_counts(tmp_path):
    writer = RunWriter(tmp_path, samples=3)
    writer.write_epoch({"loss": [1, 2, 3]}, ids=[2, 0, 2], step=10)
    run = Run(tmp_path)
    np.testing.assert_array_equal(run["loss"], [[2, np.nan, 1]])
    assert (run.steps, examine(tmp_path).epochs[0].duplicates) == ([10], 1)


@pytest.mark.parametrize(
    ("signals", "ids", "said"),
    [
        ({"loss": [1, 2]}, None, r"loss has shape \(2,\); it needs one value for each of 3"),
        ({"loss": [1, 2]}, [0, 3], "epoch 1: id 3 is outside 0 to 2"),
        ({"loss": [1, 2]}, [0.0, 1.0], "ids must be an array of integers"),
        ({}, None, "has the signals loss; epoch 1 was given none"),
        ({"loss": [1] * 3, "margin": [1] * 3}, None, "epoch 1 was given loss, margin"),
    ],
)
def test_an_epoch_that_does_not_fit_is_refused_and_may_come_again(tmp_path, signals, ids, said):
    writer = RunWriter(tmp_path, samples=3)
    with pytest.raises(InputError, match=said):
        writer.write_epoch(signals, ids=ids)
    writer.write_epoch({"loss": [1, 2, 3]})
    assert Run(tmp_path).epochs == 1


def test_an_unknown_signal_is_refused_with_the_one_that_was_meant(tmp_path):
    with pytest.raises(InputError, match=r"no signal 'los'.*Did you mean loss\?"):
        RunWriter(tmp_path, samples=3, signals=["los"])


def test_other_labels_are_refused_when_a_run_goes_on(tmp_path):
    RunWriter(tmp_path, samples=3, labels=[0, 1, 0]).write_epoch({"loss": [1, 2, 3]})
    with pytest.raises(InputError, match=r"1 labels are not those .* id 2"):
        RunWriter(tmp_path, samples=3, labels=[0, 1, 1], start_epoch=2)


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
from dualprune import Run, choose
import numpy as np
run = Run.from_arrays(sys.argv[1], loss=np.random.default_rng(0).random((12, 30)))
print(len(choose(run, "dual+beta", keep=9)))
"""


def test_writing_needs_no_torch(tmp_path):
    command = [sys.executable, "-W", "error", "-c", WITHOUT_TORCH, str(tmp_path / "run")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "9\n"), done.stderr
