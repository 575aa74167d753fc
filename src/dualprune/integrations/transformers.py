"""Transformers and TRL: record what a model believes of each sample, while a Trainer trains it.

The samples get their ids before the trainer is built; the trainer stays as it is::

    trainer = Trainer(model, args, train_dataset=with_ids(train))  # or trl's SFTTrainer
    watch(trainer, "run")
    trainer.train()
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate.utils import send_to_device  # type: ignore[import-untyped]
from datasets import Dataset  # type: ignore[import-untyped]
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader
from torch.utils.hooks import RemovableHandle
from transformers import Trainer, TrainerCallback
from transformers.loss.loss_utils import ForCausalLMLoss

from dualprune.arguments import checked
from dualprune.errors import InputError
from dualprune.integrations.recording import Recording
from dualprune.integrations.torch import indexed, own_part
from dualprune.record import Recorder
from dualprune.record.signals import Signal
from dualprune.run import Run
from dualprune.run.description import check_count
from dualprune.signatures import Array

_ID, _LABELS = "sample_id", "sample_labels"  # beside the model's own inputs, taken out by a hook


def with_ids(dataset: Dataset) -> Dataset:
    """Give the dataset with a column `sample_id`: the position of each sample in it.

    >>> with_ids(Dataset.from_dict({"text": ["a", "b"]}))[1]
    {'text': 'b', 'sample_id': 1}
    """
    if not isinstance(dataset, Dataset):
        raise InputError(
            f"with_ids needs one datasets.Dataset, got {type(dataset).__name__}; of several splits "
            "give the one to train on, and wrap a torch dataset of dicts by Indexed instead"
        )
    if _ID in dataset.column_names:
        raise InputError(
            f"the dataset already has a column {_ID}; ids are added once, before samples are "
            "shuffled or taken out"
        )
    return dataset.add_column(_ID, np.arange(len(dataset)))


@checked
def watch(
    trainer: Trainer,
    path: str | os.PathLike[str],
    *,
    eval_steps: int | Sequence[int] | None = None,
    samples: int | None = None,
    signals: Sequence[str | Signal] | None = None,
    class_names: Sequence[str] | None = None,
    names: Sequence[str] = (),
    strict: bool = False,
) -> None:
    """Record every epoch of `trainer.train()`, in one process or many.

    A classifier is recorded with its logits and labels. Of a language model the mean loss over the
    target tokens of each example is recorded, and no classes; trl's fused head will do.

    An epoch is on disk before any checkpoint of its end. A training that is resumed goes on at the
    epoch of its checkpoint: samples that it does not see again keep their rows. A training from the
    start begins the run again. Evaluation is not recorded.

    Parameters
    ----------
    trainer
        A Trainer whose training data has a column `sample_id`, of `with_ids` or of `Indexed`.
    path
        Folder of the run, shared by all processes.
    eval_steps
        Record no training batches, but passes over all training data in evaluation mode: after
        every so many steps, or after the steps of a list. Each is an epoch of the run, and costs
        a forward pass over all training data. For trainings of one to three epochs.
    samples
        Size of the dataset that got the ids, if the trainer dropped some at its end; without it,
        the highest id + 1.
    signals, class_names, names
        As for a `Recorder`.
    strict
        Let an error of the recording stop the training. Otherwise it is a warning, the recording
        ends and the training goes on.
    """
    passes = None if eval_steps is None else _as_steps(eval_steps)
    _refuse_mixed_samples(trainer)
    count = samples or _samples(trainer.train_dataset, trainer)
    make = partial(
        Recorder,
        path,
        signals=signals,
        class_names=class_names,
        names=names,
        strict=strict,
        mode="train" if passes is None else "eval",
    )
    recording = partial(Recording, Path(path), make, strict=strict)
    trainer.pop_callback(RecordTrainer)
    trainer.add_callback(RecordTrainer(trainer, recording, count, passes))
    if passes is None:
        loader = partial(_with_ids, trainer, trainer.get_train_dataloader)
        trainer.get_train_dataloader = loader  # type: ignore[method-assign] # of this one alone


class RecordTrainer(TrainerCallback):
    """What `watch` adds to a trainer.

    Hooks on the model take the ids out of its inputs and look at its outputs, so that there is no
    second forward pass; they are there during a training only.
    """

    def __init__(
        self,
        trainer: Any,
        recording: Callable[[], Recording],
        samples: int,
        passes: Callable[[int], bool] | None,
    ) -> None:
        self._trainer, self._new_recording = trainer, recording
        self._samples, self._passes = samples, passes
        self._hooks: list[RemovableHandle] = []

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._remove_hooks()  # of a training that was interrupted
        model: nn.Module = self._trainer.model
        take = model.register_forward_pre_hook(self._take, prepend=True, with_kwargs=True)
        self._hooks = [take, model.register_forward_hook(self._look)]
        self._ids: Tensor | None = None
        self._labels: Tensor | None = None
        self._head: dict[str, Any] = {}
        self._loader: DataLoader[Any] | None = None
        self._in_pass, self._seen = False, 0
        self._epoch, self._begun_at = self._epochs_before(args, state), state.global_step
        self._recording = self._new_recording()
        self._recording.not_recorded = state.stateful_callbacks.get("dualprune", 0)
        self._recording.active = True

    def _epochs_before(self, args: Any, state: Any) -> int:
        """Count the epochs before the first one of this training as the trainer does."""
        batches = len(self._trainer.callback_handler.train_dataloader)
        return int(state.global_step // max(1, -(-batches // args.gradient_accumulation_steps)))

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._epoch += 1

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """End the epoch at its last step, before a checkpoint of this step is written."""
        if self._passes is not None:
            if self._recording.active and self._passes(state.global_step):
                self._evaluate(state.global_step)
            return
        if self._recording.active and not self._seen:
            with self._recording.no_harm():
                raise _not_seen()
        self._seen = 0
        state.stateful_callbacks["dualprune"] = self._recording.not_recorded
        if state.epoch.is_integer() or control.should_training_stop or control.should_epoch_stop:
            self._recording.end_epoch()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._recording.end_epoch()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._remove_hooks()
        self._loader = None

    def _remove_hooks(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def _take(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """Take ids and labels out of the inputs, and remember if the head is trl's."""
        self._ids, self._labels = kwargs.pop(_ID, None), kwargs.pop(_LABELS, None)
        if "fused_lm_head" in kwargs:
            self._head = {"fused_lm_head": kwargs["fused_lm_head"]}
        return args, kwargs

    def _look(self, module: nn.Module, args: Any, output: Any) -> None:
        """Look at what is trained on; trl repeats some batches without gradients, for metrics."""
        wanted = self._in_pass if self._passes else torch.is_grad_enabled()
        if self._ids is None or not wanted or not self._recording.active:
            return
        with self._recording.no_harm(), torch.no_grad():
            self._update(module, self._ids, self._labels, output)
        self._ids = self._labels = None
        self._seen += 1

    def _update(self, model: nn.Module, ids: Tensor, labels: Any, output: Any) -> None:
        fields = output if isinstance(output, Mapping) else vars(output)
        logits = fields.get("logits")
        if (log_probs := fields.get("log_probs")) is not None:
            losses = _mean(-log_probs.float(), fields["label_mask"])
            self._recorder(None).update_values(ids, loss=losses)
        elif logits is None or labels is None:
            raise InputError(
                "the model gave no logits or the batch has no labels, so nothing can be recorded; "
                f"the model gave {', '.join(fields)}"
            )
        elif logits.ndim == 3:
            self._recorder(None).update_values(ids, loss=_token_losses(model, logits, labels))
        else:
            self._recorder(max(2, logits[0].numel())).update(logits, labels, ids)
        self._recording.unfinished = True

    def _recorder(self, classes: int | None) -> Recorder:
        recording = self._recording
        if recording.recorder is None and self._passes is not None:
            self._epoch = 1 + _passes_before(recording.path, self._begun_at)
        return recording.recorder or recording.begin(self._epoch, self._samples, classes)

    def _evaluate(self, step: int) -> None:
        """Pass over the training data, as it is and without gradients."""
        trainer = self._trainer
        with self._recording.no_harm(), _evaluating(trainer.model):
            self._loader = self._loader or _pass_loader(trainer)
            self._in_pass, self._seen = True, 0
            for batch in self._loader:
                trainer.model(**send_to_device(batch, trainer.args.device), **self._head)
                if not self._recording.active:
                    return
            if not self._seen:
                raise _not_seen()
        self._in_pass = False
        self._recording.end_epoch(step)


