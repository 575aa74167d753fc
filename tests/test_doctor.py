"""`dualprune doctor` reads all of a run, also its names and features."""

import os
import signal
from contextlib import contextmanager
from itertools import product

import numpy as np
import pytest

from dualprune import Run
from dualprune.errors import DamagedError
from dualprune.files import read_json
from dualprune.run.health import examine
from dualprune.score.scored import Scored
from tests import commands
from tests.run_by_hand import start, trajectories, write_run

SAMPLES = 40


@pytest.fixture
def root(tmp_path):
    path, names = tmp_path / "run", [f"{i}.png" for i in range(SAMPLES)]
    features = {n: np.random.default_rng(n).normal(size=(SAMPLES, 3)) for n in (5, 12)}
    write_run(path, trajectories(), names=names, features=features)
    return path


def flip(path, position, bit=4):
    data = bytearray(path.read_bytes())
    data[position] ^= bit
    path.write_bytes(data)


def test_doctor_says_after_which_epochs_there_are_features(dualprune, root):
    code, out, _ = dualprune("doctor", root)
    assert code == 0
    assert "\nfeatures    after epochs 5, 12\n" in out
    assert "leftovers" not in out


@pytest.mark.parametrize("name", ["names.parquet", "attempts/0001/000005/features.parquet"])
@pytest.mark.parametrize("position", [60, -5, -1])
def test_doctor_names_a_damaged_file_beside_the_epochs(dualprune, root, name, position):
    flip(root / name, position)
    code, out, _ = dualprune("doctor", root)
    assert code == 1
    assert f"{root / name} is damaged" in out
    assert "damage      1 found" in out
    assert "epochs      12 complete" in out
    assert "after epochs 12" in out or name == "names.parquet"


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("names.parquet", lambda root: Run(root).names),
        ("attempts/0001/000005/features.parquet", lambda root: {"": Run(root).features(5)}),
    ],
)
def test_a_bit_flipped_in_the_footer_is_damage_or_changes_nothing(root, name, read):
    path, expected, damaged = root / name, read(root), 0
    whole = path.read_bytes()
    footer = 8 + int.from_bytes(whole[-8:-4], "little")
    for position, bit in product(range(-footer, 0), (1, 4, 128)):
        path.write_bytes(whole)
        flip(path, position, bit)
        try:
            values = read(root)
        except DamagedError:
            damaged += 1
        else:
            assert values.keys() == expected.keys()
            assert all((values[key] == expected[key]).all() for key in values)
    assert damaged > footer


@pytest.mark.parametrize("name", ["names.parquet", "attempts/0001/000012/features.parquet"])
def test_doctor_names_a_file_that_is_something_else(dualprune, root, name):
    (root / name).write_bytes(b"not ours")
    code, out, _ = dualprune("doctor", root)
    assert code == 1
    assert f"{root / name} is damaged" in out


def test_names_and_features_that_are_gone_are_damage_and_no_older_ones_are_read(root, dualprune):
    (root / "names.parquet").unlink()
    (root / "attempts/0001/000012/features.parquet").unlink()
    run = Run(root)
    with pytest.raises(DamagedError, match=r"names\.parquet"):
        _ = run.names
    with pytest.raises(DamagedError, match=r"000012/features\.parquet"):
        run.features()
    code, out, _ = dualprune("doctor", root)
    assert (code, "damage      2 found" in out) == (1, True)


def test_names_and_features_of_another_run_or_epoch_are_damage(root, tmp_path):
    other = tmp_path / "other"
    features = {5: np.ones((SAMPLES, 3))}
    write_run(other, trajectories(), names=[f"{i}.jpg" for i in range(SAMPLES)], features=features)
    for name in ("names.parquet", "attempts/0001/000005/features.parquet"):
        (root / name).write_bytes((other / name).read_bytes())
    assert len(examine(root).damage) == 2
    twelve = (root / "attempts/0001/000012/features.parquet").read_bytes()
    (root / "attempts/0001/000005/features.parquet").write_bytes(twelve)
    with pytest.raises(DamagedError, match=r"000005/features\.parquet"):
        Run(root).features(5)


def test_names_and_features_are_part_of_the_fingerprint(tmp_path):
    names, features = [f"{i}.png" for i in range(SAMPLES)], {3: np.ones((SAMPLES, 2))}
    kinds = [{}, {"names": names}, {"names": names[::-1]}, {"features": features}]
    runs = [write_run(tmp_path / str(n), trajectories(), **kind) for n, kind in enumerate(kinds)]
    assert len({run.fingerprint for run in runs}) == 4


def test_files_that_nobody_reads_are_leftovers_also_among_the_features(root):
    folder = root / "attempts/0001/000005"
    strange = [folder / name for name in (".0.tmp", "7.parquet", "notes.txt")]
    for path in strange:
        path.write_bytes(b"not ours")
    health = examine(root)
    assert health.leftovers == strange
    assert (health.damage, health.features) == ([], [5, 12])


