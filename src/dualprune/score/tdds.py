r"""TDDS: how unevenly the whole prediction changes; late epochs weigh most.

.. math::

    V_{ik} = \sqrt{\textstyle\sum_{j<J-1} (\Delta_{i,k+j} - \bar\Delta_{ik})^2}, \qquad
    s_i = \sum_k d \, (1 - d)^{K - 1 - k} \, V_{ik}

where :math:`\Delta_{it} = \sum_c |p_{i,t+1,c} (\ln p_{i,t+1,c} - \ln p_{itc})|` is the signal
`kl_step`, a window of J epochs holds J - 1 of them, and K is the number of windows.
"""

import numpy as np

from dualprune.arguments import checked
from dualprune.errors import InputError
from dualprune.score.observed import check_epochs
from dualprune.score.windows import weighted_spread
from dualprune.signatures import Array


@checked
def tdds(kl_step: Array, *, window: int = 10, decay: float = 0.9) -> Array:
    """Keep the samples whose prediction still changes unevenly in the last windows.

    Parameters
    ----------
    kl_step
        Step from the epoch before, shape (epochs, samples); the first epoch has none and is NaN.
    window
        Epochs per window, J.
    decay
        Weight of the last window, d; each earlier one weighs 1 - d times the next.

    Examples
    --------
    One sample that changes steadily, and one that jumps.

    >>> steps = np.array([[np.nan, np.nan], [0.2, 0.2], [0.2, 0.5], [0.2, 0.2]])
    >>> tdds(steps, window=3).round(3).tolist()
    [0.0, 0.21]

    Notes
    -----
    Time O(epochs x samples), whatever the window; memory a block of samples at a time. Recording
    `kl_step` keeps one epoch's probabilities of all classes.

    The formula is that of the authors' code. The DUAL paper speaks of the classes other than the
    label; the code has all of them. The authors train with each batch's loss times the mean of its
    scores (`tdds-weighted`). The CIFAR code of DUAL has the first J epochs in every window, and
    logits in place of probabilities; no knob gives that. The published epochs and windows
    contradict each other (`tdds-cifar`, `tdds-imagenet`).

    References
    ----------
    Zhang et al., 2024. Spanning Training Progress: Temporal Dual-Depth Scoring (TDDS) for Enhanced
    Dataset Pruning. arXiv:2311.13613
    """
    if window < 3:
        raise InputError(f"TDDS needs windows of at least 3 epochs, got {window}")
    if not 0 < decay <= 1:
        raise InputError(f"decay must be above 0 and at most 1, got {decay}")
    check_epochs(kl_step, window)
    return weighted_spread(
        kl_step,
        window - 1,
        weights=lambda n: decay * (1 - decay) ** np.arange(n - 1, -1, -1),
        largest=20.0,  # log(1e8), the most that a step can be, is 18.4
    )
