"""Coreset: the ids to keep, and a card that says where they come from."""

from dualprune.coreset.coreset import Coreset, Subset, digest

__all__ = ["Coreset", "Subset", "digest"]
