"""What must be recorded before methods can choose, checked before the training begins."""

from collections.abc import Iterable

from dualprune.errors import InputError
from dualprune.method import Method, needs
from dualprune.signatures import check_knobs


def features_for(methods: Iterable[Method], epochs: int) -> list[int]:
    """After which of so many epochs these methods need features.

    >>> from dualprune.method import find_method
    >>> features_for([find_method("dual+beta", 0.5), find_method("boss-10", 0.5)], 30)
    [10]
    """
    reading = [method for method in methods if "features" in needs([method])]
    return sorted({method.features or method.epochs or epochs for method in reading})


def check_epochs(methods: Iterable[Method], epochs: int) -> None:
    """Refuse now what scoring would refuse after the training."""
    for method in methods:
        used = method.epochs or epochs
        if used > epochs:
            raise InputError(
                f"{method.name} needs {used} epochs, and {epochs} are recorded; record more"
            )
        knobs = {} if method.scorer is None else check_knobs(method.scorer, method.score_knobs)
        if used < (window := knobs.get("window", 1)):
            raise InputError(
                f"{method.name} needs at least {window} epochs, got {used}; record more"
            )
