"""How one column of a table is read: as numbers, as categories, as dates, or not at all.

Texts are numbers or dates if all of them are; ``NA``, ``null`` and the like are missing. Then

- whole numbers of at most 10 values, any numbers of at most 2, truth values and texts are
  *categories*: one input for each of the 32 most frequent, one for all others, one for missing;
- other *numbers* x become asinh((x - median) / s), where s is the range of the middle half over
  1.349 (which is the deviation of a normal distribution), or 1.253 times the mean distance from the
  median where that range is 0: large values are compressed, and keep their order. Missing and
  infinite ones are 0, with a second input that says so;
- *dates* are such a number, and the sine and cosine of where they are in the year, in the week
  and, if there are times, in the day;
- a column is *left out* if it has one value only, none at all, a different text in more than half
  of the rows, whole numbers that count the rows, or values of another type (nested, binary).
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dualprune.signatures import Array

MOST_LEVELS = 32
FEW_NUMBERS = 10

_MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip # what pandas takes for missing
_FURTHEST = 100.0  # asinh of 1e43
_DAY = 86_400  # seconds
_YEAR = 31_556_952  # seconds, in the mean of 400 years


class Column(NamedTuple):
    """A column as it is used.

    `values` are float64, timestamps or large strings; `numbers` are inputs, float32 of shape
    (rows,) each; `codes` is the category of each row, from 0 to `levels` - 1, if it has categories.
    """

    described: str
    values: pa.Array
    numbers: tuple[Array, ...] = ()
    codes: Array | None = None
    levels: int = 0


def read_column(column: pa.ChunkedArray) -> Column | str:
    """Give a column as it is used, or why it is left out.

    >>> def texts(*cells):
    ...     return pa.chunked_array([cells], pa.large_string())
    >>> read_column(texts("a", "b", None, "a", "a", "b")).described
    'category with 2 levels, 1 missing'
    >>> read_column(texts("1.5", "2", "NA", "7")).described
    'number, 1 missing'
    >>> read_column(texts("x", "y", "z"))
    'a different text in most rows'
    """
    values = _typed(column.combine_chunks())
    if values is None:
        return f"values of type {column.type}"
    distinct = pc.count_distinct(values, mode="only_valid").as_py()
    is_number = pa.types.is_floating(values.type) and not _is_few(values, distinct)
    if reason := _reason_against(values, distinct, is_number=is_number):
        return reason
    if pa.types.is_timestamp(values.type):
        return _dates(values)
    return _numbers(values) if is_number else _categories(values)


def _reason_against(values: pa.Array, distinct: int, *, is_number: bool) -> str:
    """Say why a column cannot be used; empty if it can."""
    if distinct == 0:
        return "all missing"
    if distinct == 1 and not values.null_count:
        return "the same value in every row"
    if is_number and not values.null_count and _counts_rows(values.to_numpy()):
        return "counts the rows"
    is_text = pa.types.is_large_string(values.type)
    if is_text and 2 * distinct > len(values) - values.null_count:
        return "a different text in most rows"
    return ""


def _counts_rows(numbers: Array) -> bool:
    return bool((numbers[1:] == numbers[:-1] + 1).all())


def _typed(column: pa.Array) -> pa.Array | None:
    """Give float64, timestamps without a zone or large strings; None for other types."""
    kind, is_ = column.type, pa.types
    if is_.is_large_string(kind):
        return _parsed(column)
    if is_.is_timestamp(kind) or is_.is_date(kind):
        return column.cast(
            pa.timestamp("s" if is_.is_date32(kind) else getattr(kind, "unit", "ms"))
        )
    if is_.is_boolean(kind):
        return column.cast(pa.large_string())
    if is_.is_time(kind) or is_.is_duration(kind):
        column = column.cast(pa.int32() if is_.is_time32(kind) else pa.int64())
    elif not (is_.is_integer(kind) or is_.is_floating(kind) or is_.is_decimal(kind)):
        return column.cast(pa.large_string()) if is_.is_null(kind) else None
    return _finite(column.cast(pa.float64(), safe=False))


def _parsed(texts: pa.Array) -> pa.Array:
    """Give texts as what all of them are: finite numbers, or dates as ISO 8601 writes them."""
    trimmed = pc.utf8_trim_whitespace(texts)
    missing = pc.fill_null(pc.is_in(trimmed, value_set=pa.array(_MISSING, pa.large_string())), True)
    present = pc.if_else(missing, None, trimmed)
    for kind in (pa.float64(), pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            values = present.cast(kind)
        except pa.ArrowInvalid:
            continue
        return _finite(values) if kind == pa.float64() else values.cast(pa.timestamp("us"))
    return pc.if_else(missing, None, texts)


def _finite(numbers: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_finite(numbers), pc.add(numbers, 0.0), None)  # no -0.0


def _is_few(numbers: pa.Array, distinct: int) -> bool:
    present = numbers.drop_null().to_numpy()
    return distinct <= 2 or (distinct <= FEW_NUMBERS and not (present % 1).any())


def _numbers(values: pa.Array) -> Column:
    numbers = values.to_numpy(zero_copy_only=False)
    return Column(_described("number", values), values, _with_missing(_standardised(numbers)))


def _standardised(numbers: Array) -> Array:
    """Give asinh((x - median) / scale) of numbers of which at least two differ.

    >>> _standardised(np.array([0.0, 1.0, 2.0, 3.0, 4.0])).round(3)
    array([-1.108, -0.632,  0.   ,  0.632,  1.108])
    """
    halved = numbers / 2  # differences of the largest numbers would overflow
    low, median, high = np.nanquantile(halved, [0.25, 0.5, 0.75])
    centred = halved - median
    limits = np.finfo(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        scale = (high - low) / 1.349 or 1.253 * np.nanmean(np.abs(centred))
        squashed: Array = np.arcsinh(centred / np.clip(scale, limits.tiny, limits.max))
    return squashed.clip(-_FURTHEST, _FURTHEST)


def _with_missing(*inputs: Array) -> tuple[Array, ...]:
    """Give float32 inputs with 0 for what is missing, and if anything is, one that marks it."""
    missing = np.isnan(inputs[0])
    filled = [np.where(missing, 0, values) for values in inputs]
    return tuple(v.astype(np.float32) for v in (*filled, *([missing] if missing.any() else [])))


def _dates(values: pa.Array) -> Column:
    missing = values.is_null().to_numpy(zero_copy_only=False)
    ticks = values.cast(pa.int64()).fill_null(0).to_numpy()
    second = 1000 ** ("s", "ms", "us", "ns").index(values.type.unit)
    periods = [_YEAR * second, 7 * _DAY * second]
    if has_times := bool((ticks % (_DAY * second)).any()):
        periods.append(_DAY * second)
    angles = [2 * np.pi * (ticks % period / period) for period in periods]
    cycles = [wave(angle) for angle in angles for wave in (np.sin, np.cos)]
    numbers = np.where(missing, np.nan, ticks.astype(np.float64))
    kind = "date and time" if has_times else "date"
    return Column(_described(kind, values), values, _with_missing(_standardised(numbers), *cycles))


def _categories(values: pa.Array) -> Column:
    encoded = values.dictionary_encode()
    levels = len(encoded.dictionary)
    codes = encoded.indices.fill_null(levels).to_numpy()
    counts = np.bincount(codes, minlength=levels + 1)
    frequent = np.argsort(-counts[:levels], kind="stable")[:MOST_LEVELS]
    places = np.full(levels + 1, len(frequent))  # all others
    places[frequent] = np.arange(len(frequent))
    used = len(frequent) + (levels > len(frequent))
    places[levels] = used  # missing
    kind = f"category with {levels:,} levels"
    if levels > len(frequent):
        kind += f", all but the {MOST_LEVELS} most frequent as one"
    used += bool(values.null_count)
    return Column(_described(kind, values), values, (), places[codes].astype(np.int32), used)


def _described(kind: str, values: pa.Array) -> str:
    return kind + (f", {values.null_count:,} missing" if values.null_count else "")
