"""The life of a run, also with other processes around it."""

import json
import os
import signal

import numpy as np
import pytest
import torch

from dualprune import Run
from dualprune.errors import InputError, WriteError
from tests.batches import DEFAULT, batch, new, record, reference


def test_an_epoch_without_any_batch_is_refused(tmp_path):
    with new(tmp_path) as recorder, pytest.raises(InputError, match=r"without any update\(\)"):
        recorder.end_epoch()
    assert Run(tmp_path / "run").epochs == 0


def test_epochs_are_counted_from_one(tmp_path):
    recorder = new(tmp_path)
    assert recorder.epoch == 1
    recorder.update(*batch(4, 3))
    recorder.end_epoch()
    assert recorder.epoch == 2
    assert new(tmp_path, start_epoch=2).epoch == 2
    assert new(tmp_path, start_epoch=1).epoch == 1


def test_a_closed_recorder_takes_nothing_more(tmp_path):
    recorder = new(tmp_path)
    recorder.update(*batch(4, 3))
    recorder.end_epoch()
    recorder.close()
    recorder.close()
    with pytest.raises(InputError, match=r"update\(\) after close\(\)"):
        recorder.update(*batch(4, 3))
    with pytest.raises(InputError, match=r"end_epoch\(\) after close\(\)"):
        recorder.end_epoch()
    assert Run(tmp_path / "run").epochs == 1


def test_closing_in_the_middle_of_an_epoch_warns_once_and_records_nothing_of_it(tmp_path):
    recorder = new(tmp_path)
    recorder.update(*batch(4, 3))
    with pytest.warns(UserWarning, match="epoch 1 was not ended"):
        recorder.close()
    recorder.close()  # a second warning would be an error here
    assert Run(tmp_path / "run").epochs == 0


@pytest.mark.parametrize("kind", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_an_exception_in_the_loop_loses_nothing_that_was_ended(tmp_path, kind):
    def batches(epoch):
        yield batch(4, 3, seed=epoch)[0], [0, 1, 2, 0], range(4)
        if epoch == 3:
            raise kind

    with pytest.raises(kind):
        record(tmp_path / "run", *map(batches, range(5)), samples=4, classes=3)
    run = Run(tmp_path / "run")
    assert run.epochs == 3
    for epoch in range(3):
        expected = reference(batch(4, 3, seed=epoch)[0], torch.tensor([0, 1, 2, 0]))
        np.testing.assert_allclose(run["loss"][epoch], expected["loss"], rtol=1e-5, atol=2e-6)


def test_an_epoch_is_there_for_readers_as_soon_as_end_epoch_returns(tmp_path):
    recorder = new(tmp_path)
    for epochs in (1, 2, 3):
        recorder.update(*batch(4, 3))
        assert Run(tmp_path / "run").epochs == epochs - 1
        recorder.end_epoch()
        assert Run(tmp_path / "run").epochs == epochs


def break_replace(monkeypatch):
    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("dualprune.files.os.replace", full)


def test_an_epoch_that_could_not_be_written_can_be_ended_again(tmp_path, monkeypatch):
    first, second = batch(4, 3), (batch(4, 3, seed=1)[0], *batch(4, 3)[1:])
    with new(tmp_path) as recorder:
        recorder.update(*first)
        recorder.end_epoch()
        recorder.update(*second)
        with monkeypatch.context() as broken:
            break_replace(broken)
            for _ in range(2):
                with pytest.raises(WriteError, match="No space left"):
                    recorder.end_epoch()
        assert recorder.epoch == 2
        assert Run(tmp_path / "run").epochs == 1
        with pytest.raises(InputError, match=r"call end_epoch\(\) again before update\(\)"):
            recorder.update(*first)
        recorder.end_epoch()
        recorder.update(*first)
        recorder.end_epoch()
    run = Run(tmp_path / "run")
    expected = [reference(*each[:2])["margin"].numpy() for each in (first, second, first)]
    np.testing.assert_allclose(run["margin"], expected, rtol=1e-6)
    assert not list(tmp_path.rglob("*.tmp"))


def test_closing_with_an_epoch_that_could_not_be_written_warns(tmp_path, monkeypatch):
    recorder = new(tmp_path)
    recorder.update(*batch(4, 3))
    with monkeypatch.context() as broken:
        break_replace(broken)
        with pytest.raises(WriteError):
            recorder.end_epoch()
    with pytest.warns(UserWarning, match="epoch 1 .* not recorded"):
        recorder.close()


def test_mode_class_names_and_notes_are_stored(tmp_path):
    names = ["ä", "b", "c d"]
    new(tmp_path, mode="eval", class_names=names, notes="lr 0.1\nµ")
    description = Run(tmp_path / "run").description
    assert description.mode == "eval"
    assert description.class_names == ["ä", "b", "c d"]
    assert description.notes == "lr 0.1\nµ"
    stored = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (stored["mode"], stored["class_names"], stored["notes"]) == ("eval", names, "lr 0.1\nµ")
    assert (stored["samples"], stored["classes"], list(stored["signals"])) == (4, 3, [*DEFAULT])


@pytest.mark.parametrize(
    ("knobs", "told"),
    [
        ({"mode": "test"}, "mode must be 'train' or 'eval', got 'test'"),
        ({"class_names": ["a", "b"]}, "2 class names for 3 classes"),
        ({"classes": 1}, "classes must be at least 2, got 1; a model with one logit has 2"),
        ({"samples": 0}, "samples must be at least 1, got 0"),
    ],
)
def test_a_description_that_makes_no_sense_is_refused(tmp_path, knobs, told):
    with pytest.raises(InputError, match=told):
        new(tmp_path, **knobs)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "knobs", [{"classes": 4}, {"samples": 5}, {"mode": "eval"}, {"signals": ("loss",)}]
)
def test_going_on_with_another_description_is_refused_by_name(tmp_path, knobs):
    record(tmp_path / "run", [batch(4, 3)], samples=4, classes=3)
    with pytest.raises(InputError, match=f"holds another run: {next(iter(knobs))} is"):
        new(tmp_path, start_epoch=2, **knobs)
    assert Run(tmp_path / "run").epochs == 1


def is_refused(call, *args):
    try:
        call(*args)
    except InputError:
        return True
    return False


def test_a_recorder_that_a_forked_process_inherited_is_refused_there(tmp_path):
    recorder = new(tmp_path)
    recorder.update(*batch(4, 3))
    if (child := os.fork()) == 0:
        signal.alarm(20)  # a forked process may find locked what a thread of its parent held
        code = 1
        try:
            refused = is_refused(recorder.update, *batch(4, 3)), is_refused(recorder.end_epoch)
            code = 0 if all(refused) else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    recorder.end_epoch()
    assert os.waitstatus_to_exitcode(status) == 0
    assert Run(tmp_path / "run").epochs == 1
