"""Classes: by default none disappears, and what falls short is told."""

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dualprune.coreset.card import ShortClass
from dualprune.errors import InputError
from dualprune.method.named import Method
from dualprune.select import beta, random, top
from dualprune.select.candidates import Balance, check_floor
from dualprune.signatures import Array

FLOOR = 0.5
"""What `prune`, `choose` and `select` keep of each class's fair share at least, if not told."""

_LISTED, _TOLD = 1000, 10  # classes: in the card, in warnings
_AT_ONCE = 2**18  # labels, which stay in the cache


def for_classes(
    method: Method,
    balance: Balance | None = None,
    floor: int | float | None = None,
    *,
    labels: bool = True,
) -> Method:
    """Give the method with this balance or floor; without either, with a floor of `FLOOR`.

    Only `top`, `random` and `beta` have that default, and what the method sets itself is kept.
    Where samples have no labels nothing is added, and a balance or floor is refused.

    >>> for_classes(Method("dual", "beta")).select_knobs
    {'floor': 0.5}
    >>> for_classes(Method("dual", "beta"), balance="uniform").select_knobs
    {'balance': 'uniform'}
    """
    said = {"balance": balance, "floor": floor}
    chosen = {**method.select_knobs, **{n: v for n, v in said.items() if v is not None}}
    if not labels:
        if chosen.get("balance", "none") != "none" or chosen.get("floor"):
            raise InputError("a balance or floor of classes needs labels, and this run has none")
    elif method.select in (top, random, beta):
        check_floor(chosen.get("balance", "none"), chosen.get("floor", 0))
        if chosen.get("balance", "none") == "none":
            chosen.setdefault("floor", FLOOR)
    return replace(method, select_knobs=chosen)


def class_sizes(labels: Array, classes: int) -> Array:
    """How many samples each class has; a label of -1 is unknown.

    >>> class_sizes(np.array([1, -1, 1]), 3).tolist()
    [0, 2, 0]
    """
    sizes = np.zeros(classes, np.int64)
    for start in range(0, len(labels), _AT_ONCE):
        part = labels[start : start + _AT_ONCE] + 1
        sizes += np.bincount(part, minlength=classes + 1)[1:]
    return sizes


def short_classes(
    sizes: Array, kept: Array, k: int, names: Sequence[str] | None
) -> list[ShortClass]:
    """Give the classes that keep less than half of their fair share, those that lost most first.

    >>> short_classes(np.array([30, 10]), np.array([20, 0]), 20, ["car", "truck"])
    [ShortClass(name='truck', kept=0, samples=10, fair=5.0)]
    """
    fair = sizes * (k / max(sizes.sum(), 1))
    short = np.flatnonzero(2 * kept < fair * (1 - 1e-9))
    worst = short[np.lexsort((-fair[short], kept[short] / fair[short]))][:_LISTED]
    return [
        ShortClass(names[i] if names else str(i), int(kept[i]), int(sizes[i]), float(fair[i]))
        for i in worst.tolist()
    ]


def warn_of_short(short: Sequence[ShortClass]) -> None:
    """Warn of every class that keeps less than half of its fair share, and count what is many."""
    for one in short[:_TOLD]:
        warnings.warn(str(one), stacklevel=3)
    if len(short) > _TOLD:
        more = f"{len(short) - _TOLD:,} more classes"
        warnings.warn(f"{more} keep less than half of their fair share, too", stacklevel=3)
