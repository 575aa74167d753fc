"""Prune while a Trainer trains: skip samples in each epoch, and weigh the losses of the others."""

from functools import partial
from typing import Any

import numpy as np
from torch import Tensor
from torch.utils.data import DataLoader
from transformers import Trainer, TrainerCallback

from dualprune.arguments import checked
from dualprune.errors import InputError
from dualprune.integrations.torch import PrunedSampler
from dualprune.integrations.transformers.ids import ID, LABELS, ids_of, plain_loader
from dualprune.integrations.transformers.losses import losses_of
from dualprune.train.epoch import Dynamic


@checked
def prune_dynamically(trainer: Trainer, method: Dynamic, *, seed: int = 0) -> PrunedSampler:
    """Let a dynamic pruning method choose what each epoch trains on, in one process or many.

    The loss of a step is the weighted mean over its samples of the cross-entropy of their classes,
    or of the mean over their target tokens. Give the method as many epochs as the trainer has.

    The learning-rate schedule is made for epochs of all samples, so it does not reach its end; with
    gradient accumulation the last batches of an epoch may count in the next one. A Trainer counts
    epochs by steps, so a training with pruned epochs cannot be resumed.

    Parameters
    ----------
    trainer
        A Trainer whose training data has ids, and which computes its loss as all do.
    method
        Such as `InfoBatch(len(train), epochs=3, seed=0)`.
    seed
        Of the order.
    """
    ids = ids_of(trainer)
    if not np.array_equal(ids, np.arange(len(ids))):
        raise InputError(
            "dynamic pruning needs the training data in the order in which it got its ids, all of "
            "it; use with_ids() on what is trained on, and SFTConfig(shuffle_dataset=False)"
        )
    sampler = PrunedSampler(range(len(ids)), method, seed=seed)
    replaced: Any = trainer  # methods of this trainer alone
    replaced.get_train_dataloader = partial(_loader, trainer, sampler)
    replaced.compute_loss = partial(_weighted_loss, sampler, trainer.compute_loss)
    trainer.loss_is_scaled_for_ga = False
    trainer.add_callback(_FromTheStart())
    return sampler


class _FromTheStart(TrainerCallback):
    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step:
            raise InputError(
                f"a training with dynamic pruning cannot be resumed, here at step "
                f"{state.global_step}: its epochs differ in length; train from the start"
            )


def _loader(trainer: Any, sampler: PrunedSampler) -> DataLoader[Any]:
    return plain_loader(trainer, trainer.args.train_batch_size, sampler)


def _weighted_loss(
    sampler: PrunedSampler,
    plain_loss: Any,
    model: Any,
    inputs: dict[str, Any],
    return_outputs: bool = False,
    num_items_in_batch: Any = None,
) -> Any:
    """Give the weighted loss of a training batch; that of evaluation is the trainer's own."""
    if not model.training:
        return plain_loss(model, inputs, return_outputs, num_items_in_batch)
    ids, labels = inputs.pop(ID), inputs.pop(LABELS, None)
    output = model(**inputs)
    losses: Tensor = losses_of(getattr(model, "module", model), output, labels)
    loss = sampler.weigh(losses, ids)
    return (loss, output) if return_outputs else loss
