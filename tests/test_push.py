"""`dualprune push`: resumable, verified, never onto something else, whole epochs for readers."""

import shutil
from pathlib import Path

import fsspec
import numpy as np
import pytest

from dualprune import Coreset, Run, choose, push
from dualprune.coreset import Check
from dualprune.errors import DamagedError, InputError, MissingError, StoreError
from dualprune.files import place
from dualprune.run import RunWriter
from dualprune.urls import Url
from tests import commands
from tests.recording import run_script
from tests.store import s3_server, use

DIGITS = Path(__file__).parent / "runs" / "digits"
LOSSES = np.random.default_rng(0).exponential(size=(4, 30)).astype(np.float32)


@pytest.fixture
def url(tmp_path):
    return f"memory://{tmp_path.name}/pushed"


@pytest.fixture
def run(tmp_path):
    return Run.from_arrays(tmp_path / "run", loss=LOSSES[:2], names=[f"{n}.png" for n in range(30)])


def files_of(path):
    return sorted(p.relative_to(path).as_posix() for p in Path(path).rglob("*") if p.is_file())


def files_at(url):
    root = place(url)
    return sorted(file.path.removeprefix(root.path).strip("/") for file in root.files())


def test_everything_is_there_and_is_not_copied_again(run, url):
    pushed = push(run.path, url)
    assert (pushed.copied, pushed.there) == (5, 0)
    assert files_at(url) == files_of(run.path)
    for name in files_at(url):
        assert (place(url) / name).open().read() == (run.path / name).read_bytes()
    again = push(run.path, url)
    assert (again.copied, again.size, again.there) == (0, 0, 5)


def test_what_announces_comes_after_what_it_announces(run, url, monkeypatch):
    order, upload = [], Url.upload

    def noted(goal, source):
        order.append(source.relative_to(run.path).parts)
        upload(goal, source)

    monkeypatch.setattr(Url, "upload", noted)
    push(run.path, url)
    names = ["names.parquet", "start.json", "part", "part", "run.json"]
    assert [path[-1].partition("-")[0] for path in order] == names
    assert [path[2] for path in order[2:4]] == ["000001", "000002"]


def test_more_epochs_and_attempts_are_added(run, url):
    push(run.path, url)
    names = list(run.names["name"])
    for start in (3, 2):  # goes on, then goes back
        with_more = RunWriter(
            run.path, samples=30, signals=["loss"], names=names, start_epoch=start
        )
        for losses in LOSSES[start - 1 :]:
            with_more.write_epoch({"loss": losses})
        pushed = push(run.path, url)
        assert (pushed.copied, Run(url).fingerprint) == (6 - start, Run(run.path).fingerprint)
    np.testing.assert_array_equal(Run(url)["loss"], LOSSES)


def test_epochs_that_are_not_complete_and_what_killed_writers_left_stay(run, url):
    part = next(run.path.glob("attempts/0001/000002/part*"))
    epoch = run.path / "attempts/0001/000003"
    epoch.mkdir()
    shutil.copy(part, epoch / part.name.replace("-of-1-", "-of-2-"))
    (epoch / f".{'0' * 32}.tmp").write_bytes(b"half")
    (run.path / "checkpoint").mkdir()
    (run.path / "checkpoint" / "state.json").write_text("{}")
    assert push(run.path, url).copied == 5
    assert Run(url).epochs == 2


def test_another_run_is_refused(run, url, tmp_path):
    push(run.path, url)
    names = list(run.names["name"])
    twin = Run.from_arrays(tmp_path / "twin", loss=LOSSES[:2], names=names)
    other = Run.from_arrays(tmp_path / "other", loss=LOSSES[:2, :9])
    before = {name: (place(url) / name).open().read() for name in files_at(url)}
    for path in (twin.path, other.path):
        with pytest.raises(InputError, match=r"holds something else than .*; push to another URL"):
            push(path, url)
    assert {name: (place(url) / name).open().read() for name in files_at(url)} == before


