"""The commands, as a user types them."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
import warnings
from importlib.metadata import version

import numpy as np
import pyarrow.parquet as pq
import pytest
import typer

from dualprune import Coreset, Run, score, select
from dualprune.cli.__main__ import COMMANDS, app, load_command
from dualprune.method import Arrays
from dualprune.run.signals import SIGNALS
from dualprune.run.writer import write_part
from dualprune.score import SCORES
from dualprune.score.scored import Scored
from dualprune.select import SELECTORS
from dualprune.signatures import knobs
from tests.beliefs import write_beliefs
from tests.commands import files
from tests.run_by_hand import start

SAMPLES, EPOCHS = 60, 12


def columns(epoch, ids):
    rng = np.random.default_rng(epoch)
    floats = {name: rng.gamma(1, 1, SAMPLES).astype(np.float32)[ids] for name in SIGNALS}
    floats["margin"] -= 1
    labels = (ids % 3).astype(np.int32)
    return {"id": ids, "label": labels, **floats, "rival": ((ids + 1) % 3).astype(np.int32)}


def write_epochs(root, epochs, *, start_epoch=None, writers=1, absent=(), features=None):
    attempt = start(root, SAMPLES, 3, SIGNALS, start_epoch=start_epoch, writers=writers)
    for epoch in epochs:
        for writer in range(writers):
            ids = np.setdiff1d(np.arange(writer, SAMPLES, writers), absent)
            counts = {"duplicates": 0, "non_finite": 0}
            after = features if epoch == max(epochs) else None
            write_part(attempt, epoch, writer, columns(epoch, ids), counts, after)
    return attempt


@pytest.fixture
def run(tmp_path):
    features = np.random.default_rng(0).normal(size=(SAMPLES, 4))
    write_epochs(tmp_path / "run", range(1, EPOCHS + 1), features=features)
    return tmp_path / "run"


@pytest.mark.parametrize("name", SCORES)
def test_every_score_is_a_command_that_prints_the_file_it_wrote(dualprune, run, name):
    code, out, err = dualprune("score", name, run)
    assert (code, err) == (0, "")
    table = pq.read_table(out.strip())
    assert table.column_names == ["id", "score"]
    expected = Arrays([Run(run)]).score(SCORES[name])
    np.testing.assert_array_equal(table.column("score").to_numpy(), expected)


@pytest.mark.parametrize("table", [SCORES, SELECTORS])
def test_flags_are_the_knobs_of_the_functions(dualprune, table, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    word = "score" if table is SCORES else "select"
    for name, fn in table.items():
        _, out, _ = dualprune(word, name, "--help")
        for knob in knobs(fn):
            assert "--" + knob.replace("_", "-") in out


def test_a_knob_and_the_epochs_change_the_scores(dualprune, run):
    _, out, _ = dualprune("score", "dual", run, "--window", 4, "--epochs", 9)
    expected = score.dual(Run(run)["target_prob"][:9], window=4)
    found = pq.read_table(out.strip()).column("score").to_numpy()
    np.testing.assert_array_equal(found, expected)


def test_commands_compose(dualprune, run, tmp_path):
    _, scores, _ = dualprune("score", "dual", run, "--epochs", 11)
    out = tmp_path / "small"
    code, printed, said = dualprune(
        "select",
        "beta",
        run,
        "--score",
        scores.strip(),
        "--keep",
        "0.25",
        "--c-d",
        5.5,
        "--out",
        out,
    )
    assert (code, printed.strip()) == (0, str(out))
    assert "kept       15 of 60 (25.0%) with dual+beta\n" in said
    p, labels = Run(run)["target_prob"][:11], Run(run)["labels"]
    knobs = {"c_d": 5.5, "floor": 0.5}
    expected = select.beta(score.dual(p), score.confidence(p), labels, k=15, seed=0, **knobs)
    np.testing.assert_array_equal(Coreset.load(out).ids, expected)


def test_random_plus_beta_takes_mu_from_dual(dualprune, run, tmp_path):
    code, _, _ = dualprune(
        "select", "beta", run, "--score", "none", "--prune", "50%", "--out", tmp_path / "small"
    )
    card = Coreset.load(tmp_path / "small").card
    p = Run(run)["target_prob"]
    best = np.argsort(score.dual(p))[-10:]
    assert code == 0
    assert card.method == "beta"
    assert card.values["mu"] == pytest.approx(score.confidence(p)[best].mean())


@pytest.mark.filterwarnings("ignore:.*fair share")
@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("", {"floor": 0.5, "balance": "none"}),
        ("--floor 0", {"floor": 0, "balance": "none"}),
        ("--floor 2", {"floor": 2, "balance": "none"}),
        ("--floor 1.0", {"floor": 1.0, "balance": "none"}),
        ("--balance uniform", {"floor": 0, "balance": "uniform"}),
    ],
)
def test_a_whole_number_is_a_count_and_a_decimal_a_share(dualprune, run, tmp_path, flags, expected):
    words = ("select", "top", run, "--keep", 9, "--out", tmp_path / "small", *flags.split())
    code, _, said = dualprune(*words)
    assert code == 0, said
    knobs = Coreset.load(tmp_path / "small").card.select_knobs
    assert {name: knobs[name] for name in expected} == expected
    assert type(knobs["floor"]) is type(expected["floor"])


@pytest.mark.filterwarnings("ignore:.*fair share")
@pytest.mark.parametrize("selector", SELECTORS)
def test_every_selector_is_a_command(dualprune, run, tmp_path, selector):
    code, _, _ = dualprune("select", selector, run, "--keep", "7", "--out", tmp_path / "small")
    assert code == 0
    assert len(Coreset.load(tmp_path / "small")) == 7


@pytest.mark.parametrize("how", ["drop", "add", "only"])
def test_a_coreset_is_edited_with_a_list_of_ids(dualprune, run, tmp_path, how):
    assert dualprune("select", "top", run, "--keep", "5", "--out", tmp_path / "kept")[0] == 0
    before = Coreset.load(tmp_path / "kept")
    other = np.setdiff1d(np.arange(SAMPLES), before.ids)[:2]
    listed = [*before.ids[:2], *other]
    rows = "".join(f'{i},"a, ""b""\nc"\r\n' for i in listed)
    (tmp_path / "ids.csv").write_text(f"\ufeffid,name\r\n{rows}", "utf-8")
    words = ("edit", tmp_path / "kept", f"--{how}", tmp_path / "ids.csv", "--out", tmp_path / "new")
    code, out, err = dualprune(*words)
    assert (code, out) == (0, f"{tmp_path / 'new'}\n")
    expected = {
        "drop": (before.ids[2:], "2 dropped\nkept       3 of 60 (5.0%)"),
        "add": ([*before.ids, *other], "2 added\nkept       7 of 60 (11.7%)"),
        "only": (listed, "2 added, 3 dropped\nkept       4 of 60 (6.7%)"),
    }
    assert Coreset.load(tmp_path / "new").ids.tolist() == sorted(expected[how][0])
    assert err.startswith(f"changed    {expected[how][1]}")
    assert Coreset.load(tmp_path / "kept").ids.tolist() == before.ids.tolist()
    words = ("edit", tmp_path / "new", "--drop", tmp_path / "no.csv", "--out", tmp_path / "same")
    (tmp_path / "no.csv").write_text("id\n")
    assert dualprune(*words)[2].startswith("changed    nothing\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give one of --drop, --add and --only"),
        (["--drop", "ids.csv", "--add", "ids.csv"], "give one of --drop, --add and --only"),
        (["--drop", "nowhere.csv"], "cannot read nowhere.csv: No such file"),
        (["--drop", "large.csv"], "there is no sample 60: ids are from 0 to 59"),
        (["--drop", "words.csv"], "words.csv is no CSV file with ids in a column 'id'"),
        (["--drop", "gap.csv"], "gap.csv is no CSV file with ids in a column 'id'"),
        (["--drop", "excel.csv"], "excel.csv is no CSV file with ids in a column 'id'"),
        (["--drop", "empty.csv"], "empty.csv is no CSV file with ids in a column 'id'"),
        (["--drop", "huge.csv"], "huge.csv is no CSV file with ids in a column 'id'"),
        (["--only", "none.csv"], "nothing would be kept"),
    ],
)
def test_edits_that_cannot_be_made_are_refused(dualprune, run, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    assert dualprune("select", "top", run, "--keep", "5", "--out", "kept")[0] == 0
    lists = {"ids": "id\n3\n", "large": "id\n60\n", "words": "id\na.png\n", "gap": "id,name\n,a\n"}
    lists |= {"excel": "id;name\n3;a\n", "empty": "", "none": "id\n", "huge": f"id\n{10**30}\n"}
    for name, content in lists.items():
        (tmp_path / f"{name}.csv").write_text(content)
    code, out, err = dualprune("edit", "kept", *words, "--out", "new")
    assert (code, out) == (2, "")
    assert said in err
    assert not (tmp_path / "new").exists()


def test_the_mean_over_runs_needs_a_place(dualprune, tmp_path, run):
    write_epochs(tmp_path / "other", range(1, EPOCHS + 1))
    code, _, err = dualprune("score", "el2n", run, tmp_path / "other")
    assert code == 2
    assert "--out" in err
    code, out, _ = dualprune("score", "el2n", run, tmp_path / "other", "--out", tmp_path / "mean")
    assert (code, out.strip()) == (0, str(tmp_path / "mean"))


def test_score_replaces_a_file_of_scores_and_nothing_else(dualprune, run, tmp_path):
    np.savez(tmp_path / "data.npz", x=np.arange(9))
    (tmp_path / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    part = next(run.rglob("part-*.parquet"))
    before = {path: path.read_bytes() for path in (*files(run).values(), tmp_path / "data.npz")}
    for path in (*before, *(tmp_path / name for name in ("image.png", "link", "folder", "pipe"))):
        code, out, err = dualprune("score", "dual", run, "--out", path)
        assert (code, out) == (2, "")
        assert f"{path} exists and is not a file of scores; choose another place" in err
    assert part in before
    assert {path: path.read_bytes() for path in before} == before
    assert (tmp_path / "link").is_symlink()
    for name in ("dual", "el2n"):
        assert dualprune("score", name, run, "--out", tmp_path / "scores")[0] == 0
        assert Scored.load(tmp_path / "scores").score == name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["score", "dual", "nowhere"], "there is no run at nowhere"),
        (["score", "dual", "RUN", "--epochs", "99"], "epochs must be from 1 to 12, got 99"),
        (["score", "dual", "RUN", "--window", "1"], "at least 2 values"),
        (["select", "top", "RUN", "--keep", "1", "--out", "x"], "ambiguous"),
        (["select", "top", "RUN", "--out", "x"], "either keep or prune"),
        (["select", "top", "RUN", "--score", "nothing", "--keep", "3", "--out", "x"], "no file of"),
        (["select", "top", "RUN", "--score", "none", "--keep", "3", "--out", "x"], "needs a score"),
        (["select", "beta", "RUN", "--score", "aum", "--keep", "3", "--out", "x"], "not negative"),
        (["doctor", "nowhere"], "there is no run at nowhere"),
    ],
)
def test_mistakes_are_said_in_a_sentence(dualprune, run, words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = dualprune(*[run if word == "RUN" else word for word in words])
    assert (code, out) == (2, "")
    assert said in err
    assert err.startswith("dualprune: ")
    assert not (tmp_path / "x").exists()


def test_scores_of_another_run_or_of_other_epochs_are_refused(dualprune, run, tmp_path):
    _, scores, _ = dualprune("score", "dual", run)
    flags = ("--score", scores.strip(), "--keep", "3", "--out", tmp_path / "x")
    code, _, err = dualprune("select", "top", run, "--epochs", "5", *flags)
    assert (code, "the scores are over 12 epochs, not 5" in err) == (2, True)
    write_epochs(tmp_path / "other", range(1, EPOCHS + 1), absent=[7])
    code, _, err = dualprune("select", "top", tmp_path / "other", *flags)
    assert (code, "made from other runs" in err) == (2, True)
    write_epochs(run, [EPOCHS + 1], start_epoch=EPOCHS + 1)
    code, _, err = dualprune("select", "top", run, *flags)
    assert (code, "score again" in err) == (2, True)
    assert not (tmp_path / "x").exists()


def test_methods_lists_everything_and_what_cannot_be_had(dualprune):
    code, out, _ = dualprune("methods")
    assert code == 0
    for name in (*SCORES, *SELECTORS, "SIMS"):
        assert f"\n{name}\n" in out
    assert "arXiv:2502.06905" in out


def test_doctor_finds_a_sound_run_sound(dualprune, run):
    code, out, _ = dualprune("doctor", run)
    assert code == 0
    for line in (
        "samples     60 in 3 classes",
        "epochs      12 complete",
        "coverage    100.00%: every sample in every epoch",
        "duplicates  none",
        "damage      none",
    ):
        assert line in out


def test_doctor_counts_what_is_missing_or_unfinished(dualprune, tmp_path):
    root = tmp_path / "run"
    write_epochs(root, [1, 2], writers=2, absent=[7])
    attempt = write_epochs(root, [3], start_epoch=3, writers=2)
    part = columns(4, np.arange(0, SAMPLES, 2))
    write_part(attempt, 4, 0, part, {"duplicates": 3, "non_finite": 1})
    code, out, _ = dualprune("doctor", root)
    assert code == 0
    assert "4 is incomplete (1 of 2 parts) and not used" in out
    assert "2 missing, most in epoch 1 (1)" in out
    assert "1: from epoch 1, 2 processes; epochs 1 to 2 are used" in out
    write_part(attempt, 4, 1, columns(4, np.arange(SAMPLES)), {"duplicates": 0, "non_finite": 0})
    _, out, _ = dualprune("doctor", root)
    assert "duplicates  33, most in epoch 4 (33)" in out
    assert "not finite  1, most in epoch 4 (1)" in out


def test_doctor_counts_by_the_number_of_the_epoch_also_behind_a_damaged_one(dualprune, tmp_path):
    attempt = write_epochs(tmp_path, [1, 2])
    write_part(attempt, 3, 0, columns(3, np.arange(SAMPLES)), {"duplicates": 5, "non_finite": 0})
    part = next(tmp_path.rglob("000001/*.parquet"))
    part.write_bytes(part.read_bytes()[:-1])
    code, out, _ = dualprune("doctor", tmp_path)
    assert code == 1
    assert "duplicates  5, most in epoch 3 (5)" in out


def test_doctor_names_damage_and_says_so_by_its_exit_code(dualprune, run):
    part = next(run.rglob("000003/*.parquet"))
    data = bytearray(part.read_bytes())
    data[len(data) // 3] ^= 4
    part.write_bytes(data)
    code, out, _ = dualprune("doctor", run)
    assert code == 1
    assert str(part) in out
    assert "epochs      11 complete" in out


ESCAPES = "\x1b]0;owned\x07 \x9b31m \u202egnp"
SHOWN = r"\x1b]0;owned\x07 \x9b31m \u202egnp"


def on_a_terminal(*words):
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "dualprune", *map(str, words)]
    wide = os.environ | {"COLUMNS": "300"}
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=wide) as process:
        os.close(theirs)
        written = b""
        with contextlib.suppress(OSError):  # that is how a terminal ends
            while more := os.read(ours, 2**16):
                written += more
    os.close(ours)
    return process.returncode, written.decode()


@pytest.mark.parametrize(
    ("words", "expected"),
    [("audit RUN", 0), ("doctor RUN", 0), ("score dual RUN", 0), ("score dual NOWHERE", 2)],
)
def test_names_do_not_control_the_terminal(tmp_path, words, expected):
    names, root = [f"{ESCAPES}{i}" for i in range(3)], tmp_path / ESCAPES
    beliefs = np.random.default_rng(0).dirichlet(np.ones(3), (12, 3))
    write_beliefs(root, beliefs, np.arange(3), class_names=names, names=names)
    (root / f"{ESCAPES}.txt").write_text("a leftover")
    places = {"RUN": root, "NOWHERE": tmp_path / f"no {ESCAPES}"}
    code, written = on_a_terminal(*(places.get(word, word) for word in words.split()))
    assert (code, SHOWN in written) == (expected, True), written
    assert not any(control in written for control in ("\x1b]0", "\x07", "\x9b", "\u202e"))


def test_warnings_do_not_control_the_terminal(dualprune, monkeypatch):
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    dualprune("methods")
    shown = warnings.formatwarning(UserWarning(ESCAPES), UserWarning, "file", 1)
    assert shown == f"dualprune: {SHOWN}\n"


def test_a_pipe_gets_a_path_byte_for_byte(run, tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff\x1b[31m" + ESCAPES.encode()
    words = [sys.executable, "-m", "dualprune", "score", "dual", run, "--out", path]
    strict = os.environ | {"PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(words, capture_output=True, check=True, env=strict)
    assert done.stdout == path + b"\n"
    assert Scored.load(os.fsdecode(path)).score == "dual"


def test_the_command_is_installed():
    done = subprocess.run(
        [sys.executable, "-m", "dualprune.cli", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert app.info.help in " ".join(done.stdout.split())


def test_the_version_is_printed(dualprune):
    assert dualprune("--version") == (0, f"dualprune {version('dualprune')}\n", "")


def test_the_list_of_commands_says_what_their_own_help_begins_with():
    helps = {name: " ".join(load_command(name).help.split("\n\n")[0].split()) for name in COMMANDS}
    assert helps == COMMANDS
    assert list(typer.main.get_command(app).commands) == list(COMMANDS)


def test_the_list_of_commands_needs_none_of_their_files():
    code = """
