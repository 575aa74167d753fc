r"""Forgetting: how often a sample that was classified correctly no longer is.

.. math:: s_i = \#\{ t : a_{i,t-1} = 1, \; a_{it} = 0 \}

over consecutive presentations t, where :math:`a_{it}` is 1 when sample i is classified correctly.
"""

from typing import Literal

import numpy as np

from dualprune.arguments import checked
from dualprune.errors import InputError
from dualprune.score.observed import check_epochs
from dualprune.signatures import Array

NeverLearned = Literal["max", "zero"]


@checked
def forgetting(correct: Array, *, never_learned: NeverLearned = "max") -> Array:
    """Keep the samples that are forgotten most often.

    Parameters
    ----------
    correct
        1 for right, 0 for wrong, NaN for not seen; shape (epochs, samples).
    never_learned
        Count for a sample that was never right: the number of epochs (the original) or zero, as for
        one that is never forgotten (CCS, D2 and the code of the DUAL paper).

    Examples
    --------
    Never learned, always right, forgotten twice.

    >>> correct = np.array([[0, 1, 0], [0, 1, 1], [0, 1, 0], [0, 1, 1], [0, 1, 0]])
    >>> forgetting(correct).tolist()
    [5.0, 0.0, 2.0]

    Notes
    -----
    Time O(epochs x samples); memory a block of samples at a time.

    The authors' code counts a sample that was never learned as often as it was shown, and sums five
    seeds; the mean over runs ranks alike (`forgetting-5`). data_diet and Selection via Proxy count
    infinity, which in one run ranks the same. CCS, D2, DeepCore and the code of the DUAL paper
    count zero, so that what was never learned is pruned first: `never_learned="zero"`. Many samples
    share a count; public code leaves their order to the sort, `top` breaks ties at random.

    References
    ----------
    Toneva et al., 2019. An Empirical Study of Example Forgetting during Deep Neural Network
    Learning. arXiv:1812.05159
    """
    check_epochs(correct)
    times: Array = np.zeros(correct.shape[1])
    learned = np.zeros(correct.shape[1])
    before = np.full(correct.shape[1], np.nan)
    for now in correct:
        right, wrong = now == 1, now == 0
        times += (before == 1) & wrong
        learned += right
        before = np.where(right | wrong, now, before)
        _check(now, right | wrong)
    if never_learned == "max":
        times[learned == 0] = len(correct)
    times[np.isnan(before)] = np.nan
    return times


def _check(now: Array, known: Array) -> None:
    if not known.all() and (strange := now[~known & ~np.isnan(now)]).size:
        raise InputError(
            f"correct is 1 for right, 0 for wrong and NaN for not seen; got {strange[0]:g}. For "
            "margins use run['correct'] or margin > 0"
        )
