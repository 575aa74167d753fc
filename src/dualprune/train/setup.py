"""What several trainings on the same data share: tensors on their device, a recipe, a model."""

from copy import deepcopy
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from dualprune.data import NO_COLUMNS, Columns, Data, Images, load, usual_recipe, with_labels
from dualprune.errors import InputError
from dualprune.select import random
from dualprune.signatures import Array
from dualprune.suspects import corrected
from dualprune.train.batches import Batches, batches_of
from dualprune.train.models import build, check_model
from dualprune.train.place import device
from dualprune.train.pretrained import Checkpoint, TokenBatches, checkpoint_identity, is_checkpoint
from dualprune.train.recipe import Recipe, find_recipe

CHECKPOINT = "checkpoint"
"""Name of the recipe that suits checkpoints of transformers."""

_HELD_OUT = 0.1
_HELD_OUT_SEED = 0x68656C64  # nobody's own, so that no random coreset is the same draw


@dataclass(frozen=True)
class Setup:
    """Data, recipe and model; made with `Setup.of`.

    `held_out`: ids set aside for evaluation, never trained on; a tenth of every class where there
    are no test data, else none.
    """

    data: Data
    batches: Batches
    test: Data
    test_batches: Batches
    held_out: Array
    recipe: Recipe
    model: str | nn.Module

    @staticmethod
    def of(
        data: Data,
        test: Data | None,
        *,
        name: str = "",
        recipe: str | Recipe = "auto",
        model: str | nn.Module = "auto",
        size: int | None = None,
    ) -> "Setup":
        """Choose the recipe for the data of this name, and put what is in memory on its device."""
        if isinstance(recipe, str):
            usual = CHECKPOINT if is_checkpoint(model) else name or data.recipe
            recipe = find_recipe(recipe, usual, gpu=device().type == "cuda", size=size)
        refuse_size(data, size)
        if model == "auto":
            model = recipe.model
        batches = _batches(data, model, recipe)
        held_out = np.empty(0, np.int64)
        if test is None:
            held_out = hold_out(data)
            test = data.take(held_out)
        judge = _batches(test, model, recipe, like=batches)
        return Setup(data, batches, test, judge, held_out, recipe, model)

    @staticmethod
    def load(
        data: str | Path,
        *,
        recipe: str | Recipe = "auto",
        model: str | nn.Module = "auto",
        download: bool = False,
        out: Path | None = None,
        size: int | None = None,
        labels: Path | None = None,
        columns: Columns = NO_COLUMNS,
    ) -> "Setup":
        """Load data by its name or path, at this `size` or the one that its recipe wants.

        `labels` is a CSV of corrected labels.
        """
        if isinstance(recipe, str):
            usual = CHECKPOINT if is_checkpoint(model) else usual_recipe(data, columns)
            recipe = find_recipe(recipe, usual, gpu=device().type == "cuda", size=size)
        if isinstance(model, str) and model != "auto" and not is_checkpoint(model):
            check_model(model)
        loaded, test = load(data, download=download, out=out, size=recipe.decoded, columns=columns)
        return Setup.of(relabel(loaded, labels), test, recipe=recipe, model=model, size=size)

    def fresh_model(self, seed: int) -> nn.Module:
        """Give a new model whose weights depend on the seed alone; a given module is copied."""
        if isinstance(self.model, nn.Module):
            return deepcopy(self.model)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            classes, shape = len(self.data.class_names), self.batches.shape
            if is_checkpoint(self.model):
                return Checkpoint(self.model, classes, *shape)
            return build(self.model, self.data.kind, classes=classes, shape=shape)

    @property
    def size(self) -> int:
        """Side in pixels of the squares that image files are scaled to, 0 if there are none."""
        return self.recipe.size if isinstance(self.data, Images) and self.data.files else 0

    @property
    def model_name(self) -> str:
        return self.model if isinstance(self.model, str) else type(self.model).__name__

    def settings(self, **more: Any) -> dict[str, Any]:
        """All that a training depends on, so that a checkpoint of another one is not taken up."""
        return {
            "data": self.data.fingerprint,
            "model": model_identity(self.model),
            "recipe": self.recipe.stated(),
            **more,
        }


def _batches(
    data: Data, model: str | nn.Module, recipe: Recipe, like: Batches | None = None
) -> Batches:
    if isinstance(model, str) and is_checkpoint(model):
        return TokenBatches(data, model, device())
    return batches_of(data, recipe, device(), like=like)


def refuse_size(data: Data, size: int | None) -> None:
    """Refuse to scale what is no file of an image."""
    if size is None or (isinstance(data, Images) and data.files):
        return
    these = data.kind
    if isinstance(data, Images) and data.pixels is not None:
        tall, wide = data.pixels.shape[1:3]
        these = f"arrays of {tall} x {wide}"
    raise InputError(f"only image files are scaled, and these are {these}: leave out the size")


def check_training(
    seed: int, epochs: int | Literal["auto"] | None, iterations: int | None = None
) -> None:
    """Refuse a seed or a length that no training has."""
    if not 0 <= seed < 2**63:
        raise InputError(f"seed must be from 0 to 2**63 - 1, got {seed}")
    if isinstance(epochs, str):
        if epochs != "auto":
            raise InputError(f"epochs must be a number or auto, got {epochs!r}")
        epochs = None
    for name, value in (("epochs", epochs), ("iterations", iterations)):
        if value is not None and value < 1:
            raise InputError(f"{name} must be at least 1, got {value}")


def relabel(data: Data, path: Path | None) -> Data:
    """Give the data with the corrected labels of a CSV, if there is one."""
    if path is None:
        return data
    labels = corrected(path, data.labels, data.class_names, data.names, data.unreadable)
    return with_labels(data, labels)


def model_identity(model: str | nn.Module) -> str:
    """Name of a model, and of a module also the SHA-256 of its parameters and buffers."""
    if isinstance(model, str):
        return checkpoint_identity(model) if is_checkpoint(model) else model
    content = sha256()
    for name, value in model.state_dict().items():
        content.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
        content.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return f"{type(model).__name__} {content.hexdigest()}"


def hold_out(data: Data) -> Array:
    """Ids of a tenth of every class, the same for the same labels, to evaluate on."""
    ids, labels = data.readable_ids, data.labels[data.readable_ids]
    k = max(1, round(_HELD_OUT * len(ids)))
    held_out: Array = ids[random(labels, k=k, seed=_HELD_OUT_SEED, balance="proportional")]
    return held_out
