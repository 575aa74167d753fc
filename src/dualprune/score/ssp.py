r"""SSP: how far a sample is from the nearest prototype.

.. math:: s_i = 1 - \max_c \cos(h_i, m_c)

where the prototypes m are the centroids of a k-means of the features h. A cosine sees directions
only, and so does the k-means: every sample has length 1, is given to the most similar centroid, and
a centroid is the direction of the sum of its samples.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from dualprune.arguments import checked
from dualprune.errors import InputError
from dualprune.run.features import check_features
from dualprune.signatures import Array

Prototypes = Literal["kmeans", "class"]

_BLOCK = 4096  # samples at a time
_ROUNDS = 50
_SETTLED = 1000  # k-means ends when less than one sample in so many changes its centroid
_CANDIDATES = 50  # per cluster: enough to start from, and few for many clusters


@checked
def ssp(
    features: Array,
    labels: Array | None = None,
    *,
    prototypes: Prototypes = "kmeans",
    clusters: int | None = None,
) -> Array:
    """Keep the samples that are least similar to the prototypes.

    Published with features of a self-supervised model; features of any model will do. Meant for
    large datasets; that samples near the prototypes are better in small ones is unverified.

    Parameters
    ----------
    features
        Shape (samples, numbers). A sample of only zeros has no direction and scores 1.
    labels
        Shape (samples,); needed for class prototypes, or to count the classes.
    prototypes
        Centroids of a k-means, or (class) the mean of each class; then the score is the Euclidean
        distance to the mean of the sample's own class.
    clusters
        How many centroids; as many as classes if not given.

    Examples
    --------
    The prototype points along [1, 0] and two samples are 45 degrees away from it; the mean of the
    class is [1.5, 0].

    >>> features = np.array([[3.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, -1.0]])
    >>> ssp(features, clusters=1).round(3).tolist()
    [0.0, 0.0, 0.293, 0.293]
    >>> ssp(features, np.zeros(4), prototypes="class").round(3).tolist()
    [1.5, 0.5, 1.118, 1.118]

    Notes
    -----
    Time O(samples x width x clusters) in each of at most 50 rounds; memory the features, a block of
    4,096 samples in float64, and 50 samples per cluster to start from.

    Scores for ImageNet are public, of which the high ones are kept; code of the authors is not. The
    baseline in the code of ELFS has as many clusters as classes, the default here, and the best of
    two starts; here there is one. `prototypes="class"` is the variant in fair-data-pruning. A
    floor per class in the original is unverified; `top` has `floor`.

    References
    ----------
    Sorscher et al., 2022. Beyond neural scaling laws: beating power law scaling via data pruning.
    arXiv:2206.14486
    """
    _check(features, labels)
    if prototypes == "class":
        if clusters is not None:
            raise InputError(f"class prototypes are one per class; leave out clusters={clusters}")
        return _from_class_means(features, _given(labels))
    if clusters is None:
        clusters = len(np.unique(_given(labels)))
    centres = centroids(features, clusters)
    similar = np.concatenate([(unit @ centres.T).max(1) for unit in _directions(features)])
    scores: Array = np.maximum(1 - similar, 0.0)
    return scores


def _check(features: Array, labels: Array | None) -> None:
    check_features(features)
    if labels is not None and np.shape(labels) != (len(features),):
        raise InputError(
            f"labels have shape {np.shape(labels)}; {len(features)} samples with features need "
            "one each"
        )


def _given(labels: Array | None) -> Array:
    if labels is None:
        raise InputError("ssp needs the labels, or prototypes='kmeans' and a number of clusters")
    return labels


def _from_class_means(features: Array, labels: Array) -> Array:
    distances = np.empty(len(features))
    ends = np.cumsum(np.unique(labels, return_counts=True)[1])
    for members in np.split(np.argsort(labels, kind="stable"), ends)[:-1]:
        own = features[members].astype(np.float64)
        distances[members] = np.linalg.norm(own - own.mean(0), axis=1)
    return distances


def centroids(features: Array, clusters: int) -> Array:
    """Give the centroids of a k-means of directions, shape (clusters, numbers), each of length 1.

    The random start has a fixed seed, so the same features give the same centroids. A centroid that
    no sample is nearest to stays where it is.

    >>> centroids(np.array([[1.0, 1.0], [2.0, 2.0]]), 1).round(3).tolist()
    [[0.707, 0.707]]
    """
    if not 1 <= clusters <= len(features):
        raise InputError(
            f"clusters must be from 1 to {len(features)}, the number of samples; got {clusters}"
        )
    centres, before = _start(features, clusters), np.full(len(features), -1)
    for _ in range(_ROUNDS):
        nearest, sums = _assigned(features, centres)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.divide(sums, lengths, out=centres, where=lengths > 0)
        if (nearest != before).sum() * _SETTLED < len(features):
            break
        before = nearest
    return centres


def _assigned(features: Array, centres: Array) -> tuple[Array, Array]:
    """Give the nearest centroid of each sample, and the sum of the samples of each centroid."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - slow to load

    nearest, sums = [], np.zeros_like(centres)
    for unit in _directions(features):
        nearest.append((unit @ centres.T).argmax(1))
        cells = np.ones(len(unit)), nearest[-1], np.arange(len(unit) + 1)
        sums += csr_array(cells, shape=(len(unit), len(centres))).T @ unit
    return np.concatenate(nearest), sums


def _start(features: Array, clusters: int) -> Array:
    """Greedy k-means++: far samples are likely, and the best of a few draws becomes a centroid."""
    generator = np.random.Generator(np.random.Philox(key=0))
    count = min(len(features), _CANDIDATES * clusters)
    some = generator.choice(len(features), count, replace=False)
    points = np.concatenate(list(_directions(features[some])))
    chosen, far = [0], np.maximum(1 - points @ points[0], 0.0)
    while len(chosen) < clusters:
        reach = np.cumsum(far)
        draws = np.searchsorted(reach, generator.random(2 + clusters.bit_length()) * reach[-1])
        left = np.minimum(far[:, None], np.maximum(1 - points @ points[draws].T, 0.0))
        best = left.sum(0).argmin()
        chosen.append(int(draws[best]))
        far = left[:, best]
    return points[chosen]


def _directions(features: Array) -> Iterator[Array]:
    """Blocks of samples in float64, each sample divided by its length unless that is zero."""
    for start in range(0, len(features), _BLOCK):
        block = features[start : start + _BLOCK].astype(np.float64)
        lengths = np.linalg.norm(block, axis=1, keepdims=True)
        yield np.divide(block, lengths, out=block, where=lengths > 0)
