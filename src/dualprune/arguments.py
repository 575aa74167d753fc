"""What a function takes and what a file may state: all that annotations promise.

Values are converted once, where they are handed over, or refused by name.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from inspect import Parameter
from operator import index
from reprlib import repr as short
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from dualprune.errors import InputError
from dualprune.signatures import Array, is_array, resolved
from dualprune.urls import OnStore

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

LARGEST = 1e300
"""What a score or a loss may be at most, so that sums and differences of them are finite."""

_NO_NAME = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")  # the rest are bytes that are not UTF-8
_KINDS = {"labels": "biufUST", "correct": "biuf", "source": "iu", "unreadable": "iu"}
_WORDS = {
    "iu": "integers",
    "iuf": "real numbers",
    "biuf": "numbers or booleans",
    "biufUST": "integers or strings",
}


def checked(fn: Callable[P, R]) -> Callable[P, R]:
    """Let a function convert its arguments to what their annotations say, or refuse them by name.

    Arrays may be lists and hold any real numbers, `labels` also strings; one number per sample
    becomes float64. An integer may be numpy's; a bool is no number.

    >>> @checked
    ... def first(scores: Array, *, k: int) -> Array:
    ...     return scores[:k]
    >>> first([3, 2, 1], k=np.uint8(2))
    array([3., 2.])
    >>> first([3, 2, 1], k=2.0)
    Traceback (most recent call last):
    dualprune.errors.InputError: k must be a whole number of at most 64 bits, got 2.0
    """
    signature = cache(lambda: resolved(fn))  # not before a call: a class may name itself

    @wraps(fn)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        bound = signature().bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            kind = signature().parameters[name].annotation
            bound.arguments[name] = _converted(name, value, kind)
        return fn(*bound.args, **bound.kwargs)

    return call


def convert_fields(instance: object) -> None:
    """Convert the fields of a frozen dataclass to what their annotations say, or refuse them."""
    for name, kind in get_type_hints(type(instance)).items():
        object.__setattr__(instance, name, _converted(name, getattr(instance, name), kind))


def build(cls: type[T], content: Mapping[str, Any]) -> T:
    """Make a dataclass of JSON; a field that is missing, unknown or of another type is refused.

    >>> from dualprune.coreset import Training
    >>> build(Training, {"data": 3})
    Traceback (most recent call last):
    dualprune.errors.InputError: data must be text, got 3
    """
    hints = get_type_hints(cls)
    return cls(**{name: _converted(name, v, hints.get(name, Any)) for name, v in content.items()})


def _converted(name: str, value: Any, kind: Any) -> Any:
    if is_array(kind):
        optional = NoneType in get_args(kind)
        return None if optional and value is None else _data(name, value)
    fitting = _fitted(value, kind)
    if fitting is NotImplemented:
        raise InputError(f"{name} must be {_words(kind)}, got {short(value)}")
    return fitting


def _fitted(value: Any, kind: Any) -> Any:
    """Give a value as its annotation says, or NotImplemented if it does not fit."""
    origin = get_origin(kind) or kind
    if origin in _FITTED:
        return _FITTED[origin](value, get_args(kind))
    value = bool(value) if isinstance(value, np.bool_) else value
    return value if isinstance(value, origin) else NotImplemented


def _members(kinds: tuple[Any, ...]) -> list[Any]:
    """Give what a union is of; where a path may be given, text is one."""
    path = any(get_origin(kind) is os.PathLike for kind in kinds)
    return [kind for kind in kinds if not (path and kind is str)]


def _first(value: Any, kinds: tuple[Any, ...]) -> Any:
    fitting = (_fitted(value, kind) for kind in _members(kinds))
    return next((one for one in fitting if one is not NotImplemented), NotImplemented)


def _whole(value: Any, _: object = ()) -> Any:
    try:
        number = index(value)
    except TypeError:
        return NotImplemented
    is_bool = isinstance(value, bool | np.bool_)
    return NotImplemented if is_bool or not -(2**63) <= number < 2**64 else number


def _real(value: Any, _: object) -> Any:
    if isinstance(value, np.floating):
        value = float(str(value))  # of a float32 the decimal that was written
    real = isinstance(value, int | float | np.integer) and not isinstance(value, bool)
    if not real or not abs(value) <= 1e100:
        return NotImplemented
    return int(value) if isinstance(value, int | np.integer) else float(value)


def _path(value: Any, _: object) -> Any:
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    fits = isinstance(text, str) and not _NO_NAME.search(text)
    return value if fits else NotImplemented


def _choice(value: Any, choices: tuple[Any, ...]) -> Any:
    return value if isinstance(value, str) and value in choices else NotImplemented


def _entries(values: Any, kinds: tuple[Any, ...]) -> Any:
    values = values.tolist() if hasattr(values, "tolist") else values
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        return NotImplemented
    if set(map(type, values)) == {str} == {*kinds}:  # quick, for millions of names
        return values
    fitting = [_fitted(value, kinds[0]) for value in values]
    return NotImplemented if any(one is NotImplemented for one in fitting) else fitting


def _pairs(values: Any, kinds: tuple[Any, ...]) -> Any:
    if not isinstance(values, Mapping):
        return NotImplemented
    columns = (_entries([*values], kinds[:1]), _entries([*values.values()], kinds[1:]))
    return NotImplemented if NotImplemented in columns else dict(zip(*columns, strict=True))


_FITTED: dict[Any, Callable[[Any, tuple[Any, ...]], Any]] = {
    **dict.fromkeys((Any, Parameter.empty), lambda value, _: value),
    **dict.fromkeys((Union, UnionType), _first),
    **dict.fromkeys((Sequence, list), _entries),
    **dict.fromkeys((Mapping, dict), _pairs),
    int: _whole,
    float: _real,
    os.PathLike: _path,
    Callable: lambda value, _: value if callable(value) else NotImplemented,
    Literal: _choice,
}


def _words(kind: Any) -> str:
    """Say what fits an annotation."""
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(_words, _members(inner))))
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if origin in (Sequence, list):
        return f"a list (each {_words(inner[0])})"
    if origin in (Mapping, dict):
        return f"a dictionary from text to {_words(inner[1])}"
    return _NAMES.get(origin, f"a {getattr(origin, '__name__', origin)}")


_NAMES: dict[Any, str] = {
    int: "a whole number of at most 64 bits",
    float: "a number from -1e100 to 1e100",
    str: "text",
    NoneType: "None",
    **dict.fromkeys((os.PathLike, OnStore), "a path that the system allows"),
    Callable: "a function",
    Any: "anything",
}


def whole(name: str, value: Any) -> int:
    """Give a Python integer, also of one of numpy's; refuse a float or a bool by name.

    >>> whole("seed", np.uint64(2**63)) == 2**63
    True
    """
    number: int = _converted(name, value, int)
    return number


def check_seed(seed: Any) -> int:
    """Give a seed as a Python integer, or refuse what is not an unsigned integer of 64 bits."""
    number = whole("seed", seed)
    if number < 0:
        raise InputError(f"seed must be from 0 to 2**64 - 1, got {number}")
    return number


def as_array(name: str, values: Any, kinds: str = "iuf") -> Array:
    """Give an array of one of these kinds of numpy types, or refuse it by name.

    >>> as_array("losses", ["high", "low"])
    Traceback (most recent call last):
    dualprune.errors.InputError: losses must be an array of real numbers, got <U4
    """
    try:
        array: Array = np.asarray(values)
    except (RuntimeError, TypeError, ValueError) as error:  # ragged; a tensor on a GPU
        raise InputError(f"{name} must be an array of {_WORDS[kinds]}: {error}") from error
    if "U" in kinds and array.dtype == object and all(isinstance(x, str) for x in array.flat):
        array = array.astype(str)  # as pandas holds them
    if array.dtype.kind not in kinds and (array.size or array.dtype != np.float64):
        raise InputError(f"{name} must be an array of {_WORDS[kinds]}, got {array.dtype}")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            array = array.astype(np.float64)
    return array


def _data(name: str, values: Any) -> Array:
    array = as_array(name, values, _KINDS.get(name, "iuf"))
    if name == "labels":
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise InputError(f"{np.isnan(array).sum()} labels are NaN; every sample needs a class")
    elif name == "features":
        array = array.astype(np.promote_types(array.dtype, np.float32), copy=False)
    elif array.ndim == 1 and _KINDS.get(name) != "iu":
        array = array.astype(np.float64, copy=False)
        _check_finite(name, array)
    return array


def _check_finite(name: str, values: Array) -> None:
    wrong = np.flatnonzero(np.abs(values) > LARGEST)
    if len(wrong):
        raise InputError(infinite(name, len(wrong), len(values), wrong[0]))


def infinite(name: str, wrong: int, samples: int, first: int) -> str:
    """Say that some values are too large to be compared and added."""
    return (
        f"the {name} of {wrong} of {samples} samples are infinite or beyond {LARGEST:g}, first of "
        f"sample {first}; correct them, or make them NaN if unknown"
    )
