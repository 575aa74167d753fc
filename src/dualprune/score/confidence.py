r"""Confidence: the mean probability of the label.

.. math:: s_i = \operatorname{mean}_t \; p_{it y_i}
"""

from dualprune.arguments import checked
from dualprune.score.observed import check_probabilities, mean_observed
from dualprune.signatures import Array


@checked
def confidence(target_prob: Array) -> Array:
    """Keep easy samples; with `variability` it is an axis of the map of the dataset.

    Parameters
    ----------
    target_prob
        Probability of the label, shape (epochs, samples).

    Examples
    --------
    >>> confidence(np.array([[0.9, 0.1], [0.7, 0.3]])).round(3).tolist()
    [0.8, 0.2]

    Notes
    -----
    Time O(epochs x samples); memory a block of samples at a time.

    The code of Dataset Cartography takes the same mean, as an axis of its map; it keeps samples of
    high `variability`. `beta` reads the confidence over the same epochs as the score.

    References
    ----------
    Swayamdipta et al., 2020. Dataset Cartography: Mapping and Diagnosing Datasets with Training
    Dynamics. arXiv:2009.10795
    """
    check_probabilities(target_prob)
    return mean_observed(target_prob)
