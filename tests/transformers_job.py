"""A training with Transformers whose logits are a function of id and epoch, here or as a script."""

import json
import os
import signal
import sys
from pathlib import Path

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

from dualprune.dynamic import InfoBatch
from dualprune.integrations.transformers import prune_dynamically, watch, with_ids

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
        self.epoch, self.trained_on, self.all_tied_weights_keys = 1, [], {}

    def forward(self, input_ids, labels=None):
        if self.training:
            self.trained_on += input_ids[:, 0].tolist()
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


class Trained(TrainerCallback):
    """Keeps, of each epoch, the samples that were trained on here, and the weights of all."""

    def __init__(self):
        self.ids, self.weights = [], []

    def on_epoch_end(self, args, state, control, model, **_):
        self.ids.append(sorted(set(model.trained_on)))
        self.weights.append(self.sampler.weights.tolist())
        model.trained_on.clear()


def pruned(folder, samples=SAMPLES, epochs=4, **options):
    """Train with InfoBatch; gives the trainer and what `Trained` kept."""
    plain = {"optim": "sgd", "lr_scheduler_type": "constant", "max_grad_norm": 0}
    options = plain | {"learning_rate": 0.1, "num_train_epochs": epochs, "steps": 1000} | options
    trained = Trained()
    train = with_ids(data().select(range(samples)))
    trainer = make_trainer(folder, trained, **{"train": train} | options)
    trained.sampler = prune_dynamically(trainer, infobatch(samples, epochs), seed=5)
    trainer.train()
    return trainer, trained


def infobatch(samples=SAMPLES, epochs=4):
    return InfoBatch(samples, epochs=epochs, until=1, seed=0)


def job(then=(), pruned_into=None, **options):
    """What a script does: record and store checkpoints until it is killed, `then` go on so."""
    fit(**options)
    for changes in then:
        fit(**options | changes)
    if pruned_into is not None:
        trainer, trained = pruned(options["folder"], learning_rate=0.0)
        path = Path(f"{pruned_into}-{trainer.args.process_index}")
        path.write_text(json.dumps([trained.ids, trained.weights]))


if __name__ == "__main__":
    job(**json.loads(sys.argv[1]))
    sys.stdout.flush()
    os._exit(0)  # threads of Arrow that `datasets` started may abort it (apache/arrow#34314)
