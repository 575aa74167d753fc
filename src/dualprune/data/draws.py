"""Random numbers for splits, noise and corruption, a pure function of seed and id."""

import hashlib
from decimal import Decimal

import numpy as np

from dualprune.select.keys import uniform
from dualprune.signatures import Array


def draw(purpose: str, count: int, *, stream: int = 0) -> Array:
    """Give `count` numbers strictly between 0 and 1 for a purpose, which names the seed.

    Different purposes are independent of each other, and of what a selector draws with the same
    seed. If each id needs many numbers, the id is the `stream`.

    >>> bool((draw("toss, seed 0", 3) == draw("toss, seed 0", 9)[:3]).all())
    True
    """
    key = int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:8], "little")
    return uniform(key, 0, count, stream=stream)


def draw_share(purpose: str, samples: int, share: float) -> Array:
    """Give floor(share * samples) random ids; those of a larger share begin with a smaller's.

    >>> few, more = draw_share("toss, seed 0", 100, 0.29), draw_share("toss, seed 0", 100, 0.5)
    >>> len(few), bool((more[:29] == few).all())
    (29, True)
    """
    count = int(Decimal(str(share)) * samples)  # 100 times 0.29 is 29, not 28.999...
    return np.argsort(draw(purpose, samples), kind="stable")[:count]
