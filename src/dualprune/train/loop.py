"""The training loop: SGD with momentum, a cosine per step, recording on the way."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import SGD

from dualprune.record import Recorder
from dualprune.record.processes import processes
from dualprune.signatures import Array
from dualprune.train.batches import Batches
from dualprune.train.checkpoint import restore, store
from dualprune.train.epoch import Plan, train_epoch
from dualprune.train.evaluate import accuracy, see_clean
from dualprune.train.order import stream
from dualprune.train.place import is_first
from dualprune.train.recipe import Recipe

__all__ = ["Fit", "Progress", "Tell", "Watch", "fit", "silent"]


@dataclass(frozen=True)
class Progress:
    """What is told after every epoch.

    The accuracy is that on the test images, if there are any; `forward` and `backward` are how many
    training images went through the model.
    """

    epoch: int
    epochs: int
    loss: float
    accuracy: float | None
    seconds: float
    forward: int
    backward: int


Tell = Callable[[Progress], None]
Watch = Callable[[str], Tell]
"""Gives each of several trainings, by its title, somebody to tell."""


def silent(title: str) -> Tell:  # noqa: ARG001 - a Watch that says nothing
    """Tell nobody."""
    return lambda progress: None  # noqa: ARG005


@dataclass(frozen=True)
class Fit:
    """What was told of every epoch, and how often each sample was trained on."""

    history: list[Progress]
    uses: Array


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
) -> Fit:
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
    state, arrays = restore(folder, model, optimizer, settings)
    history = [Progress(**row) for row in state.get("history", [])]
    uses = arrays.pop("uses", np.zeros(len(data), np.int64))
    if plan.dynamic is not None and arrays:
        plan.dynamic.restore(arrays)
    if len(history) >= plan.epochs:
        return Fit(history, uses)
    recording = recorder(len(history) + 1) if recorder else None
    trained = DistributedDataParallel(model) if processes()[1] > 1 else model
    with recording or nullcontext():
        for epoch in range(len(history) + 1, plan.epochs + 1):
            started = time.perf_counter()
            with _own_randomness(plan.seed, epoch, data.device):
                see = None if clean else recording
                done = train_epoch(trained, data, plan, optimizer, epoch, see)
            uses[done.ids] += 1
            if recording is not None:
                if clean:
                    see_clean(model, data, recording)
                recording.end_epoch()
            after(epoch)
            seconds = time.perf_counter() - started
            right = _judged(model, test, plan, epoch)
            passes = {"forward": done.forward + clean * len(data), "backward": len(done.ids)}
            history.append(Progress(epoch, plan.epochs, done.loss, right, seconds, **passes))
            memory = {} if plan.dynamic is None else plan.dynamic.state()
            _store(folder, model, optimizer, settings, history, {"uses": uses, **memory})
            if is_first():
                tell(history[-1])
    return Fit(history, uses)


def _judged(model: nn.Module, test: Batches | None, plan: Plan, epoch: int) -> float | None:
    due = epoch == plan.epochs or epoch % plan.recipe.judge_every == 0
    return accuracy(model, test) if due and test is not None else None


@contextmanager
def _own_randomness(seed: int, epoch: int, device: torch.device) -> Iterator[None]:
    """Let dropout and the like depend on seed and epoch alone, and leave others' draws alone."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(stream(seed, epoch, 2**32 + processes()[0]).initial_seed())
        yield


def _store(
    folder: Path,
    model: nn.Module,
    optimizer: SGD,
    settings: dict[str, Any],
    history: list[Progress],
    arrays: dict[str, Array],
) -> None:
    if processes()[1] > 1:
        distributed.barrier()  # the epoch is recorded by all before it counts as done
    if is_first():
        rows = [asdict(row) for row in history]
        state = {"epoch": len(history), "settings": settings, "history": rows}
        store(folder, model, optimizer, state, arrays)


def _optimizer(model: nn.Module, recipe: Recipe) -> SGD:
    return SGD(
        model.parameters(),
        lr=recipe.lr,
        momentum=recipe.momentum,
        nesterov=recipe.nesterov,
        weight_decay=recipe.weight_decay,
    )
