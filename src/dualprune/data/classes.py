"""The label column of rows: which classes there are, and which row has which."""

import math
from typing import Any

import numpy as np
import pyarrow as pa

from dualprune.errors import InputError
from dualprune.signatures import Array

FEWEST_ROWS = 10
"""Rows with a label below which nothing can be learnt."""

_KINDS = (
    pa.types.is_large_string,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_decimal,
    pa.types.is_date,
    pa.types.is_null,
)
_FEW = 20  # classes that may be any numbers, such as ratings in half stars
_ROWS_PER_NUMBER = 10  # on average, where classes are whole numbers
_ROWS_PER_CLASS = 2  # on average


def find_classes(column: pa.ChunkedArray, name: str, origin: str) -> tuple[Array, tuple[str, ...]]:
    """Give the class of every row, -1 where the label is missing, and the names of the classes.

    Missing is what is null, NaN or blank. The classes are sorted, by value if all are numbers. A
    column that looks like a regression target or like a name of every row is refused.

    >>> column = pa.chunked_array([[10.0, 9.0, None, 9.0, 10.0] * 3])
    >>> labels, names = find_classes(column, "size", "a file")
    >>> labels[:5], names
    (array([ 1,  0, -1,  0,  1]), ('9', '10'))
    """
    if not any(is_kind(column.type) for is_kind in _KINDS):
        raise InputError(
            f"the label column {name!r} of {origin} holds {column.type}; "
            "labels must be texts, numbers, dates without a time, or true and false"
        )
    encoded = column.combine_chunks().dictionary_encode()
    names = [_class_name(value) for value in encoded.dictionary.to_pylist()]
    ordered = _ordered({known for known in names if known is not None})
    places = {known: place for place, known in enumerate(ordered)}
    by_code = np.array([-1 if known is None else places[known] for known in [*names, None]])
    labels = by_code[encoded.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)]
    _check(ordered, int((labels >= 0).sum()), name, origin)
    return labels, tuple(ordered)


def _class_name(value: Any) -> str | None:
    """Name the class of a label; whole numbers have no decimal point."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value)
    return text if text.strip() else None


def _ordered(names: set[str]) -> list[str]:
    values = _numbers(names)
    return sorted(names, key=lambda name: (values.get(name, 0.0), name))


def _numbers(names: set[str]) -> dict[str, float]:
    """Give the value of every name, or nothing if one is no finite number."""
    try:
        values = {name: float(name) for name in names}
    except ValueError:
        return {}
    return values if all(map(math.isfinite, values.values())) else {}


def _check(names: list[str], rows: int, column: str, origin: str) -> None:
    """Refuse labels from which no classifier can be learnt."""
    if rows < FEWEST_ROWS:
        raise InputError(
            f"{origin} has {rows} rows to learn from, and at least {FEWEST_ROWS} are needed; a row "
            f"without a label in the column {column!r}, or without its text, does not count"
        )
    if len(names) == 1:
        raise InputError(
            f"every label in the column {column!r} of {origin} is {names[0]!r}; "
            "a classifier needs at least two classes"
        )
    values = _numbers({*names}).values()
    rare = len(names) * _ROWS_PER_NUMBER > rows or any(value % 1 for value in values)
    if values and len(names) > _FEW and rare:
        raise InputError(
            f"the label column {column!r} of {origin} has {len(names):,} different numbers in "
            f"{rows:,} rows, so it looks like a regression target, and labels must be classes; "
            "put the numbers into a few bins (such as low, middle, high) and name that column"
        )
    if len(names) * _ROWS_PER_CLASS > rows and len(names) > _FEW:
        raise InputError(
            f"the label column {column!r} of {origin} has {len(names):,} different values in "
            f"{rows:,} rows, so it looks like a name of each row; name the column of the classes"
        )
