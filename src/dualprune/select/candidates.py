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
    >>> beta(scores, confidence, k=3, seed=0, c_d=3.0, anchor=1, notes=notes).tolist()
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
    check_count(k, lengths[0])


def check_count(k: int, samples: int) -> None:
    """Refuse a budget below 1 or above the number of samples."""
    if not 1 <= k <= samples:
        raise InputError(
            f"k must be from 1 to {samples}, the number of samples; got {k}"
            + "; are signals (epochs, samples)?" * (k > samples)
        )


def scored(missing: Array, k: int, unscored: Unscored, notes: Notes) -> tuple[Array, Array, int]:
    """Give the ids kept without a score, the ids that have one, and how many of those to keep.

    >>> scored(np.array([False, True, False]), 2, "keep", Notes())
    (array([1]), array([0, 2]), 1)
    """
    without, have = np.flatnonzero(missing), np.flatnonzero(~missing)
    if len(without):
        notes.reasons["unscored"] = without
    rest = rest_of_budget(k, len(missing), len(without), unscored)
    return without if unscored == "keep" else without[:0], have, rest


def rest_of_budget(k: int, samples: int, without: int, unscored: Unscored) -> int:
    """Give how many of the samples that have a score to keep, if so many are `without`.

    >>> rest_of_budget(2, 3, 1, "keep")
    1
    """
    if without and unscored == "error":
        raise InputError(
            f"{without} of {samples} samples have no score (too few epochs saw them); "
            "choose unscored='keep' to keep all of them or unscored='drop' to keep none"
        )
    rest = k - without if unscored == "keep" else k
    if not 0 <= rest <= samples - without:
        raise InputError(
            f"cannot keep {k} of {samples} samples with unscored={unscored!r}: "
            f"{without} of them have no score"
        )
    return rest


def hardest(
    aum: Array | None, cut_off: float, ties: Array, *, labels: Array | None = None
) -> Array:
    """Give the ids with the highest `aum`, this share of all or of each class, rounded down."""
    check_cut_off(cut_off, aum is not None)
    if cut_off == 0 or aum is None:
        return np.empty(0, np.int64)
    groups, sizes = numbered(np.zeros(len(aum), np.int64) if labels is None else labels)
    return smallest_of_each(hardest_first(aum), groups, shares(cut_off, sizes), ties)


def check_cut_off(cut_off: float, has_aum: bool) -> None:
    """Refuse what is no share, and a cut-off where it is not known which samples are hard."""
    if not 0 <= cut_off < 1:
        raise InputError(f"cut_off is a share of the samples, from 0 to below 1; got {cut_off}")
    if cut_off and not has_aum:
        raise InputError("a cut-off needs aum, such as score.aum(run['margin'])")


def hardest_first(aum: Array) -> Array:
    """Keys by which the hardest come first, and last what is not known."""
    return np.where(np.isnan(aum), np.inf, -aum)


def shares(share: float, sizes: Array) -> Array:
    """Give this share of each size, rounded down.

    >>> shares(0.29, np.array([100, 99])).tolist()
    [29, 28]
    """
    return np.array([int(Decimal(str(share)) * int(size)) for size in sizes])


def remaining(have: Array, dropped: Array, k: int, cut_off: float, notes: Notes) -> Array:
    """Give the ids of `have` that are not dropped, or refuse to keep more than those.

    >>> remaining(np.arange(4), np.array([1]), 3, 0.25, Notes()).tolist()
    [0, 2, 3]
    """
    cut = np.isin(have, dropped, assume_unique=True)
    left = have[~cut]
    check_remaining(k, len(have), len(left), cut_off)
    if cut.any():
        notes.reasons["cut_off"] = have[cut]
    return left


def check_remaining(k: int, have: int, left: int, cut_off: float) -> None:
    """Refuse to keep more than a cut-off leaves."""
    if k > left:
        raise InputError(
            f"cannot keep {k} of {have} samples after a cut-off of {cut_off}: "
            f"{left} are left; keep fewer or cut off less"
        )


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
        return smallest_of_each(keys, groups, class_quotas(sizes, k, balance), ties)
    return _with_floor(keys, k, ties, groups, floor_quotas(sizes, k, floor))


def class_quotas(sizes: Array, k: int, balance: Balance) -> Array:
    """How many of each class to keep where classes are balanced.

    >>> class_quotas(np.array([6, 2]), 4, "proportional").tolist()
    [3, 1]
    """
    return proportional(sizes, k) if balance == "proportional" else even(sizes, k)


def floor_quotas(sizes: Array, k: int, floor: int | float) -> Array:
    """How many of each class to keep at least; refused if they are more than k.

    >>> floor_quotas(np.array([6, 2]), 4, 0.5).tolist()
    [2, 1]
    """
    if isinstance(floor, float):
        quotas = parts_of_fair(sizes, k, floor)
    else:
        quotas = np.minimum(sizes, min(floor, int(sizes.sum())))
    if quotas.sum() > k:
        raise InputError(
            f"a floor of {quotas.max()} per class needs {quotas.sum()} samples, k is {k}; "
            "lower the floor or keep more"
        )
    return quotas


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
