"""picture: figures of the paper that show what was recorded and chosen, without training on it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dualprune.data import CORRUPTIONS
from dualprune.experiments.grid import Cell, Grid
from dualprune.experiments.kind import Kind
from dualprune.experiments.results import Line
from dualprune.experiments.work import chosen, images_of, run_of
from dualprune.method import Arrays
from dualprune.report.figures import (
    beta_densities,
    coresets,
    figure,
    moon_evolution,
    save,
    selection,
    wrong_labels,
)
from dualprune.run import Run
from dualprune.score import SCORES
from dualprune.select.beta import log_weights, parameters
from dualprune.signatures import Array
from dualprune.train import Watch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 10
Draw = Callable[[Sequence[Cell], Path, Path], list[Path]]


def _moon_evolution(cells: Sequence[Cell], folder: Path, home: Path) -> list[Path]:
    """Draw where samples lie early and at the end, coloured by each row's score of either."""
    drawn = []
    early, late = (cells[0].setting.epochs[name] for name in ("early", "all"))
    for cell in {cell.row.name: cell for cell in cells}.values():
        run, method = run_of(cell.recordings[0], home), cell.method
        arrays = [Arrays([run], epochs=epochs) for epochs in (early, late)]
        places = [(each["variability"], each["confidence"]) for each in arrays]
        scores = [each.score(SCORES[str(method.score)], method.score_knobs) for each in arrays]
        panels = figure(16, 4)
        moon_evolution(_side_by_side(panels, 4), places, scores, (early, late))
        drawn.append(save(panels, folder / f"moon-{_file(cell.row.name)}")[0])
    return drawn


def _coresets(cells: Sequence[Cell], folder: Path, home: Path) -> list[Path]:
    """Draw what each row keeps, one figure per share pruned."""
    drawn = []
    for pruned in dict.fromkeys(cell.pruned for cell in cells):
        same = [cell for cell in cells if cell.pruned == pruned]
        kept = {cell.row.name: chosen(cell, home).ids for cell in same}
        variability, confidence = _place(_run(same, home), same[0].setting.epochs["early"])
        panels = figure(4 * len(kept) + 1, 4)
        coresets(_side_by_side(panels, len(kept)), variability, confidence, kept)
        drawn.append(save(panels, folder / f"coresets-{100 * pruned:.0f}")[0])
        drawn += _selections(same, folder, home)
    return drawn


def _selections(cells: Sequence[Cell], folder: Path, home: Path) -> list[Path]:
    """Draw selection weights, kept and pruned for each row that samples by a Beta density."""
    drawn = []
    for cell in cells:
        if cell.method.selector != "beta":
            continue
        coreset = chosen(cell, home)
        card, confidence = coreset.card, coreset.columns["confidence"]
        variability, _ = _place(_run(cells, home), card.epochs)
        knobs = {name: card.select_knobs[name] for name in ("c_d", "concentration")}
        a, b = parameters(card.values["mu"], cell.pruned, **knobs)
        log_weight = log_weights(coreset.columns["score"], confidence, a, b)
        weight = np.exp(log_weight - log_weight.max())
        panels = figure(13, 4)
        axes = _side_by_side(panels, 3)
        selection(axes, variability, confidence, weight / weight.sum(), coreset.ids)
        drawn.append(save(panels, folder / f"selection-{100 * cell.pruned:.0f}")[0])
    return drawn


def _densities(cells: Sequence[Cell], folder: Path, home: Path) -> list[Path]:  # noqa: ARG001
    """Draw Beta densities for several shares pruned at the published c_D, and for several C."""
    drawn, shares = [], [0.3, 0.5, 0.7, 0.8, 0.9]
    for name, c_d in (("cifar10", 5.5), ("cifar100", 4.0)):
        curves = figure(6, 4)
        beta_densities(curves.add_subplot(), 0.3, pruned=shares, c_d=c_d)
        drawn.append(save(curves, folder / f"densities-{name}")[0])
    curves = figure(6, 4)
    beta_densities(
        curves.add_subplot(), 0.3, pruned=0.7, c_d=4.0, concentration=[5.0, 10.0, 15.0, 30.0]
    )
    drawn.append(save(curves, folder / "densities-C")[0])
    return drawn


