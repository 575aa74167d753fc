r"""GraNd: the norm of the gradient of the loss, here that of the last layer.

.. math:: s_i = \lVert p_i - \mathrm{onehot}(y_i) \rVert_2 \sqrt{1 + \lVert h_i \rVert_2^2}

where h are the features that the last layer reads; the 1 is for its bias.
"""

from dualprune.arguments import checked
from dualprune.score.el2n import Over, el2n
from dualprune.signatures import Array


@checked
def grand(grand_norm: Array, *, over: Over = "last") -> Array:
    """Keep the samples that would change the last layer most.

    The published score is the norm over all parameters; this is that of the weights and the bias
    of the last layer, in closed form. Do not use it at initialisation: the published result for
    epoch 0 came from a restored checkpoint and does not reproduce (Kirsch). After some epochs of
    training it ranks well.

    Parameters
    ----------
    grand_norm
        Norm of the last layer's gradient, shape (epochs, samples).
    over
        The last of these epochs, or the mean or the sum of all of them. A sum over a sample that
        some epochs missed is scaled up to all of them.

    Examples
    --------
    >>> norms = np.array([[0.4, 2.8], [0.2, 2.0]])
    >>> grand(norms).tolist(), grand(norms, over="mean").round(3).tolist()
    ([0.2, 2.0], [0.3, 2.4])

    Notes
    -----
    Time O(epochs x samples) at most; memory a block of samples at a time. No gradient is computed:
    the signal `feature_norm`, recorded on request, is enough.

    The authors' code (data_diet) differentiates by all parameters at a checkpoint and takes the
    mean over runs; no knob gives that. DeepCore takes the last layer in evaluation mode and the
    mean over 10 runs: `record --clean`, and give all runs to `score`.

    References
    ----------
    Paul et al., 2021. Deep Learning on a Data Diet. arXiv:2107.07075

    Kirsch, 2023. Does 'Deep Learning on a Data Diet' reproduce? Overall yes, but GraNd at
    Initialization does not. arXiv:2303.14753
    """
    return el2n(grand_norm, over=over)
