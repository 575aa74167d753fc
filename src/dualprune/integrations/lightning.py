"""Lightning: record what the model believes about each sample, with one callback.

The training data is wrapped by `Indexed`; the module stays as it is::

    loader = DataLoader(Indexed(train), batch_size=128, shuffle=True)
    trainer = Trainer(max_epochs=30, callbacks=[RecordDynamics("run")])
    trainer.fit(module, loader)
"""

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from dualprune.arguments import checked
from dualprune.errors import InputError, needing
from dualprune.files import on_disk
from dualprune.run.signals import DEFAULT

with needing("lightning"):
    from lightning.pytorch import Callback, LightningModule, Trainer
    from torch import Tensor, nn
    from torch.utils.hooks import RemovableHandle

    from dualprune.integrations.recording import Recording
    from dualprune.integrations.torch import PrunedSampler, indexed
    from dualprune.record import Indexed, Recorder
    from dualprune.record.signals import Signal


class RecordDynamics(Callback):
    """Record every epoch of `trainer.fit`, in one process or many.

    The id is taken out of each batch before `training_step` sees it, so a batch must be a list,
    which torch makes of tuples, or a dict. An epoch is on disk before any checkpoint of its end. A
    resumed training goes on at the epoch of its checkpoint: samples that it does not see again keep
    their rows. A training from the start begins the run again. An epoch that ends early, as by
    `max_steps`, is recorded as far as it went. `fast_dev_run` records nothing.

    Parameters
    ----------
    path
        Folder of the run, shared by all processes.
    logits
        Name of the submodule whose output is the logits, such as "model.head"; without it, the
        module itself. Where a step calls it several times, the first call counts.
    labels
        Position or key of the labels in a batch; without it, the last item of a list, and "labels"
        or "label" of a dict.
    signals, class_names, names
        As for a `Recorder`.
    strict
        Let an error of the recording stop the training. Otherwise it is a warning, the recording
        ends and the training goes on.
    """

    @checked
    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        logits: str = "",
        labels: int | str | None = None,
        signals: Sequence[str | Signal] = DEFAULT,
        class_names: Sequence[str] | None = None,
        names: Sequence[str] = (),
        strict: bool = False,
    ) -> None:
        self._path, self._source, self._labels_at = on_disk(path), logits, labels
        self._strict = strict
        self._make = partial(
            Recorder, path, signals=signals, class_names=class_names, names=names, strict=strict
        )
        self._forget()

    def _forget(self) -> None:
        self._recording = Recording(self._path, self._make, strict=self._strict)
        self._data: Indexed | None = None
        self._hook: RemovableHandle | None = None
        self._ids: Any = None
        self._logits: Tensor | None = None

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        self._forget()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._recording.not_recorded = state_dict["not_recorded"]
        self._recording.memory = state_dict["signals"]

    def state_dict(self) -> dict[str, Any]:
        recorder = self._recording.recorder
        memory = self._recording.memory if recorder is None else recorder.state_dict()
        return {"not_recorded": self._recording.not_recorded, "signals": memory}

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        with self._recording.no_harm():
            self._data = indexed(trainer.train_dataloader, "DataLoader(Indexed(train), ...)")
            self._hook = _submodule(pl_module, self._source).register_forward_hook(self._look)
            self._recording.active = not trainer.fast_dev_run  # type: ignore[attr-defined] # set from outside

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        self._ids = self._logits = None
        if self._data is not None:
            with self._recording.no_harm():
                self._ids = _pop_ids(batch, self._data.key)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if self._recording.active:
            with self._recording.no_harm():
                self._update(trainer, batch)
        self._ids = self._logits = None
        if trainer.is_last_batch:  # before a checkpoint at the end of this epoch is written
            self._recording.end_epoch()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._recording.end_epoch()

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        self._stop()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        self._stop()

    def _look(self, module: nn.Module, inputs: Any, output: Any) -> None:
        """Take the first output with a row per id; under DDP the module also returns the loss."""
        logits = getattr(output, "logits", output)
        if self._ids is None or self._logits is not None or not isinstance(logits, Tensor):
            return
        if logits.shape[:1] == self._ids.shape:
            self._logits = logits.detach()

    def _update(self, trainer: Trainer, batch: Any) -> None:
        if self._logits is None or self._data is None:
            raise InputError(
                f"{self._source or 'the forward of the module'} gave no logits in training_step, "
                "one row per sample; name the submodule that does: "
                "RecordDynamics(path, logits='model.head')"
            )
        recorder = self._recording.recorder or self._recording.begin(
            trainer.current_epoch + 1, len(self._data), max(2, self._logits[0].numel())
        )
        recorder.update(self._logits, _labels(batch, self._labels_at), self._ids)
        self._recording.unfinished = True

    def _stop(self) -> None:
        if self._hook is not None:
            self._hook.remove()
        self._hook = None
        self._recording.recorder = None


class PruneDynamically(Callback):
    """Tell a `PrunedSampler` when an epoch ends, and store its state in every checkpoint.

    The training step makes its loss with `sampler.weigh(losses, ids)`.
    """

    def __init__(self, sampler: PrunedSampler) -> None:
        self._sampler = sampler

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        used = getattr(trainer.train_dataloader, "sampler", None)
        if used is not self._sampler or trainer.reload_dataloaders_every_n_epochs != 1:  # type: ignore[attr-defined] # set from outside
            raise InputError(
                "dynamic pruning needs DataLoader(..., sampler=sampler) with the sampler of "
                "PruneDynamically, and Trainer(use_distributed_sampler=False, "
                "reload_dataloaders_every_n_epochs=1): it shares samples among processes itself, "
                "and epochs differ in length"
            )

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._sampler.set_epoch(trainer.current_epoch + 1)

    def state_dict(self) -> dict[str, Any]:
        return self._sampler.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._sampler.load_state_dict(state_dict)


def _submodule(module: LightningModule, name: str) -> nn.Module:
    parts: dict[str, nn.Module] = dict(module.named_modules())
    if name not in parts:
        raise InputError(f"the module has no submodule {name!r}; it has {', '.join(parts)}")
    return parts[name]


def _pop_ids(batch: Any, key: str) -> Any:
    if isinstance(batch, list):
        return batch.pop()
    if isinstance(batch, dict) and key in batch:
        return batch.pop(key)
    raise InputError(
        f"the ids cannot be taken out of a batch of type {type(batch).__name__}; let the collate "
        f"function return a list that ends with them, or a dict with {key!r}"
    )


def _labels(batch: Any, where: int | str | None) -> Any:
    if where is None:
        where = -1 if isinstance(batch, list) else "labels" if "labels" in batch else "label"
    try:
        return batch[where]
    except (KeyError, IndexError, TypeError) as error:
        raise InputError(
            f"a batch has no labels at {where!r}; say where they are: RecordDynamics(path, "
            "labels=...)"
        ) from error
