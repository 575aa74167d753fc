"""agreement: how much rows and seeds agree, on what they keep and on how they rank."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from dualprune.experiments.grid import Cell, Grid
from dualprune.experiments.kind import Kind, Rows
from dualprune.experiments.results import Line, by_share
from dualprune.experiments.table import by_row
from dualprune.experiments.work import chosen, identity
from dualprune.report.figures import figure, rank_correlation_bars, save
from dualprune.signatures import Array
from dualprune.train import Watch


def overlap(one: Array, other: Array) -> float:
    """Share of the smaller coreset that the other one keeps, too.

    >>> overlap(np.array([0, 1, 2, 3]), np.array([2, 3, 4, 5]))
    0.5
    """
    return len(np.intersect1d(one, other)) / min(len(one), len(other))


def mean_overlap(coresets: list[Array]) -> float:
    """Mean over all pairs, such as the coresets of several seeds."""
    return float(np.mean([overlap(one, other) for one, other in combinations(coresets, 2)]))


def rank_correlation(scores: list[Array]) -> float:
    """Spearman's correlation, mean over all pairs; samples that one of them did not score are out.

    >>> rank_correlation([np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 25.0])])
    1.0
    """
    from scipy.stats import rankdata  # noqa: PLC0415 - slow to load

    everywhere = ~np.isnan(scores).any(axis=0)
    ranks = [rankdata(values[everywhere]) for values in scores]
    return float(np.mean(np.corrcoef(ranks)[np.triu_indices(len(scores), 1)]))


def _measure(cell: Cell, home: Path, watch: Watch) -> dict[str, Any]:  # noqa: ARG001
    """Compare with the other rows of the same seed, with other seeds, and with their mean score."""
    coreset, grid = chosen(cell, home), cell.grid
    others = {row.name: chosen(replace(cell, row=row), home) for row in grid.rows}
    again = [chosen(replace(cell, seed=seed), home) for seed in range(grid.seeds)]
    overlaps = {name: overlap(coreset.ids, other.ids) for name, other in others.items()}
    values = identity(coreset) | {"overlap": overlaps}
    if grid.seeds > 1:
        values["overlap_of_seeds"] = mean_overlap([other.ids for other in again])
    if grid.seeds > 1 and "score" in coreset.columns:
        scores = np.stack([other.columns["score"] for other in again])
        own = coreset.columns["score"]
        values["rank_correlation"] = rank_correlation([own, scores.mean(axis=0)])
    return values


def _rows(grid: Grid, lines: Sequence[Line]) -> Rows:
    """Give what two rows keep in common; what two seeds do; how they rank."""
    rows: Rows = {}
    for one, other in grid.pairs:
        same = [replace(line, row=f"{one} & {other}") for line in lines if line.row == one]
        entries = by_row(grid, same, partial(_overlap, other), digits=2)
        rows |= {f"in common: {row}": values for row, values in entries.items()}
    once = {(line.row, line.pruned): line for line in lines}.values()  # seeds say the same of all
    for what, name, some in (
        ("in common, two seeds", "overlap_of_seeds", once),
        ("rank correlation", "rank_correlation", lines),
    ):
        known = [line for line in some if name in line.values]
        entries = by_row(grid, known, name, digits=2)
        rows |= {f"{what}: {row}": values for row, values in entries.items()}
    return rows


def _overlap(other: str, line: Line) -> float:
    return float(line.values["overlap"][other])


def _draw(grid: Grid, lines: Sequence[Line], folder: Path, home: Path) -> Iterator[Path]:  # noqa: ARG001
    """Draw how alike the scores of each seed rank as their mean over seeds does."""
    ranked = [line for line in lines if "rank_correlation" in line.values]
    correlations = {row: by[0] for row, by in by_share(ranked, "rank_correlation").items()}
    if correlations:
        bars = figure(7, 1 + 0.35 * len(correlations))
        rank_correlation_bars(bars.add_subplot(), correlations)
        yield save(bars, folder / "rank-correlation")[0]


AGREEMENT = Kind(
    _draw,
    _measure,
    _rows,
    "share of what is kept that is in common, and rank correlation of a seed's scores with their "
    "mean over seeds",
    looks_back=True,
)
