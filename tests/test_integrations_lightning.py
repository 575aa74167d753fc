"""RecordDynamics in real trainings with Lightning: killed, resumed, in two processes."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("lightning")

from lightning.pytorch import Callback
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.nn.functional import cross_entropy

from dualprune import Indexed, Run
from dualprune.errors import InputError
from dualprune.integrations.lightning import RecordDynamics

from .lightning_job import SAMPLES, STEPS, Data, Module, every, fit, fit_pruned
from .test_torchrun import check_run

pytestmark = [
    pytest.mark.filterwarnings("ignore:::lightning"),
    pytest.mark.filterwarnings("ignore:.*(LeafSpec|ckpt_path|dirpath)"),
]


def script(tmp_path, code=0, **config):
    """Run the job as a script; it must end with this code."""
    command = [sys.executable, "-m", "tests.lightning_job", json.dumps(config)]
    root = Path(__file__).parents[1]
    log = tmp_path / "log"
    with log.open("w") as output:
        process = subprocess.run(
            command, cwd=root, stdout=output, stderr=output, timeout=120, check=False
        )
    assert process.returncode == code, log.read_text()
    return log.read_text()


def first_epochs(path):
    files = sorted(path.glob("attempts/*/start.json"))
    return [json.loads(file.read_text())["first_epoch"] for file in files]


# ---------------------------------------------------------------------------- what is recorded


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"data": Indexed(Data(dict))},
        {"accumulate_grad_batches": 3},
        {"precision": "bf16-mixed"},
        {"val_check_interval": 5},
    ],
    ids=lambda options: next(iter(options), "plain"),
)
def test_an_unmodified_module_is_recorded(tmp_path, options):
    fit(tmp_path / "run", **options)
    check_run(tmp_path / "run", SAMPLES, 3)


class WithoutForward(Module):
    def forward(self, x):
        raise NotImplementedError

    def training_step(self, batch, batch_idx):
        x, y = batch
        return cross_entropy(self.head(self.hidden(x)), y)

    def validation_step(self, batch, batch_idx):
        self.head(self.hidden(batch[0]))


def test_logits_of_a_submodule(tmp_path):
    fit(RecordDynamics(tmp_path / "run", logits="head", strict=True), module=WithoutForward())
    check_run(tmp_path / "run", SAMPLES, 3)


def test_the_first_of_two_passes_counts(tmp_path):
    class TwoPasses(Module):
        def training_step(self, batch, batch_idx):
            loss = super().training_step(batch, batch_idx)
            return loss + self(batch[0] + 1).mean()

    fit(tmp_path / "run", module=TwoPasses())
    check_run(tmp_path / "run", SAMPLES, 3)


def test_fast_dev_run_records_nothing(tmp_path):
    fit(tmp_path / "run", fast_dev_run=True)
    assert not (tmp_path / "run").exists()


def test_a_cell_run_twice_begins_again(tmp_path):
    recording = RecordDynamics(tmp_path / "run", strict=True)
    fit(recording, epochs=3)
    fit(recording, epochs=2)
    check_run(tmp_path / "run", SAMPLES, 2)


def test_an_epoch_that_ends_early_is_recorded_and_completed(tmp_path):
    fit(
        tmp_path / "run",
        ModelCheckpoint(tmp_path, "last", save_on_train_epoch_end=True),
        checkpoints=True,
        max_steps=STEPS + 5,
    )
    run = Run(tmp_path / "run")
    assert run.epochs == 2
    assert np.isfinite(run["loss"]).sum(axis=1).tolist() == [SAMPLES, 5 * 16]


# ---------------------------------------------------------------------------- resuming


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Four epochs with checkpoints inside them, on their last steps and at the validation's end."""
    folder = tmp_path_factory.mktemp("recorded")
    at_validation = ModelCheckpoint(
        folder, "validated-{epoch}", "loss", save_on_train_epoch_end=False, save_top_k=-1
    )
    at_end = ModelCheckpoint(folder, "ended-{epoch}", save_on_train_epoch_end=True, save_top_k=-1)
    inside = [every(steps, folder) for steps in (STEPS, 5)]
    fit(folder / "run", at_validation, at_end, *inside, epochs=4, checkpoints=True)
    return folder


@pytest.mark.parametrize(
    ("checkpoint", "epoch"),
    [
        (f"step-step={STEPS + 7}", 2),  # inside epoch 2
        (f"step-step={2 * STEPS}", 3),  # on the last step of epoch 2
        ("validated-epoch=1", 3),
        ("ended-epoch=1", 3),
    ],
)
def test_resumed_where_people_store_checkpoints(recorded, tmp_path, checkpoint, epoch):
    shutil.copytree(recorded / "run", tmp_path / "run")
    fit(tmp_path / "run", epochs=5, resume=recorded / f"{checkpoint}.ckpt")
    assert first_epochs(tmp_path / "run") == [1, epoch]
    check_run(tmp_path / "run", SAMPLES, 5)


class CrashAfterValidation(Callback):
    """Ends a training after the last checkpoint of epoch 2, before the epoch's own end."""

    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.current_epoch == 1:
            raise ZeroDivisionError


@pytest.mark.parametrize("at", ["validation", "last step"])
def test_an_epoch_is_there_as_soon_as_a_checkpoint_of_its_end(tmp_path, at):
    if at == "validation":
        saving = ModelCheckpoint(tmp_path, save_last=True, save_on_train_epoch_end=False)
    else:
        saving = ModelCheckpoint(tmp_path, save_last=True, every_n_train_steps=STEPS)
    with pytest.raises(ZeroDivisionError):
        fit(tmp_path / "run", CrashAfterValidation(), saving, checkpoints=True)
    fit(tmp_path / "run", resume=tmp_path / "last.ckpt")
    assert first_epochs(tmp_path / "run") == [1, 3]
    check_run(tmp_path / "run", SAMPLES, 3)


