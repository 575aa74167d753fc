"""From images to a coreset and trainings: the commands, killed and started again."""

import html
import os
import shutil

import duckdb
import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from dualprune import Coreset, Method, Run, choose, prune, select
from dualprune.coreset import digest
from dualprune.coreset.worth import ALL, ANEW, CORESET, RANDOM, SHORTER
from dualprune.data import load
from dualprune.errors import InputError
from dualprune.experiments.results import read
from dualprune.files import refuse_foreign
from dualprune.train.recipe import recipes
from dualprune.train.record import _precision
from dualprune.train.setup import hold_out
from dualprune.workflows.recorded import _NOTES

from .commands import DUALPRUNE, contents, dualprune, files, killed_when, process
from .photos import BROKEN, COLOURS, EMPTY, make_photos, striped
from .run_by_hand import trajectories, write_run
from .test_torchrun import parts, starts

SAMPLES, CLASSES = 61, 3  # odd, so that two processes cannot share them evenly
IMAGES = striped(SAMPLES, CLASSES)
TINY = ("--recipe", "digits")
PRUNE_DIGITS = ("prune", "digits", "--keep", "0.5", "--epochs", "10", "--out")
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", *DUALPRUNE)


def rows(out, *columns):
    return duckdb.sql(f"SELECT {','.join(columns)} FROM '{out}/coreset.parquet'").fetchall()


