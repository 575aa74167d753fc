"""Settling: whether what a method would keep still changes from epoch to epoch.

A recording has settled when, after each of the last `PATIENCE` epochs and at every share of
`SHARES`, at least `ENOUGH` of what the method would keep was also kept one epoch before. That
depends on what is recorded, the method and the seed alone. docs/stopping.md says what it saves and
loses.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from dualprune.arguments import checked
from dualprune.errors import InputError
from dualprune.method.arrays import Arrays
from dualprune.method.choose import choose_from, scores_for
from dualprune.method.classes import for_classes
from dualprune.method.named import Method, find_method
from dualprune.method.needs import needs, window_of
from dualprune.run import Run
from dualprune.score import confidence
from dualprune.select.candidates import shares
from dualprune.signatures import Array, check_knobs
from dualprune.urls import AnyPath

SHARES = (0.1, 0.3, 0.5)
"""Shares kept at which nothing may change, so that a recording serves other shares, too."""
ENOUGH = 0.95
PATIENCE = 2


@checked
def settled(run: Run | AnyPath, method: str | Method = "dual+beta", *, seed: int = 0) -> bool:
    """Tell whether a recording can stop: what the method would keep hardly changes any more.

    In a loop of your own, after ``recorder.end_epoch()``: ``if settled("run"): break``. Of several
    processes, let one decide for all.

    Examples
    --------
    >>> settled("tests/runs/digits")
    True
    """
    run = run if isinstance(run, Run) else Run(run)
    watched = at_shares(method, labels=run.has("labels"))
    return Settling(run.path, watched, seed).settled(run.epochs)


class Settling:
    """What methods, by share kept, would keep of a run in the making.

    Of the choices that were made, the last are remembered.
    """

    def __init__(self, run: AnyPath, methods: Mapping[float, Method], seed: int) -> None:
        self._run = run
        self._methods = dict(methods)
        self._seed = seed
        self._first = max(map(window_of, methods.values()))
        self._kept: dict[int, list[Array]] = {}

    def settled(self, epochs: int) -> bool:
        """Whether the overlaps of the last epochs were large enough."""
        last = range(epochs - PATIENCE + 1, epochs + 1)
        return last[0] > self._first and all(
            min(self.overlaps(epoch).values(), default=0.0) >= ENOUGH for epoch in last
        )

    def overlaps(self, epochs: int) -> dict[str, float]:
        """How much of what would be kept after so many epochs was kept one before, by share kept.

        Empty as long as there is nothing to compare.
        """
        if epochs <= self._first or not (self._after(epochs - 1) and self._after(epochs)):
            return {}
        pairs = zip(self._after(epochs), self._after(epochs - 1), strict=True)
        shared = [len(np.intersect1d(*pair, assume_unique=True)) / len(pair[0]) for pair in pairs]
        return {f"{share:.0%}": part for share, part in zip(self._methods, shared, strict=True)}

    def _after(self, epochs: int) -> list[Array]:
        """Ids by share kept; none as long as too few samples have a score to keep a share."""
        if epochs not in self._kept:
            self._kept = {at: ids for at, ids in self._kept.items() if at >= epochs - PATIENCE}
            run = Run(self._run)
            arrays = Arrays([run], epochs=epochs)
            wanted = [(m, _count(run.readable, share)) for share, m in self._methods.items()]
            can_keep = all(_can_keep(arrays, method, k) for method, k in wanted)
            self._kept[epochs] = [
                choose_from(arrays, method, k=k, seed=self._seed).ids
                for method, k in wanted
                if can_keep
            ]
        return self._kept[epochs]


def at_shares(
    method: str | Method, select: Mapping[str, Any] = MappingProxyType({}), *, labels: bool = True
) -> dict[float, Method]:
    """Give a method as it is at every share of `SHARES`; refuse one that cannot be watched.

    `select` are knobs of selectors, for what the method does not set. A sample without a score is
    not kept: it may have one after the next epoch.

    >>> at_shares("ccs")[0.1].select_knobs["cut_off"], at_shares("ccs")[0.5].select_knobs["cut_off"]
    (0.3, 0.0)
    """
    named = {s: find_method(method, 1 - s) if isinstance(method, str) else method for s in SHARES}
    for one in named.values():
        _refuse_unwatchable(one)
    defaults = {**select, "unscored": "drop"}
    return {
        share: for_classes(one.with_defaults(defaults), labels=labels)
        for share, one in named.items()
    }


def _refuse_unwatchable(method: Method) -> None:
    why = {
        "it says itself how many epochs it uses": method.epochs is not None,
        "it needs features, which are not written after every epoch": "features" in needs([method]),
        "it needs several recordings of equally many epochs": method.runs > 1,
    }
    if reasons := [reason for reason, holds in why.items() if holds]:
        raise InputError(
            f"epochs auto compares what {method.name} would keep after every epoch, and "
            f"{reasons[0]}; say a number of epochs"
        )


def _can_keep(arrays: Arrays, method: Method, k: int) -> bool:
    """Whether enough samples have all that a method reads of them, and are not cut off."""
    knobs = check_knobs(method.select, method.select_knobs)
    if "unscored" not in knobs:
        return True
    wanted = [*scores_for(method), (confidence, {})]  # all that choosing reads, in one reading
    scores = arrays.scores(score for score in wanted if arrays.can_score(*score))
    missing = np.any([np.isnan(arrays.of_readable("scores", column)) for column in scores], axis=0)
    without, samples = int(np.count_nonzero(missing)), arrays.runs[0].readable
    rest = k - without if knobs["unscored"] == "keep" else k
    (cut,) = shares(knobs.get("cut_off", 0.0), np.array([samples]))  # all of it may have scores
    left = samples - without - cut
    return not without or bool(0 <= rest <= left)


def _count(samples: int, share: float) -> int:
    """Give the number of samples that a share is, at least one."""
    return max(1, round(share * samples))
