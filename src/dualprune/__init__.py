"""Find the small part of a training set that is worth training on.

    a training loop --record--> Run --score--> one number per sample --select--> Coreset

Names are loaded when first used; importing this package never loads torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dualprune import score, select
    from dualprune.coreset import Coreset
    from dualprune.record import Indexed, Recorder
    from dualprune.run import Run
    from dualprune.workflows.pruning import prune

__all__ = ["Coreset", "Indexed", "Recorder", "Run", "prune", "score", "select"]

_HOMES = {
    "Coreset": "dualprune.coreset",
    "Indexed": "dualprune.record",
    "Recorder": "dualprune.record",
    "Run": "dualprune.run",
    "prune": "dualprune.workflows.pruning",
}


def __getattr__(name: str) -> Any:
    if name in ("score", "select"):
        return import_module(f"dualprune.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'dualprune' has no attribute {name!r}")
