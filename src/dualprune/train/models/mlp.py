"""A multilayer perceptron for rows of numbers."""

from torch import nn

from dualprune.train.models.classifier import Classifier

_WIDTH = 128


def mlp(classes: int, width: int) -> Classifier:
    """A model of rows with `width` inputs: two hidden layers."""
    body = nn.Sequential(
        nn.Linear(width, _WIDTH),
        nn.LayerNorm(_WIDTH),
        nn.ReLU(),
        nn.Linear(_WIDTH, _WIDTH),
        nn.LayerNorm(_WIDTH),
        nn.ReLU(),
    )
    return Classifier(body, _WIDTH, classes)