class _Collator:
    """A collator whose batches carry the ids, and the labels where a trainer takes them out."""

    def __init__(self, collate: Callable[[list[Any]], Any]) -> None:
        self._collate = collate

    def __call__(self, features: list[Any]) -> Any:
        if not isinstance(features[0], Mapping) or _ID not in features[0]:
            return self._collate(features)
        ids = torch.tensor([int(feature[_ID]) for feature in features])
        batch = self._collate([{k: v for k, v in f.items() if k != _ID} for f in features])
        batch[_ID] = ids
        if "labels" in batch:
            batch[_LABELS] = batch["labels"]
        return batch


def _with_ids(trainer: Any, make_loader: Callable[..., Any], *data: Any) -> Any:
    """Make a loader of the trainer whose batches carry the ids."""
    trainer._set_signature_columns_if_needed()
    columns, collator = trainer._signature_columns, trainer.data_collator
    trainer._signature_columns, trainer.data_collator = [*columns, _ID], _Collator(collator)
    try:
        return make_loader(*data)
    finally:
        trainer._signature_columns, trainer.data_collator = columns, collator


def _pass_loader(trainer: Any) -> DataLoader[Any]:
    """Load this process's part of the training data, in order, leaving the random state alone."""
    loader = _with_ids(trainer, trainer.get_test_dataloader, trainer.train_dataset)
    return DataLoader(
        loader.dataset,
        trainer.args.eval_batch_size,
        sampler=own_part(torch.arange(len(loader.dataset))).tolist(),
        collate_fn=loader.collate_fn,
        num_workers=trainer.args.dataloader_num_workers,
        generator=torch.Generator(),
    )


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part, mode in modes:
            part.training = mode


