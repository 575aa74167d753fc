"""The one convention: a parameter annotated as an array is data, every other one is a knob.

What a score or selector reads and accepts, its command-line flags, its row in the table of methods
and its page all follow from its signature and its docstring.
"""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, Signature, cleandoc, getdoc, signature, unwrap
from types import CodeType
from typing import Any, TypeAlias, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from dualprune.errors import InputError

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

Function: TypeAlias = Callable[..., Array]
"""A score or a selector, ours or somebody's own."""

RESERVED = ("k", "seed", "notes")
"""What only selectors take: the budget, the seed, and a place for what they learn on the way."""

_SECTION = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\w[\w, ]*)\n((?:    .*\n?)+)", re.MULTILINE)


def inputs(fn: Callable[..., Any]) -> dict[str, bool]:
    """Names of the arrays that a function reads, and whether each is required.

    `np.ndarray`, `numpy.typing.NDArray[...]` and `Array` all mean an array, also as strings; a
    default of None, or ``| None``, makes it optional.

    >>> from dualprune.score import ssp
    >>> inputs(ssp)
    {'features': True, 'labels': False}
    """
    return {
        name: type(None) not in get_args(parameter.annotation)
        and parameter.default is Parameter.empty
        for name, parameter in resolved(fn).parameters.items()
        if is_array(parameter.annotation)
    }


def knobs(fn: Callable[..., Any]) -> dict[str, Parameter]:
    """Settings of a function: all that is neither an array nor reserved. Each has a default.

    >>> from dualprune.score import dual
    >>> {name: knob.default for name, knob in knobs(dual).items()}
    {'window': 10}
    """
    settings = {
        name: parameter
        for name, parameter in resolved(fn).parameters.items()
        if not is_array(parameter.annotation) and name not in RESERVED
    }
    for name, knob in settings.items():
        if knob.default is Parameter.empty:
            raise InputError(
                f"the parameter {name!r} of {name_of(fn)} is neither an array nor has a default; "
                f"annotate it as np.ndarray if it is data, or give it a default if it is a knob"
            )
    return settings


def check_knobs(fn: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """All knobs of a function: these values, else the defaults; unknown names are refused."""
    known = knobs(fn)
    for name in values:
        if name not in known:
            raise InputError(
                f"{name_of(fn)} has no knob {name!r}; it has {', '.join(known) or 'none'}"
            )
    chosen = {name: values.get(name, knob.default) for name, knob in known.items()}
    return {n: v.item() if isinstance(v, np.generic) else v for n, v in chosen.items()}


def keyword_only(fn: Callable[..., Any]) -> dict[str, Parameter]:
    """Settings of a constructor, which has no arrays: all that is passed by name only.

    >>> from dualprune.dynamic import IES
    >>> {name: knob.default for name, knob in keyword_only(IES).items()}
    {'threshold': 0.001}
    """
    return {
        name: parameter
        for name, parameter in signature(fn).parameters.items()
        if parameter.kind is Parameter.KEYWORD_ONLY and name not in RESERVED
    }


def name_of(fn: Callable[..., Any]) -> str:
    """Name of a function, of what a `partial` wraps, or of a callable object's class."""
    named = fn.func if isinstance(fn, partial) else fn
    return str(getattr(named, "__name__", type(named).__name__))


def identity_of(fn: Callable[..., Any]) -> Any:
    """Name of a function and, where it is not one of ours, what it does, so that an edit is seen.

    What it calls is not looked at.

    >>> from dualprune.score import dual
    >>> identity_of(dual), identity_of(partial(dual, window=5))
    ('dual', ['dual', '()', "[('window', 5)]"])
    """
    if isinstance(fn, partial):
        return [identity_of(fn.func), repr(fn.args), repr(sorted(fn.keywords.items()))]
    fn = unwrap(fn)
    called = fn if hasattr(fn, "__code__") else type(fn).__call__
    code = getattr(called, "__code__", None)
    if code is None or called.__module__.startswith("dualprune."):
        return name_of(fn)
    defaults = [getattr(called, name) for name in ("__defaults__", "__kwdefaults__")]
    return [name_of(fn), _written(code, called.__doc__), repr(defaults)]


def _written(code: CodeType, docstring: str | None = None) -> list[Any]:
    """Give what a code object says, but for where it stands."""
    constants = [constant for constant in code.co_consts if constant != docstring]
    return [code.co_code.hex(), code.co_names, [*map(_constant, constants)]]


def _constant(value: Any) -> Any:
    if isinstance(value, CodeType):
        return _written(value)
    return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)


def resolved(fn: Callable[..., Any]) -> Signature:
    """Give a signature whose annotations are no strings, also where a name is only for checkers."""
    try:
        return signature(fn, eval_str=True)
    except NameError:
        usual = {"np": np, "numpy": np, "NDArray": NDArray, "Array": Array}
    try:
        return signature(fn, eval_str=True, locals=usual)
    except NameError as error:
        raise InputError(
            f"an annotation of {name_of(fn)} cannot be read ({error}); import that name where the "
            "function is defined, not only for a type checker"
        ) from error


def is_array(annotation: Any) -> bool:
    """Whether an annotation means an array, perhaps an optional one."""
    one = [kind for kind in get_args(annotation) if kind is not type(None)]
    if get_origin(annotation) is not np.ndarray and len(one) == 1:  # Array | None
        (annotation,) = one
    return annotation is np.ndarray or get_origin(annotation) is np.ndarray


@dataclass(frozen=True)
class Docstring:
    """The docstring of a score, a selector or a dynamic method, and that of its file."""

    summary: str
    details: str
    parameters: dict[str, str]
    example: str
    cost: str
    """First paragraph of the notes; the others are the `variants` of public implementations."""
    variants: str
    paper: str
    title: str
    """First sentence of the file's docstring; the rest is the `formula`, or the steps."""
    formula: str


def read_docstring(fn: Callable[..., object]) -> Docstring:
    """Take a numpydoc docstring apart.

    >>> from dualprune.score import dual
    >>> read_docstring(dual).parameters["window"]
    'Epochs per window, J.'
    """
    about, *rest = _SECTION.split(getdoc(fn) or "")
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    summary, _, details = about.partition("\n\n")
    parameters = {
        name.strip(): _one_line(text)
        for names, text in _ENTRY.findall(sections.get("Parameters", "") + "\n")
        for name in names.split(",")
    }
    cost, _, variants = sections.get("Notes", "").partition("\n\n")
    title, _, formula = cleandoc(sys.modules[fn.__module__].__doc__ or "").partition("\n\n")
    papers = sections.get("References", "").split("\n\n")
    return Docstring(
        summary=_one_line(summary),
        details=details.strip(),
        parameters=parameters,
        example=sections.get("Examples", "").strip(),
        cost=_one_line(cost),
        variants=variants.strip(),
        paper="; ".join(map(_one_line, filter(None, papers))),
        title=title,
        formula=formula,
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
