r"""Dyn-Unc: how uncertain the model is about a sample.

.. math:: s_i = \operatorname{mean}_k \; \sigma_{ik}

where :math:`\sigma_{ik}` is the sample standard deviation (denominator J - 1) of the probability of
the label over the window of J epochs that starts at k.
"""

from dualprune.arguments import checked
from dualprune.score.observed import check_epochs
from dualprune.score.windows import mean_spread
from dualprune.signatures import Array


@checked
def dyn_unc(target_prob: Array, *, window: int = 10, skip_last: bool = False) -> Array:
    """Keep samples that stay uncertain.

    Parameters
    ----------
    target_prob
        Probability of the label, shape (epochs, samples).
    window
        Epochs per window, J.
    skip_last
        Leave out the window that ends at the last epoch, as the authors' code does.

    Examples
    --------
    A sample that the model knows, and one whose prediction flips every epoch.

    >>> dyn_unc(np.array([[0.9, 0.0], [0.9, 1.0], [0.9, 0.0]]), window=2).round(3).tolist()
    [0.0, 0.707]

    Notes
    -----
    Time O(epochs x samples), whatever the window; memory a block of samples at a time.

    The authors' code leaves out the last window (`skip_last`), takes a probability of exactly 0 for
    a missing one, and multiplies the spread by 10, which changes no rank. It sees clean images
    just before each update; `record --clean` does so after each epoch. The code of the DUAL paper
    has all windows and the training pass, the defaults here.

    References
    ----------
    He et al., 2024. Large-scale Dataset Pruning with Dynamic Uncertainty. arXiv:2306.05175
    """
    check_epochs(target_prob)
    values = target_prob[:-1] if skip_last else target_prob
    return mean_spread(values, window, hard=False)
