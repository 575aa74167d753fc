r"""Variability: the spread of the probability of the label over all epochs.

.. math:: s_i = \sqrt{ \operatorname{mean}_t \; (p_{it y_i} - \bar p_i)^2 }
"""

import numpy as np

from dualprune.arguments import checked
from dualprune.score.observed import check_probabilities, mean_observed, mean_of_rows
from dualprune.signatures import Array


@checked
def variability(target_prob: Array) -> Array:
    """Keep the samples whose probability varies most; denominator T, as in Dataset Cartography.

    Parameters
    ----------
    target_prob
        Probability of the label, shape (epochs, samples).

    Examples
    --------
    >>> variability(np.array([[0.9, 0.0], [0.9, 1.0]])).tolist()
    [0.0, 0.5]

    Notes
    -----
    Time O(epochs x samples), read twice; memory a block of samples at a time.

    The code of Dataset Cartography has the same denominator and keeps the high side, one sample
    more than asked for. `dyn_unc` is the mean over windows, with denominator J - 1.

    References
    ----------
    Swayamdipta et al., 2020. Dataset Cartography: Mapping and Diagnosing Datasets with Training
    Dynamics. arXiv:2009.10795
    """
    check_probabilities(target_prob)
    mean = mean_observed(target_prob)
    squares = ((row - mean) ** 2 for row in target_prob)
    return np.sqrt(mean_of_rows(squares, len(mean)))
