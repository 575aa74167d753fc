"""Record the first epochs of a training, for users without a training loop of their own."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from torch import nn

from dualprune.errors import InputError
from dualprune.files import Place, exists, read_json
from dualprune.method import Method, Settling, at_shares
from dualprune.record import Recorder
from dualprune.run import Run
from dualprune.run.signals import DEFAULT
from dualprune.signatures import Array
from dualprune.train.epoch import Plan
from dualprune.train.evaluate import features_of
from dualprune.train.loop import Tell, fit, silent
from dualprune.train.place import is_first
from dualprune.train.pretrained import is_checkpoint
from dualprune.train.setup import Setup, check_training

APART = 1000
"""Step between the seeds of recordings that are averaged."""


def record(
    setup: Setup,
    out: Path,
    *,
    epochs: int | Literal["auto"] | None = None,
    method: str | Method = "dual+beta",
    seed: int = 0,
    signals: Sequence[str] = DEFAULT,
    clean: bool = False,
    features: Sequence[int] = (),
    tell: Tell = silent(""),  # noqa: B008 - it has no state
) -> Run:
    """Record the first epochs of a training on all samples; resumes if it was interrupted.

    Parameters
    ----------
    out
        Folder of the run; it also holds the checkpoint.
    epochs
        How many to record instead of the recipe's number; the learning-rate schedule is the
        recipe's unless that is shorter. "auto" stops as soon as what would be kept hardly
        changes any more, after the recipe's number at the latest.
    method
        By which method "auto" tells what would be kept.
    clean
        Record in an evaluation pass after every epoch, not in the training pass.
    features
        Epochs after which penultimate features are written too.
    """
    recipe, data, settling = setup.recipe, setup.data, None
    check_training(seed, epochs)
    if epochs == "auto":
        settling = Settling(out, at_shares(method, recipe.select), seed)
        if features:
            raise InputError("features need a number of epochs, which epochs auto does not know")
    epochs = recipe.record if epochs is None or isinstance(epochs, str) else epochs
    if beyond := [epoch for epoch in features if not 1 <= epoch <= epochs]:
        raise InputError(f"features are written after epochs 1 to {epochs}, not after {beyond[0]}")
    schedule = max(recipe.epochs, epochs)
    plan = Plan(recipe, data.readable_ids, recipe.batch, epochs, schedule, seed)

    model = setup.fresh_model(seed)

    def features_after(epoch: int) -> Array | None:
        return features_of(model, setup.batches) if epoch in features and is_first() else None

    fit(
        model,
        setup.batches,
        plan,
        folder=out / "checkpoint",
        settings=setup.settings(seed=seed, schedule=schedule, signals=list(signals), clean=clean),
        test=None if len(setup.held_out) else setup.test_batches,
        recorder=partial(_recorder, setup, out, signals, clean, seed),
        clean=clean,
        features=features_after,
        settling=settling,
        tell=tell,
    )
    run = Run(out)
    if missing := set(features) - set(run.with_features):
        raise InputError(
            f"{out} has no features of epoch {min(missing)}: they were not asked for when it was "
            "recorded; record into another folder"
        )
    return run


def _recorder(
    setup: Setup, out: Path, signals: Sequence[str], clean: bool, seed: int, start_epoch: int
) -> Recorder:
    data, size, unreadable = setup.data, setup.size, None
    if data.unreadable is not None:
        unreadable = np.where(data.unreadable, data.labels, -1)
    return Recorder(
        out,
        samples=len(data),
        classes=len(data.class_names),
        signals=signals,
        start_epoch=start_epoch,
        mode="eval" if clean else "train",
        class_names=data.class_names,
        names=data.names,
        source=data.source,
        unreadable=unreadable,
        data=data.fingerprint,
        notes=f"{setup.model_name}, recipe {setup.recipe.name}"
        + (f" at {size} x {size} pixels" if size else "")
        + f", seed {seed}"
        + (_precision(setup.model) if setup.batches.device.type == "cuda" and not clean else ""),
    )


def _precision(model: str | nn.Module) -> str:
    """Say in what numbers the passes of a training on GPUs are computed.

    The heads of our own models compute in float32.

    >>> _precision("resnet18"), _precision("distilbert/"), _precision(nn.Linear(2, 2))
    (', passes in bfloat16, logits in float32', ', passes in bfloat16', ', passes in bfloat16')
    """
    is_ours = isinstance(model, str) and not is_checkpoint(model)
    return ", passes in bfloat16" + (", logits in float32" if is_ours else "")


def overlaps_recorded(run: Place) -> dict[str, float]:
    """Give the overlaps at which this run stopped by itself; none if it did not.

    They are by share kept, as those of `Settling`.
    """
    if not exists(state := run / "checkpoint/state.json"):
        return {}
    last = read_json(state)["history"][-1]
    return dict(last["overlaps"]) if last.get("settled") else {}


def seconds_recorded(run: Place) -> float:
    """Seconds that training took while this run was recorded."""
    return float(sum(row["seconds"] for row in read_json(run / "checkpoint/state.json")["history"]))
