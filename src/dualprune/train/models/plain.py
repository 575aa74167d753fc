"""Plain convolutional networks: stages of convolutions, after each of which the size is halved.

VGG-16: Simonyan and Zisserman, 2015. Very Deep Convolutional Networks for Large-Scale Image
Recognition. arXiv:1409.1556; here with batch normalisation and one linear layer.
"""

from collections.abc import Sequence

from torch import nn

from dualprune.train.models.classifier import Classifier, convolution


def plain(stages: Sequence[tuple[int, int]], classes: int, channels: int, size: int) -> Classifier:  # noqa: ARG001 - all models are given the size
    """A network with this width and number of convolutions in each stage."""
    layers: list[nn.Module] = []
    narrow = channels
    for width, depth in stages:
        for _ in range(depth):
            layers += [convolution(narrow, width), nn.ReLU(inplace=True)]
            narrow = width
        layers.append(nn.MaxPool2d(2))
    return Classifier(nn.Sequential(*layers), narrow, classes)


def three_layers(classes: int, channels: int, size: int) -> Classifier:  # noqa: ARG001 - all models are given the size
    """The 3-layer CNN of Cho et al., 2025: wide, not padded, without batch normalisation.

    Its code is where kernels and strides are said; for 100 classes it has 6,014,820 weights.
    """
    layers: list[nn.Module] = []
    for narrow, wide, kernel, stride in (
        (channels, 256, 4, 2), (256, 512, 3, 1), (512, 1024, 3, 1)
    ):  # fmt: skip
        layers += [nn.Conv2d(narrow, wide, kernel, stride), nn.ReLU(inplace=True)]
    return Classifier(nn.Sequential(*layers), 1024, classes)
