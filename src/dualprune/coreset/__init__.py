"""Coreset: the ids to keep, and a card that says where they come from."""

from dualprune.coreset.card import FIRST, Card, Training, WrongLabels
from dualprune.coreset.coreset import Coreset, digest

__all__ = ["FIRST", "Card", "Coreset", "Training", "WrongLabels", "digest"]
