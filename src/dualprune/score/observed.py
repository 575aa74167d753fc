"""Values of a sample over the epochs that observed it; NaN is missing."""

from collections.abc import Iterable

import numpy as np

from dualprune.arguments import LARGEST
from dualprune.errors import InputError
from dualprune.signatures import Array

_ROUNDING = 1e-6  # what single precision may add to a probability of 1


def check_epochs(values: Array, window: int | None = None) -> None:
    """Refuse an array that is not (epochs, samples), or has fewer epochs than a window."""
    if values.ndim != 2 or not len(values):
        raise InputError(
            f"a signal has shape (epochs, samples), at least one epoch; got {values.shape}"
        )
    if window is None:
        return
    if window < 2:
        raise InputError(f"a window needs at least 2 values to have a spread, got {window}")
    if len(values) < window:
        swapped = (
            f"; the array has shape {values.shape}: signals are (epochs, samples); "
            "did you pass (samples, epochs)?"
        )
        raise InputError(
            f"a window of {window} needs at least {window} epochs, got {len(values)}; record more "
            "epochs or choose a shorter window" + swapped * (values.shape[1] >= window)
        )


def check_probabilities(values: Array) -> None:
    """Refuse values that are not between 0 and 1, except by rounding; NaN is missing.

    >>> check_probabilities(np.array([[0.2, np.nan], [1.0, -3.5]]))
    Traceback (most recent call last):
    dualprune.errors.InputError: target_prob is a probability, from 0 to 1; got -3.5. ...
    """
    check_epochs(values)
    if values.dtype in (np.float32, np.float64):
        bits = values.view(f"u{values.itemsize}")  # ordered like the values; negative and NaN last
        if bits.max(initial=0) <= np.ones((), values.dtype).view(bits.dtype):
            return
    for row in values:
        low, high = np.fmin.reduce(row, initial=0), np.fmax.reduce(row, initial=1)
        if low < -_ROUNDING or high > 1 + _ROUNDING:
            first = row[((row < -_ROUNDING) | (row > 1 + _ROUNDING)).argmax()]
            raise InputError(
                f"target_prob is a probability, from 0 to 1; got {first:g}. For logits or losses "
                "use run['target_prob'] or exp(-loss)"
            )


def check_sums(sums: Array) -> None:
    """Refuse sums of values that are infinite or too large to be added; NaN is missing.

    >>> check_sums(np.array([0.5, np.inf, np.nan]))
    Traceback (most recent call last):
    dualprune.errors.InputError: 1 samples have values that are infinite or beyond 1e+300; ...
    """
    if wrong := np.count_nonzero(np.abs(sums) > LARGEST):
        raise InputError(
            f"{wrong} samples have values that are infinite or beyond {LARGEST:g}; correct them, "
            "or make them NaN if unknown"
        )


def mean_observed(values: Array) -> Array:
    """Mean over the epochs that observed the sample, NaN if none did.

    Adds one epoch after the other in float64, so a sample's mean does not depend on other samples.

    >>> mean_observed(np.array([[1.0, np.nan], [2.0, 4.0]])).tolist()
    [1.5, 4.0]
    """
    check_epochs(values)
    total = np.zeros(values.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for row in values:
            total += row
    if np.isnan(total).any():  # values are missing
        return mean_of_rows(values, values.shape[1])
    check_sums(total)
    total /= len(values)
    return total


def mean_of_rows(rows: Iterable[Array], samples: int) -> Array:
    """Mean of the values in rows of one number per sample, where a sample has any.

    >>> mean_of_rows((np.array([1.0, np.nan]) * factor for factor in (1, 3)), 2).tolist()
    [2.0, nan]
    """
    total, count = np.zeros((2, samples))
    with np.errstate(over="ignore", invalid="ignore"):
        for row in rows:
            observed = ~np.isnan(row)
            np.add(total, row, out=total, where=observed)
            count += observed
    check_sums(np.nan_to_num(total, nan=np.inf))  # NaN is the sum of infinities
    return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)


def last_observed(values: Array) -> Array:
    """Value of the last epoch that observed the sample, NaN if none did.

    >>> last_observed(np.array([[1.0, 3.0], [2.0, np.nan]])).tolist()
    [2.0, 3.0]
    """
    check_epochs(values)
    latest = np.full(values.shape[1], np.nan)
    for row in values[::-1]:
        latest = np.where(np.isnan(latest), row, latest)
        if not np.isnan(latest).any():
            break
    check_sums(latest)
    return latest
