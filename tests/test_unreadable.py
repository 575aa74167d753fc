"""Samples that cannot be read: they keep their ids, and nothing else is chosen because of them."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from dualprune import Coreset, Method, Recorder, Run, choose, prune
from dualprune.data import load
from dualprune.errors import DamagedError, InputError
from dualprune.experiments.results import read
from dualprune.method import Arrays
from dualprune.report.facts import gather
from dualprune.report.page.shown import choose_shown
from dualprune.report.page.summary import per_class, rows
from dualprune.run.signals import DEFAULT
from dualprune.score import SCORES
from dualprune.select import SELECTORS
from dualprune.signatures import inputs
from dualprune.train.setup import hold_out

from .commands import dualprune
from .photos import BROKEN, COLOURS, EMPTY, make_photos

SAMPLES, CLASSES, EPOCHS = 60, 3, 12
UNREADABLE = np.array([0, 1, 17, 40, 59])
READABLE = np.setdiff1d(np.arange(SAMPLES), UNREADABLE)
LABELS = np.arange(SAMPLES) % CLASSES


def write(path, ids, **more):
    """Record these samples, which keep their ids if some of them are said to be unreadable."""
    draw = np.random.default_rng(0)
    logits = torch.from_numpy(draw.normal(size=(EPOCHS, SAMPLES, CLASSES))).cumsum(0).float()
    features = draw.normal(size=(SAMPLES, 4)).astype(np.float32)
    signals, own = (*DEFAULT, "kl_step", "feature_norm"), ids if more else np.arange(len(ids))
    count = SAMPLES if more else len(ids)
    with Recorder(path, samples=count, classes=CLASSES, signals=signals, **more) as recorder:
        for epoch in range(EPOCHS):
            seen = torch.from_numpy(features[ids])
            recorder.update(logits[epoch, ids], LABELS[ids], own, seen)
            recorder.end_epoch(features=features if more else features[ids])
    return Run(path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    unreadable = np.full(SAMPLES, -1)
    unreadable[UNREADABLE] = LABELS[UNREADABLE]
    return write(tmp_path_factory.mktemp("whole") / "run", READABLE, unreadable=unreadable)


@pytest.fixture(scope="module")
def part(tmp_path_factory):
    return write(tmp_path_factory.mktemp("part") / "run", READABLE)


def test_a_run_says_what_could_not_be_read(whole, part):
    assert whole.unreadable.tolist() == UNREADABLE.tolist()
    assert (whole.samples, whole.readable, part.readable) == (SAMPLES, len(READABLE), len(READABLE))
    np.testing.assert_array_equal(whole.labels, LABELS)
    assert np.isnan(whole["loss"][:, UNREADABLE]).all()
    assert np.isnan(whole.features()[UNREADABLE]).all()
    np.testing.assert_array_equal(whole.features()[READABLE], part.features())
    assert list(whole.names) == ["source"]


def test_what_could_not_be_read_is_what_was_written(whole, tmp_path):
    path = shutil.copytree(whole.path, tmp_path / "run")
    table = pq.read_table(path / "names.parquet")
    place = table.column_names.index("unreadable")
    other = pa.array(np.full(SAMPLES, -1, np.int32))
    pq.write_table(table.set_column(place, "unreadable", other), path / "names.parquet")
    with pytest.raises(DamagedError, match=r"names\.parquet is damaged"):
        _ = Run(path).unreadable


def test_the_doctor_says_why_they_were_never_seen(whole):
    code, printed, _ = dualprune("doctor", whole.path)
    assert (code, "5 samples were never seen; 5 could not be read" in printed) == (0, True)


def test_one_label_or_none_is_given_of_each(tmp_path):
    with pytest.raises(
        InputError, match=r"unreadable has shape \(2,\), it needs one entry per sample"
    ):
        Recorder(tmp_path, samples=3, classes=2, unreadable=np.array([-1, 0]))


@pytest.mark.parametrize("name", SCORES)
def test_every_score_is_that_of_the_readable_ones_and_missing_elsewhere(whole, part, name):
    scores = Arrays([whole]).score(SCORES[name])
    np.testing.assert_array_equal(scores[READABLE], Arrays([part]).score(SCORES[name]))
    assert np.isnan(scores[UNREADABLE]).all()


def top_signal(loss: np.ndarray, *, k: int) -> np.ndarray:
    return np.argsort(loss[-1])[:k]


@pytest.mark.parametrize("fn", [*SELECTORS.values(), top_signal], ids=[*SELECTORS, "own"])
@pytest.mark.parametrize("keep", [9, 1.0])
@pytest.mark.filterwarnings("ignore:.*fair share")
def test_every_selector_keeps_what_it_would_keep_of_the_readable_ones(whole, part, fn, keep):
    method = Method("dual" if "scores" in inputs(fn) else None, fn)
    coreset, of_part = (choose(run, method, keep=keep, seed=3) for run in (whole, part))
    assert coreset.ids.tolist() == READABLE[of_part.ids].tolist()
    why = coreset.columns["why"]
    assert np.flatnonzero(why == "unreadable").tolist() == UNREADABLE.tolist()
    assert why[READABLE].tolist() == of_part.columns["why"].tolist()
    assert coreset.columns["label"].tolist() == LABELS.tolist()
    assert coreset.card.reasons == of_part.card.reasons | {"unreadable": len(UNREADABLE)}
    assert (coreset.card.samples, coreset.card.readable) == (SAMPLES, len(READABLE))


def test_a_share_is_one_of_the_readable_ones(whole, tmp_path):
    assert len(choose(whole, "random", keep=0.2)) == 11
    words = ("select", "top", whole.path, "--keep", "0.2", "--out", tmp_path)
    code, _, said = dualprune(*words)
    assert code == 0, said
    assert "kept       11 of 55 (20.0%)" in said
    assert Coreset.load(tmp_path).apply(np.arange(SAMPLES)).shape == (11,)


def test_the_page_shows_the_readable_ones(whole, part):
    facts, of_part = (gather(run, choose(run, keep=0.4)) for run in (whole, part))
    np.testing.assert_array_equal(facts.what_if.keys[READABLE], of_part.what_if.keys)
    assert np.isnan(facts.what_if.keys[UNREADABLE]).all()
    assert choose_shown(facts).ids.tolist() == READABLE.tolist()
    for ids in choose_shown(facts).lists.values():
        assert not np.isin(ids, UNREADABLE).any()
    assert per_class(facts, ["a", "b", "c"]) == per_class(of_part, ["a", "b", "c"])
    assert dict(rows(facts))["Kept"] == dict(rows(of_part))["Kept"] == "22 of 55 (40.0%)"
    assert "5 that could not be read" in dict(rows(facts))["Data"]


class Photos:
    """A dataset of the user's own, in the usual order."""

    def __init__(self, folder):
        self.files = sorted(file for file in folder.rglob("*") if file.suffix in (".jpg", ".png"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return self.files[index]


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "photos"
    make_photos(folder)
    return folder


@pytest.mark.filterwarnings("ignore:left out", "ignore:classes of")
@pytest.mark.parametrize("method", ["dual+beta", "random", "k_center"])
def test_a_coreset_fits_the_dataset_of_the_user(photos, tmp_path, method):
    out = tmp_path / "out"
    how = {"method": method, "recipe": "digits", "epochs": 10, "size": 8}
    coreset = prune(photos, keep=1.0, out=out, materialize="link", **how)
    dataset, classes = Photos(photos), sorted([*COLOURS, EMPTY])
    kept = {str(file.relative_to(photos)) for file in coreset.apply(dataset)}
    assert len(kept) == len(coreset) == len(dataset) - 1
    assert BROKEN not in kept
    (broken,) = np.flatnonzero(coreset.columns["why"] == "unreadable")
    assert dataset[broken] == photos / BROKEN
    assert coreset.columns["label"][broken] == classes.index(BROKEN.partition("/")[0])
    assert kept == {str(f.relative_to(out / "images")) for f in Photos(out / "images").files}
    page = (out / "report.html").read_text()
    assert "the model saw them at 8 x 8 pixels" in page
    assert "1 that could not be read" in page


@pytest.mark.filterwarnings("ignore:left out", "ignore:classes of")
def test_every_command_takes_a_folder_with_unreadable_files(photos, tmp_path):
    tiny = ("--recipe", "digits", "--size", "9")
    out = tmp_path / "pruned"
    words = ("prune", photos, "--keep", "0.5", "--epochs", "10", "--check", *tiny, "--out", out)
    code, _, said = dualprune(*words)
    assert code == 0, said
    assert "kept       30 of 60 (50.0%)" in said
    assert "unreadable 1 of 61 files" in said
    assert "images     the model saw them at 9 x 9 pixels" in said
    images, _ = load(photos)
    assert images.unreadable[hold_out(images)].sum() == 0
    assert "--size 9" in (out / "report.html").read_text()
    code, _, said = dualprune(*words, "--size", "10")
    assert (code, "already holds another coreset" in said) == (2, True)
    for name, *flags in (
        ("train", "--epochs", 1),
        ("train", "--epochs", 1, "--coreset", out),
        ("record", "--epochs", 1, "--clean", "--features", 1),
        ("compare", "--keep", 0.5, "--seeds", 1),
        ("report", out, "--data", photos),
    ):
        new = tmp_path / f"{name} {len(flags)}"
        rest = flags if name == "report" else (photos, *tiny, *flags)
        code, printed, said = dualprune(name, *rest, "--out", new)
        assert code == 0, said
        assert ("photos of 9 x 9" in printed) == (name == "compare")
    assert np.isnan(Run(tmp_path / "record 5")["loss"]).sum() == 1
    assert "at 9 x 9 pixels" in Run(tmp_path / "record 5").description.notes
    lines = read(tmp_path / "compare 4" / "results.jsonl")
    assert {line.values["kept"] for line in lines if "kept" in line.values} == {27}