@pytest.fixture(scope="module")
def npz(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "tiny.npz"
    np.savez(path, x=IMAGES.pixels, y=IMAGES.labels)
    return path


@pytest.fixture(scope="module")
def pruned(tmp_path_factory):
    """Half of the digits, and what the command said."""
    out = tmp_path_factory.mktemp("pruned") / "half"
    return out, dualprune(*PRUNE_DIGITS, out)


def test_prune_writes_a_coreset_a_figure_and_the_run(pruned):
    out, (code, printed, said) = pruned
    assert (code, printed) == (0, f"{out}\n"), said
    digits, _ = load("digits")
    columns = ("id", "source", "label", "score", "confidence", "why", "kept")
    ids, source, labels, score, confidence, why, kept = zip(*rows(out, *columns), strict=True)
    assert list(ids) == list(range(len(digits)))
    np.testing.assert_array_equal(source, digits.source)
    np.testing.assert_array_equal(labels, digits.labels)
    assert np.isfinite([score, confidence]).all()
    assert sum(kept) == 719
    assert [bool(reason) for reason in why] == list(kept)
    assert len(duckdb.sql(f"FROM '{out}/run/names.parquet'").fetchall()) == len(digits)
    Image.open(out / "moon.png").verify()
    card = Coreset.load(out).card
    expected = {"method": "dual+beta", "seed": 0, "k": 719, "samples": 1438, "epochs": 10}
    expected |= {"data": digits.fingerprint}
    assert expected.items() <= vars(card).items()
    expected = {"data": "digits", "model": "cnn-small", "recipe": "digits", "published": False}
    expected |= {"epochs": 10, "full_passes": 30.0, "coreset_passes": 15.0}
    assert expected.items() <= vars(card.training).items()


def test_a_second_start_trains_nothing_and_another_coreset_is_refused(pruned):
    out, (_, _, said) = pruned
    assert "epoch" in said
    before = {name: file.read_bytes() for name, file in files(out).items()}
    code, printed, said = dualprune(*PRUNE_DIGITS, out)
    assert (code, printed) == (0, f"{out}\n")
    assert "epoch 1" not in said
    again = f"dualprune prune digits --keep 0.4 --floor 3 --run {out} --out {out}-2"
    check_refused(
        f"another coreset, with another number kept and floor; choose another folder, without "
        f"recording again: {again}",
        *(*PRUNE_DIGITS, out, "--keep", "0.4", "--floor", "3"),
    )
    check_refused("another number of epochs and data", *PRUNE_DIGITS, out, "--epochs", 12)
    assert {name: file.read_bytes() for name, file in files(out).items()} == before


def test_another_choice_needs_no_other_recording(pruned, tmp_path):
    whole, out = pruned[0], tmp_path / "fifth"
    words = ("prune", "digits", "--keep", "0.2", "--run", whole, "--seed", "3", "--out", out)
    for _ in range(2):  # again: nothing to do
        code, printed, said = dualprune(*words)
        assert (code, printed) == (0, f"{out}\n"), said
        assert "epoch 1" not in said
        assert "kept       288 of 1,438 (20.0%) with dual+beta (c_D " in said
    assert not (out / "run").exists()
    card, before = Coreset.load(out).card, Coreset.load(whole).card
    assert card.runs == before.runs
    assert card.training.settings == before.training.settings
    assert (card.training.epochs, card.training.model) == (10, "cnn-small")
    assert card.ids_sha256 == choose(whole, "dual+beta", keep=288, seed=3).card.ids_sha256
    command = "dualprune select beta RUN --score dual --floor 0.5 --keep 288 --seed 3 --out again"
    assert f"{command} --epochs 10" in html.unescape((out / "report.html").read_text())
    check_refused("with another recording", *words[:4], *words[6:], "--epochs", "10")
    again = prune("digits", keep=0.2, run=whole / "run", seed=3, out=tmp_path / "python")
    assert again.card.ids_sha256 == card.ids_sha256


def test_other_knobs_are_another_coreset(pruned, tmp_path):
    def with_knobs(**knobs):
        method = Method("dual", "beta", **knobs)
        return prune("digits", keep=0.2, method=method, run=pruned[0], out=tmp_path / "out")

    with_knobs(select_knobs={"c_d": 3.0})
    before = files(tmp_path)
    for knobs in ({"select_knobs": {"c_d": 1.0}}, {"score_knobs": {"window": 5}}):
        with pytest.raises(InputError, match="already holds another coreset, with another value"):
            with_knobs(**{"select_knobs": {"c_d": 3.0}} | knobs)
    assert files(tmp_path) == before


def test_another_choice_by_an_edited_function_is_refused(pruned, tmp_path):
    def by_loss(loss: np.ndarray) -> np.ndarray:
        return loss.mean(axis=0)

    def edited(loss: np.ndarray) -> np.ndarray:
        return -loss.mean(axis=0)

    edited.__name__ = by_loss.__name__
    how = {"keep": 0.2, "run": pruned[0], "out": tmp_path / "out"}
    prune("digits", method=Method(by_loss), **how)
    with pytest.raises(InputError, match="chose it with other code or another version"):
        prune("digits", method=Method(edited), **how)


@pytest.mark.parametrize("model", ["cnn-small", "checkpoint/"])
def test_the_notes_of_a_recording_made_on_a_gpu_are_understood(pruned, model):
    notes = Run(pruned[0]).description.notes
    for written in (notes, notes + _precision(model)):
        assert _NOTES.fullmatch(written).groups()[:2] == ("cnn-small", "digits")


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ("digits --method tdds", "lacks what tdds needs: kl_step; record it with"),
        ("digits --method el2n-5", "el2n-5 needs 20 epochs, and 10 are recorded"),
        ("digits --method moderate", "lacks what moderate needs: features after epoch 10"),
        ("digits --model cnn", "leave them out"),
        ("digits --epochs 11", "epochs must be from 1 to 10, got 11"),
        ("digits --floor 3 --balance uniform", "balance='uniform' or floor=3, not both"),
        ("NPZ", "was recorded of other data"),
    ],
)
def test_a_recording_that_will_not_do_is_refused(pruned, npz, tmp_path, words, wrong):
    data, *flags = words.replace("NPZ", str(npz)).split()
    fixed = ("--keep", "0.2", "--run", pruned[0], "--out", tmp_path / "out")
    check_refused(wrong, "prune", data, *flags, *fixed)
    assert not files(tmp_path)


def test_a_run_of_ones_own_loop_is_refused(tmp_path):
    write_run(tmp_path / "run", trajectories())
    words = ("prune", "digits", "--keep", "0.2", "--run", tmp_path / "run")
    check_refused("use `dualprune select`", *words, "--out", tmp_path / "out")


def test_all_recordings_that_were_averaged_are_used_again(npz, tmp_path):
    first, again = tmp_path / "first", tmp_path / "again"
    words = {"method": "el2n-5", "epochs": 20}
    before = prune(npz, keep=0.5, recipe="digits", out=first, **words)
    coreset = prune(npz, keep=0.3, run=first, method="el2n-5", out=again)
    assert coreset.card.runs == before.card.runs
    assert len(set(coreset.card.runs)) == 5