def _mean(losses: Tensor, mask: Tensor) -> Tensor:
    """Mean over the tokens of each example; NaN, which is missing, where there are none."""
    return (losses * mask).sum(1) / mask.sum(1)


def _token_losses(model: Any, logits: Tensor, labels: Tensor) -> Tensor:
    """Mean loss of each example's target tokens, (batch,), one example at a time to spare memory.

    A causal model's logits are of the token after them.
    """
    encodes = getattr(getattr(model, "config", None), "is_encoder_decoder", False)
    if getattr(model, "loss_function", None) is ForCausalLMLoss and not encodes:
        logits, labels = logits[:, :-1], labels[:, 1:]
    rows = zip(logits, labels, strict=True)
    losses = [cross_entropy(row.float(), targets, reduction="none") for row, targets in rows]
    return _mean(torch.stack(losses), labels != -100)


def _passes_before(path: Path, step: int) -> int:
    """Count the passes of a run up to a step, after which a resumed training goes on."""
    steps = Run(path).steps if step and path.exists() else []
    return sum(one is not None and one <= step for one in steps)


def _as_steps(steps: int | Sequence[int]) -> Callable[[int], bool]:
    if isinstance(steps, int):
        every = check_count("eval_steps", steps, least=1)
        return lambda step: step % every == 0
    wanted = {check_count("each of eval_steps", step, least=1) for step in steps}
    return wanted.__contains__


def _not_seen() -> InputError:
    return InputError(
        f"no {_ID} reached the model; let a transform or collator of your own leave that column in "
        "each sample, and a compute_loss of your own call model(**inputs)"
    )


def _refuse_mixed_samples(trainer: Trainer) -> None:
    """Refuse what makes one row of several samples, and several models in one process."""
    if getattr(trainer.args, "packing", False) or getattr(trainer, "padding_free", False):
        raise InputError(
            "packed or padding-free batches join several samples in one row, so none can be "
            "recorded by itself; use SFTConfig(packing=False, padding_free=False)"
        )
    if trainer.args.n_gpu > 1:
        raise InputError(
            f"this process trains on {trainer.args.n_gpu} GPUs with nn.DataParallel, which cannot "
            "be recorded; start one process per GPU: torchrun --nproc_per_node=..."
        )


def _samples(data: Any, trainer: Trainer) -> int:
    """Check the ids of the training data; gives the highest + 1."""
    if not isinstance(data, Dataset):
        return len(indexed(data, "Trainer(train_dataset=Indexed(train), ...)"))
    if _ID not in data.column_names:
        raise InputError(
            f"the training data of the trainer has no column {_ID}, but {data.column_names}; add "
            "it before the trainer is built, which may shuffle: "
            f"{type(trainer).__name__}(train_dataset=with_ids(train), ...)"
        )
    ids: Array = np.asarray(data.with_format("numpy")[_ID][:])
    if len(np.unique(ids)) < len(ids) or ids.min() < 0:
        raise InputError(
            f"the column {_ID} holds {len(ids)} ids from {ids.min()}, {len(np.unique(ids))} of "
            "them different; add ids after datasets are joined, with_ids(concatenate_datasets(...))"
        )
    return int(ids.max()) + 1
