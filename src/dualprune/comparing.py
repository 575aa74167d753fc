"""compare: methods x shares kept x seeds on one data set, each trained and judged."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import numpy as np

from dualprune.arrays import Array
from dualprune.choosing import choose, record_for
from dualprune.coreset import digest
from dualprune.files import write_json
from dualprune.select import budget
from dualprune.train import Result, Setup, Tell, Watch, seconds_recorded, silent, train

__all__ = ["FULL", "Cell", "compare"]

FULL = "everything"


@dataclass(frozen=True)
class Cell:
    """One training: on which ids, what it reached, and how many seconds choosing them took."""

    method: str
    keep: str
    seed: int
    ids: Array
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

    pruned = [1 - k / samples for k in budgets.values()]
    runs = record_for(
        setup, home, methods, pruned=pruned, epochs=recipe.record, seed=seed, watch=told
    )
    result = train(setup, home / FULL, seed=seed, tell=told(FULL))
    yield Cell(FULL, "1.0", seed, np.arange(samples), result, 0.0)
    for method, (keep, k) in product(methods, budgets.items()):
        coreset = choose(method, runs, k=k, seed=seed, c_d=recipe.c_d, epochs=recipe.record)
        tell = told(f"{method}, {keep} kept")
        result = train(setup, home / f"{method}-{keep}", ids=coreset.ids, seed=seed, tell=tell)
        used = [] if method == "random" else runs[: len(coreset.card["runs"])]
        cost = sum(seconds_recorded(run.path) for run in used)
        yield Cell(method, keep, seed, coreset.ids, result, cost)


def _row(cell: Cell) -> dict[str, object]:
    return {
        "method": cell.method,
        "keep": cell.keep,
        "seed": cell.seed,
        "ids_sha256": digest(cell.ids),
        "recording_seconds": cell.recording,
        **asdict(cell.result),
    }
