"""Coreset: the ids to keep, and a card that says where they come from."""

from dualprune.coreset.card import FIRST, Card, ShortClass, Training, WrongLabels
from dualprune.coreset.coreset import Coreset, digest
from dualprune.coreset.ids import read_ids
from dualprune.coreset.tried import Search, Share, Shares
from dualprune.coreset.worth import Arm, Check

__all__ = [
    "FIRST",
    "Arm",
    "Card",
    "Check",
    "Coreset",
    "Search",
    "Share",
    "Shares",
    "ShortClass",
    "Training",
    "WrongLabels",
    "digest",
    "read_ids",
]
