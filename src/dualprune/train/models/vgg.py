"""VGG-16 with batch normalisation and one linear layer.

Simonyan and Zisserman, 2015. Very Deep Convolutional Networks for Large-Scale Image Recognition.
arXiv:1409.1556
"""

from torch import nn

from dualprune.train.models.classifier import Classifier, convolution

_STAGES = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))


def vgg16(classes: int, channels: int, size: int) -> Classifier:  # noqa: ARG001 - all models have the same parameters
    """Thirteen convolutions; images need at least 32 pixels."""
    layers: list[nn.Module] = []
    narrow = channels
    for width, depth in _STAGES:
        for _ in range(depth):
            layers += [convolution(narrow, width), nn.ReLU(inplace=True)]
            narrow = width
        layers.append(nn.MaxPool2d(2))
    return Classifier(nn.Sequential(*layers), narrow, classes)
