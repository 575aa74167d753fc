r"""AUM: the area under the margin.

.. math:: s_i = - \operatorname{mean}_t \; (z_{it y_i} - \max_{c \ne y_i} z_{itc})

A low area means that the sample is hard or mislabelled. High scores are kept here, and the pruning
literature keeps the hard side, so the area is negated; `keep="easy"` gives the area itself.
"""

from typing import Literal

import numpy as np

from dualprune.arguments import checked
from dualprune.score.observed import mean_observed
from dualprune.signatures import Array

Keep = Literal["hard", "easy"]


@checked
def aum(margin: Array, *, keep: Keep = "hard") -> Array:
    """Keep the samples with the lowest margins between the label's logit and the best other logit.

    Parameters
    ----------
    margin
        Label's logit minus the best other logit, shape (epochs, samples).
    keep
        Which side gets the high scores: hard, as in CCS, or easy, as in the text of the DUAL paper
        and where AUM serves to drop mislabelled samples.

    Examples
    --------
    >>> margins = np.array([[1.0, 4.0], [-3.0, 6.0]])
    >>> aum(margins).tolist(), aum(margins, keep="easy").tolist()
    ([1.0, -5.0], [-1.0, 5.0])

    Notes
    -----
    Time O(epochs x samples); memory a block of samples at a time.

    The `aum` package takes the same mean of logit margins; CCS and D2 take probabilities
    (`aum_prob`). The side kept differs: CCS keeps the lowest area, `keep="hard"`; the text and the
    CIFAR code of DUAL keep the highest, `keep="easy"`. That CIFAR code uses only the margin of the
    last epoch; no knob gives that.

    References
    ----------
    Pleiss et al., 2020. Identifying Mislabeled Data using the Area Under the Margin Ranking.
    arXiv:2001.10528
    """
    area = mean_observed(margin)
    return area if keep == "easy" else np.negative(area)


@checked
def aum_prob(prob_margin: Array, *, keep: Keep = "hard") -> Array:
    """Keep the samples with the lowest margins of probabilities, the variant of CCS and D2.

    The formula is that of `aum`, with probabilities p in place of the logits z.

    Parameters
    ----------
    prob_margin
        Label's probability minus the best other, shape (epochs, samples).
    keep
        Which side gets the high scores.

    Examples
    --------
    >>> aum_prob(np.array([[0.9, -0.2], [0.7, 0.0]])).round(3).tolist()
    [-0.8, 0.1]

    Notes
    -----
    Time O(epochs x samples); memory a block of samples at a time.

    CCS, D2 and the ImageNet code of DUAL sum over the epochs, from half precision; the mean has the
    same ranks and the same strata of equal width. D2 keeps the hard or the easy side depending on
    its mode; say which with `keep`.

    References
    ----------
    Zheng et al., 2023. Coverage-centric Coreset Selection for High Pruning Rates. arXiv:2210.15809
    """
    return aum(prob_margin, keep=keep)