def _wrong_labels(cells: Sequence[Cell], folder: Path, home: Path) -> list[Path]:
    """Draw where wrong labels lie, and how many of them the first row keeps."""
    cell = cells[0]
    variability, confidence = _place(_run(cells, home), cell.setting.epochs["early"])
    wrong = images_of(cell).wrong["labels"]
    panel = figure(7, 4.5)
    axes = wrong_labels(panel.add_subplot(), variability, confidence, wrong)
    kept = len(np.intersect1d(wrong, chosen(cell, home).ids))
    axes.set_title(f"{kept:,} of {len(wrong):,} wrong labels kept, {cell.pruned:.0%} pruned")
    return [save(panel, folder / "wrong-labels")[0]]


def _kept_and_pruned(cells: Sequence[Cell], folder: Path, home: Path) -> list[Path]:
    """Show some images that are kept, and some that are pruned."""
    cell = cells[0]
    pixels, kept = images_of(cell).images.pixels, chosen(cell, home).ids
    if pixels is None:
        return []
    pruned = np.setdiff1d(np.arange(len(pixels)), kept)
    rng = np.random.default_rng(0)
    rows = {"kept": rng.permutation(kept), "pruned": rng.permutation(pruned)}
    return [_sheet(folder / name, pixels[ids[: 4 * _COLUMNS]]) for name, ids in rows.items()]


def _corruptions(cells: Sequence[Cell], folder: Path, home: Path) -> list[Path]:  # noqa: ARG001
    """Show some images of each kind of corruption, a row each."""
    shifted = images_of(cells[0])
    if shifted.images.pixels is None:
        return []
    ids = np.concatenate([shifted.wrong[name][:_COLUMNS] for name in CORRUPTIONS])
    return [_sheet(folder / "corruptions", shifted.images.pixels[ids])]


def _sheet(path: Path, pixels: Array) -> Path:
    rows = -(-len(pixels) // _COLUMNS)
    sheet = figure(_COLUMNS, rows)
    for number, image in enumerate(pixels, 1):
        axes = sheet.add_subplot(rows, _COLUMNS, number)
        axes.imshow(image.squeeze(), cmap="gray")
        axes.set_axis_off()
    return save(sheet, path)[0]


def _run(cells: Sequence[Cell], home: Path) -> Run:
    """Open the recording of the first row that has one."""
    return run_of(next(cell.recordings[0] for cell in cells if cell.recordings), home)


def _place(run: Run, epochs: int) -> tuple[Array, Array]:
    arrays = Arrays([run], epochs=epochs)
    return arrays["variability"], arrays["confidence"]


def _side_by_side(panels: "Figure", count: int) -> "list[Axes]":
    return [panels.add_subplot(1, count, number) for number in range(1, count + 1)]


def _file(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower())


def _measure(cell: Cell, home: Path, watch: Watch) -> dict[str, Any]:  # noqa: ARG001
    coreset = chosen(cell, home)
    return {"kept": len(coreset), "ids_sha256": coreset.card.ids_sha256}


def _draw(grid: Grid, lines: Sequence[Line], folder: Path, home: Path) -> list[Path]:  # noqa: ARG001
    return DRAWINGS[str(grid.draw)](list(grid.cells()), folder, home)


DRAWINGS: dict[str, Draw] = {
    "moon-evolution": _moon_evolution,
    "coresets": _coresets,
    "densities": _densities,
    "wrong-labels": _wrong_labels,
    "kept-and-pruned": _kept_and_pruned,
    "corruptions": _corruptions,
}

PICTURE = Kind("", _measure, lambda grid, lines: {}, _draw, one_seed=True, looks_back=True)  # noqa: ARG005