@pytest.mark.parametrize("command", ["score dual", "audit", "doctor", "select top --keep 90"])
def test_a_folder_of_prune_is_taken_for_its_run(pruned, tmp_path, command):
    name, *flags = command.split()
    place = ("--out", tmp_path / "out") if name in ("select", "audit") else ()
    results = []
    for run in (pruned[0], pruned[0] / "run"):
        code, printed, said = dualprune(*(name, *flags[:1], run, *flags[1:], *place))
        results.append((code, printed.replace(f"audit {run} ", "audit RUN "), said))
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
    assert results[0] == results[1]
    assert results[0][0] == 0


def test_a_prune_that_was_killed_twice_ends_as_if_it_never_was(pruned, tmp_path):
    run, whole = tmp_path / "run", pruned[0]

    def third_epoch_is_recorded():  # but perhaps not in the checkpoint
        return [*run.glob("attempts/*/000003/*.parquet")]

    killed_when(third_epoch_is_recorded, *PRUNE_DIGITS, tmp_path)
    assert 3 <= Run(run).epochs < 8
    killed_when((run / "checkpoint/000008.safetensors").exists, *PRUNE_DIGITS, tmp_path)
    assert 8 <= Run(run).epochs < 10
    code, _, said = dualprune(*PRUNE_DIGITS, tmp_path)
    assert code == 0, said
    assert len(starts(run)) == 3
    np.testing.assert_array_equal(Run(run)["loss"], Run(whole / "run")["loss"])
    cards = [Coreset.load(out).card for out in (tmp_path, whole)]
    assert cards[0].ids_sha256 == cards[1].ids_sha256


def test_a_prune_that_remembers_the_epoch_before_resumes_to_the_same_choice(tmp_path):
    """TDDS compares each epoch with the one before, which the first one of an attempt lacks."""
    chosen = []
    for name, dies_at in (("whole", None), ("resumed", 6)):

        def watch(_title, dies_at=dies_at):
            def tell(progress):
                if progress.epoch == dies_at:
                    raise KeyboardInterrupt

            return tell

        words = {"keep": 0.3, "method": "tdds", "epochs": 12, "out": tmp_path / name}
        if dies_at:
            with pytest.raises(KeyboardInterrupt):
                prune("digits", **words, watch=watch)
        chosen.append(prune("digits", **words).card.ids_sha256)
    assert len(starts(tmp_path / "resumed" / "run")) == 2
    assert chosen[0] == chosen[1]


def check_selected_images(photos, out, small):
    """Only the folder that was recorded has the files of what is selected."""
    select_words = ("select", "top", out, "--keep", 9, "--out", small, "--materialize", "copy")
    check_refused("say where the data are: --data PATH", *select_words)
    check_refused("does not hold what", *select_words, "--data", out / "images")
    check_refused("is no folder of images", *select_words, "--data", out / "nowhere")
    assert not small.exists()
    code, _, said = dualprune(*select_words, "--data", photos)
    assert code == 0, said
    selected = {name for name, keep in rows(small, "name", "kept") if keep}
    assert set(files(small / "images")) == selected
    assert len(selected) == 9


def test_of_a_folder_of_images_what_is_kept_can_be_linked_and_copied(tmp_path):
    photos, out = tmp_path / "my photos", tmp_path / "kept"
    names = sorted([*make_photos(photos), BROKEN])
    words = ("prune", photos, "--keep", "0.5", "--epochs", "10", "--out", out, "--materialize")
    code, printed, said = process(*DUALPRUNE, *words, "link")
    assert (code, printed) == (0, f"{out}\n"), said
    assert f"left out unreadable images of {photos} (1): '{BROKEN}'" in said
    assert f"classes of {photos} without an image (1): '{EMPTY}'" in said
    assert "Traceback" not in said
    assert f"kept       30 of {len(names) - 1} (50.0%)" in said
    assert ("unreadable", False) in rows(out, "why", "kept")
    found = rows(out, "name", "kept", "label")
    classes = sorted([*COLOURS, EMPTY])
    assert [name for name, _, _ in found] == names
    assert all(name.startswith(f"{classes[label]}/") for name, _, label in found)
    kept = {name for name, keep, _ in found if keep}
    assert len(kept) == 30
    assert set(files(out / "images")) == kept
    for name, file in files(out / "images").items():
        assert file.is_symlink()
        assert file.resolve() == (photos / name).resolve()

    check_selected_images(photos, out, tmp_path / "small")
    for how in ("copy", "link"):  # which leaves copies as they are
        with pytest.warns(UserWarning, match="left out|without an image"):
            code, _, said = dualprune(*words, how)
        assert code == 0, said
    assert set(files(out / "images")) == kept
    for name, file in files(out / "images").items():
        assert not file.is_symlink()
        assert file.read_bytes() == (photos / name).read_bytes()


