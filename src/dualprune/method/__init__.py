"""The centre: from the name of a method, or a user's own functions, to a coreset."""

from dualprune.method.arrays import Arrays
from dualprune.method.choose import choose, choose_from, needs, scores_for, signals_for
from dualprune.method.named import Method, find_method, named_methods

__all__ = [
    "Arrays",
    "Method",
    "choose",
    "choose_from",
    "find_method",
    "named_methods",
    "needs",
    "scores_for",
    "signals_for",
]
