"""The one convention: a parameter annotated `Array` is data, every other one is a knob.

What a score or selector needs, its command-line flags and its row in the table of methods are all
read from its signature.
"""

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, TypeAlias, get_args

import numpy as np

from dualprune.errors import InputError

__all__ = ["Array", "check_choice", "inputs", "knobs", "rows_not_finite"]

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

RESERVED = ("k", "seed")


def inputs(fn: Callable[..., Array]) -> dict[str, bool]:
    """Names of the arrays that a function reads, and whether each is required.

    >>> from dualprune.score import dual
    >>> inputs(dual)
    {'target_prob': True}
    """
    return {
        name: parameter.annotation == Array and parameter.default is Parameter.empty
        for name, parameter in signature(fn).parameters.items()
        if parameter.annotation in (Array, Array | None)
    }


def knobs(fn: Callable[..., Array]) -> dict[str, Parameter]:
    """Give the settings of a function: all that is neither an array nor the budget nor the seed.

    >>> from dualprune.score import dual
    >>> {name: knob.default for name, knob in knobs(dual).items()}
    {'window': 10}
    """
    return {
        name: parameter
        for name, parameter in signature(fn).parameters.items()
        if name not in inputs(fn) and name not in RESERVED
    }


def check_choice(name: str, value: str, choices: Any) -> None:
    """Refuse a value that is not one of a `Literal`.

    >>> from typing import Literal
    >>> check_choice("keep", "hrad", Literal["hard", "easy"])
    Traceback (most recent call last):
    dualprune.errors.InputError: keep must be 'hard' or 'easy', got 'hrad'
    """
    if value not in get_args(choices):
        told = " or ".join(map(repr, get_args(choices)))
        raise InputError(f"{name} must be {told}, got {value!r}")


def rows_not_finite(features: Array) -> Array:
    """Give the positions of rows that hold NaN or infinity.

    >>> rows_not_finite(np.array([[1.0, 2.0], [np.nan, 0.0], [np.inf, -np.inf]])).tolist()
    [1, 2]
    """
    with np.errstate(invalid="ignore", over="ignore"):
        return np.flatnonzero(~np.isfinite(features.sum(axis=1, dtype=np.float64)))
