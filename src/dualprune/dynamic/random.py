r"""Random every epoch: a new uniform subset, the baseline of dynamic pruning.

Of N samples every epoch trains on

.. math::

    k = \lfloor \text{keep} \cdot N + 1/2 \rfloor

`draws` draws them independently each time, so that some are unused for long by chance.
`permutations` takes them from a random order of all samples, and from a new one when that ends:
after e epochs every sample was used :math:`\lfloor e k / N \rfloor` or
:math:`\lceil e k / N \rceil` times. In both, every single epoch is a uniform draw.
"""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dualprune.arguments import check_seed, checked
from dualprune.dynamic.edges import check_epoch, check_samples, read_state
from dualprune.dynamic.plan import NOTHING, Plan, uniforms
from dualprune.select.budget import budget
from dualprune.select.keys import smallest
from dualprune.signatures import Array

Through = Literal["draws", "permutations"]


class RandomEveryEpoch:
    """Train on another random subset in every epoch, with weight 1.

    The subset is a pure function of (seed, epoch, id), so there is no state to store.

    Parameters
    ----------
    samples
        Size of the dataset.
    keep
        Share to train on in each epoch, as the decimal that was written, rounded half up to a
        number of samples; an error if that is 0.
    through
        Draw every epoch independently, or go through permutations.

    Examples
    --------
    Two epochs with half of the samples each: together they use every sample once.

    >>> half = RandomEveryEpoch(6, keep=0.5, seed=0, through="permutations")
    >>> sorted([*half.plan(1).train.tolist(), *half.plan(2).train.tolist()])
    [0, 1, 2, 3, 4, 5]

    Notes
    -----
    Time O(samples log samples) per epoch at most; memory a few numbers per sample, and no state.

    Both ways are published: a new draw in each epoch (`draws`), and all samples before any again
    (`permutations`). The DUAL paper does not say which it ran; its text fits `draws`. Make the
    learning-rate schedule for the smaller number of steps.

    References
    ----------
    Okanovic et al., 2024. Repeated Random Sampling for Minimizing the Time-to-Accuracy of Learning.
    arXiv:2305.18424
    """

    @checked
    def __init__(self, samples: int, *, keep: float, seed: int, through: Through = "draws") -> None:
        check_samples(samples)
        check_seed(seed)
        self._samples, self._seed, self._through = samples, seed, through
        self._k = budget(samples, keep=repr(float(keep)))

    @checked
    def plan(self, epoch: int) -> Plan:
        """Give the samples to train on in this epoch, counted from 1."""
        check_epoch(epoch)
        if self._through == "permutations":
            train = self._from_permutations(epoch)
        else:
            keys = uniforms(self._seed, epoch, self._samples)
            train = smallest(keys, self._k, keys)
        return Plan(train, np.ones(len(train)), NOTHING)

    def observe(self, ids: ArrayLike, losses: ArrayLike) -> None:
        """Ignore the losses, whatever they are."""

    def state(self) -> dict[str, Array]:
        """Give the arrays that a checkpoint has to store: none."""
        return {}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Resume from a `state`, which must be empty."""
        read_state(state, self.state())

    def _from_permutations(self, epoch: int) -> Array:
        """Take the used or the omitted samples from permutations, whichever are fewer."""
        omitted = self._samples - self._k
        if self._k <= omitted:
            return np.sort(_ids_of_epoch(self._seed, self._samples, self._k, epoch))
        used = np.ones(self._samples, bool)
        if omitted:
            used[_ids_of_epoch(self._seed, self._samples, omitted, epoch)] = False
        return np.flatnonzero(used)


def _ids_of_epoch(seed: int, samples: int, size: int, epoch: int) -> Array:
    """Give the ids of one epoch, `size` of them and at most half of the samples."""
    number, start = divmod((epoch - 1) * size, samples)
    ids = _permutation(seed, samples, size, number)[start : start + size]
    rest = size - len(ids)
    if rest:
        ids = np.concatenate([ids, _permutation(seed, samples, size, number + 1)[:rest]])
    return ids


def _permutation(seed: int, samples: int, size: int, number: int) -> Array:
    """Give all ids in the order of this permutation.

    Where an epoch takes the end of one permutation and the start of the next, the start must not
    repeat the end. This moves only the first `size` places, never the end of a permutation, since
    an epoch takes at most half of it; so it depends on the shuffle before it and on no other.
    """
    order = _shuffle(seed, samples, number)
    at_end = number * samples % size
    if not at_end:
        return order
    free = ~np.isin(order, _shuffle(seed, samples, number - 1)[-at_end:])
    first = free & (np.cumsum(free) <= size - at_end)
    return np.concatenate([order[first], order[~first]])


def _shuffle(seed: int, samples: int, number: int) -> Array:
    return np.argsort(uniforms(seed, number, samples), kind="stable")
