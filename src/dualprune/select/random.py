r"""Random: every subset is equally likely; the baseline.

.. math:: P(S) = 1 / \binom{N}{k}

for every set S of k samples out of N.
"""

from functools import partial

from dualprune.arguments import checked
from dualprune.select.blocked import Choice, choose_balanced
from dualprune.select.candidates import Balance, Notes, check_budget, check_count, choose
from dualprune.select.keys import RANDOM, uniform
from dualprune.select.waves import Order, Waves, draw
from dualprune.signatures import Array


@checked
def random(
    labels: Array,
    *,
    k: int,
    seed: int,
    balance: Balance = "none",
    floor: int | float = 0,
    notes: Notes | None = None,
) -> Array:
    """Keep a uniform draw without replacement.

    Parameters
    ----------
    labels
        Shape (samples,); only their number matters unless classes are balanced.
    balance
        Let every class keep the same share (proportional) or the same number (uniform).
    floor
        Keep at least this many of every class, or this share (0.5) of what it would have if all
        kept the same share; not together with balance.
    notes
        Receives facts about the choice, for the card and the table of all samples.

    Examples
    --------
    One of each class.

    >>> labels = np.array([0, 0, 0, 1, 1, 1])
    >>> labels[random(labels, k=2, seed=3, balance="uniform")].tolist()
    [0, 1]

    Notes
    -----
    Time O(samples log samples) at most; memory a few numbers per sample.

    The code of DUAL draws from a global generator that it does not seed, so its subsets cannot
    be reproduced. CCS takes the head of a permutation, which is the same law. D2 can draw the same
    number of each class: `balance="uniform"`.
    """
    check_budget(k, labels)
    notes = notes or Notes()
    notes.kept = "sampled"
    draws = uniform(seed, 0, len(labels), stream=RANDOM)
    return choose(draws, k, draws, labels=labels, balance=balance, floor=floor)


@checked
def random_of_blocks(
    waves: Waves, *, k: int, seed: int, balance: Balance = "none", floor: int | float = 0
) -> Choice:
    """Keep what `random` keeps, of samples in blocks."""
    check_count(k, waves.samples)
    order = Order(partial(draw, seed, RANDOM), seed, RANDOM)
    return Choice(choose_balanced(waves, order, k, balance=balance, floor=floor), "sampled")
