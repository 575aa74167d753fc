"""The training loop: SGD with momentum, a cosine per step, recording on the way."""

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.optim import SGD

from dualprune.record import Recorder
from dualprune.record.processes import processes
from dualprune.train.batches import Batches, augment
from dualprune.train.checkpoint import restore, store
from dualprune.train.evaluate import accuracy, last_features, see_clean
from dualprune.train.order import batches_of_epoch, stream
from dualprune.train.place import is_first
from dualprune.train.recipe import Recipe

__all__ = ["Plan", "Progress", "Tell", "Watch", "fit", "silent"]


@dataclass(frozen=True)
class Progress:
    """What is told after every epoch; the accuracy is that on the test images, if there are any."""

    epoch: int
    epochs: int
    loss: float
    accuracy: float | None
    seconds: float


Tell = Callable[[Progress], None]
Watch = Callable[[str], Tell]
"""Gives each of several trainings, by its title, somebody to tell."""


def silent(title: str) -> Tell:  # noqa: ARG001 - a Watch that says nothing
    """Tell nobody."""
    return lambda progress: None  # noqa: ARG005


@dataclass(frozen=True)
class Plan:
    """How long to train, on what, and with which randomness.

    `steps` is the length of the cosine; `epochs` is how many epochs of it to train, at most. `keep`
    says of every sample whether to train on it. Orders and augmentation depend on seed and epoch
    alone, so that a training resumed from its checkpoint ends where an uninterrupted one does.
    """

    recipe: Recipe
    keep: Tensor
    batch: int
    epochs: int
    steps: int
    seed: int


def fit(
    model: nn.Module,
    data: Batches,
    plan: Plan,
    *,
    folder: Path,
    settings: dict[str, Any],
    test: Batches | None = None,
    recorder: Callable[[int], Recorder] | None = None,
    clean: bool = False,
    after: Callable[[int], None] = lambda epoch: None,  # noqa: ARG005
    tell: Tell,
) -> list[Progress]:
    """Train, or go on with the checkpoint in `folder` if its settings are the same.

    Parameters
    ----------
    recorder
        Makes the Recorder that starts at a given epoch.
    clean
        Record in an extra evaluation pass after every epoch instead of the training pass.
    after
        Called when an epoch is recorded, before it counts as done.
    """
    model = model.to(data.device, memory_format=torch.channels_last)  # type: ignore[call-overload] # torch's stub forgets it
    optimizer = _optimizer(model, plan.recipe)
    state = restore(folder, model, optimizer, settings)
    history = [Progress(**row) for row in state.get("history", [])]
    if len(history) >= plan.epochs:
        return history
    recording = recorder(len(history) + 1) if recorder else None
    trained = DistributedDataParallel(model) if processes()[1] > 1 else model
    with recording or nullcontext():
        for epoch in range(len(history) + 1, plan.epochs + 1):
            started = time.perf_counter()
            loss = _train(trained, data, plan, optimizer, epoch, None if clean else recording)
            if recording is not None:
                if clean:
                    see_clean(model, data, recording)
                recording.end_epoch()
            after(epoch)
            seconds = time.perf_counter() - started
            right = None if test is None else accuracy(model, test)
            history.append(Progress(epoch, plan.epochs, loss, right, seconds))
            _store(folder, model, optimizer, settings, history)
            if is_first():
                tell(history[-1])
    return history


def _train(
    model: nn.Module,
    data: Batches,
    plan: Plan,
    optimizer: SGD,
    epoch: int,
    recording: Recorder | None,
) -> float:
    """Train one epoch; gives the mean loss."""
    recipe, device = plan.recipe, data.device
    batches = batches_of_epoch(plan.keep, plan.batch, seed=plan.seed, epoch=epoch)
    first = (epoch - 1) * len(batches)
    batches = batches[: plan.steps - first]
    draw = stream(plan.seed, epoch, 1 + processes()[0])
    model.train()
    total = torch.zeros((), device=device)
    for step, (ids, raw) in enumerate(zip(batches, data.raw(batches), strict=True), first):
        optimizer.param_groups[0]["lr"] = _learning_rate(recipe, step / plan.steps)
        labels = data.labels[ids.to(device)]
        images = augment(raw, crop=recipe.crop, flip=recipe.flip, draw=draw)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            logits = model(data.normalised(images))
            loss = cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call] # torch
        optimizer.step()
        total += loss.detach() * len(ids)
        if recording is not None:
            recording.update(logits, labels, ids, last_features(model))
    return total.item() / sum(map(len, batches))


def _store(
    folder: Path,
    model: nn.Module,
    optimizer: SGD,
    settings: dict[str, Any],
    history: list[Progress],
) -> None:
    rank, world = processes()
    if world > 1:
        distributed.barrier()  # the epoch is recorded by all before it counts as done
    if rank == 0:
        rows = [asdict(row) for row in history]
        state = {"epoch": len(history), "settings": settings, "history": rows}
        store(folder, model, optimizer, state)


def _optimizer(model: nn.Module, recipe: Recipe) -> SGD:
    return SGD(
        model.parameters(),
        lr=recipe.lr,
        momentum=recipe.momentum,
        nesterov=recipe.nesterov,
        weight_decay=recipe.weight_decay,
    )


def _learning_rate(recipe: Recipe, part: float) -> float:
    """Cosine from `lr` to `lr_end`, at this part of the schedule.

    >>> from dualprune.train.recipe import recipes
    >>> [round(_learning_rate(recipes()["cifar10"], part), 4) for part in (0, 0.5, 1)]
    [0.1, 0.05, 0.0]
    """
    return recipe.lr_end + (recipe.lr - recipe.lr_end) * (1 + math.cos(math.pi * part)) / 2
