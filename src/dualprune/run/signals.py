"""The table of signals: what is stored per sample and epoch, and how; the only place that says it.

A signal of the user's own is stored like most: as float32, NaN where it is missing.
"""

from dataclasses import dataclass

import numpy as np

from dualprune.signatures import Array


@dataclass(frozen=True)
class Column:
    """A column of a part: what it holds, its type on disk and its value where it is missing."""

    about: str
    dtype: str = "<f4"
    missing: float = np.nan
    on_request: bool = False


SIGNALS = {
    "loss": Column("-log of the label's probability"),
    "margin": Column("logit of the label minus the best other logit"),
    "rival": Column("the other class with the highest logit", "<i4", missing=-1),
    "entropy": Column("entropy of the class probabilities"),
    "error_norm": Column("length of p - onehot(label), the score EL2N of one epoch"),
    "kl_step": Column("how far p moved since the previous epoch, for TDDS", on_request=True),
    "feature_norm": Column("length of the last layer's input, for GraNd", on_request=True),
}
COLUMNS = {
    "id": Column("position in the dataset", "<i8", missing=-1),
    "label": Column("class of the sample", "<i4", missing=-1),
    **SIGNALS,
}
DEFAULT = tuple(name for name, signal in SIGNALS.items() if not signal.on_request)


def column_of(name: str) -> Column:
    """Type and missing value of a column, also of a user's own signal.

    >>> column_of("rival").missing, column_of("my_signal").missing
    (-1, nan)
    """
    return COLUMNS.get(name, Column("a signal of the user's own"))


def all_missing(name: str, shape: int | tuple[int, ...]) -> Array:
    """Array of the column's type in which every value is missing.

    >>> all_missing("label", 2)
    array([-1, -1], dtype=int32)
    """
    return np.full(shape, column_of(name).missing, column_of(name).dtype)
