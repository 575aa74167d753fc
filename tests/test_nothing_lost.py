"""What an attack found: rows, labels and runs that got lost without a word."""

import errno
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch

from dualprune import Recorder, Run, choose
from dualprune.errors import DamagedError, InputError, WriteError
from dualprune.files import draft, exists, make_folders, write
from dualprune.run import attempts
from dualprune.run.writer import write_part
from tests.recording import record, system_calls
from tests.run_by_hand import NOTHING_ODD, start

SAMPLES, CLASSES = 60, 3


def logits_of(ids, epoch):
    return torch.from_numpy(np.random.default_rng(epoch).normal(size=(SAMPLES, CLASSES)))[ids]


def record_epoch(recorder, ids=None, *, size=10):
    ids = torch.arange(SAMPLES) if ids is None else torch.as_tensor(ids)
    for batch in ids.split(size):
        recorder.update(logits_of(batch, recorder.epoch), batch % CLASSES, batch)
    recorder.end_epoch()


def rows(epochs, labels=None):
    ids = np.arange(4)
    return {"id": ids, "label": ids % 2 if labels is None else labels, "loss": ids + epochs}


# A resumed loop may see only the rest of an epoch


def test_what_a_resumed_epoch_did_not_see_again_is_what_was_durable(tmp_path):
    with Recorder(tmp_path, samples=SAMPLES, classes=CLASSES) as recorder:
        for _ in range(3):
            record_epoch(recorder)
    before = Run(tmp_path)["loss"]
    rest = np.arange(SAMPLES // 2, SAMPLES)
    with Recorder(tmp_path, samples=SAMPLES, classes=CLASSES, start_epoch=2) as recorder:
        recorder.update(logits_of(torch.from_numpy(rest), 9), rest % CLASSES, rest)
        recorder.end_epoch()
    after = Run(tmp_path)["loss"]
    assert after.shape == (2, SAMPLES)
    assert (after[0] == before[0]).all()
    assert (after[1, : SAMPLES // 2] == before[1, : SAMPLES // 2]).all()
    assert (after[1, rest] != before[1, rest]).all()


def test_from_epoch_1_on_nothing_old_is_left(tmp_path):
    with Recorder(tmp_path, samples=SAMPLES, classes=CLASSES) as recorder:
        record_epoch(recorder)
    with Recorder(tmp_path, samples=SAMPLES, classes=CLASSES, start_epoch=1) as recorder:
        record_epoch(recorder, [0, 1, 2])
    assert np.flatnonzero(~np.isnan(Run(tmp_path)["loss"][0])).tolist() == [0, 1, 2]


def test_an_epoch_that_was_completed_twice_keeps_all_its_rows(tmp_path):
    for seen in (range(20), range(15, 40), range(35, SAMPLES)):
        first = 2 if (tmp_path / "run.json").exists() else None
        with Recorder(tmp_path, samples=SAMPLES, classes=CLASSES, start_epoch=first) as recorder:
            if first is None:
                record_epoch(recorder)
            record_epoch(recorder, list(seen))
    assert not np.isnan(Run(tmp_path)["loss"]).any()


# Two attempts at once


def test_an_attempt_that_finished_nothing_hides_nothing(tmp_path):
    one = start(tmp_path, 4, 2, ["loss"])
    for epoch in (1, 2, 3):
        write_part(one, epoch, 0, rows(epoch), NOTHING_ODD)
    start(tmp_path, 4, 2, ["loss"], start_epoch=1)
    assert Run(tmp_path).epochs == 3


def test_an_epoch_that_came_too_late_leaves_no_hole(tmp_path):
    """The second attempt was overtaken by the third while it wrote its first epoch."""
    one = start(tmp_path, 4, 2, ["loss"])
    for epoch in (1, 2, 3, 4):
        write_part(one, epoch, 0, rows(epoch), NOTHING_ODD)
    two = start(tmp_path, 4, 2, ["loss"], start_epoch=3)
    three = start(tmp_path, 4, 2, ["loss"], start_epoch=5)
    with pytest.raises(InputError, match="attempt 3 has taken over"):
        write_part(two, 3, 0, rows(30), NOTHING_ODD)
    (three.folder).rename(tmp_path / "aside")
    write_part(two, 3, 0, rows(30), NOTHING_ODD)
    (tmp_path / "aside").rename(three.folder)
    assert Run(tmp_path).epochs == 3
    write_part(three, 5, 0, rows(5), NOTHING_ODD)
    assert Run(tmp_path)["loss"][:, 0].tolist() == [1, 2, 3, 4, 5]


def test_two_jobs_that_mkdir_did_not_keep_apart_leave_an_error_and_no_mixture(
    tmp_path, monkeypatch
):
    def not_exclusive(call, name, arguments):
        with suppress(FileExistsError):
            return call(*arguments)

    with system_calls(not_exclusive):
        one = Recorder(tmp_path, samples=SAMPLES, classes=CLASSES)
        with monkeypatch.context() as same_instant:
            same_instant.setattr("dualprune.run.writer.newest_claim", lambda root: 0)
            other = Recorder(tmp_path, samples=SAMPLES, classes=CLASSES)
        for recorder in (one, other):
            record_epoch(recorder, range(30 if recorder is one else 60))
    with pytest.raises(DamagedError, match="holds two parts of process 0"):
        Run(tmp_path)


# Labels


def test_one_sample_with_two_labels_in_an_epoch_is_refused(tmp_path):
    recorder = Recorder(tmp_path, samples=4, classes=3)
    recorder.update(torch.zeros(3, 3), [0, 1, 2], [0, 1, 0])
    with pytest.raises(InputError, match="id 0 occurs twice, with label 0 and with label 2"):
        recorder.end_epoch()


@pytest.mark.parametrize("epoch", [1, 2])
def test_labels_that_differ_between_processes_are_refused_when_scored(tmp_path, epoch):
    attempt = start(tmp_path, 4, 2, ["loss"], writers=2)
    other = np.array([0, 1, 0, 0])
    for number in (1, 2):
        write_part(attempt, number, 0, rows(number), NOTHING_ODD)
        labels = other if number == epoch else None
        write_part(attempt, number, 1, rows(number, labels), NOTHING_ODD)
    with pytest.raises(InputError, match=rf"id 3 has label 0 in epoch {epoch}, 1 in another part"):
        choose(tmp_path, "confidence", keep=2)


# What signals remember


def test_kl_step_goes_on_without_a_gap_from_its_state(tmp_path):
    about = {"samples": SAMPLES, "classes": CLASSES, "signals": ["loss", "kl_step"]}
    with Recorder(tmp_path / "whole", **about) as recorder:
        for _ in range(4):
            record_epoch(recorder)
    with Recorder(tmp_path / "resumed", **about) as recorder:
        for _ in range(2):
            record_epoch(recorder)
        state = {name: value.clone() for name, value in recorder.state_dict().items()}
        record_epoch(recorder)  # after the checkpoint
    with Recorder(tmp_path / "resumed", **about, start_epoch=3) as recorder:
        recorder.load_state_dict(state)
        for _ in range(2):
            record_epoch(recorder)
    whole, resumed = (Run(tmp_path / name)["kl_step"] for name in ("whole", "resumed"))
    np.testing.assert_array_equal(whole, resumed)
    assert not np.isnan(resumed[1:]).any()


def test_a_recorder_without_such_signals_has_no_state(tmp_path):
    with Recorder(tmp_path, samples=SAMPLES, classes=CLASSES) as recorder:
        record_epoch(recorder)
        assert recorder.state_dict() == {}
        recorder.load_state_dict({})


# Temporary files

LEAVES_ONE = """
import os, signal, sys
from pathlib import Path
from dualprune.files import draft

with draft(Path(sys.argv[1]), "name") as file:
    file.write(b"half")
    if sys.argv[2] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_what_killed_writers_left_is_removed_and_what_others_write_is_not(tmp_path):
    killed = subprocess.run([sys.executable, "-c", LEAVES_ONE, tmp_path, "die"], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 1
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", LEAVES_ONE, tmp_path, "wait"], **pipes) as alive:
        assert alive.stdout.readline() == b"writing\n"
        make_folders(tmp_path)
        assert len(list(tmp_path.iterdir())) == 1
        alive.communicate()
    assert (tmp_path / "name").read_bytes() == b"half"
    assert len(list(tmp_path.iterdir())) == 1


def test_the_next_attempt_removes_what_killed_ones_left(tmp_path):
    one = start(tmp_path, 4, 2, ["loss"])
    write_part(one, 1, 0, rows(1), NOTHING_ODD)
    for folder in (tmp_path, one.folder, one.folder / "000001"):
        subprocess.run([sys.executable, "-c", LEAVES_ONE, folder, "die"], check=False)
    assert len(list(tmp_path.rglob(".*.tmp"))) == 3
    start(tmp_path, 4, 2, ["loss"], start_epoch=2)
    assert not list(tmp_path.rglob(".*.tmp"))


def test_the_next_file_in_a_folder_removes_what_a_killed_writer_left_and_nothing_else(tmp_path):
    (tmp_path / ".mine.tmp").touch()
    subprocess.run([sys.executable, "-c", LEAVES_ONE, tmp_path, "die"], check=False)
    assert len(list(tmp_path.iterdir())) == 2
    write(tmp_path / "name", b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".mine.tmp", "name"]


def test_a_file_that_cannot_be_locked_is_not_kept_open(tmp_path, monkeypatch):
    def fail(_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    before = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr(os, "fstat", fail)
    with pytest.raises(WriteError, match=r"name: .*\(errno 5\)"):
        write(tmp_path / "name", b"whole")
    monkeypatch.undo()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert not list(tmp_path.iterdir())


def test_an_error_while_writing_leaves_nothing(tmp_path):
    def fail():
        with draft(tmp_path, "name") as file:
            file.write(b"half")
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail()
    assert not list(tmp_path.iterdir())
    write(tmp_path / "name", b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["name"]


# Cost


def test_waiting_batches_are_not_looked_at_again(tmp_path):
    with Recorder(tmp_path, samples=20_000, classes=2) as recorder:
        held = recorder._waiting
        for sample in range(100):
            recorder.update(torch.zeros(1, 2), [0], [sample])
        assert recorder._waiting is held, "a new list for every batch is quadratic"
        recorder.end_epoch()


def test_an_attempt_that_begins_while_it_is_looked_for_has_lost_nothing(tmp_path, monkeypatch):
    record(tmp_path / "run", 2)
    second, later = tmp_path / "run/attempts/0002", tmp_path / "later"
    record(tmp_path / "run", 2, start_epoch=2)
    second.rename(later)
    second.mkdir()

    def begin_after_the_first_look(path):
        found = exists(path)
        if path == second / "start.json" and later.exists():
            second.rmdir()
            later.rename(second)
        return found

    monkeypatch.setattr(attempts, "exists", begin_after_the_first_look)
    assert Run(tmp_path / "run").epochs == 2
