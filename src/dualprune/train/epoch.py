"""One epoch of training: which samples, in which batches, with which weight."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy
from torch.optim import Optimizer

from dualprune.dynamic import Plan as EpochPlan
from dualprune.record import Recorder
from dualprune.record.processes import processes
from dualprune.signatures import Array
from dualprune.train.batches import Batches, Change, augment
from dualprune.train.crops import resized_crops
from dualprune.train.evaluate import last_features
from dualprune.train.order import batches_of_epoch, stream
from dualprune.train.recipe import Recipe


@runtime_checkable
class Dynamic(Protocol):
    """A dynamic pruning method; its ids are positions in the `ids` of the training's `Plan`."""

    def plan(self, epoch: int) -> EpochPlan: ...
    def observe(self, ids: Array, losses: Array) -> None: ...
    def state(self) -> dict[str, Array]: ...
    def restore(self, state: dict[str, Array]) -> None: ...


@dataclass(frozen=True)
class Plan:
    """How long to train, on what, and with which randomness.

    `schedule` is the length of the cosine in epochs, which need not be whole; `epochs` is how many
    of them to train. `ids` are those to train on, sorted; `dynamic` may choose among them anew
    before every epoch. `weights`, one per sample, are averaged over a batch and multiply its loss,
    as TDDS trains. Orders and augmentation depend on seed and epoch alone, so that a training
    resumed from its checkpoint gives the same result as an uninterrupted one.
    """

    recipe: Recipe
    ids: Array
    batch: int
    epochs: int
    schedule: float
    seed: int
    dynamic: Dynamic | None = None
    weights: Tensor | None = None


@dataclass(frozen=True)
class Trained:
    """Mean loss of an epoch, the ids trained on, and how many samples went forward."""

    loss: float
    ids: Array
    forward: int


def train_epoch(
    model: nn.Module,
    data: Batches,
    plan: Plan,
    optimizer: Optimizer,
    epoch: int,
    recording: Recorder | None,
) -> Trained:
    """Train for one epoch; a dynamic method chooses the samples and observes their losses."""
    chosen = _all_samples(len(plan.ids)) if plan.dynamic is None else plan.dynamic.plan(epoch)
    weights = _by_sample(plan.ids[chosen.train], chosen.weights, data)
    batches = batches_of_epoch(weights.cpu() > 0, plan.batch, seed=plan.seed, epoch=epoch)
    steps = round(plan.schedule * len(batches)) - (epoch - 1) * len(batches)
    draw = stream(plan.seed, epoch, 1 + processes()[0])
    observed: list[tuple[Tensor, Tensor]] = []
    model.train()
    change = _augmentation(plan.recipe, draw)
    scale = plan.recipe.lr_scale(max(1, len(chosen.train)) * plan.schedule)
    inputs = data.inputs(batches[:steps], change)
    for step, (ids, batch) in enumerate(zip(batches[:steps], inputs, strict=True)):
        part = (epoch - 1 + step / len(batches)) / plan.schedule
        optimizer.param_groups[0]["lr"] = scale * _learning_rate(plan.recipe, part)
        logits, losses = _forward(model, data, ids, batch)
        loss = (losses * weights[ids]).mean()
        if plan.weights is not None:
            loss = loss * plan.weights[ids].mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call] # torch
        optimizer.step()
        observed.append((ids, losses.detach()))
        if recording is not None:
            recording.update(logits, data.labels[ids], ids, last_features(model))
    trained, trained_losses = _join(observed)
    if plan.dynamic is not None:
        observed += _look(model, data, plan, plan.ids[chosen.look], change)
        all_ids, all_losses = _join(observed)
        plan.dynamic.observe(np.searchsorted(plan.ids, all_ids), all_losses)
    mean = float(trained_losses.mean()) if len(trained) else math.nan
    return Trained(mean, trained, len(trained) + len(chosen.look))


def _augmentation(recipe: Recipe, draw: Generator) -> Change:
    if recipe.decode is not None:
        return partial(resized_crops, size=recipe.size, flip=recipe.flip, draw=draw)
    return partial(augment, crop=recipe.crop, flip=recipe.flip, draw=draw)


def _all_samples(count: int) -> EpochPlan:
    return EpochPlan(np.arange(count), np.ones(count), np.empty(0, np.int64))


def _by_sample(ids: Array, weights: Array, data: Batches) -> Tensor:
    """Weights of all samples on the device of the data, 0 for those not trained on."""
    by_sample = torch.zeros(len(data))
    by_sample[torch.from_numpy(ids)] = torch.from_numpy(weights).float()
    return by_sample.to(data.device)


def _forward(model: nn.Module, data: Batches, ids: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
    """Give the logits and the loss of each sample."""
    device = data.device.type
    with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        logits: Tensor = model(batch)
        return logits, cross_entropy(logits, data.labels[ids], reduction="none")


@torch.no_grad()
def _look(
    model: nn.Module, data: Batches, plan: Plan, ids: Array, change: Change
) -> list[tuple[Tensor, Tensor]]:
    """Losses of samples that are not trained on, in evaluation mode but augmented."""
    model.eval()
    batches = [torch.from_numpy(ids[i : i + plan.batch]) for i in range(0, len(ids), plan.batch)]
    return [
        (part, _forward(model, data, part, batch)[1])
        for part, batch in zip(batches, data.inputs(batches, change), strict=True)
    ]


def _join(batches: list[tuple[Tensor, Tensor]]) -> tuple[Array, Array]:
    if not batches:
        return np.empty(0, np.int64), np.empty(0)
    ids, losses = (torch.cat(column).cpu().numpy() for column in zip(*batches, strict=True))
    return ids, losses


def _learning_rate(recipe: Recipe, part: float) -> float:
    """Cosine from `lr` to `lr_end`, after this share of the schedule.

    >>> from dualprune.train.recipe import recipes
    >>> [round(_learning_rate(recipes()["cifar10"], part), 4) for part in (0, 0.5, 1)]
    [0.1, 0.05, 0.0]
    """
    return recipe.lr_end + (recipe.lr - recipe.lr_end) * (1 + math.cos(math.pi * part)) / 2
