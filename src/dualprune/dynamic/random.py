r"""Random every epoch: a fresh uniform subset, the baseline of all pruning while training.

Of N samples every epoch trains on

.. math::

    k = \lfloor \text{keep} \cdot N + 1/2 \rfloor

`draws` draws them anew each time, so that some wait long by chance. `permutations` deals them out
like cards, reshuffling when the pack ends: after e epochs every sample was used
:math:`\lfloor e k / N \rfloor` or :math:`\lceil e k / N \rceil` times. Every single epoch is a
uniform draw in both.
"""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dualprune.dynamic.edges import check_epoch, check_samples, restored
from dualprune.dynamic.lots import check_seed, lots
from dualprune.dynamic.plan import NOTHING, Plan
from dualprune.select.budget import budget
from dualprune.select.keys import smallest
from dualprune.signatures import Array, check_choice

__all__ = ["RandomEveryEpoch", "Through"]

Through = Literal["draws", "permutations"]


class RandomEveryEpoch:
    """Train on another random subset in every epoch, all samples with weight 1.

    The subset is a pure function of (seed, epoch, id), so there is no state to carry.

    Parameters
    ----------
    samples
        Size of the dataset.
    keep
        Share to train on in each epoch, as the decimal that was written, rounded half up to a
        number of samples; an error if that is none.
    through
        Draw every epoch independently, or walk through permutations.

    Examples
    --------
    Two epochs of half the samples, dealt out, see each sample once.

    >>> half = RandomEveryEpoch(6, keep=0.5, seed=0, through="permutations")
    >>> sorted([*half.plan(1).train.tolist(), *half.plan(2).train.tolist()])
    [0, 1, 2, 3, 4, 5]

    Notes
    -----
    Time O(samples log samples) per epoch at most; memory a few numbers per sample, and no state.

    Both ways are published: a new draw in each epoch (`draws`), and all samples before any again
    (`permutations`). The DUAL paper does not say which it ran; its words fit `draws`. A schedule of
    learning rates has to be made for the smaller number of steps.

    References
    ----------
    Okanovic et al., 2024. Repeated Random Sampling for Minimizing the Time-to-Accuracy of Learning.
    arXiv:2305.18424
    """

    def __init__(self, samples: int, *, keep: float, seed: int, through: Through = "draws") -> None:
        check_samples(samples)
        check_seed(seed)
        check_choice("through", through, Through)
        self._samples, self._seed, self._through = samples, seed, through
        self._k = budget(samples, keep=repr(float(keep)))

    def plan(self, epoch: int) -> Plan:
        """Say what to train on in this epoch, counted from 1."""
        check_epoch(epoch)
        if self._through == "permutations":
            train = self._dealt(epoch)
        else:
            keys = lots(self._seed, epoch, self._samples)
            train = smallest(keys, self._k, keys)
        return Plan(train, np.ones(len(train)), NOTHING)

    def observe(self, ids: ArrayLike, losses: ArrayLike) -> None:
        """Ignore the losses, whatever they are."""

    def state(self) -> dict[str, Array]:
        """Give what a checkpoint has to carry: nothing."""
        return {}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from a `state`, which must be empty."""
        restored(state, self.state())

    def _dealt(self, epoch: int) -> Array:
        """Deal out the used or the omitted, whichever are fewer; even use is even omission."""
        omitted = self._samples - self._k
        if self._k <= omitted:
            return np.sort(_hand(self._seed, self._samples, self._k, epoch))
        used = np.ones(self._samples, bool)
        if omitted:
            used[_hand(self._seed, self._samples, omitted, epoch)] = False
        return np.flatnonzero(used)


def _hand(seed: int, samples: int, size: int, epoch: int) -> Array:
    """Give the ids of one epoch, `size` of them and at most half of the samples."""
    number, start = divmod((epoch - 1) * size, samples)
    hand = _pack(seed, samples, size, number)[start : start + size]
    rest = size - len(hand)
    return np.concatenate([hand, _pack(seed, samples, size, number + 1)[:rest]]) if rest else hand


def _pack(seed: int, samples: int, size: int, number: int) -> Array:
    """Give all ids in the order in which this pack is dealt.

    Where a hand takes the end of one pack and the start of the next, the start must not repeat the
    end. This moves only the first `size` places, never the end of a pack, since a hand is at most
    half of it; so a pack depends on the shuffle before it and on no other.
    """
    order = _shuffled(seed, samples, number)
    taken = number * samples % size
    if not taken:
        return order
    free = ~np.isin(order, _shuffled(seed, samples, number - 1)[-taken:])
    first = free & (np.cumsum(free) <= size - taken)
    return np.concatenate([order[first], order[~first]])


def _shuffled(seed: int, samples: int, number: int) -> Array:
    return np.argsort(lots(seed, number, samples), kind="stable")
