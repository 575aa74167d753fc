r"""DUAL: how hard a sample is, times how uncertain the model is about it.

.. math:: s_i = \operatorname{mean}_k \; (1 - \mu_{ik}) \, \sigma_{ik}

where :math:`\mu_{ik}` and :math:`\sigma_{ik}` are the mean and the sample standard deviation
(denominator J - 1) of the probability of the label over the window of J epochs that starts at k.
"""

from dualprune.arguments import checked
from dualprune.score.windows import mean_spread
from dualprune.signatures import Array


@checked
def dual(target_prob: Array, *, window: int = 10) -> Array:
    """Keep samples that are hard and still uncertain.

    Parameters
    ----------
    target_prob
        Probability of the label, shape (epochs, samples).
    window
        Epochs per window, J.

    Examples
    --------
    Three samples: learned at once, never learned, learned slowly.

    >>> easy, never, slow = np.full(20, 0.9), np.full(20, 0.1), np.linspace(0.1, 0.9, 20)
    >>> dual(np.stack([easy, never, slow], axis=1), window=5).round(3).tolist()
    [0.0, 0.0, 0.033]

    Notes
    -----
    Time O(epochs x samples), whatever the window; memory a block of samples at a time.

    The authors' code multiplies the spread by 10, which changes no rank, and fixes J = 10 and
    the first 30 epochs. It records in the training pass, where the paper speaks of the model
    after each epoch: that is `record --clean`. Published are the first 30 epochs of a 200-epoch
    schedule for CIFAR, and 60 epochs for ImageNet. A sample that an epoch missed counts as zero
    there; here it is NaN, and windows slide over what was observed.

    References
    ----------
    Cho et al., 2025. Lightweight Dataset Pruning without Full Training via Example Difficulty and
    Prediction Uncertainty. arXiv:2502.06905
    """
    return mean_spread(target_prob, window, hard=True)
