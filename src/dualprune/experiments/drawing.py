"""The figures of an experiment, from its lines or from what was recorded."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dualprune.data import CORRUPTIONS
from dualprune.experiments.cells import cells
from dualprune.experiments.experiment import WHOLE, Experiment, Row
from dualprune.experiments.pictures import PICTURES
from dualprune.experiments.results import Line
from dualprune.experiments.theory_figures import draw_theory
from dualprune.report.figures import (
    accuracy_by_images,
    accuracy_by_time,
    accuracy_curves,
    figure,
    gain_map,
    rank_correlation_bars,
    removed_curves,
    save,
    time_bars,
    use_curves,
)
from dualprune.signatures import Array

__all__ = ["draw"]

_COST = "images through the model"
_KINDS_OF = "DUAL"
_POINTS = 101  # to the percent


def draw(
    experiment: Experiment, scale: str, lines: Sequence[Line], folder: Path, home: Path
) -> list[Path]:
    """Draw whatever belongs to this kind of experiment; gives the PNG files."""
    if experiment.kind == "theory":
        return [path for path in draw_theory(folder) if path.suffix == ".png"]
    if experiment.kind == "picture":
        todo = list(cells(experiment, scale))
        return PICTURES[str(experiment.draw)](todo, folder, home)
    if experiment.kind == "removed":
        return _removed(experiment, lines, folder)
    if experiment.kind == "agreement":
        return _agreement(lines, folder)
    whole = [line.values for line in lines if line.row == WHOLE.name]
    others = [line for line in lines if line.row != WHOLE.name]
    if not (whole and others):
        return []  # nothing to compare yet
    drawn = _accuracy(whole, others, folder) + _gain(experiment.rows_at(scale), others, folder)
    is_dynamic = any("uses" in line.values for line in others)
    return drawn + _dynamic(whole, others, folder) if is_dynamic else drawn


def _accuracy(whole: Sequence[dict[str, Any]], others: Sequence[Line], folder: Path) -> list[Path]:
    """Draw accuracies, and their cost in images: seconds would tell how busy the machine was."""
    shares = np.array(sorted({line.pruned for line in others}))
    full, images = (
        float(np.mean([values[name] for values in whole])) for name in ("accuracy", "forward")
    )
    accuracy, training, recording = (
        _by_row(others, lambda line, name=name: float(line.values[name]))  # type: ignore[misc]
        for name in ("accuracy", "forward", "recorded")
    )
    cost = {row: (training[row] + recording[row]) / images for row in training}
    curves, costly, bars = figure(7, 4.5), figure(7, 5.5), figure(7, 1 + 0.35 * len(training))
    accuracy_curves(curves.add_subplot(), shares, accuracy, full=full)
    accuracy_by_time(costly.add_subplot(), shares, accuracy, cost, full=full, unit=_COST)
    flat = [{row: _mean(each[row]) for row in each} for each in (recording, training)]
    time_bars(bars.add_subplot(), *flat, full=images, unit=_COST)
    drawn = {"accuracy": curves, "accuracy-by-cost": costly, "cost": bars}
    return [save(each, folder / name)[0] for name, each in drawn.items()]


def _gain(rows: Sequence[Row], lines: Sequence[Line], folder: Path) -> list[Path]:
    gains = _over_random(rows, _by_row(lines, lambda line: float(line.values["accuracy"])))
    if not gains:
        return []
    shares = np.array(sorted({line.pruned for line in lines}))
    drawn = figure(3 + 1.1 * len(shares), 1.2 + 0.35 * len(gains))
    gain_map(drawn.add_subplot(), shares, gains)
    return [save(drawn, folder / "gain")[0]]


def _over_random(rows: Sequence[Row], accuracy: Mapping[str, Array]) -> dict[str, Array]:
    """Compare each row with the random choice that is trained most alike."""
    known = [row for row in rows if row.name in accuracy]
    by_chance = [row for row in known if row.method == "random"]
    by_chance.sort(key=lambda row: bool(row.train))  # as usual before any other way
    gains = {}
    for row in known if by_chance else []:
        if row not in by_chance:
            over = max(by_chance, key=partial(_alike, row))
            gains[row.name] = accuracy[row.name] - accuracy[over.name]
    return gains


def _alike(row: Row, other: Row) -> tuple[bool, int]:
    """Say how much the trainings of two rows have in common."""
    shared = [name for name, value in row.train.items() if other.train.get(name) == value]
    return row.train == other.train, len(shared)


def _dynamic(whole: Sequence[dict[str, Any]], others: Sequence[Line], folder: Path) -> list[Path]:
    """Draw accuracy by the images trained on, and how evenly the most pruned use the samples."""
    full, images = (
        float(np.mean([values[name] for values in whole])) for name in ("accuracy", "backward")
    )
    accuracy = _by_row(others, lambda line: float(line.values["accuracy"]))
    trained_on = _by_row(others, lambda line: float(line.values["backward"]) / images)
    by_images, evenly = figure(7, 4.5), figure(7, 4.5)
    accuracy_by_images(by_images.add_subplot(), trained_on, accuracy, full=full)
    most = max(line.pruned for line in others)
    use_curves(evenly.add_subplot(), _uses([line for line in others if line.pruned == most]))
    drawn = {"accuracy-by-images": by_images, "uses": evenly}
    return [save(each, folder / name)[0] for name, each in drawn.items()]


def _uses(lines: Sequence[Line]) -> dict[str, Array]:
    """Give quantiles of how often samples are used, over seeds; coresets are all used alike."""
    coreset = np.linspace(0, 1, _POINTS) >= lines[0].pruned
    dynamic = [line for line in lines if "uses" in line.values]
    uses = {
        row: np.mean([line.values["uses"] for line in dynamic if line.row == row], axis=0)
        for row in dict.fromkeys(line.row for line in dynamic)
    }
    return {"any coreset": coreset.astype(float), **uses}


def _mean(values: Array) -> Array:
    """Give the mean over shares of each seed that has them all, or NaN where none has."""
    whole = values[:, ~np.isnan(values).any(axis=0)]
    return np.asarray(whole.mean(axis=0)) if whole.size else np.full(1, np.nan)


def _removed(experiment: Experiment, lines: Sequence[Line], folder: Path) -> list[Path]:
    """Draw how many damaged samples each row prunes, and how many of each kind DUAL does."""
    ((damage, share),) = experiment.shift.items()
    what = {"labels": "wrong labels", "images": "corrupted images"}[damage]

    def save_curves(name: str, lines: Sequence[Line], removed: dict[str, Array]) -> Path:
        shares, curves = np.array(sorted({line.pruned for line in lines})), figure(7, 4.5)
        removed_curves(curves.add_subplot(), shares, removed, wrong=share, what=what)
        return save(curves, folder / name)[0]

    removed = _by_row(lines, lambda line: line.values["removed"][damage])
    drawn = [save_curves("removed", lines, removed)]
    if damage == "images" and _KINDS_OF in removed:
        same = [line for line in lines if line.row == _KINDS_OF]
        drawn.append(save_curves("removed-kinds", same, _removed_kinds(same)))
    return drawn


def _removed_kinds(lines: Sequence[Line]) -> dict[str, Array]:
    """Give what one row prunes of each kind of corruption, of shape (shares, seeds)."""
    (row,) = {line.row for line in lines}
    return {
        kind: _by_row(lines, lambda line, kind=kind: line.values["removed"][kind])[row]  # type: ignore[misc]
        for kind in CORRUPTIONS
    }


def _agreement(lines: Sequence[Line], folder: Path) -> list[Path]:
    """Draw how alike the scores of each seed rank as their mean over seeds does."""
    ranked = [line for line in lines if "rank_correlation" in line.values]
    if not ranked:
        return []
    found = _by_row(ranked, lambda line: line.values["rank_correlation"])
    bars = figure(7, 1 + 0.35 * len(found))
    rank_correlation_bars(bars.add_subplot(), {row: each[0] for row, each in found.items()})
    return [save(bars, folder / "rank-correlation")[0]]


def _by_row(lines: Sequence[Line], value: Callable[[Line], float]) -> dict[str, Array]:
    """Give arrays of shape (shares, seeds), NaN where there is no line yet."""
    shares = sorted({line.pruned for line in lines})
    seeds = sorted({line.seed for line in lines})
    rows = {line.row: np.full((len(shares), len(seeds)), np.nan) for line in lines}
    for line in lines:
        rows[line.row][shares.index(line.pruned), seeds.index(line.seed)] = value(line)
    return rows
