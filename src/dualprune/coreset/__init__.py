"""Coreset: the ids to keep, and a card that says where they come from."""

from dualprune.coreset.card import Card, ShortClass, Training
from dualprune.coreset.coreset import Coreset, digest
from dualprune.coreset.ids import read_ids

__all__ = ["Card", "Coreset", "ShortClass", "Training", "digest", "read_ids"]
