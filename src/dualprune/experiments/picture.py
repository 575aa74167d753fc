"""picture: figures of the paper that show what was recorded and chosen, without training on it."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dualprune.data import CORRUPTIONS
from dualprune.experiments.grid import Cell, Grid
from dualprune.experiments.kind import Kind
from dualprune.experiments.results import Line
from dualprune.experiments.setting import pixels_of
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
from dualprune.score import SCORES
from dualprune.select.beta import log_weights, parameters
from dualprune.signatures import Array

_COLUMNS = 10
_MU = 0.25  # appendix C says so
Draw = Callable[[Sequence[Cell], Path, Path], Iterator[Path]]


def _moon_evolution(cells: Sequence[Cell], folder: Path, home: Path) -> Iterator[Path]:
    """Draw where samples lie early and at the end, coloured by each row's score of either."""
    early, late = (cells[0].setting.epochs[name] for name in ("early", "all"))
    for cell in {cell.row.name: cell for cell in cells}.values():
        run, method = run_of(cell.recordings[0], home), cell.method
        both = [Arrays([run], epochs=epochs) for epochs in (early, late)]
        places = [(arrays["variability"], arrays["confidence"]) for arrays in both]
        scores = [arrays.score(SCORES[str(method.score)], method.score_knobs) for arrays in both]
        panels = figure(16, 4)
        moon_evolution(panels.subplots(1, 4), places, scores, (early, late))
        yield save(panels, folder / f"moon-{_file(cell.row.name)}")[0]


def _coresets(cells: Sequence[Cell], folder: Path, home: Path) -> Iterator[Path]:
    """Draw what each row keeps, one figure per share pruned."""
    for pruned in dict.fromkeys(cell.pruned for cell in cells):
        same = [cell for cell in cells if cell.pruned == pruned]
        kept = {cell.row.name: chosen(cell, home).ids for cell in same}
        variability, confidence = _place(same, home)
        panels = figure(4 * len(kept) + 1, 4)
        axes = panels.subplots(1, len(kept), squeeze=False)[0]
        coresets(axes, variability, confidence, kept)
        yield save(panels, folder / f"coresets-{100 * pruned:.0f}")[0]
        yield from _selections(same, folder, home)


def _selections(cells: Sequence[Cell], folder: Path, home: Path) -> Iterator[Path]:
    """Draw the chances of the first draw, kept and pruned, of rows that sample by a density."""
    for cell in cells:
        if cell.method.selector != "beta":
            continue
        coreset = chosen(cell, home)
        card, confidence = coreset.card, coreset.columns["confidence"]
        variability, _ = _place(cells, home, card.epochs)
        c_d = card.values.get("c_d", card.select_knobs["c_d"])
        concentration = card.select_knobs["concentration"]
        a, b = parameters(card.values["mu"], cell.pruned, c_d=c_d, concentration=concentration)
        log_weight = log_weights(coreset.columns["score"], confidence, a, b)
        weight = np.exp(log_weight - log_weight.max())
        panels = figure(13, 4)
        axes = panels.subplots(1, 3)
        selection(axes, variability, confidence, weight / weight.sum(), coreset.ids)
        yield save(panels, folder / f"selection-{100 * cell.pruned:.0f}")[0]


def _densities(cells: Sequence[Cell], folder: Path, home: Path) -> Iterator[Path]:  # noqa: ARG001
    """Draw Beta densities for several shares pruned at the published c_D, and for several C."""
    shares, concentrations = [0.3, 0.5, 0.7, 0.8, 0.9], [5.0, 10.0, 15.0, 30.0]
    densities: dict[str, dict[str, Any]] = {
        "cifar10": {"pruned": shares, "c_d": 5.5},
        "cifar100": {"pruned": shares, "c_d": 4.0},
        "C": {"pruned": 0.7, "c_d": 4.0, "concentration": concentrations},
    }
    for name, knobs in densities.items():
        curves = figure(6, 4)
        beta_densities(curves.add_subplot(), _MU, **knobs)
        yield save(curves, folder / f"densities-{name}")[0]


def _wrong_labels(cells: Sequence[Cell], folder: Path, home: Path) -> Iterator[Path]:
    """Draw where wrong labels lie, and how many of them the first row keeps."""
    cell = cells[0]
    variability, confidence = _place(cells, home)
    wrong = images_of(cell).wrong["labels"]
    panel = figure(7, 4.5)
    axes = wrong_labels(panel.add_subplot(), variability, confidence, wrong)
    kept = len(np.intersect1d(wrong, chosen(cell, home).ids))
    axes.set_title(f"{kept:,} of {len(wrong):,} wrong labels kept, {cell.pruned:.0%} pruned")
    yield save(panel, folder / "wrong-labels")[0]


def _kept_and_pruned(cells: Sequence[Cell], folder: Path, home: Path) -> Iterator[Path]:
    """Show some images that are kept, and some that are pruned."""
    cell = cells[0]
    images, kept = images_of(cell).images, chosen(cell, home).ids
    pruned = np.setdiff1d(np.arange(len(images)), kept)
    rng = np.random.default_rng(0)
    for name, ids in (("kept", kept), ("pruned", pruned)):
        shown = rng.permutation(ids)[: 4 * _COLUMNS]
        yield _sheet(folder / name, pixels_of(images, shown, cell.setting.trained.size))


def _corruptions(cells: Sequence[Cell], folder: Path, home: Path) -> Iterator[Path]:  # noqa: ARG001
    """Show some images of each kind of corruption, a row each."""
    shifted, size = images_of(cells[0]), cells[0].setting.trained.size
    ids = np.concatenate([shifted.wrong[name][:_COLUMNS] for name in CORRUPTIONS])
    yield _sheet(folder / "corruptions", pixels_of(shifted.images, ids, size))


def _sheet(path: Path, pixels: Array) -> Path:
    rows = -(-len(pixels) // _COLUMNS)
    sheet = figure(_COLUMNS, rows)
    for number, image in enumerate(pixels, 1):
        axes = sheet.add_subplot(rows, _COLUMNS, number)
        axes.imshow(image.squeeze(), cmap="gray")
        axes.set_axis_off()
    return save(sheet, path)[0]


def _place(cells: Sequence[Cell], home: Path, epochs: int | None = None) -> tuple[Array, Array]:
    """Give variability and confidence in the recording of the first row that has one."""
    wanted = next(cell.recordings[0] for cell in cells if cell.recordings)
    arrays = Arrays([run_of(wanted, home)], epochs=epochs or wanted.setting.epochs["early"])
    return arrays["variability"], arrays["confidence"]


def _file(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower())


def _draw(grid: Grid, lines: Sequence[Line], folder: Path, home: Path) -> Iterator[Path]:  # noqa: ARG001
    return DRAWINGS[str(grid.draw)](list(grid.cells()), folder, home)


DRAWINGS: dict[str, Draw] = {
    "moon-evolution": _moon_evolution,
    "coresets": _coresets,
    "densities": _densities,
    "wrong-labels": _wrong_labels,
    "kept-and-pruned": _kept_and_pruned,
    "corruptions": _corruptions,
}

PICTURE = Kind(_draw, one_seed=True, looks_back=True)
