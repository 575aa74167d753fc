"""Record the first epochs of a training, for users without a training loop of their own."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from dualprune.errors import InputError
from dualprune.files import read_json
from dualprune.record import Recorder
from dualprune.run import Run
from dualprune.run.features import epochs_with_features, write_features
from dualprune.run.names import write_names
from dualprune.run.signals import DEFAULT
from dualprune.train.epoch import Plan
from dualprune.train.evaluate import features_of
from dualprune.train.loop import Tell, fit, silent
from dualprune.train.place import is_first
from dualprune.train.setup import Setup

APART = 1000
"""Step between the seeds of recordings that are averaged."""


def record(
    setup: Setup,
    out: Path,
    *,
    epochs: int | None = None,
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
        recipe's unless that is shorter.
    clean
        Record in an evaluation pass after every epoch, not in the training pass.
    features
        Epochs after which penultimate features are written too.
    """
    recipe, images = setup.recipe, setup.images
    epochs = recipe.record if epochs is None else epochs
    if epochs < 1:
        raise InputError(f"epochs must be at least 1, got {epochs}")
    schedule = max(recipe.epochs, epochs)
    plan = Plan(recipe, np.arange(len(images)), recipe.batch, epochs, schedule, seed)

    model = setup.fresh_model(seed)

    def after(epoch: int) -> None:
        if epoch in features and is_first():
            write_features(out, epoch, features_of(model, setup.data))

    result = fit(
        model,
        setup.data,
        plan,
        folder=out / "checkpoint",
        settings=setup.settings(seed=seed, schedule=schedule, signals=list(signals), clean=clean),
        test=None if len(setup.held_out) else setup.test,
        recorder=partial(_recorder, setup, out, signals, clean, seed),
        clean=clean,
        after=after,
        tell=tell,
    )
    for epoch in set(features) - set(epochs_with_features(out)):
        _refuse_other_epoch(out, epoch, len(result.history))
        after(epoch)  # they were not requested when the epoch was recorded
    if is_first():
        write_names(out, images.names, images.source)
    return Run(out)


def _recorder(
    setup: Setup, out: Path, signals: Sequence[str], clean: bool, seed: int, start_epoch: int
) -> Recorder:
    images = setup.images
    return Recorder(
        out,
        samples=len(images),
        classes=len(images.class_names),
        signals=signals,
        start_epoch=start_epoch,
        mode="eval" if clean else "train",
        class_names=images.class_names,
        data=images.fingerprint,
        notes=f"{setup.model_name}, recipe {setup.recipe.name}, seed {seed}",
    )


def _refuse_other_epoch(out: Path, epoch: int, now: int) -> None:
    if epoch != now:
        raise InputError(
            f"features of epoch {epoch} cannot be computed: {out} is at epoch {now}; record "
            "into another folder"
        )


def seconds_recorded(run: Path) -> float:
    """Seconds that training took while this run was recorded."""
    return float(sum(row["seconds"] for row in read_json(run / "checkpoint/state.json")["history"]))
