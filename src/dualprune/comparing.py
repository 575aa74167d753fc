"""compare: methods x shares kept x seeds on one data set, each trained and judged."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import numpy as np

from dualprune.arrays import Array
from dualprune.choosing import choose, record_for
from dualprune.coreset import digest
from dualprune.dynamic import DYNAMIC, IES, InfoBatch, RandomEveryEpoch
from dualprune.files import write_json
from dualprune.named import find_method
from dualprune.select import budget
from dualprune.train import Dynamic, Result, Setup, Tell, Watch, seconds_recorded, silent, train

__all__ = ["FULL", "Cell", "compare"]

FULL = "everything"


@dataclass(frozen=True)
class Cell:
    """One training: on which ids, what it reached, and how many seconds choosing them took."""

    method: str
    keep: str
    seed: int
    ids: Array
    scores: Array | None
    result: Result
    recording: float


def compare(
    setup: Setup,
    out: Path,
    *,
    methods: Sequence[str],
    keeps: Sequence[str],
    seeds: int,
    watch: Watch = silent,
) -> list[Cell]:
    """Train on everything and on what each method keeps; one recording per seed serves them all.

    Each training has its own folder, so a comparison that was interrupted goes on where it was. All
    results are also in `results.json`.
    """
    budgets = {keep: budget(len(setup.images), keep=keep) for keep in keeps}
    cells = [
        cell
        for seed in range(seeds)
        for cell in _cells(setup, out / f"seed-{seed}", methods, budgets, seed, watch)
    ]
    write_json(out / "results.json", {"cells": [_row(cell) for cell in cells]})
    return cells


def _cells(
    setup: Setup,
    home: Path,
    methods: Sequence[str],
    budgets: dict[str, int],
    seed: int,
    watch: Watch,
) -> Iterator[Cell]:
    recipe, samples = setup.recipe, len(setup.images)

    def told(title: str) -> Tell:
        return watch(f"seed {seed}: {title}")

    static = [name for name in methods if name not in DYNAMIC]
    pruned = [1 - k / samples for k in budgets.values()]
    runs = record_for(
        setup, home, static, pruned=pruned, epochs=recipe.record, seed=seed, watch=told
    )
    result = train(setup, home / FULL, seed=seed, tell=told(FULL))
    yield Cell(FULL, "1.0", seed, np.arange(samples), None, result, 0.0)
    for method, (keep, k) in product(methods, budgets.items()):
        tell, folder = told(f"{method}, {keep} kept"), home / f"{method}-{keep}"
        if method in DYNAMIC:
            chooser = _chooser(method, k / samples, seed)
            result = train(setup, folder, seed=seed, dynamic=chooser, tell=tell)
            yield Cell(method, keep, seed, np.arange(samples), None, result, 0.0)
            continue
        coreset = choose(method, runs, k=k, seed=seed, c_d=recipe.c_d, epochs=recipe.record)
        scores = coreset.columns.get("score")
        weighted = find_method(method, 1 - k / samples).weighted
        weights = _scaled(scores) if weighted and scores is not None else None
        result = train(setup, folder, ids=coreset.ids, seed=seed, weights=weights, tell=tell)
        used = [] if method == "random" else runs[: len(coreset.card["runs"])]
        cost = sum(seconds_recorded(run.path) for run in used)
        yield Cell(method, keep, seed, coreset.ids, scores, result, cost)


def _chooser(method: str, share: float, seed: int) -> Callable[[int, int], Dynamic]:
    """Make a dynamic method for a share kept.

    InfoBatch skips what is not kept of its easy samples, at most nine tenths; IES has a threshold
    and no share.
    """

    def make(samples: int, epochs: int) -> Dynamic:
        if method == "random-dynamic":
            return RandomEveryEpoch(samples, keep=share, seed=seed)
        if method == "infobatch":
            return InfoBatch(
                samples, epochs=epochs, prune=min(round(1 - share, 12), 0.9), seed=seed
            )
        return IES(samples)

    return make


def _scaled(scores: Array) -> Array:
    """Scale to 0 to 1, as TDDS does before it weighs."""
    low, high = np.nanmin(scores), np.nanmax(scores)
    scaled: Array = np.nan_to_num((scores - low) / (high - low))
    return scaled


def _row(cell: Cell) -> dict[str, object]:
    return {
        "method": cell.method,
        "keep": cell.keep,
        "seed": cell.seed,
        "ids_sha256": digest(cell.ids),
        "recording_seconds": cell.recording,
        **asdict(cell.result),
    }
