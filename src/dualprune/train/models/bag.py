"""A bag of n-grams: the mean of their embeddings, and one hidden layer.

Joulin et al., 2017. Bag of Tricks for Efficient Text Classification. arXiv:1607.01759; here with a
hidden layer.
"""

from torch import nn

from dualprune.train.models.classifier import Classifier

_WIDTH = 32
_SMALL = 0.01  # deviation at first; with large ones, texts are learnt by heart


def bag(classes: int, buckets: int) -> Classifier:
    """A model of texts whose n-grams are numbers below `buckets`; 0 is padding."""
    embedding = nn.EmbeddingBag(buckets, _WIDTH, mode="mean", padding_idx=0)
    nn.init.normal_(embedding.weight, std=_SMALL)
    body = nn.Sequential(embedding, nn.Linear(_WIDTH, _WIDTH), nn.ReLU())
    return Classifier(body, _WIDTH, classes)