def test_a_copy_that_was_recorded_on_elsewhere_is_refused(run, url, tmp_path):
    copy = shutil.copytree(run.path, tmp_path / "copy")
    names = list(run.names["name"])
    RunWriter(copy, samples=30, signals=["loss"], names=names, start_epoch=3)
    push(copy, url)
    with pytest.raises(InputError, match=r"0002/start.json differs"):
        push(run.path, url)


def test_a_place_with_other_files_is_refused(run, url):
    place(f"{url}/notes.txt").write(b"mine")
    with pytest.raises(InputError, match=r"holds other files, such as notes.txt"):
        push(run.path, url)


def test_what_cannot_be_pushed_is_said(run, url, tmp_path):
    with pytest.raises(MissingError, match="there is no run and no coreset at"):
        push(tmp_path / "nothing", url)
    with pytest.raises(InputError, match="is on this machine; give a URL"):
        push(run.path, tmp_path / "there")
    with pytest.raises(InputError, match=r"is a URL, but this must be a folder on this machine"):
        push(url, url)
    part = next(run.path.glob("attempts/0001/000002/part*"))
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(DamagedError, match="part"):
        push(run.path, url)
    assert not place(url).exists()


def test_what_does_not_arrive_as_it_was_sent_is_removed(run, url, monkeypatch):
    def garbled(goal, source):
        goal.write(source.read_bytes()[::-1])

    with monkeypatch.context() as patch:
        patch.setattr(Url, "upload", garbled)
        with pytest.raises(StoreError, match="did not arrive as it was"):
            push(run.path, url)
    assert files_at(url) == []
    assert push(run.path, url).copied == 5


def test_a_coreset_and_its_check_are_pushed(url, tmp_path):
    coreset = choose(DIGITS, keep=0.2, out=tmp_path / "small")
    (tmp_path / "small" / "report.html").write_text("page")
    (tmp_path / "small" / "images").mkdir()
    (tmp_path / "small" / "images" / "1.png").write_text("mine")
    push(tmp_path / "small", url)
    assert files_at(url) == ["card.json", "coreset.parquet", "report.html"]
    assert Coreset.load(url).card == coreset.card
    checked = coreset.save_check(tmp_path / "small", Check(held_out=9, arms=[]))
    assert push(tmp_path / "small", url).copied == 1
    assert Coreset.load(url).card == checked.card
    choose(DIGITS, keep=0.3, out=tmp_path / "other")
    with pytest.raises(InputError, match=r"holds something else than .*card.json differs"):
        push(tmp_path / "other", url)


def test_a_folder_of_prune_is_pushed_with_its_runs(url, tmp_path):
    out = tmp_path / "pruned"
    choose(DIGITS, keep=0.2, out=out)
    for name in ("run", "run-2"):
        shutil.copytree(DIGITS, out / name)
    (out / "check").mkdir()
    push(out, url)
    assert Run(url).fingerprint == Run(f"{url}/run-2").fingerprint == Run(DIGITS).fingerprint
    assert len(Coreset.load(url)) == 288


def test_the_command_says_what_it_did(run, url):
    code, printed, said = commands.dualprune("push", run.path, url)
    assert (code, printed.strip()) == (0, str(place(url)))
    assert said.startswith("copied     5 files (0.0 MB); 0 were there")


@pytest.fixture(scope="module")
def bucket():
    with s3_server() as address, pytest.MonkeyPatch.context() as patch:
        use(patch, address)
        fsspec.filesystem("s3").mkdir("bucket")
        yield "s3://bucket"


@pytest.mark.parametrize("kills", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_readers_of_a_push_that_is_killed_see_whole_epochs_or_none(bucket, tmp_path, kills):
    assert "kills" in run_script(
        "pushing", "at_uploads", tmp_path / "run", f"{bucket}/{kills}", kills
    )


@pytest.mark.slow
def test_a_push_can_be_killed_at_any_instant(bucket, tmp_path):
    run_script("pushing", "at_random_instants", tmp_path / "run", f"{bucket}/any", 60)
