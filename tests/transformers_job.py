"""A training with Transformers whose logits are a function of id and epoch, here or as a script."""

import json
import os
import signal
import sys

import torch
from datasets import Dataset
from torch.nn.functional import cross_entropy
from transformers import (
    PretrainedConfig,
    PreTrainedModel,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.modeling_outputs import SequenceClassifierOutput

from dualprune.integrations.transformers import watch, with_ids

from .torchrun_job import CLASSES, labels_of, logits_of

SAMPLES, BATCH = 203, 16
STEPS = 13  # batches of an epoch, the last of them smaller


def data():
    """Each text is its own id, and there is a column that no model takes."""
    ids = list(range(SAMPLES))
    columns = {"input_ids": [[i] for i in ids], "label": [labels_of(i) for i in ids]}
    return Dataset.from_dict(columns | {"text": ["unused"] * SAMPLES})


class Model(PreTrainedModel):
    """A learning rate of 0 keeps the logits."""

    config_class = PretrainedConfig

    def __init__(self, config=None):
        super().__init__(config or PretrainedConfig())
        self.head = torch.nn.Linear(CLASSES, CLASSES, bias=False)
        torch.nn.init.eye_(self.head.weight)
        self.epoch, self.all_tied_weights_keys = 1, {}

    def forward(self, input_ids, labels=None):
        logits = self.head(logits_of(input_ids[:, 0], self.epoch))
        loss = None if labels is None else cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


class TellEpoch(TrainerCallback):
    """Says to the model which epoch it is in; kills the process before a step."""

    def __init__(self, steps, kill):
        self.steps, self.kill = steps, kill

    def on_step_begin(self, args, state, control, model, **_):
        model.epoch = state.global_step // self.steps + 1
        if state.global_step == self.kill:
            os.kill(os.getpid(), signal.SIGKILL)


def arguments(folder, **options):
    quiet = {"report_to": "none", "disable_tqdm": True, "logging_strategy": "no"}
    here = {"use_cpu": True, "dataloader_pin_memory": False, "save_strategy": "no"}
    sizes = {"per_device_train_batch_size": BATCH, "num_train_epochs": 3, "learning_rate": 0.0}
    return TrainingArguments(folder, **{**quiet, **here, **sizes, **options})


def make_trainer(folder, *callbacks, train=None, model=None, steps=STEPS, kill=None, **options):
    return Trainer(
        model or Model(),
        arguments(folder, **options),
        train_dataset=with_ids(data()) if train is None else train,
        eval_dataset=with_ids(data().select(range(SAMPLES - 1, -1, -1))),  # other ids
        callbacks=[TellEpoch(steps, kill), *callbacks],
    )


def fit(run, folder, *callbacks, resume=None, recording=None, **options):
    """Train and record; checkpoints go into `folder`."""
    trainer = make_trainer(folder, *callbacks, **options)
    watch(trainer, run, **{"strict": True} | (recording or {}))
    trainer.train(resume_from_checkpoint=resume)
    return trainer


def job(then=(), **options):
    """What a script does: record and store checkpoints until it is killed, `then` go on so."""
    fit(**options)
    for changes in then:
        fit(**options | changes)


if __name__ == "__main__":
    job(**json.loads(sys.argv[1]))
