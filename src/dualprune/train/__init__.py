"""Train: to record without a loop of one's own, and to measure how good a coreset is."""

from dualprune.errors import needing

with needing("torch"):
    from dualprune.train.epoch import Dynamic
    from dualprune.train.loop import Progress, Tell, Watch, silent
    from dualprune.train.models import MODELS
    from dualprune.train.place import is_first, together
    from dualprune.train.recipe import recipes
    from dualprune.train.record import APART, overlaps_recorded, record, seconds_recorded
    from dualprune.train.setup import Setup, check_training, relabel
    from dualprune.train.train import FEWEST, Result, train

__all__ = [
    "APART",
    "FEWEST",
    "MODELS",
    "Dynamic",
    "Progress",
    "Result",
    "Setup",
    "Tell",
    "Watch",
    "check_training",
    "is_first",
    "overlaps_recorded",
    "recipes",
    "record",
    "relabel",
    "seconds_recorded",
    "silent",
    "together",
    "train",
]