def test_killed_inside_an_epoch_and_resumed_inside_it(tmp_path):
    step = 2 * STEPS + 5
    config = {"run": str(tmp_path / "run"), "checkpoints": str(tmp_path), "epochs": 4}
    script(tmp_path, -signal.SIGKILL, kill=step + 2, **config)
    fit(tmp_path / "run", epochs=4, resume=tmp_path / f"step-step={step}.ckpt")
    run = Run(tmp_path / "run")
    counts = np.isfinite(run["loss"]).sum(axis=1)
    assert counts.tolist() == [SAMPLES, SAMPLES, (STEPS - 5) * 16, SAMPLES]


def test_recording_that_begins_in_the_middle_of_a_training(recorded, tmp_path):
    """Epoch 3 of the training is epoch 1 of the run, also for a training that resumes later."""
    with pytest.warns(UserWarning, match="resumes at epoch 3: it is recorded as epoch 1"):
        fit(
            tmp_path / "run",
            ModelCheckpoint(tmp_path, "ended-{epoch}", save_top_k=-1),
            epochs=4,
            checkpoints=True,
            resume=recorded / "ended-epoch=1.ckpt",
        )
    assert Run(tmp_path / "run").epochs == 2
    state = torch.load(tmp_path / "ended-epoch=2.ckpt", weights_only=True)
    assert state["callbacks"]["RecordDynamics"] == {"not_recorded": 2, "signals": {}}
    fit(tmp_path / "run", epochs=5, resume=tmp_path / "ended-epoch=2.ckpt")
    assert first_epochs(tmp_path / "run") == [1, 2]
    assert Run(tmp_path / "run").epochs == 3


def test_two_processes_record_and_resume(tmp_path):
    config = {"run": str(tmp_path / "run"), "checkpoints": str(tmp_path), "devices": 2}
    config |= {"strategy": "ddp", "every_steps": STEPS // 2 + 1, "epochs": 2}
    then = {"epochs": 3, "resume": str(tmp_path / "step-step=7.ckpt")}
    script(tmp_path, then=then, pruned=str(tmp_path / "pruned"), **config)
    check_run(tmp_path / "run", SAMPLES, 3)
    assert first_epochs(tmp_path / "run") == [1, 2]
    parts = sorted(tmp_path.glob("run/attempts/*/*/part*"))
    assert [part.name[:11] for part in parts] == ["part-0-of-2", "part-1-of-2"] * 4
    both = [json.loads((tmp_path / f"pruned-{rank}").read_text()) for rank in range(2)]
    one = fit_pruned().trained
    for epoch, ids in one.items():
        assert sorted({i for trained in both for i in trained[str(epoch)]}) == sorted(ids)


# ---------------------------------------------------------------------------- dynamic pruning


def test_dynamic_pruning_and_its_resume(tmp_path):
    whole = fit_pruned(ModelCheckpoint(tmp_path, "{epoch}", save_top_k=-1))
    assert sorted(whole.trained[0]) == list(range(SAMPLES))
    assert all(len(ids) < SAMPLES for epoch, ids in whole.trained.items() if epoch > 0)
    assert whole.validated == [0, 1, 2, 3]
    resumed = fit_pruned(ckpt_path=tmp_path / "epoch=1.ckpt")
    assert resumed.trained == {epoch: whole.trained[epoch] for epoch in (2, 3)}
    with pytest.raises(InputError, match="reload_dataloaders_every_n_epochs=1"):
        fit_pruned(reload=0)


# ---------------------------------------------------------------------------- what goes wrong


def broken(outputs):
    raise ZeroDivisionError("of the user's own signal")


def as_tuple(samples):
    return tuple(torch.tensor(column) for column in zip(*samples, strict=True))


WRONG = {
    "a file": ({}, {}, "not a run"),
    "a submodule": ({"logits": "haed"}, {}, "has no submodule 'haed'; it has .*head"),
    "labels": ({"labels": "y"}, {}, "no labels at 'y'"),
    "no forward": ({}, {"module": WithoutForward()}, "gave no logits in training_step"),
    "a signal": ({"signals": [broken]}, {}, "of the user's own signal"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_no_training_is_stopped_unless_strict(tmp_path, wrong):
    knobs, options, message = WRONG[wrong]
    if wrong == "a file":
        (tmp_path / "run").write_text("")
    with pytest.warns(RuntimeWarning, match=f"training goes on: .*{message}") as warned:
        trainer = fit(RecordDynamics(tmp_path / "run", **knobs), epochs=2, **options)
    assert trainer.global_step == 2 * STEPS
    assert len([w for w in warned if w.category is RuntimeWarning]) == 1
    with pytest.raises((InputError, ZeroDivisionError), match=message):
        fit(RecordDynamics(tmp_path / "run", strict=True, **knobs), **options)


def test_data_without_ids_is_named_and_left_as_it_is(tmp_path):
    with pytest.warns(RuntimeWarning, match="wrap it by Indexed: DataLoader"):
        trainer = fit(RecordDynamics(tmp_path / "run"), data=Data(), epochs=1)
    assert trainer.global_step == STEPS


def test_a_batch_that_is_a_tuple_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(InputError, match="return a list that ends with them"):
        fit(tmp_path / "run", collate=as_tuple)
