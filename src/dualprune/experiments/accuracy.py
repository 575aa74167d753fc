"""accuracy: what a model reaches that is trained on what each row keeps, and what that costs."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from dualprune.experiments.grid import ANEW, SHORTER, WHOLE, Cell, Grid, Row
from dualprune.experiments.kind import Kind, Rows
from dualprune.experiments.removed import measure_damage
from dualprune.experiments.results import Line, by_share, seed_means, shares_of
from dualprune.experiments.table import Entry, Table, by_row, header
from dualprune.experiments.work import chosen, train_on, train_on_all
from dualprune.report.figures import (
    accuracy_by_images,
    accuracy_by_time,
    accuracy_curves,
    figure,
    gain_map,
    save,
    time_bars,
    use_curves,
)
from dualprune.signatures import Array
from dualprune.train import Watch

_COST = "images through the model"
_POINTS = 101  # to the percent


def _measure(cell: Cell, home: Path, watch: Watch) -> dict[str, Any]:
    if cell.row.is_whole:
        return train_on_all(cell, home, watch)
    if not cell.row.is_static:
        return train_on(cell, home, None, watch)
    coreset = chosen(cell, home)
    return measure_damage(cell, coreset) | train_on(cell, home, coreset, watch)


def _rows(grid: Grid, lines: Sequence[Line]) -> Rows:
    return by_row(grid, lines, _percent)


def _percent(line: Line) -> float:
    return 100 * float(line.values["accuracy"])


def whole_data(grid: Grid, lines: Sequence[Line]) -> str:
    """Say what training on all the data reaches: it belongs under no share."""
    reached = [_percent(line) for line in lines if line.row == WHOLE.name]
    printed, deviation = (n.get(WHOLE.name, nan) for n in (grid.printed, grid.deviations))
    entry = Entry(reached, printed, deviation)
    return f"; training on all the data reaches {entry}" if reached else ""


def cost_notes(grid: Grid, rows: Rows) -> tuple[str, ...]:
    """Say what the rows that cost the same are for, if they are there."""
    names = " and ".join(row.name for row in (SHORTER, ANEW) if row.name in rows)
    if not names:
        return ()
    changes, lengths = {name for row in grid.rows for name in row.train}, {"epochs", "iterations"}
    usual = " for the usual length" if changes & lengths else ""
    alike = "; learning rate and augmentation as on all the data" if changes - lengths else ""
    cost = f"as many samples, in as large batches, as training{usual} on what is kept at that share"
    return (f"{names}: {cost}, no recording{alike}",)


def auto_notes(lines: Sequence[Line]) -> Iterator[str]:
    """Say which methods were kept where candidates were tried, seed by seed."""
    for share in shares_of(lines):
        kept = [
            line.values["auto"]["kept"]
            for line in lines
            if line.pruned == share and "auto" in line.values
        ]
        if kept:
            yield f"auto kept at {100 * share:.3g}% pruned: {'; '.join(kept)}"


def cost_table(grid: Grid, lines: Sequence[Line]) -> Table:
    """Time of recording and training, as a share of the time of training on all the data."""
    full = _mean([line for line in lines if line.row == WHOLE.name], "training_seconds")

    def percent(line: Line) -> float:
        recording = line.values.get("recording_seconds", 0.0)
        return 100 * float((line.values["training_seconds"] + recording) / full)

    return Table(
        title="time of recording and training, in % of training on all the data",
        header=header(grid),
        rows=by_row(grid, lines, percent, digits=0),
    )


def _mean(lines: Sequence[Line], name: str) -> float:
    return float(np.mean([line.values[name] for line in lines]))


def _draw(grid: Grid, lines: Sequence[Line], folder: Path, home: Path) -> Iterator[Path]:  # noqa: ARG001
    whole = [line for line in lines if line.row == WHOLE.name]
    others = [line for line in lines if line.row != WHOLE.name]
    if not (whole and others):
        return  # nothing to compare yet
    yield from _draw_accuracy(whole, others, folder)
    yield from _draw_gains(grid.rows, others, folder)
    if any("uses" in line.values for line in others if line.row != ANEW.name):
        yield from _draw_dynamic(whole, others, folder)


def _draw_accuracy(whole: Sequence[Line], others: Sequence[Line], folder: Path) -> Iterator[Path]:
    """Draw accuracies, and their cost in images: seconds would tell how busy the machine was."""
    shares, full, images = shares_of(others), _mean(whole, "accuracy"), _mean(whole, "forward")
    accuracy, training, recording = (
        by_share(others, name) for name in ("accuracy", "forward", "recorded")
    )
    cost = {row: (training[row] + recording[row]) / images for row in training}
    curves, costly, bars = figure(7, 4.5), figure(7, 5.5), figure(7, 1 + 0.35 * len(training))
    accuracy_curves(curves.add_subplot(), shares, accuracy, full=full)
    yield save(curves, folder / "accuracy")[0]
    beat = [row.name for row in (SHORTER, ANEW) if row.name in accuracy]
    accuracy_by_time(
        costly.add_subplot(), shares, accuracy, cost, full=full, unit=_COST, to_beat=beat
    )
    yield save(costly, folder / "accuracy-by-cost")[0]
    means = [{row: seed_means(rows[row]) for row in rows} for rows in (recording, training)]
    time_bars(bars.add_subplot(), *means, full=images, unit=_COST)
    yield save(bars, folder / "cost")[0]


def _draw_gains(rows: Sequence[Row], lines: Sequence[Line], folder: Path) -> Iterator[Path]:
    gains, shares = _over_random(rows, by_share(lines, "accuracy")), shares_of(lines)
    if gains:
        fields = figure(3 + 1.1 * len(shares), 1.2 + 0.35 * len(gains))
        gain_map(fields.add_subplot(), shares, gains)
        yield save(fields, folder / "gain")[0]


def _over_random(rows: Sequence[Row], accuracy: Mapping[str, Array]) -> dict[str, Array]:
    """Compare each row with the random choice that is trained most alike."""
    known = [row for row in rows if row.name in accuracy]
    by_chance = [row for row in known if row.method == "random"]
    gains = {}
    for row in known:
        if by_chance and row not in by_chance:
            over = max(by_chance, key=partial(_alike, row))
            gains[row.name] = accuracy[row.name] - accuracy[over.name]
    return gains


def _alike(row: Row, other: Row) -> tuple[bool, int, bool]:
    """Say how much two trainings have in common, and prefer an `other` that is as usual."""
    shared = [name for name, value in row.train.items() if other.train.get(name) == value]
    return row.train == other.train, len(shared), not other.train


def _draw_dynamic(whole: Sequence[Line], others: Sequence[Line], folder: Path) -> Iterator[Path]:
    """Draw accuracy by the images trained on, and how evenly the most pruned use the samples."""
    full, images = _mean(whole, "accuracy"), _mean(whole, "backward")
    trained_on = {row: counts / images for row, counts in by_share(others, "backward").items()}
    by_images, evenly = figure(7, 4.5), figure(7, 4.5)
    accuracy = by_share(others, "accuracy")
    accuracy_by_images(by_images.add_subplot(), trained_on, accuracy, full=full)
    yield save(by_images, folder / "accuracy-by-images")[0]
    most = max(line.pruned for line in others)
    use_curves(evenly.add_subplot(), _uses([line for line in others if line.pruned == most]))
    yield save(evenly, folder / "uses")[0]


def _uses(lines: Sequence[Line]) -> dict[str, Array]:
    """Give quantiles of how often samples are used, over seeds; coresets are all used alike."""
    coreset = np.linspace(0, 1, _POINTS) >= lines[0].pruned
    dynamic = [line for line in lines if "uses" in line.values]
    uses = {
        row: np.mean([line.values["uses"] for line in dynamic if line.row == row], axis=0)
        for row in dict.fromkeys(line.row for line in dynamic)
    }
    return {"any coreset": coreset.astype(float), **uses}


ACCURACY = Kind(_draw, _measure, _rows, "accuracy in %", trains=True)
