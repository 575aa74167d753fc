"""The training loop: an optimiser with a cosine schedule, recording if asked to."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import SGD, AdamW, Optimizer

from dualprune.method import Settling
from dualprune.record import Recorder
from dualprune.record.processes import processes
from dualprune.signatures import Array
from dualprune.train.batches import Batches
from dualprune.train.checkpoint import restore, store
from dualprune.train.epoch import Dynamic, Plan, train_epoch
from dualprune.train.evaluate import accuracy, record_clean
from dualprune.train.order import stream
from dualprune.train.place import is_first, limited_to, useful_threads
from dualprune.train.recipe import Recipe


@dataclass(frozen=True)
class Progress:
    """What one epoch did; progress callbacks are given it after the epoch.

    The accuracy is that on the test samples, None if it was not measured; `forward` and `backward`
    count the training samples that went through the model. `overlaps` are those of `Settling` where
    a recording may stop by itself, and `settled` says that it did so after this epoch.
    """

    epoch: int
    epochs: int
    loss: float
    accuracy: float | None
    seconds: float
    forward: int
    backward: int
    overlaps: dict[str, float] = field(default_factory=dict)
    settled: bool = False


Tell = Callable[[Progress], None]
"""A callback that is given the progress of every epoch."""
Watch = Callable[[str], Tell]
"""Gives the progress callback of a training, by the training's title."""


def silent(title: str) -> Tell:  # noqa: ARG001 - it is a Watch
    """Give a callback without any progress output."""
    return lambda progress: None  # noqa: ARG005


@dataclass(frozen=True)
class Fit:
    """The progress of every epoch, and how often each sample was trained on."""

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
    features: Callable[[int], Array | None] = lambda epoch: None,  # noqa: ARG005
    settling: Settling | None = None,
    tell: Tell,
) -> Fit:
    """Train, or resume from the checkpoint in `folder` if its settings are the same.

    Parameters
    ----------
    recorder
        Makes the Recorder that starts at a given epoch.
    clean
        Record in an extra evaluation pass after every epoch instead of the training pass.
    features
        Gives the features to record after an epoch, or None.
    settling
        Ends the training early, once what would be kept of the recording hardly changes.
    """
    model = model.to(data.device, memory_format=torch.channels_last)  # type: ignore[call-overload] # missing in torch's stub
    optimizer = _optimizer(model, plan.recipe)
    state, arrays = restore(folder, model, optimizer, settings)
    history = [Progress(**row) for row in state.get("history", [])]
    uses = arrays.pop("uses", np.zeros(len(data), np.int64))
    if len(history) >= plan.epochs or _settled(settling, len(history), data.device):
        return Fit(history, uses)
    recording = recorder(len(history) + 1) if recorder else None
    _recall(arrays, plan.dynamic, recording)
    trained = DistributedDataParallel(model) if processes()[1] > 1 else model
    one = next(data.inputs([torch.from_numpy(plan.ids[:1])]))
    threads = useful_threads(model, one, plan.batch)
    with recording or nullcontext(), limited_to(threads):
        for epoch in range(len(history) + 1, plan.epochs + 1):
            started = time.perf_counter()
            with _seeded(plan.seed, epoch, data.device):
                in_training = None if clean else recording
                result = train_epoch(trained, data, plan, optimizer, epoch, in_training)
            uses[result.ids] += 1
            if recording is not None:
                _end_epoch(recording, model, data if clean else None, features(epoch))
            settled = _settled(settling, epoch, data.device)
            last, seconds = settled or epoch == plan.epochs, time.perf_counter() - started
            progress = Progress(
                epoch=epoch,
                epochs=plan.epochs,
                loss=result.loss,
                accuracy=_evaluate(model, test, plan, epoch, last=last),
                seconds=seconds,
                forward=result.forward + clean * len(data.readable_ids),
                backward=len(result.ids),
                overlaps=settling.overlaps(epoch) if settling and is_first() else {},
                settled=settled,
            )
            history.append(progress)
            memory = {"uses": uses, **_remember(plan.dynamic, recording)}
            _store(folder, model, optimizer, settings, history, memory)
            if is_first():
                tell(progress)
            if last:
                break
    return Fit(history, uses)


def _end_epoch(
    recording: Recorder, model: nn.Module, data: Batches | None, features: Array | None
) -> None:
    """Make the epoch durable, after an evaluation pass over `data` if there are any."""
    if data is not None:
        record_clean(model, data, recording)
    recording.end_epoch(features=features)


def _remember(dynamic: Dynamic | None, recording: Recorder | None) -> dict[str, Array]:
    """Give what a checkpoint must hold beside the model; names of a recording's have a dot."""
    memory = {} if dynamic is None else dict(dynamic.state())
    signals = {} if recording is None else recording.state_dict()
    return memory | {name: value.cpu().numpy() for name, value in signals.items()}


def _recall(memory: dict[str, Array], dynamic: Dynamic | None, recording: Recorder | None) -> None:
    if recording is not None:
        signals = {n: torch.from_numpy(value) for n, value in memory.items() if "." in n}
        recording.load_state_dict(signals)
    if dynamic is not None and memory:
        dynamic.restore({n: value for n, value in memory.items() if "." not in n})


def _settled(settling: Settling | None, epoch: int, device: torch.device) -> bool:
    """Let process 0 look at what all have recorded, and tell the others what it says."""
    if settling is None:
        return False
    if processes()[1] == 1:
        return settling.settled(epoch)
    distributed.barrier()
    verdict = torch.tensor([is_first() and settling.settled(epoch)], device=device)
    distributed.broadcast(verdict, src=0)
    return bool(verdict)


def _evaluate(
    model: nn.Module, test: Batches | None, plan: Plan, epoch: int, *, last: bool
) -> float | None:
    due = last or epoch % plan.recipe.judge_every == 0
    return accuracy(model, test) if due and test is not None else None


@contextmanager
def _seeded(seed: int, epoch: int, device: torch.device) -> Iterator[None]:
    """Let dropout and the like depend on seed and epoch alone; restore torch's generators after."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(stream(seed, epoch, 2**32 + processes()[0]).initial_seed())
        yield


def _store(
    folder: Path,
    model: nn.Module,
    optimizer: Optimizer,
    settings: dict[str, Any],
    history: list[Progress],
    arrays: dict[str, Array],
) -> None:
    if processes()[1] > 1:
        distributed.barrier()  # all have recorded the epoch before its checkpoint exists
    if is_first():
        rows = [asdict(row) for row in history]
        state = {"epoch": len(history), "settings": settings, "history": rows}
        store(folder, model, optimizer, state, arrays)


def _optimizer(model: nn.Module, recipe: Recipe) -> Optimizer:
    if recipe.optimizer == "adamw":
        decay = recipe.weight_decay
        return AdamW(model.parameters(), lr=recipe.lr, weight_decay=decay, fused=True)
    return SGD(
        model.parameters(),
        lr=recipe.lr,
        momentum=recipe.momentum,
        nesterov=recipe.nesterov,
        weight_decay=recipe.weight_decay,
    )
