r"""InfoBatch: skip a random part of the easy samples and give the rest of them more weight.

.. math::

    B = \{ i : \ell_i < \bar\ell \}, \qquad
    m = \lfloor (1 - r) \, |B| \rfloor, \qquad
    w_i = |B| / m \text{ for } i \in B, \quad w_i = 1 \text{ otherwise}

where :math:`\ell_i` is the last loss of sample i and the mean is over all samples that have one. A
random m of B and all other samples are trained on. Each of B is drawn with probability m / |B|, so
that :math:`E \sum w_i \ell_i = \sum \ell_i` exactly, and the weights sum to N in every epoch; for
this m is at least 1 where B is not empty. The weights are below 2 / (1 - r).

The published form has :math:`w_i = 1 / (1 - r)` and an m that may be 0. It is the same where
(1 - r) |B| is a whole number; otherwise B counts :math:`m / ((1 - r) |B|)` of what it should, which
is less, by at most 1 / ((1 - r) |B|).
"""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dualprune.arguments import check_seed, checked
from dualprune.dynamic.edges import as_batch, check_epoch, check_samples, exact, read_state
from dualprune.dynamic.plan import NOTHING, Plan, uniforms
from dualprune.errors import InputError
from dualprune.select.keys import smallest
from dualprune.signatures import Array

Form = Literal["unbiased", "published"]

_MOST = 0.9  # of the easy samples, as published: at least a tenth of them is kept


class InfoBatch:
    """Skip a random share of the samples whose loss is below the mean; the last epochs skip none.

    Draws are a pure function of (seed, epoch, id); the last loss of each sample is the state. A
    sample that an epoch skipped keeps its earlier loss. One without a loss, or whose last loss was
    not finite, is trained on with weight 1 and is no part of the mean.

    Parameters
    ----------
    samples
        Size of the dataset.
    epochs
        How many epochs the training takes.
    prune
        Share of the easy samples to skip, r, at most 0.9.
    until
        Share of the epochs that skip samples; after epoch ``until * epochs`` all samples are
        trained on with weight 1.
    form
        Weights for which the expected sum of the losses is that of all samples, or the published
        ones.

    Examples
    --------
    Three of four losses are below the mean, and one of the three stands for all of them.

    >>> method = InfoBatch(4, epochs=10, seed=0)
    >>> method.observe([0, 1, 2, 3], [0.1, 0.2, 0.3, 2.0])
    >>> method.plan(2).weights.tolist()
    [3.0, 1.0]

    Notes
    -----
    Time O(samples) per epoch; memory one loss per sample, and a few numbers while planning.

    The authors' package starts with a loss of 3 for all and weighs as `form="published"`. Its
    weights are not set back to 1 for the last epochs where `until * epochs` is not a whole number;
    here they are. It seeds numpy's global generator with the epoch; here the draw depends on your
    seed. `prune` is the package's ratio; that of its research version is the share kept. It
    observes the loss of the training pass with label smoothing, if you use that; here you decide.

    References
    ----------
    Qin et al., 2024. InfoBatch: Lossless Training Speed Up by Unbiased Dynamic Data Pruning.
    arXiv:2303.04947
    """

    @checked
    def __init__(
        self,
        samples: int,
        *,
        epochs: int,
        prune: float = 0.5,
        until: float = 0.875,
        seed: int,
        form: Form = "unbiased",
    ) -> None:
        check_samples(samples)
        check_seed(seed)
        if epochs < 1:
            raise InputError(f"epochs must be at least 1, got {epochs}")
        if not 0 <= prune <= _MOST:
            raise InputError(f"prune must be from 0 to {_MOST} of the easy samples, got {prune}")
        if not 0 <= until <= 1:
            raise InputError(f"until must be a share of the epochs, from 0 to 1; got {until}")
        self._keep, self._seed, self._form = 1 - exact(prune), seed, form
        self._last = int(exact(until) * epochs)  # epoch with skipped samples
        self._losses = np.full(samples, np.nan)

    @checked
    def plan(self, epoch: int) -> Plan:
        """Give the samples to train on in this epoch, counted from 1, from the losses before it."""
        check_epoch(epoch)
        weights = np.ones(len(self._losses))
        easy = self._easy() if epoch <= self._last else NOTHING
        if len(easy):
            keys = uniforms(self._seed, epoch, len(weights))[easy]
            kept, weight = self._count_and_weight(len(easy))
            weights[easy] = 0
            weights[easy[smallest(keys, kept, keys)]] = weight
        train = np.flatnonzero(weights)
        return Plan(train, weights[train], NOTHING)

    def observe(self, ids: ArrayLike, losses: ArrayLike) -> None:
        """Take the losses of one batch, before weighting; the last one of a sample counts."""
        where, values = as_batch(ids, losses, len(self._losses))
        self._losses[where] = values

    def state(self) -> dict[str, Array]:
        """Give the arrays that a checkpoint has to store: the last losses, NaN for none."""
        return {"losses": self._losses.copy()}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Resume from a `state`."""
        self._losses = read_state(state, self.state())["losses"]

    def _easy(self) -> Array:
        known = self._losses[~np.isnan(self._losses)]
        if not len(known):
            return NOTHING
        mean = min(known.mean(), known.max())  # the rounded mean of equal losses may lie above them
        return np.flatnonzero(self._losses < mean)

    def _count_and_weight(self, easy: int) -> tuple[int, float]:
        """Give how many of so many easy samples to keep, and the weight of each."""
        kept = int(self._keep * easy)
        if self._form == "published":
            return kept, float(1 / self._keep)
        kept = max(1, kept)
        return kept, easy / kept