KINDS = (
    *("run.json", "names.parquet", "attempts/0001/start.json", "attempts/0001/000003/part-*"),
    *("attempts/0001/000010/part-*", "attempts/0001/000010/features.parquet"),
    *("scores/dual-*.parquet", "checkpoint/state.json", "checkpoint/*.safetensors"),
)


@pytest.fixture(scope="module")
def pruned(tmp_path_factory):
    """The run of `prune`, with scores, features and a checkpoint."""
    out = tmp_path_factory.mktemp("doctor") / "pruned"
    flags = ("--keep", "0.5", "--epochs", "10", "--method", "dual+d2", "--out", out)
    assert commands.dualprune("prune", "digits", *flags)[0] == 0
    assert commands.dualprune("score", "dual", out / "run")[0] == 0
    return out / "run"


def everything(root):
    """All that can be read of a run."""
    run, (scores,) = Run(root), (root / "scores").iterdir()
    state = read_json(root / "checkpoint/state.json")
    arrays = [run[name] for name in (*run.signals, "labels", "features")]
    arrays += [*run.names.values(), Scored.load(scores).values]
    tensors = (root / "checkpoint" / state["tensors"]).read_bytes()
    return [array.tobytes() for array in arrays], run.description, state, tensors


@contextmanager
def damaged(path, make):
    """Replace a file by something else, for a while; whoever waits for it is woken up."""
    aside = path.parent.parent.parent / "aside"
    path.rename(aside)
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail(f"it waits for {path}"))
    signal.alarm(60)
    try:
        make(path)
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        path.rmdir() if path.is_dir() else path.unlink()
        aside.rename(path)


def test_doctor_finds_what_prune_wrote_sound(dualprune, pruned):
    code, out, _ = dualprune("doctor", pruned)
    assert (code, "damage      none" in out, "leftovers" in out) == (0, True, False)


@pytest.mark.parametrize("kind", KINDS)
def test_doctor_reads_every_file_and_notices_each_that_changed(dualprune, pruned, kind):
    (path,) = pruned.glob(kind)
    data, before = path.read_bytes(), everything(pruned)
    cuts = [data[: len(data) * step // 8] for step in range(8)]
    for content in [*cuts, b"not ours", data[::-1], data + b"?", os.urandom(len(data))]:
        with damaged(path, lambda file, content=content: file.write_bytes(content)):
            code, out, _ = dualprune("doctor", pruned)
        assert (code, str(path.name) in out) == (1, True), out
    for position in np.linspace(0, len(data) - 1, 40, dtype=int):
        with damaged(path, lambda file: file.write_bytes(data)):
            flip(path, position)
            code, out, _ = dualprune("doctor", pruned)
            assert code in (0, 1)
            assert ("damage      none" in out) == (code == 0)
            assert code == 1 or everything(pruned) == before


@pytest.mark.parametrize(
    "make",
    [os.mkfifo, os.mkdir, lambda path: path.symlink_to(path), lambda path: path.symlink_to("gone")],
    ids=["pipe", "folder", "loop", "dangling"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_doctor_waits_for_nothing_and_follows_no_loop(dualprune, pruned, kind, make):
    (path,) = pruned.glob(kind)
    with damaged(path, make):
        code, out, _ = dualprune("doctor", pruned)
    assert (code, "damage      none" in out) == (1, False), out
    assert str(path.name) in out


@pytest.mark.parametrize("lost", ["attempts", "attempts/0001", "attempts/0001/000010"])
def test_doctor_misses_epochs_that_the_checkpoint_knows(dualprune, pruned, tmp_path, lost):
    (pruned / lost).rename(tmp_path / "aside")
    code, out, _ = dualprune("doctor", pruned)
    (tmp_path / "aside").rename(pruned / lost)
    assert (code, "checkpoint is of epoch 10, but " in out) == (1, True), out


def test_doctor_names_unknown_files_wherever_they_are(dualprune, root):
    (root / "scores").mkdir()
    (root / "checkpoint").mkdir()
    for name in ("scores/notes.txt", "checkpoint/000003.safetensors", "deep.txt"):
        (root / name).write_text("not ours")
    os.mkfifo(root / "attempts/pipe")
    code, out, _ = dualprune("doctor", root)
    assert (code, "leftovers   4 files that readers skip" in out) == (0, True), out


def test_a_recording_that_was_stripped_of_its_tensors_is_sound(dualprune, pruned, tmp_path):
    (path,) = pruned.glob("checkpoint/*.safetensors")
    path.rename(tmp_path / "aside")
    code, out, _ = dualprune("doctor", pruned)
    (tmp_path / "aside").rename(path)
    assert (code, "damage      none" in out) == (0, True)


def test_doctor_says_how_many_classes_there_are_if_there_are_any(dualprune, tmp_path):
    start(tmp_path, 5, None, ["loss"])
    assert "samples     5\n" in dualprune("doctor", tmp_path)[1]
