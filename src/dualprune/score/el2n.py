r"""EL2N: how far the prediction is from the label.

.. math:: s_i = \lVert p_i - \mathrm{onehot}(y_i) \rVert_2
"""

from typing import Literal

from dualprune.arguments import checked
from dualprune.score.observed import last_observed, mean_observed
from dualprune.signatures import Array

Over = Literal["last", "mean", "sum"]


@checked
def el2n(error_norm: Array, *, over: Over = "last") -> Array:
    """Keep the samples that are predicted worst.

    Parameters
    ----------
    error_norm
        Length of the error vector, shape (epochs, samples).
    over
        The last of these epochs (the published setting is the 20th: pass the first 20), or the mean
        or the sum of all of them (CCS and D2 sum the first 10). A sum over a sample that some
        epochs missed is scaled up to all of them.

    Examples
    --------
    >>> errors = np.array([[0.2, 1.4], [0.1, 1.0]])
    >>> el2n(errors).tolist(), el2n(errors, over="sum").round(3).tolist()
    ([0.1, 1.0], [0.3, 2.4])

    Notes
    -----
    Time O(epochs x samples) at most; memory a block of samples at a time.

    The authors' code (data_diet) measures a checkpoint on clean images and takes the mean over 10
    runs or more: `record --clean`, and give all runs to `score`. The DUAL paper has epoch 20 and
    five runs (`el2n-5`), its CIFAR code one run and the 21st epoch. CCS, D2 and the ImageNet code
    of DUAL sum the first 10 epochs: `over="sum"` and 10 epochs. The script of BOSS sums 6.

    References
    ----------
    Paul et al., 2021. Deep Learning on a Data Diet. arXiv:2107.07075
    """
    if over == "last":
        return last_observed(error_norm)
    mean = mean_observed(error_norm)
    return mean if over == "mean" else mean * len(error_norm)
