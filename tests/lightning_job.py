"""A training with Lightning whose logits are a function of id and epoch, here or as a script."""

import json
import os
import signal
import sys
from pathlib import Path

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset

from dualprune import Indexed
from dualprune.dynamic import InfoBatch
from dualprune.integrations.lightning import PruneDynamically, RecordDynamics
from dualprune.integrations.torch import PrunedSampler

from .torchrun_job import CLASSES, labels_of, logits_of

SAMPLES, BATCH = 203, 16
STEPS = 13  # batches of an epoch, the last of them smaller


class Data(Dataset):
    """Each sample is its own id."""

    def __init__(self, kind=tuple):
        self.kind = kind

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        x, y = torch.tensor(index), labels_of(index)
        return {"x": x, "labels": y} if self.kind is dict else (x, y)


class Module(LightningModule):
    """What somebody wrote without thinking of us; a learning rate of 0 keeps the logits."""

    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(CLASSES, CLASSES, bias=False)
        torch.nn.init.eye_(self.head.weight)

    def hidden(self, x):
        return logits_of(x, self.current_epoch + 1)

    def forward(self, x):
        return self.head(self.hidden(x))

    def training_step(self, batch, batch_idx):
        x, y = batch.values() if isinstance(batch, dict) else batch
        return cross_entropy(self(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("loss", cross_entropy(self(x), y))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0)


class KillBefore(Callback):
    """Kill the process before this step, counted from 0 over all epochs."""

    def __init__(self, step):
        self.step = step

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if trainer.global_step == self.step:
            os.kill(os.getpid(), signal.SIGKILL)


def fit(
    recording,
    *callbacks,
    epochs=3,
    module=None,
    data=None,
    collate=None,
    resume=None,
    checkpoints=False,
    **options,
):
    """Train and record; `recording` is a path or a RecordDynamics."""
    if not isinstance(recording, RecordDynamics):
        recording = RecordDynamics(recording, strict=True)
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False}
    trainer = Trainer(
        **{"max_epochs": epochs, "accelerator": "cpu", "devices": 1, **quiet, **options},
        callbacks=[*callbacks, recording],
        enable_checkpointing=checkpoints,
    )
    data = Indexed(Data()) if data is None else data
    loader = DataLoader(data, BATCH, shuffle=True, collate_fn=collate)
    trainer.fit(module or Module(), loader, DataLoader(Data(), 64), ckpt_path=resume)
    return trainer


def every(steps, folder):
    """Checkpoints inside epochs, at the end of this many steps."""
    return ModelCheckpoint(folder, "step-{step}", every_n_train_steps=steps, save_top_k=-1)


class Weighted(Module):
    """Its loss is weighted; the losses of even ids are easy."""

    def __init__(self, sampler):
        super().__init__()
        self.sampler, self.trained, self.validated = sampler, {}, []

    def training_step(self, batch, batch_idx):
        x, y, ids = batch
        self.trained.setdefault(self.current_epoch, []).extend(ids.tolist())
        losses = cross_entropy(self(x), y, reduction="none")
        return self.sampler.weigh(losses * (1 + 9 * (ids % 2)), ids)

    def on_validation_end(self):
        self.validated.append(self.current_epoch)


def fit_pruned(*callbacks, reload=1, devices=1, strategy="auto", **options):
    sampler = PrunedSampler(Data(), InfoBatch(SAMPLES, epochs=4, until=1, seed=0))
    trainer = Trainer(
        max_epochs=4,
        accelerator="cpu",
        devices=devices,
        strategy=strategy,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        reload_dataloaders_every_n_epochs=reload,
        callbacks=[PruneDynamically(sampler), *callbacks],
        enable_checkpointing=bool(callbacks),
    )
    module = Weighted(sampler)
    loader = DataLoader(Indexed(Data()), BATCH, sampler=sampler)
    trainer.fit(module, loader, DataLoader(Data(), 64), **options)
    return module


def job(run, checkpoints, every_steps=1, kill=None, then=None, pruned=None, **options):
    """What a script does: record and store checkpoints until it is killed, `then` resume."""
    callbacks = [every(every_steps, checkpoints)] + ([] if kill is None else [KillBefore(kill)])
    fit(run, *callbacks, checkpoints=True, **options)
    if then is not None:
        fit(run, **options | then)
    if pruned is not None:
        module = fit_pruned(devices=2, strategy="ddp")
        Path(f"{pruned}-{module.global_rank}").write_text(json.dumps(module.trained))


if __name__ == "__main__":
    job(**json.loads(sys.argv[1]))
