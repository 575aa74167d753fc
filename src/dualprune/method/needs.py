"""What must be recorded before methods can choose."""

from collections.abc import Iterable, Iterator

from dualprune.errors import InputError
from dualprune.method.arrays import is_score, sources
from dualprune.method.named import Method
from dualprune.run.signals import SIGNALS
from dualprune.score import SCORES
from dualprune.signatures import check_knobs, inputs


def needs(methods: Iterable[Method]) -> set[str]:
    """Give what must be recorded for these methods: signals, `labels`, `features`.

    >>> from dualprune.method import find_method
    >>> sorted(needs([find_method("dual+beta", 0.5), find_method("tdds", 0.5)]))
    ['kl_step', 'labels', 'loss']
    """
    return sources(name for method in methods for name in _reads(method))


def _reads(method: Method) -> Iterator[str]:
    if method.scorer is not None:
        yield from inputs(method.scorer)
    for name, required in inputs(method.select).items():
        if name != "scores" and (required or name in method.reads or name == "labels"):
            yield method.reads.get(name, name)


def signals_for(methods: Iterable[Method]) -> list[str]:
    """Give the default signals and what else these methods read.

    >>> from dualprune.method import find_method
    >>> signals_for([find_method("tdds", 0.5)])
    ['loss', 'margin', 'rival', 'entropy', 'error_norm', 'kl_step']
    """
    wanted = needs(methods)
    return [name for name, column in SIGNALS.items() if not column.on_request or name in wanted]


def features_for(methods: Iterable[Method], epochs: int) -> list[int]:
    """After which of so many epochs these methods need features.

    >>> from dualprune.method import find_method
    >>> features_for([find_method("dual+beta", 0.5), find_method("boss-10", 0.5)], 30)
    [10]
    """
    reading = [method for method in methods if "features" in needs([method])]
    return sorted({method.features or method.epochs or epochs for method in reading})


def window_of(method: Method) -> int:
    """How many epochs a method needs: the largest window of the scores that it reads.

    >>> from dualprune.method import find_method
    >>> [window_of(find_method(name, 0.5)) for name in ("el2n", "dual", "beta")]
    [1, 10, 10]
    """
    own = [] if method.scorer is None else [check_knobs(method.scorer, method.score_knobs)]
    others = [check_knobs(SCORES[name], {}) for name in _reads(method) if is_score(name)]
    return max((int(knobs.get("window", 1)) for knobs in own + others), default=1)


def check_epochs(methods: Iterable[Method], epochs: int) -> None:
    """Refuse now what scoring would refuse after the training."""
    for method in methods:
        used = method.epochs or epochs
        if used > epochs:
            raise InputError(
                f"{method.name} needs {used} epochs, and {epochs} are recorded; record more"
            )
        if used < (window := window_of(method)):
            raise InputError(
                f"{method.name} needs at least {window} epochs, got {used}; record more"
            )
