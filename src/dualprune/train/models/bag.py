"""A bag of n-grams: the mean of their embeddings, and a linear head.

Joulin et al., 2017. Bag of Tricks for Efficient Text Classification. arXiv:1607.01759
"""

from torch import nn

from dualprune.train.models.classifier import Classifier

_WIDTH = 32
_DEVIATION = 0.01  # of embeddings at first; with that of torch, 1, texts are learnt by heart


def bag(classes: int, buckets: int) -> Classifier:
    """A model of texts whose n-grams are numbers below `buckets`; 0 is padding."""
    embedding = nn.EmbeddingBag(buckets, _WIDTH, mode="mean", padding_idx=0)
    nn.init.normal_(embedding.weight, std=_DEVIATION)
    return Classifier(embedding, _WIDTH, classes)
