"""Models by name: each a body that gives features, and a linear head."""

from collections.abc import Callable
from functools import partial
from itertools import chain

from torch import nn

from dualprune.errors import InputError, did_you_mean
from dualprune.train.models.bag import bag
from dualprune.train.models.mlp import mlp
from dualprune.train.models.plain import plain, three_layers
from dualprune.train.models.resnet import basic, bottleneck, resnet

__all__ = ["MODELS", "NAMES", "build", "check_model"]

IMAGES: dict[str, Callable[..., nn.Module]] = {
    "cnn": partial(plain, [(32, 1), (64, 1), (128, 1)]),
    "cnn-small": partial(plain, [(16, 1), (32, 1), (64, 1)]),
    "cnn-wide": three_layers,
    "resnet8": partial(resnet, basic, (1, 1, 1), 16),
    "resnet18": partial(resnet, basic, (2, 2, 2, 2), 64),
    "resnet34": partial(resnet, basic, (3, 4, 6, 3), 64),
    "resnet50": partial(resnet, bottleneck, (3, 4, 6, 3), 64),
    "vgg16": partial(plain, [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]),
}

MODELS: dict[str, dict[str, Callable[..., nn.Module]]] = {
    "images": IMAGES,
    "texts": {"bag": bag},
    "rows": {"mlp": mlp},
}
"""Models for each kind of data, by name: functions of the classes and of the shape of inputs."""

NAMES = tuple(chain(*MODELS.values()))

# pixels a side, so that one is left at the end
_SMALLEST = {"cnn": 8, "cnn-small": 8, "cnn-wide": 12, "vgg16": 32}


def check_model(name: str, kind: str | None = None) -> None:
    """Refuse the name of a model that is not there, or not for this kind of data."""
    known = [model for own in MODELS if kind in (None, own) for model in MODELS[own]]
    if name not in known:
        whom = "" if kind is None else f" for {kind}"
        raise InputError(
            f"there is no model {name!r}{whom}; choose one of {', '.join(known)}."
            f"{did_you_mean(name, known)}"
        )


def build(name: str, kind: str, *, classes: int, shape: tuple[int, ...]) -> nn.Module:
    """Make a model for inputs of this kind and shape; of images (channels, pixels a side)."""
    check_model(name, kind)
    if kind == "images" and shape[1] < (smallest := _SMALLEST.get(name, 1)):
        raise InputError(f"{name} needs images of {smallest} pixels or more, got {shape[1]}")
    return MODELS[kind][name](classes, *shape)
