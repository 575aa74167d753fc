"""Models by name: each a body that gives features, and a linear head."""

from collections.abc import Callable

from dualprune.errors import InputError
from dualprune.train.models.classifier import Classifier
from dualprune.train.models.cnn import cnn, cnn_small
from dualprune.train.models.resnet import resnet8, resnet18, resnet34, resnet50
from dualprune.train.models.vgg import vgg16

__all__ = ["MODELS", "Classifier", "build"]

MODELS: dict[str, Callable[[int, int, int], Classifier]] = {
    "cnn": cnn,
    "cnn-small": cnn_small,
    "resnet8": resnet8,
    "resnet18": resnet18,
    "resnet34": resnet34,
    "resnet50": resnet50,
    "vgg16": vgg16,
}

_SMALLEST = {"cnn": 8, "cnn-small": 8, "vgg16": 32}  # pixels a side, so that all halvings leave one


def build(name: str, *, classes: int, channels: int, size: int) -> Classifier:
    """Make a model for images of `size` x `size` pixels."""
    if name not in MODELS:
        raise InputError(f"there is no model {name!r}; choose one of {', '.join(MODELS)}")
    if size < (smallest := _SMALLEST.get(name, 1)):
        raise InputError(f"{name} needs images of {smallest} pixels or more, got {size}")
    return MODELS[name](classes, channels, size)