HALF = ("--keep", 0.5, "--epochs", 10, "--seed", 1, *TINY)
CHECK = (*HALF, "--check", "--check-seeds", 2)
ARMS = [CORESET, RANDOM, ALL, SHORTER, ANEW]


@pytest.fixture(scope="module")
def checked(npz, tmp_path_factory):
    """The folder of a checked coreset, and what the command said."""
    out = tmp_path_factory.mktemp("checked")
    code, _, said = dualprune("prune", npz, *CHECK, "--processes", 1, "--out", out)
    assert code == 0, said
    return out, said


def test_check_trains_on_nothing_that_it_judges_by(npz, checked):
    out, _ = checked
    images, _ = load(npz)
    held_out = hold_out(images)
    others = np.setdiff1d(np.arange(SAMPLES), held_out)
    coreset = Coreset.load(out)
    ids = np.setdiff1d(coreset.ids, held_out)
    assert len(ids) < len(coreset), "nothing to leave out: this would show nothing"
    lines = {(line.row, line.seed): line.values for line in read(out / "check/results.jsonl")}
    assert lines.keys() == {(arm, seed) for arm in ARMS for seed in range(2)}
    for seed in range(2):
        drawn = select.random(IMAGES.labels[others], k=len(ids), seed=seed)
        assert lines[CORESET, seed]["ids_sha256"] == digest(np.searchsorted(others, ids))
        assert lines[RANDOM, seed]["ids_sha256"] == digest(drawn)
        assert lines[ALL, seed]["kept"] == len(others)
    trained = [contents(file) for file in out.glob("check/**/trained/*/result.json")]
    assert len(trained) == len(lines)
    for result in trained:
        assert result["settings"]["data"] == images.take(others).fingerprint
        assert result["settings"]["judged"] == images.take(held_out).fingerprint


def test_check_trains_as_long_as_the_recipe_says_and_rivals_cost_the_same(checked):
    check, epochs = Coreset.load(checked[0]).card.check, recipes()["digits"].epochs
    images = {arm.name: arm.images for arm in check.arms}
    others = SAMPLES - check.held_out
    assert images[ALL] == epochs * others
    assert images[CORESET] == images[RANDOM] == images[ANEW] < images[ALL]
    assert abs(images[SHORTER] - images[CORESET]) <= recipes()["digits"].batch


def test_check_says_how_much_there_is_to_do_and_how_far_it_is(checked):
    assert "check: 10 trainings, about 1 min (1 at a time), with 2 seeds each" in checked[1]
    assert "2 of 10: a random part, " in checked[1]


def test_check_stands_in_the_card_the_page_and_the_terminal(npz, checked):
    out, said = checked
    check = Coreset.load(out).card.check
    assert [arm.name for arm in check.arms] == ARMS
    lines = read(out / "check/results.jsonl")
    for arm in check.arms:
        reached = [line.values["accuracy"] for line in lines if line.row == arm.name]
        assert arm.accuracies == reached
    code, _, again = dualprune("prune", npz, *HALF, "--out", out)
    assert (code, Coreset.load(out).card.check) == (0, check), "another start forgot it"
    for text in (said, again, html.unescape((out / "report.html").read_text("utf-8"))):
        assert check.advice() in text
        for row in check.rows():
            assert all(cell in text for cell in row)


def test_a_check_that_was_killed_resumes_side_by_side_to_the_same_numbers(npz, checked, tmp_path):
    results, command = tmp_path / "check/results.jsonl", ("prune", npz, *CHECK, "--out", tmp_path)
    killed_when(lambda: results.exists() and len(read(results)) >= 3, *command)
    finished = len(read(results))
    assert finished < 10
    code, _, said = process(*DUALPRUNE, *command, "--processes", 2)
    assert code == 0, said
    assert f"check: {10 - finished} trainings" in said
    assert len(read(results)) == 10
    assert Coreset.load(tmp_path).card.check == Coreset.load(checked[0]).card.check


