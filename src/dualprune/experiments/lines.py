"""Lines as arrays of shape (shares, seeds)."""

from collections.abc import Callable, Sequence

import numpy as np

from dualprune.experiments.results import Line
from dualprune.signatures import Array


def shares_of(lines: Sequence[Line]) -> Array:
    """Give the shares pruned, as `by_share` orders them."""
    return np.unique([line.pruned for line in lines])


def by_share(lines: Sequence[Line], value: str | Callable[[Line], float]) -> dict[str, Array]:
    """Give a value of every row, by share and seed; NaN where there is no line yet."""
    shares = list(shares_of(lines))
    seeds = sorted({line.seed for line in lines})
    rows = {line.row: np.full((len(shares), len(seeds)), np.nan) for line in lines}
    for line in lines:
        number = line.values[value] if isinstance(value, str) else value(line)
        rows[line.row][shares.index(line.pruned), seeds.index(line.seed)] = number
    return rows


def seed_means(values: Array) -> Array:
    """Give the mean over shares of each seed that has them all, or NaN where none has."""
    whole = values[:, ~np.isnan(values).any(axis=0)]
    return np.asarray(whole.mean(axis=0)) if whole.size else np.full(1, np.nan)
