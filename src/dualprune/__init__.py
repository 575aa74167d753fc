"""Find the small part of a training set that is worth training on.

    a training loop --record--> Run --score--> one number per sample --select--> Coreset

Names are loaded when first used; importing this package never loads torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dualprune.errors import needing

if TYPE_CHECKING:
    from dualprune import dynamic, score, select
    from dualprune.coreset import Coreset
    from dualprune.errors import (
        DamagedError,
        DualpruneError,
        InputError,
        MissingError,
        StoreError,
        WriteError,
    )
    from dualprune.method import Method, choose, settled
    from dualprune.record import Indexed, Recorder
    from dualprune.run import Run
    from dualprune.suspects import audit
    from dualprune.workflows.comparing import compare
    from dualprune.workflows.pruning import prune
    from dualprune.workflows.pushing import push

    __version__: str

__all__ = [
    "Coreset",
    "DamagedError",
    "DualpruneError",
    "Indexed",
    "InputError",
    "Method",
    "MissingError",
    "Recorder",
    "Run",
    "StoreError",
    "WriteError",
    "__version__",
    "audit",
    "choose",
    "compare",
    "dynamic",
    "prune",
    "push",
    "score",
    "select",
    "settled",
]

_MODULES = ("dynamic", "score", "select")
_HOMES = {
    "Coreset": "coreset",
    "Indexed": "record",
    "Method": "method",
    "Recorder": "record",
    "Run": "run",
    "audit": "suspects",
    "choose": "method",
    "compare": "workflows.comparing",
    "prune": "workflows.pruning",
    "settled": "method",
    "push": "workflows.pushing",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("dualprune")
    if name in _MODULES:
        return import_module(f"dualprune.{name}")
    if name in _HOMES or name.endswith("Error"):
        with needing("torch"):
            return getattr(import_module(f"dualprune.{_HOMES.get(name, 'errors')}"), name)
    raise AttributeError(f"module 'dualprune' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
