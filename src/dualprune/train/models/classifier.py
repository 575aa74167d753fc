"""The parts that all models here have: a body that gives features, and a linear head."""

from torch import Tensor, nn


class Classifier(nn.Module):
    """Features of shape (batch, width) from a body, logits from a linear head.

    `last_features` are those of the last batch.
    """

    def __init__(self, body: nn.Module, width: int, classes: int) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(width, classes)
        self.last_features: Tensor | None = None

    def features(self, inputs: Tensor) -> Tensor:
        """Penultimate features; those of images are the mean over all positions."""
        features: Tensor = self.body(inputs)
        return features.mean((2, 3)) if features.ndim == 4 else features

    def forward(self, inputs: Tensor) -> Tensor:
        features = self.features(inputs)
        self.last_features = features.detach()
        logits: Tensor = self.head(features)
        return logits


def convolution(narrow: int, wide: int, *, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    """A convolution that keeps the size, and batch normalisation."""
    return nn.Sequential(
        nn.Conv2d(narrow, wide, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(wide)
    )