import sys
sys.argv = ["dualprune", "--help"]
from dualprune.cli.__main__ import main
try:
    main()
finally:
    print(sorted({"numpy", "pyarrow", "scipy", "torch"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def commands(group, *above):
    """Give every command as the words to type, with what typer made of it."""
    for name, command in group.items():
        yield (*above, name), command
        yield from commands(getattr(command, "commands", {}), *above, name)


TYPED = dict(commands({name: load_command(name) for name in COMMANDS}))


@pytest.mark.parametrize("words", TYPED, ids=" ".join)
def test_every_help_has_examples_that_can_be_typed(dualprune, words):
    code, printed, _ = dualprune(*words, "-h")
    _, *examples = TYPED[words].epilog.split("\n\n")
    assert code == 0
    assert examples
    for example in examples:
        _, _, typed = example.partition("dualprune ")
        typed = typed.split()
        depth = 2 if tuple(typed[:2]) in TYPED else 1
        TYPED[tuple(typed[:depth])].make_context("dualprune", typed[depth:])
        assert " ".join(typed) in " ".join(printed.split())


def test_a_shell_completes_commands():
    asked = {
        "_DUALPRUNE_COMPLETE": "complete_bash",
        "COMP_WORDS": "dualprune pr",
        "COMP_CWORD": "1",
    }
    code = "from dualprune.cli.__main__ import app; app(prog_name='dualprune')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | asked,
    )
    assert done.stdout.split() == ["prune"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("prun digits", "Did you mean 'prune'?"),
        ("score duel RUN", "Did you mean 'dual'?"),
        ("select top RUN --score duel --keep 3 --out x", "Did you mean dual?"),
        ("methods --show css", "Did you mean ccs?"),
        ("reproduce cifar-10", "Did you mean cifar10?"),
        ("prune digts --keep 0.5 --out x", "Did you mean digits?"),
        ("prune digits --keep 0.5 --out x --method duel+beta", "Did you mean dual+beta?"),
        ("prune digits --keep 0.5 --out x --model resnet19", "Did you mean resnet18?"),
        ("prune digits --keep 0.5 --out x --recipe cifra10", "Did you mean cifar10?"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_nearest(dualprune, run, words, said):
    code, out, err = dualprune(*[run if word == "RUN" else word for word in words.split()])
    assert (code, out) == (2, "")
    assert said in err


def interrupted_when(sign, *words):
    """Press Ctrl-C, which a terminal sends to a command and to all that it started."""
    command = [sys.executable, "-m", "dualprune", *map(str, words)]
    pipe, own = subprocess.PIPE, os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, env=own, start_new_session=True
    ) as started:
        while not sign():
            assert started.poll() is None, started.communicate()
            time.sleep(0.001)
        os.killpg(started.pid, signal.SIGINT)
        printed, said = started.communicate(timeout=60)
    return started.returncode, printed, said


@pytest.mark.parametrize(
    ("words", "sign"),
    [
        ("prune digits --keep 0.5", "run/attempts/*/*/*"),
        ("reproduce cifar10 --scale smoke", "work/*/recordings/*/attempts"),
    ],
)
def test_an_interrupted_command_says_that_it_resumes(tmp_path, words, sign):
    out = tmp_path / "out"
    code, printed, said = interrupted_when(
        lambda: any(out.glob(sign)), *words.split(), "--out", out
    )
    *progress, last = said.splitlines()
    assert (code, printed) == (130, "")
    assert last == "dualprune: interrupted; run the same command again: it resumes"
    assert all("epoch" in line for line in progress), said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        *[
            (f"{command} FOLDER --out OUT {more} {wrong}", said)
            for command, more in (("prune", "--keep 0.5"), ("compare", ""), ("record", ""))
            for wrong, said in (("--method x", "method 'x'"), ("--model x", "model 'x'"))
        ],
        *[
            (f"{command} FOLDER --out OUT {wrong}", said)
            for command in ("prune --keep 0.5", "record", "train")
            for wrong, said in (
                ("--recipe x", "recipe 'x'"),
                ("--model x", "model 'x'"),
                ("--epochs 0", "epochs must be at least 1"),
                ("--seed -1", "seed must be"),
            )
        ],
        *[
            (f"{command} FOLDER --out OUT {wrong}", said)
            for command in ("prune", "compare")
            for wrong, said in (
                ("--keep 1", "ambiguous"),
                ("--keep 0.0", "nothing"),
                ("--keep half", "not an amount"),
                ("--prune 1.5", "from 0.0 to 1.0"),
                ("--keep 0.5 --method tdds-cifar", "epochs"),
            )
        ],
        ("prune FOLDER --out OUT --keep 0.5 --prune 0.5", "either keep or prune"),
        ("prune FOLDER --out OUT --keep 0.5 --epochs 3", "at least 10 epochs"),
        ("train FOLDER --out OUT --iterations 0", "iterations must be at least 1"),
        ("train FOLDER --out OUT --coreset nowhere", "no coreset at nowhere"),
        ("prune FOLDER --out TAKEN --keep 0.5", "holds other files"),
        ("prune FOLDER --out TAKEN --keep 0.5 --materialize link", "is in the way"),
        ("train FOLDER --out TAKEN", "holds other files"),
        ("compare FOLDER --out TAKEN", "holds other files"),
    ],
)
def test_what_can_be_refused_is_refused_before_an_image_is_read(dualprune, tmp_path, words, said):
    (tmp_path / "photos/cats").mkdir(parents=True)
    (tmp_path / "photos/cats/cat.png").write_bytes(b"reading this would be refused by name")
    (tmp_path / "taken/images").mkdir(parents=True)
    places = {"FOLDER": "photos", "OUT": "out", "TAKEN": "taken"}
    places = {word: tmp_path / place for word, place in places.items()}
    code, out, err = dualprune(*(places.get(word, word) for word in words.split()))
    assert (code, out) == (2, "")
    assert said in err
    assert not (tmp_path / "out").exists()


def test_prune_and_compare_take_what_to_prune(dualprune, tmp_path):
    np.savez(tmp_path / "x.npz", x=np.zeros((40, 8, 8), np.uint8), y=np.arange(40) % 2)
    same = ("prune", tmp_path / "x.npz", "--method", "random", "--epochs", 1, "--out")
    assert dualprune(*same, tmp_path / "pruned", "--prune", "0.7")[0] == 0
    assert len(Coreset.load(tmp_path / "pruned")) == 12
    words = ("compare", tmp_path / "x.npz", "--prune", "0.75", "--method", "random", "--seeds", 1)
    code, printed, said = dualprune(*words, "--out", tmp_path / "compared")
    assert code == 0, said
    assert "75" in printed
