"""Residual networks, with a stem for small images (up to 64 pixels) or for large ones.

He et al., 2016. Deep Residual Learning for Image Recognition. arXiv:1512.03385
"""

from collections.abc import Callable, Sequence

from torch import Tensor, nn
from torch.nn.functional import relu

from dualprune.train.models.classifier import Classifier, convolution

_SMALL = 64


class _Block(nn.Module):
    """A residual of some convolutions, added to the input or to its projection."""

    def __init__(self, residual: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.residual = residual
        self.shortcut = shortcut

    def forward(self, images: Tensor) -> Tensor:
        return relu(self.residual(images) + self.shortcut(images))


def basic(narrow: int, width: int, stride: int) -> tuple[nn.Module, int]:
    """A block of two convolutions, and its number of channels."""
    residual = nn.Sequential(
        convolution(narrow, width, stride=stride), nn.ReLU(inplace=True), convolution(width, width)
    )
    return _Block(residual, _shortcut(narrow, width, stride)), width


def bottleneck(narrow: int, width: int, stride: int) -> tuple[nn.Module, int]:
    """A block of three convolutions, the middle one narrow, and its number of channels."""
    wide = 4 * width
    residual = nn.Sequential(
        convolution(narrow, width, kernel=1),
        nn.ReLU(inplace=True),
        convolution(width, width, stride=stride),
        nn.ReLU(inplace=True),
        convolution(width, wide, kernel=1),
    )
    return _Block(residual, _shortcut(narrow, wide, stride)), wide


def _shortcut(narrow: int, wide: int, stride: int) -> nn.Module:
    if stride == 1 and narrow == wide:
        return nn.Identity()
    return convolution(narrow, wide, kernel=1, stride=stride)


def _stem(channels: int, width: int, size: int) -> nn.Module:
    if size <= _SMALL:
        return nn.Sequential(convolution(channels, width), nn.ReLU(inplace=True))
    first = convolution(channels, width, kernel=7, stride=2)
    return nn.Sequential(first, nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))


def resnet(
    block: Callable[[int, int, int], tuple[nn.Module, int]],
    depths: Sequence[int],
    width: int,
    classes: int,
    channels: int,
    size: int,
) -> Classifier:
    """A network with this many blocks in each stage; the first stage has this width.

    Each later stage halves the size and doubles the width. `block` is `basic` or `bottleneck`.
    """
    layers, narrow = [_stem(channels, width, size)], width
    for stage, depth in enumerate(depths):
        for number in range(depth):
            stride = 2 if stage > 0 and number == 0 else 1
            layer, narrow = block(narrow, width * 2**stage, stride)
            layers.append(layer)
    return Classifier(nn.Sequential(*layers), narrow, classes)
