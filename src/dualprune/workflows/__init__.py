"""The stages put in a row: prune, compare, check, demo."""
