"""Models by name: each a body that gives features, and a linear head."""

from collections.abc import Callable
from functools import partial

from dualprune.errors import InputError, did_you_mean
from dualprune.train.models.classifier import Classifier
from dualprune.train.models.plain import plain, three_layers
from dualprune.train.models.resnet import basic, bottleneck, resnet

__all__ = ["MODELS", "build", "check_model"]

MODELS: dict[str, Callable[[int, int, int], Classifier]] = {
    "cnn": partial(plain, [(32, 1), (64, 1), (128, 1)]),
    "cnn-small": partial(plain, [(16, 1), (32, 1), (64, 1)]),
    "cnn-wide": three_layers,
    "resnet8": partial(resnet, basic, (1, 1, 1), 16),
    "resnet18": partial(resnet, basic, (2, 2, 2, 2), 64),
    "resnet34": partial(resnet, basic, (3, 4, 6, 3), 64),
    "resnet50": partial(resnet, bottleneck, (3, 4, 6, 3), 64),
    "vgg16": partial(plain, [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]),
}

_SMALLEST = {
    "cnn": 8,
    "cnn-small": 8,
    "cnn-wide": 12,
    "vgg16": 32,
}  # pixels a side, so that one is left at the end


def check_model(name: str) -> None:
    """Refuse the name of a model that is not there."""
    if name not in MODELS:
        raise InputError(
            f"there is no model {name!r}; choose one of {', '.join(MODELS)}."
            f"{did_you_mean(name, MODELS)}"
        )


def build(name: str, *, classes: int, channels: int, size: int) -> Classifier:
    """Make a model for images of `size` x `size` pixels."""
    check_model(name)
    if size < (smallest := _SMALLEST.get(name, 1)):
        raise InputError(f"{name} needs images of {smallest} pixels or more, got {size}")
    return MODELS[name](classes, channels, size)
