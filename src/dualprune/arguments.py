"""What a score, a selector or a dynamic method accepts: all that its annotations promise.

Arguments are converted once, where a caller hands them over, or refused by name.
"""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter
from operator import index
from reprlib import repr as short
from typing import Any, Literal, ParamSpec, TypeVar, get_args, get_origin

import numpy as np

from dualprune.errors import InputError
from dualprune.signatures import Array, is_array, resolved

P = ParamSpec("P")
R = TypeVar("R")

LARGEST = 1e300
"""What a score or a loss may be at most, so that sums and differences of them are finite."""

_KINDS = {"labels": "biufUST", "correct": "biuf"}
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
    signature = resolved(fn)

    @wraps(fn)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            kind = signature.parameters[name].annotation
            bound.arguments[name] = _converted(name, value, kind)
        return fn(*bound.args, **bound.kwargs)

    return call


def _converted(name: str, value: Any, kind: Any) -> Any:
    if type(None) in get_args(kind):
        if value is None:
            return None
        (kind,) = (one for one in get_args(kind) if one is not type(None))
    value = bool(value) if isinstance(value, np.bool_) else value
    if is_array(kind):
        return _data(name, value)
    if get_origin(kind) is Literal:
        _check_choice(name, value, get_args(kind))
    elif kind is int:
        return whole(name, value)
    elif kind in (float, int | float):
        return _number(name, value)
    elif kind is not Parameter.empty and not isinstance(value, kind):
        raise InputError(f"{name} must be of type {kind.__name__}, got {short(value)}")
    return value


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        possible = " or ".join(map(repr, choices))
        raise InputError(f"{name} must be {possible}, got {short(value)}")


def whole(name: str, value: Any) -> int:
    """Give a Python integer, also of one of numpy's; refuse a float or a bool by name.

    >>> whole("seed", np.uint64(2**63)) == 2**63
    True
    """
    try:
        number = index(value)
    except TypeError:
        number = 2**64
    if isinstance(value, bool) or not -(2**63) <= number < 2**64:
        raise InputError(f"{name} must be a whole number of at most 64 bits, got {short(value)}")
    return number


def check_seed(seed: Any) -> int:
    """Give a seed as a Python integer, or refuse what is not an unsigned integer of 64 bits."""
    number = whole("seed", seed)
    if number < 0:
        raise InputError(f"seed must be from 0 to 2**64 - 1, got {number}")
    return number


def _number(name: str, value: Any) -> float:
    if isinstance(value, np.floating):
        value = float(str(value))  # of a float32 the decimal that was written
    real = isinstance(value, int | float | np.integer) and not isinstance(value, bool)
    if not real or not abs(value) <= 1e100:
        raise InputError(f"{name} must be a number from -1e100 to 1e100, got {short(value)}")
    return int(value) if isinstance(value, int | np.integer) else float(value)


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
    elif array.ndim == 1:
        array = array.astype(np.float64, copy=False)
        _check_finite(name, array)
    return array


def _check_finite(name: str, values: Array) -> None:
    wrong = np.flatnonzero(np.abs(values) > LARGEST)
    if len(wrong):
        raise InputError(
            f"the {name} of {len(wrong)} of {len(values)} samples are infinite or beyond "
            f"{LARGEST:g}, first of sample {wrong[0]}; correct them, or make them NaN if unknown"
        )
