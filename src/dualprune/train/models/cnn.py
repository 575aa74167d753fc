"""A convolutional network of three layers, for CPUs."""

from torch import nn

from dualprune.train.models.classifier import Classifier, convolution


def cnn(classes: int, channels: int, size: int) -> Classifier:  # noqa: ARG001 - all models have the same parameters
    """Widths 32, 64, 128."""
    return _three_layers(classes, channels, (32, 64, 128))


def cnn_small(classes: int, channels: int, size: int) -> Classifier:  # noqa: ARG001
    """Widths 16, 32, 64."""
    return _three_layers(classes, channels, (16, 32, 64))


def _three_layers(classes: int, channels: int, widths: tuple[int, int, int]) -> Classifier:
    layers: list[nn.Module] = []
    for narrow, wide in zip((channels, *widths), widths, strict=False):
        layers += [convolution(narrow, wide), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
    return Classifier(nn.Sequential(*layers), widths[-1], classes)
