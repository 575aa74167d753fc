"""What the docstrings of a method say, for help texts, the list of methods and their pages."""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, cleandoc, getdoc, signature

from dualprune.arrays import RESERVED
from dualprune.run.derived import DERIVED

__all__ = ["Passport", "need", "read_docstring", "settings"]

_SECTION = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\w[\w, ]*)\n((?:    .*\n?)+)", re.MULTILINE)


@dataclass(frozen=True)
class Passport:
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


def read_docstring(fn: Callable[..., object]) -> Passport:
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
    return Passport(
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


def settings(fn: Callable[..., object]) -> dict[str, Parameter]:
    """Give the knobs of a function or of a constructor: all that is given by name only.

    >>> from dualprune.dynamic import IES
    >>> {name: knob.default for name, knob in settings(IES).items()}
    {'threshold': 0.001}
    """
    return {
        name: parameter
        for name, parameter in signature(fn).parameters.items()
        if parameter.kind is Parameter.KEYWORD_ONLY and name not in RESERVED
    }


def need(name: str, required: bool) -> str:
    """Say of an array what it is computed from, and whether it can be left out.

    >>> need("target_prob", True), need("labels", False)
    ('target_prob (from loss)', 'labels (optional)')
    """
    source = f" (from {', '.join(DERIVED[name][1])})" if name in DERIVED else ""
    return name + source + ("" if required else " (optional)")


def _one_line(text: str) -> str:
    return " ".join(text.split())
