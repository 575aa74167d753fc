"""From the name of a method to what must be recorded for it, and to what it keeps."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from dualprune.coreset import Coreset
from dualprune.dynamic import IES, InfoBatch, RandomEveryEpoch
from dualprune.errors import InputError
from dualprune.method.choose import score_runs, select_from
from dualprune.method.named import Method, find_method, needs
from dualprune.record.signals import DEFAULT, ON_REQUEST
from dualprune.run import Run
from dualprune.run.derived import DERIVED
from dualprune.score import SCORES
from dualprune.signatures import inputs, knobs
from dualprune.train import Dynamic, Setup, Watch, record

__all__ = ["APART", "choose", "choose_anew", "record_for", "signals_for"]

APART = 1000  # between the seeds of recordings that are averaged


def record_for(
    setup: Setup,
    home: Path,
    methods: Sequence[str],
    *,
    pruned: Sequence[float],
    epochs: int,
    seed: int,
    watch: Watch,
) -> list[Run]:
    """Record what these methods need to prune these shares: one run, or several to average over."""
    _refuse_too_few_epochs(methods, epochs, pruned)
    count = max((find_method(name, 0.0).runs for name in methods), default=0)
    return [
        record(
            setup,
            home / ("run" if number == 0 else f"run-{number + 1}"),
            epochs=epochs,
            seed=seed + APART * number,
            signals=signals_for(methods),
            features=_features_for(methods, epochs, pruned),
            tell=watch("recording" if count == 1 else f"recording {number + 1} of {count}"),
        )
        for number in range(count)
    ]


def choose(
    method: str | Method, runs: Sequence[Run], *, k: int, seed: int, c_d: float, epochs: int
) -> Coreset:
    """Select `k` samples with a method such as ``dual+beta`` or ``ccs``.

    Uses the first `epochs` of the runs unless the method has a number of its own; it takes as many
    of the runs as it averages over.
    """
    if isinstance(method, str):
        method = find_method(method, 1 - k / runs[0].samples)
    runs, epochs = runs[: method.runs], method.epochs or epochs
    scored = None
    if method.score is not None:
        scored = score_runs(method.score, runs, epochs=epochs, given=method.score_knobs)
    given = {"c_d": c_d} if method.selector == "beta" else {}
    return select_from(
        method.selector,
        runs,
        scored,
        k=k,
        seed=seed,
        epochs=epochs,
        features=method.features,
        given=given | dict(method.select_knobs),
    )


def choose_anew(
    name: str, *, keep: float, seed: int, given: Mapping[str, Any]
) -> Callable[[int, int], Dynamic]:
    """Make a dynamic method, as `train` wants it, once the samples and epochs are known.

    Only `random-dynamic` keeps a share that can be said; the others have the knobs that are given.
    """

    def make(samples: int, epochs: int) -> Dynamic:
        if name == "random-dynamic":
            return RandomEveryEpoch(samples, keep=keep, seed=seed)
        if name == "infobatch":
            return InfoBatch(samples, epochs=epochs, seed=seed, **given)
        return IES(samples, **given)

    return make


def signals_for(methods: Sequence[str]) -> list[str]:
    """Give the default signals and what else these methods read.

    >>> signals_for(["dual+beta", "tdds"])
    ['loss', 'margin', 'rival', 'entropy', 'error_norm', 'kl_step']
    """
    stored = [each for n in needs(methods) for each in DERIVED.get(n, (None, (n,)))[1]]
    return [*DEFAULT, *(name for name in ON_REQUEST if name in stored)]


def _features_for(methods: Sequence[str], epochs: int, pruned: Sequence[float]) -> list[int]:
    """After which epochs these methods need features, when these shares are pruned.

    >>> _features_for(["dual+beta"], 30, [0.5])
    []
    """
    found = [find_method(name, share) for name in methods for share in pruned]
    with_features = [
        method for method in found if any("features" in inputs(fn) for fn in method.functions)
    ]
    return sorted({method.features or method.epochs or epochs for method in with_features})


def _refuse_too_few_epochs(methods: Sequence[str], epochs: int, pruned: Sequence[float]) -> None:
    """Say now what scoring would say after the training."""
    for name, share in product(methods, pruned):
        method = find_method(name, share)
        used = method.epochs or epochs
        if used > epochs:
            raise InputError(f"{name} needs {used} epochs, and {epochs} are recorded; record more")
        if method.score is None or "window" not in knobs(SCORES[method.score]):
            continue
        window = method.score_knobs.get("window", knobs(SCORES[method.score])["window"].default)
        if used < window:
            raise InputError(f"{name} needs at least {window} epochs, got {used}; record more")
