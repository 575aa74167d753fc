"""compare: methods x shares kept x seeds on one data set, each trained and judged."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import numpy as np

from dualprune.coreset import Coreset, digest
from dualprune.dynamic import DYNAMIC
from dualprune.files import write_json
from dualprune.method.named import find_method
from dualprune.run import Run
from dualprune.select import budget
from dualprune.signatures import Array
from dualprune.train import Result, Setup, Tell, Watch, seconds_recorded, silent, train
from dualprune.workflows.recording import choose, choose_anew, record_for

__all__ = ["Cell", "compare"]

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

    @property
    def whole(self) -> bool:
        """Whether this is the training on everything that others are compared with."""
        return self.method == FULL


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
        folder, tell = home / f"{method}-{keep}", told(f"{method}, {keep} kept")
        if method in DYNAMIC:
            share = k / samples
            chooser = choose_anew(method, keep=share, seed=seed, given=_knobs(method, share))
            result = train(setup, folder, seed=seed, dynamic=chooser, tell=tell)
            yield Cell(method, keep, seed, np.arange(samples), None, result, 0.0)
        else:
            coreset = choose(method, runs, k=k, seed=seed, c_d=recipe.c_d, epochs=recipe.record)
            scores, weights = coreset.columns.get("score"), _weights(method, coreset)
            result = train(setup, folder, ids=coreset.ids, seed=seed, weights=weights, tell=tell)
            cost = _seconds(method, runs[: len(coreset.card["runs"])])
            yield Cell(method, keep, seed, coreset.ids, scores, result, cost)


def _seconds(method: str, runs: list[Run]) -> float:
    """Time of the recordings that a method was chosen from."""
    return 0.0 if method == "random" else sum(seconds_recorded(run.path) for run in runs)


def _weights(name: str, coreset: Coreset) -> Array | None:
    """Give the scores scaled to 0 to 1 if the method weighs by them, as TDDS does."""
    if not find_method(name, 1 - len(coreset) / coreset.card["samples"]).weighted:
        return None
    scores = coreset.columns["score"]
    low, high = np.nanmin(scores), np.nanmax(scores)
    scaled: Array = np.nan_to_num((scores - low) / (high - low))
    return scaled


def _knobs(method: str, share: float) -> dict[str, float]:
    """InfoBatch skips of its easy samples what is not kept, up to nine tenths; IES cannot."""
    return {"prune": min(round(1 - share, 12), 0.9)} if method == "infobatch" else {}


def _row(cell: Cell) -> dict[str, object]:
    return {
        "method": cell.method,
        "keep": cell.keep,
        "seed": cell.seed,
        "ids_sha256": digest(cell.ids),
        "recording_seconds": cell.recording,
        "whole": cell.whole,
        **asdict(cell.result),
    }
