"""`prune` with page and figures, against the bare training loop of the same epochs."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from dualprune import prune
from dualprune.data import Images, load
from dualprune.train import Setup, loop
from dualprune.train.epoch import Plan, train_epoch

IMAGES = 10_000
ROUNDS = 2


def _bare(images: Images) -> None:
    """Train as `prune` does, without recording, checkpoints or anything after."""
    setup = Setup.of(images, None)
    recipe, model = setup.recipe, setup.fresh_model(0).to(memory_format=torch.channels_last)
    optimizer = loop._optimizer(model, recipe)
    plan = Plan(recipe, np.arange(len(images)), recipe.batch, recipe.record, recipe.epochs, seed=0)
    for epoch in range(1, recipe.record + 1):
        train_epoch(model, setup.batches, plan, optimizer, epoch, None)


def _prune(images: Images) -> None:
    with tempfile.TemporaryDirectory() as folder:
        prune(images, keep=0.5, out=Path(folder) / "pruned")


def rows() -> Iterator[tuple[str, str, str]]:
    images = load("cifar10", download=True)[0].take(np.arange(IMAGES))
    best = {"bare": float("inf"), "prune": float("inf")}
    for _ in range(ROUNDS):  # minutes long each, so nothing needs to warm up
        for name, function in (("bare", _bare), ("prune", _prune)):
            start = time.perf_counter()
            function(images)
            best[name] = min(best[name], time.perf_counter() - start)
    what = f"prune of {IMAGES:,} CIFAR-10 images / bare loop"
    yield what, f"{best['prune'] / best['bare']:.2f}x", "at most 1.15x"
