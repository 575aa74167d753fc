r"""Entropy: how uncertain the prediction is.

.. math:: s_i = - \sum_c p_{ic} \ln p_{ic}
"""

from dualprune.arguments import checked
from dualprune.score.observed import last_observed
from dualprune.signatures import Array


@checked
def entropy(entropy: Array) -> Array:
    """Keep the samples with the most uncertain prediction in the last of these epochs.

    Parameters
    ----------
    entropy
        Entropy of the prediction, shape (epochs, samples).

    Examples
    --------
    >>> entropy(np.array([[0.7, 0.1], [0.6, 0.0]])).tolist()
    [0.6, 0.0]

    Notes
    -----
    Time O(epochs x samples) at most; memory a block of samples at a time.

    Selection via Proxy measures the final model in evaluation mode, but on augmented images. The
    code of DUAL has the training pass of the last epoch, as recorded here by default;
    `record --clean` gives the model on clean images. CCS and D2 feed images without the
    normalisation used in training, and DeepCore without balance keeps the most certain; no knob
    gives that. Here 0 ln 0 is 0.

    References
    ----------
    Coleman et al., 2020. Selection via Proxy: Efficient Data Selection for Deep Learning.
    arXiv:1906.11829
    """
    return last_observed(entropy)
