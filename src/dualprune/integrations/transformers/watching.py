"""Watch a Trainer: record what its model believes of each sample."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import send_to_device  # type: ignore[import-untyped]
from torch import Tensor, nn
from torch.utils.data import DataLoader
from torch.utils.hooks import RemovableHandle
from transformers import Trainer, TrainerCallback

from dualprune.arguments import checked
from dualprune.errors import InputError
from dualprune.files import on_disk
from dualprune.integrations.recording import Recording
from dualprune.integrations.torch import own_part
from dualprune.integrations.transformers.ids import (
    ID,
    LABELS,
    ids_of,
    loader_with_ids,
    plain_loader,
)
from dualprune.integrations.transformers.losses import fields_of, losses_of
from dualprune.record import Recorder
from dualprune.record.signals import Signal
from dualprune.run import Run
from dualprune.run.description import check_count


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
    least = int(ids_of(trainer).max()) + 1
    count = least if samples is None else check_count("samples", samples, least)
    make = partial(
        Recorder,
        path,
        signals=signals,
        class_names=class_names,
        names=names,
        strict=strict,
        mode="train" if passes is None else "eval",
    )
    recording = partial(Recording, on_disk(path), make, strict=strict)
    trainer.pop_callback(RecordTrainer)
    trainer.add_callback(RecordTrainer(trainer, recording, count, passes))
    if passes is None:
        loader = partial(loader_with_ids, trainer, trainer.get_train_dataloader)
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
        self._epoch, self._begun_at = 0, state.global_step
        self._recording = self._new_recording()
        self._recording.not_recorded = state.stateful_callbacks.get("dualprune", 0)
        with self._recording.no_harm():
            self._epoch = self._epochs_before(args, state)
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
        self._ids, self._labels = kwargs.pop(ID, None), kwargs.pop(LABELS, None)
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
        logits = fields_of(output).get("logits")
        if logits is not None and logits.ndim < 3 and labels is not None:
            self._recorder(max(2, logits[0].numel())).update(logits, labels, ids)
        else:
            losses = losses_of(model, output, labels)
            self._recorder(None).update_values(ids, loss=losses)
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


def _pass_loader(trainer: Any) -> DataLoader[Any]:
    """Load this process's part of the training data, in order, leaving the random state alone."""
    positions = own_part(torch.arange(len(trainer.train_dataset))).tolist()
    return plain_loader(trainer, trainer.args.eval_batch_size, positions, torch.Generator())


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
        f"no {ID} reached the model; let a transform or collator of your own leave that column in "
        "each sample, and a compute_loss of your own call model(**inputs)"
    )