def test_a_check_that_was_not_made_is_recommended(pruned):
    out, (_, _, said) = pruned
    worth = Coreset.load(out).card.worth
    assert worth.startswith("compared with training on all the data, it pays from the first ")
    assert "--check" in worth
    assert worth in said
    assert worth in html.unescape((out / "report.html").read_text("utf-8"))


@pytest.mark.parametrize(("keep", "k"), [(0.5, 31), ("50%", 31), (20, 20)])
def test_prune_from_python_gives_what_it_wrote(tmp_path, keep, k):
    coreset = prune(IMAGES, keep=keep, out=tmp_path, epochs=10, model="cnn-small")
    assert len(coreset) == k
    loaded = Coreset.load(tmp_path)
    np.testing.assert_array_equal(coreset.ids, loaded.ids)
    assert coreset.card == loaded.card
    np.testing.assert_equal({**coreset.columns}, {**loaded.columns})


def test_a_model_of_ones_own_is_trained_as_a_copy(tmp_path):
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, CLASSES))
    before = [parameter.clone() for parameter in model.parameters()]
    coreset = prune(IMAGES, keep=0.5, out=tmp_path, epochs=10, model=model)
    assert (len(coreset), coreset.card.training.model) == (31, "Sequential")
    assert all(map(torch.equal, before, model.parameters()))
    first, *_, last = Run(tmp_path / "run")["loss"].mean(1)
    assert last < first


def check_refused(wrong, *words):
    code, printed, said = dualprune(*words)
    assert (code, printed) == (2, ""), said
    assert wrong in said
    assert said.startswith("dualprune: ")
    assert said.count("\n") == 1
    assert said.count(". ") <= 1, "more than two sentences"


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ("prune nowhere --keep 0.5", "there is no data 'nowhere'"),
        ("prune NPZ --keep 0.5 --recipe soup", "there is no recipe 'soup'"),
        ("prune NPZ --keep 0.5 --model gpt", "there is no model 'gpt'"),
        (f"prune NPZ --keep 0.5 --model {'9' * 300}", "there is no model '999"),
        ("prune NPZ --keep 0.5 --method best", "there is no method 'best'"),
        ("prune NPZ --keep 0.5 --method dual+best", "there is no method 'dual+best'"),
        ("prune NPZ --keep 0.5 --method top", "top needs a score"),
        ("prune NPZ --keep 1", "--keep 1 is ambiguous"),
        ("prune NPZ --keep 0", "--keep 0"),
        ("prune NPZ --keep 0.5 --epochs 5", "needs at least 10 epochs, got 5"),
        ("prune NPZ --keep 0.5 --method beta --epochs 5", "beta needs at least 10 epochs, got 5"),
        ("prune digits --keep 0.5 --materialize link", "only images that are files"),
        ("record NPZ --epochs 0", "epochs must be at least 1"),
        ("train NPZ --epochs 2 --iterations 7", "not both"),
        ("train NPZ --iterations 0", "iterations must be at least 1"),
        ("train NPZ --coreset nowhere", "there is no coreset at nowhere"),
        ("train NPZ --coreset HALF", "was chosen from other data"),
        ("compare NPZ --method best", "there is no method 'best'"),
    ],
)
def test_mistakes_are_refused_before_anything_is_trained(pruned, npz, tmp_path, words, wrong):
    meant = {"NPZ": npz, "HALF": pruned[0]}
    check_refused(wrong, *[meant.get(word, word) for word in words.split()], "--out", tmp_path)
    assert not files(tmp_path)


@pytest.mark.parametrize("command", ["prune --keep 0.5", "record", "train", "compare"])
def test_no_command_writes_among_the_images(tmp_path, command):
    make_photos(tmp_path)
    before = files(tmp_path)
    name, *flags = command.split()
    check_refused("is among the images", name, tmp_path, *flags, "--out", tmp_path / "new")
    assert files(tmp_path) == before


