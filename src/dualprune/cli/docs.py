"""What the docstring of a score or selector says, for help texts and the list of methods."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from inspect import getdoc

from dualprune.arrays import Array

__all__ = ["Passport", "read_docstring"]

_SECTION = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\w[\w, ]*)\n((?:    .*\n?)+)", re.MULTILINE)


@dataclass(frozen=True)
class Passport:
    """The first sentence, what each parameter means, and the paper."""

    summary: str
    parameters: dict[str, str]
    paper: str


def read_docstring(fn: Callable[..., Array]) -> Passport:
    """Take a numpydoc docstring apart.

    >>> from dualprune.score import dual
    >>> read_docstring(dual).parameters["window"]
    'Epochs per window, J.'
    """
    summary, *rest = _SECTION.split(getdoc(fn) or "")
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    parameters = {
        name.strip(): _one_line(text)
        for names, text in _ENTRY.findall(sections.get("Parameters", "") + "\n")
        for name in names.split(",")
    }
    return Passport(
        _one_line(summary.split("\n\n")[0]), parameters, _one_line(sections.get("References", ""))
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
