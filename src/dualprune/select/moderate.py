r"""Moderate: neither the most typical samples of a class nor the outliers.

.. math:: d_i = \lVert h_i - m_{y_i} \rVert_2

where h are the features and m the centre of each class. All samples, whatever their class, are
sorted by d, and the middle k are kept: the ranks from :math:`\lceil (N - k) / 2 \rceil`, counted
from 0. As many are dropped at either end, or one more of the nearest if N - k is odd.
"""

from typing import Literal

import numpy as np

from dualprune.arguments import checked
from dualprune.select.candidates import Notes, check_budget
from dualprune.select.keys import ties
from dualprune.select.quotas import classes
from dualprune.signatures import Array

Centre = Literal["median", "mean"]


@checked
def moderate(
    features: Array,
    labels: Array,
    *,
    k: int,
    seed: int,
    centre: Centre = "median",
    notes: Notes | None = None,
) -> Array:
    """Keep the samples at a medium distance from the centre of their class.

    Ties are broken at random.

    Parameters
    ----------
    features
        Of a trained model, shape (samples, numbers).
    labels
        Shape (samples,), of any kind.
    centre
        Of each feature by itself: the median, as in the authors' code, or the mean.
    notes
        Receives facts about the choice, for the card and the table of all samples.

    Examples
    --------
    The centre of the class and the sample farthest away are dropped.

    >>> features = np.array([[0.0], [1.0], [2.0], [3.0], [10.0]])
    >>> moderate(features, np.zeros(5), k=3, seed=0).tolist()
    [0, 1, 3]

    Notes
    -----
    Time O(samples x width) and a sort; memory one class of features in float64 and a few numbers
    per sample.

    The authors' code has the median; that their paper has the mean is unverified. It does not
    switch to evaluation mode to extract features, and the file it saves lists what to drop. It
    rounds both ends of the middle. The copies in D2 and BOSS keep the two ends instead of the
    middle; no knob gives that.

    References
    ----------
    Xia et al., 2023. Moderate Coreset: A Universal Method of Data Selection for Real-world
    Data-efficient Deep Learning. ICLR.
    """
    check_budget(k, labels, features=features)
    (notes or Notes()).kept = "chosen"
    order = np.lexsort((ties(seed, len(features)), _distances(features, labels, centre)))
    nearer = (len(features) - k + 1) // 2
    return np.sort(order[nearer : nearer + k])


def _distances(features: Array, labels: Array, centre: Centre) -> Array:
    distances = np.empty(len(features))
    for members in classes(labels, np.arange(len(features))):
        own = features[members].astype(np.float64)
        middle = np.median(own, axis=0) if centre == "median" else own.mean(0)
        distances[members] = np.linalg.norm(own - middle, axis=1)
    return distances