@pytest.mark.parametrize("flags", [(), ("--clean",)])
def test_what_was_recorded_while_training_or_after_each_epoch_can_be_scored(npz, tmp_path, flags):
    code, printed, said = dualprune("record", npz, "--epochs", 10, "--out", tmp_path, *TINY, *flags)
    assert (code, printed) == (0, f"{tmp_path}\n"), said
    run, history = Run(tmp_path), contents(tmp_path / "checkpoint/state.json")["history"]
    same = np.isclose(run["loss"].mean(1), [row["loss"] for row in history], rtol=1e-4)
    assert not same.any() if flags else same.all()
    assert run.description.mode == ("eval" if flags else "train")
    code, _, said = dualprune("score", "dual", tmp_path)
    assert code == 0, said


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--epochs 2", {"kept": 1438, "epochs": 2, "backward": 2 * 1438}),
        ("--epochs 2 --coreset HALF", {"kept": 719, "epochs": 2, "backward": 2 * 719}),
        ("--iterations 7 --coreset HALF", {"kept": 719, "epochs": 1, "backward": 6 * 32 + 31}),
    ],
)
def test_train_prints_the_accuracy_and_stores_it(pruned, tmp_path, flags, expected):
    words = [pruned[0] if word == "HALF" else word for word in flags.split()]
    code, printed, said = dualprune("train", "digits", "--out", tmp_path, *words)
    assert code == 0, said
    result = contents(tmp_path / "result.json")
    assert expected.items() <= result.items()
    assert printed.startswith(f"accuracy {result['accuracy']:.2%} on test images")
    assert printed.splitlines()[-1] == str(tmp_path / "result.json")
    assert 0 < result["accuracy"] < 1


@pytest.mark.parametrize("command", ["prune --keep 0.5", "compare --keep 0.5 --seeds 1", "train"])
def test_the_name_of_a_folder_need_not_be_utf_8(npz, tmp_path, command):
    name, *flags = command.split()
    out = tmp_path / os.fsdecode(b"\xff")
    code, _, said = dualprune(name, npz, *TINY, *flags, "--out", out)
    assert code == 0, said
    assert [path for path in files(out).values() if path.suffix in (".parquet", ".json", ".jsonl")]


@pytest.mark.parametrize("command", ["prune --keep 0.5", "record", "train", "compare", "demo"])
def test_nothing_is_written_into_a_folder_of_other_files(npz, tmp_path, command):
    (tmp_path / "report.html").write_text("mine")
    name, *flags = command.split()
    data = () if name == "demo" else (npz, *TINY)
    code, printed, said = dualprune(name, *data, *flags, "--out", tmp_path)
    assert (code, printed) == (2, "")
    assert "a new or empty folder" in said
    assert {path.name for path in tmp_path.iterdir()} == {"report.html"}


def test_what_a_killed_writer_left_is_not_taken_for_a_file_of_others(tmp_path):
    (tmp_path / f".{'0' * 32}.tmp").touch()
    refuse_foreign(tmp_path, "run")
    (tmp_path / "notes.tmp").touch()
    with pytest.raises(InputError, match=r"such as notes\.tmp"):
        refuse_foreign(tmp_path, "run")


def test_two_processes_record_together_and_go_on_together(npz, tmp_path):
    for epochs in (2, 3):
        words = ("record", npz, *TINY, "--epochs", epochs, "--out", tmp_path)
        code, printed, said = process(*TORCHRUN, *words)
        assert (code, printed) == (0, f"{tmp_path}\n"), said
        assert (tmp_path / f"checkpoint/{epochs:06d}.safetensors").exists()
    run = Run(tmp_path)
    assert starts(tmp_path) == [(1, 2), (3, 2)]
    assert run["loss"].shape == (3, SAMPLES)
    assert not np.isnan(run["loss"]).any()
    np.testing.assert_array_equal(run["labels"], IMAGES.labels)
    assert len(parts(tmp_path)) == 6
    assert set(parts(tmp_path).values()) == {((SAMPLES + 1) // 2, 0)}, "one of 61 is seen by both"


def test_help_lists_every_command_without_waiting_for_large_libraries():
    script = "import atexit, sys; from dualprune.cli.__main__ import main;"
    script += "slow = {'torch', 'scipy', 'sklearn', 'matplotlib', 'numba', 'PIL'};"
    script += "atexit.register(lambda: print(slow & sys.modules.keys())); main()"
    code, printed, _ = process("-c", script, "--help")
    assert (code, printed.splitlines()[-1]) == (0, "set()")
    commands = "demo prune record score select train compare audit methods doctor"
    for name in commands.split():
        assert f"│ {name} " in printed
    code, printed, _ = process("-c", script, "prune", "--help")
    assert (code, printed.splitlines()[-1]) == (0, "set()")
