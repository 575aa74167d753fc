"""The centre: from the name of a method, or a user's own functions, to a coreset."""

from dualprune.method.arrays import Arrays
from dualprune.method.choose import choose, choose_among, choose_from, scores_for
from dualprune.method.classes import FLOOR, for_classes, warn_of_short
from dualprune.method.named import AUTO, Method, find_method, named_methods
from dualprune.method.needs import check_epochs, features_for, needs, signals_for
from dualprune.method.settling import Settling, at_shares, settled

__all__ = [
    "AUTO",
    "FLOOR",
    "Arrays",
    "Method",
    "Settling",
    "at_shares",
    "check_epochs",
    "choose",
    "choose_among",
    "choose_from",
    "features_for",
    "find_method",
    "for_classes",
    "named_methods",
    "needs",
    "scores_for",
    "settled",
    "signals_for",
    "warn_of_short",
]
