"""Samples that can be kept, within a budget: scored, not cut off, overall or balanced by class."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

import numpy as np

from dualprune.arguments import checked
from dualprune.errors import InputError
from dualprune.run.features import check_features
from dualprune.select.keys import smallest, smallest_of_each
from dualprune.select.quotas import even, numbered, parts_of_fair, proportional
from dualprune.signatures import Array

Balance = Literal["none", "proportional", "uniform"]
Unscored = Literal["error", "keep", "drop"]


@dataclass
class Notes:
    """Facts about a choice, for the card and the table of all samples.

    >>> import numpy as np
    >>> from dualprune.select import beta
    >>> notes = Notes()
    >>> scores, confidence = np.array([0.3, 0.0, 0.1]), np.array([0.2, 0.5, 0.9])
    >>> beta(scores, confidence, k=3, seed=0, anchor=1, notes=notes).tolist()
    [0, 1, 2]
    >>> notes
    Notes(kept='sampled', reasons={'filled': array([1])}, values={'mu': 0.2})
    """

    kept: str = "chosen"
    """Why samples without a reason of their own were kept: "top", "sampled" or "chosen"."""
    reasons: dict[str, Array] = field(default_factory=dict)
    """Sorted ids by their own reason: "unscored", "cut_off" or "filled"; none has two."""
    values: dict[str, float] = field(default_factory=dict)
    """Numbers computed on the way, such as the mu that was used."""


def check_budget(k: int, *columns: Array | None, features: Array | None = None) -> None:
    """Refuse a budget below 1 or above the number of samples, and arrays of different lengths.

    >>> check_budget(1, np.zeros(3), np.zeros((3, 1)))
    Traceback (most recent call last):
    dualprune.errors.InputError: scores, labels and the like have shape (samples,), ...
    """
    if features is not None:
        check_features(features)
    present = [column for column in columns if column is not None]
    for shape in map(np.shape, present):
        if len(shape) != 1:
            raise InputError(
                f"scores, labels and the like have shape (samples,), got {shape}; "
                "give one value per sample"
            )
    lengths = [len(array) for array in (*present, features) if array is not None]
    if len(set(lengths)) > 1:
        raise InputError(f"the arrays have {lengths} entries; each needs one per sample")
    if not 1 <= k <= lengths[0]:
        raise InputError(
            f"k must be from 1 to {lengths[0]}, the number of samples; got {k}"
            + "; are signals (epochs, samples)?" * (k > lengths[0])
        )


def scored(missing: Array, k: int, unscored: Unscored, notes: Notes) -> tuple[Array, Array, int]:
    """Give the ids kept without a score, the ids that have one, and how many of those to keep.

    >>> scored(np.array([False, True, False]), 2, "keep", Notes())
    (array([1]), array([0, 2]), 1)
    """
    without, have = np.flatnonzero(missing), np.flatnonzero(~missing)
    if len(without):
        notes.reasons["unscored"] = without
    if len(without) and unscored == "error":
        raise InputError(
            f"{len(without)} of {len(missing)} samples have no score (too few epochs saw them); "
            "choose unscored='keep' to keep all of them or unscored='drop' to keep none"
        )
    kept = without if unscored == "keep" else without[:0]
    if not 0 <= k - len(kept) <= len(have):
        raise InputError(
            f"cannot keep {k} of {len(missing)} samples with unscored={unscored!r}: "
            f"{len(without)} of them have no score"
        )
    return kept, have, k - len(kept)


def hardest(
    aum: Array | None, cut_off: float, ties: Array, *, labels: Array | None = None
) -> Array:
    """Give the ids with the highest `aum`, this share of all or of each class, rounded down."""
    if not 0 <= cut_off < 1:
        raise InputError(f"cut_off is a share of the samples, from 0 to below 1; got {cut_off}")
    if cut_off == 0:
        return np.empty(0, np.int64)
    if aum is None:
        raise InputError("a cut-off needs aum, such as score.aum(run['margin'])")
    groups, sizes = numbered(np.zeros(len(aum), np.int64) if labels is None else labels)
    quotas = np.array([int(Decimal(str(cut_off)) * int(size)) for size in sizes])
    return smallest_of_each(np.where(np.isnan(aum), np.inf, -aum), groups, quotas, ties)


def remaining(have: Array, dropped: Array, k: int, cut_off: float, notes: Notes) -> Array:
    """Give the ids of `have` that are not dropped, or refuse to keep more than those.

    >>> remaining(np.arange(4), np.array([1]), 3, 0.25, Notes()).tolist()
    [0, 2, 3]
    """
    cut = np.isin(have, dropped, assume_unique=True)
    left = have[~cut]
    if k > len(left):
        raise InputError(
            f"cannot keep {k} of {len(have)} samples after a cut-off of {cut_off}: "
            f"{len(left)} are left; keep fewer or cut off less"
        )
    if cut.any():
        notes.reasons["cut_off"] = have[cut]
    return left


def choose(
    keys: Array,
    k: int,
    ties: Array,
    *,
    labels: Array | None = None,
    balance: Balance = "none",
    floor: int | float = 0,
    unscored: Unscored = "error",
    notes: Notes | None = None,
) -> Array:
    """Give the ids of the k smallest keys, sorted, overall or balanced by class.

    A sample without a score has the key NaN; that is an error, or the sample is kept before all
    others, or dropped. `floor` first takes that many of each class (all of a smaller one), or that
    share of its fair share, and then the rest regardless of class.

    >>> keys, labels = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0, 0, 0, 1])
    >>> choose(keys, 2, keys, labels=labels, floor=1).tolist()
    [0, 3]
    """
    missing = np.isnan(keys)
    if not missing.any():
        return _balanced(keys, k, ties, labels, balance, floor)
    without, have, rest = scored(missing, k, unscored, notes or Notes())
    labels = None if labels is None else labels[have]
    chosen = have[_balanced(keys[have], rest, ties[have], labels, balance, floor)]
    return np.sort(np.concatenate([without, chosen]))


def _balanced(
    keys: Array, k: int, ties: Array, labels: Array | None, balance: Balance, floor: int | float
) -> Array:
    check_floor(balance, floor)
    if balance == "none" and floor == 0:
        return smallest(keys, k, ties)
    if labels is None:
        raise InputError("balancing classes needs the labels")
    groups, sizes = numbered(labels)
    if balance != "none":
        quotas = proportional(sizes, k) if balance == "proportional" else even(sizes, k)
        return smallest_of_each(keys, groups, quotas, ties)
    if isinstance(floor, float):
        return _with_floor(keys, k, ties, groups, parts_of_fair(sizes, k, floor))
    return _with_floor(keys, k, ties, groups, np.minimum(sizes, min(floor, len(keys))))


@checked
def check_floor(balance: Balance, floor: int | float) -> None:
    """Refuse a floor beside a balance, and one that is neither a count nor a share.

    >>> check_floor("none", 1.5)
    Traceback (most recent call last):
    dualprune.errors.InputError: floor must be a number of samples per class, such as 5, or a share
    of its fair share, from 0.0 to 1.0; got 1.5
    """
    if balance != "none" and floor:
        raise InputError(f"choose balance={balance!r} or floor={floor}, not both")
    if floor < 0 or (isinstance(floor, float) and floor > 1):
        raise InputError(
            "floor must be a number of samples per class, such as 5, or a share of its fair share, "
            f"from 0.0 to 1.0; got {floor}"
        )


def _with_floor(keys: Array, k: int, ties: Array, groups: Array, quotas: Array) -> Array:
    if quotas.sum() > k:
        raise InputError(
            f"a floor of {quotas.max()} per class needs {quotas.sum()} samples, k is {k}; "
            "lower the floor or keep more"
        )
    best = smallest(keys, k, ties)
    short = np.bincount(groups[best], minlength=len(quotas)) < quotas
    if not short.any():
        return best
    enough = short[groups]
    enough[best] = True
    pool = np.flatnonzero(enough)
    sure = pool[smallest_of_each(keys[pool], groups[pool], quotas, ties[pool])]
    enough[sure] = False
    rest = best[enough[best]]  # which holds the smallest of all others
    return np.sort(np.concatenate([sure, rest[smallest(keys[rest], k - len(sure), ties[rest])]]))
