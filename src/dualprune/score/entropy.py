r"""Entropy: how undecided the model is.

.. math:: s_i = - \sum_c p_{ic} \ln p_{ic}
"""

import numpy as np

from dualprune.arrays import Array
from dualprune.score.observed import last_observed

__all__ = ["entropy"]


def entropy(entropy: Array) -> Array:
    """Keep what the model is least decided about in the last of these epochs.

    Parameters
    ----------
    entropy
        Entropy of the prediction, shape (epochs, samples).

    Examples
    --------
    >>> entropy(np.array([[0.7, 0.1], [0.6, 0.0]])).tolist()
    [0.6, 0.0]

    References
    ----------
    Coleman et al., 2020. Selection via Proxy: Efficient Data Selection for Deep Learning.
    arXiv:1906.11829
    """
    return last_observed(entropy).astype(np.float64)
