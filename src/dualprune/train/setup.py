"""What several trainings on the same data share: tensors on their device, a recipe, a model."""

from copy import deepcopy
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from dualprune.data import Images, load
from dualprune.errors import InputError
from dualprune.select import random
from dualprune.signatures import Array
from dualprune.suspects import corrected
from dualprune.train.batches import Batches
from dualprune.train.models import build, check_model
from dualprune.train.place import device
from dualprune.train.recipe import Recipe, find_recipe

_HELD_OUT = 0.1
_HELD_OUT_SEED = 0x68656C64  # nobody's own, so that no random coreset is the same draw


@dataclass(frozen=True)
class Setup:
    """Data, recipe and model; made with `Setup.of`.

    `held_out`: ids set aside for evaluation, never trained on; a tenth of every class where there
    are no test images, else none.
    """

    images: Images
    data: Batches
    test: Batches
    test_images: Images
    held_out: Array
    recipe: Recipe
    model: str | nn.Module

    @staticmethod
    def of(
        images: Images,
        test: Images | None,
        *,
        name: str = "",
        recipe: str | Recipe = "auto",
        model: str | nn.Module = "auto",
        size: int | None = None,
    ) -> "Setup":
        """Choose the recipe for the data of this name, and put the images on their device."""
        if isinstance(recipe, str):
            recipe = find_recipe(recipe, name, gpu=device().type == "cuda", size=size)
        refuse_size(images, size)
        if model == "auto":
            model = recipe.model
        data = Batches(images, size=recipe.size, device=device())
        held_out = np.empty(0, np.int64)
        if test is None:
            held_out = hold_out(images)
            test = images.take(held_out)
        judge = Batches(test, size=recipe.size, device=device(), like=data)
        if data.shape[0] != judge.shape[0]:
            raise InputError(
                f"training images have {data.shape[0]} channels, test images {judge.shape[0]}"
            )
        return Setup(images, data, judge, test, held_out, recipe, model)

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
    ) -> "Setup":
        """Load data by its name or path, at this `size` or the one that its recipe wants.

        `labels` is a CSV of corrected labels.
        """
        if isinstance(recipe, str):
            recipe = find_recipe(recipe, str(data), gpu=device().type == "cuda", size=size)
        if isinstance(model, str) and model != "auto":
            check_model(model)
        images, test = load(data, download=download, out=out, size=recipe.size)
        return Setup.of(relabel(images, labels), test, recipe=recipe, model=model, size=size)

    def fresh_model(self, seed: int) -> nn.Module:
        """Give a new model whose weights depend on the seed alone; a given module is copied."""
        if isinstance(self.model, nn.Module):
            return deepcopy(self.model)
        channels, size = self.data.shape
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            classes = len(self.images.class_names)
            return build(self.model, classes=classes, channels=channels, size=size)

    @property
    def size(self) -> int:
        """Side in pixels of the squares that files are scaled to, 0 if images are not files."""
        return self.recipe.size if self.images.files else 0

    @property
    def model_name(self) -> str:
        return self.model if isinstance(self.model, str) else type(self.model).__name__

    def settings(self, **more: Any) -> dict[str, Any]:
        """All that a training depends on, so that a checkpoint of another one is not taken up."""
        return {
            "data": self.images.fingerprint,
            "model": model_identity(self.model),
            "recipe": self.recipe.stated(),
            **more,
        }


def refuse_size(images: Images, size: int | None) -> None:
    """Refuse to scale images that are not files."""
    if size is not None and images.pixels is not None:
        tall, wide = images.pixels.shape[1:3]
        raise InputError(
            f"only image files are scaled; these images are arrays of {tall} x {wide} and stay "
            "so: leave out the size"
        )


def check_training(seed: int, epochs: int | None, iterations: int | None = None) -> None:
    """Refuse a seed or a length that no training has."""
    if not 0 <= seed < 2**63:
        raise InputError(f"seed must be from 0 to 2**63 - 1, got {seed}")
    for name, value in (("epochs", epochs), ("iterations", iterations)):
        if value is not None and value < 1:
            raise InputError(f"{name} must be at least 1, got {value}")


def relabel(images: Images, path: Path | None) -> Images:
    """Give the images with the corrected labels of a CSV, if there is one."""
    if path is None:
        return images
    labels = corrected(path, images.labels, images.class_names, images.names)
    return replace(images, labels=labels, relabelled=int((labels != images.labels).sum()))


def model_identity(model: str | nn.Module) -> str:
    """Name of a model, and of a module also the SHA-256 of its parameters and buffers."""
    if isinstance(model, str):
        return model
    content = sha256()
    for name, value in model.state_dict().items():
        content.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
        content.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return f"{type(model).__name__} {content.hexdigest()}"


def hold_out(images: Images) -> Array:
    """Ids of a tenth of every class, the same for the same images, to evaluate on."""
    ids, labels = images.readable_ids, images.labels[images.readable_ids]
    k = max(1, round(_HELD_OUT * len(ids)))
    held_out: Array = ids[random(labels, k=k, seed=_HELD_OUT_SEED, balance="proportional")]
    return held_out
