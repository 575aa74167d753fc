"""The figures of the paper's theory: two points, one linear model.

References
----------
Appendix D.2 of Cho et al., 2025. arXiv:2502.06905
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dualprune.experiments.grid import Grid
from dualprune.experiments.kind import Kind
from dualprune.experiments.results import Line
from dualprune.experiments.table import Entry, Table
from dualprune.experiments.theory.two_points import (
    POINTS,
    WINDOW,
    Moon,
    flips,
    learn,
    log_gamma_v,
    mean_points,
    moon_path,
)
from dualprune.report.figures.canvas import BLUE, GREY, ORANGE, figure, save, tidy
from dualprune.signatures import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BROWN, _RED = "#8c564b", "#d1495b"
_MOON_TIMES = (10, 100, 1_000, 30_000)


def weight_evolution(axes: "Axes", weights: Array, points: Array) -> "Axes":
    """Draw the way of the weights through the plane, and the directions of both points."""
    ends = np.abs(weights).max() * 1.05
    for point, color, name in zip(points, (_BROWN, ORANGE), ("$x_1$", "$x_2$"), strict=True):
        line = np.outer([0, ends / point.max()], point)
        axes.plot(*line.T, "--", color=color, label=f"direction of {name}")
    axes.plot(*weights.T, color=BLUE, label=f"$w_t$, t = 0 to {len(weights) - 1:,}")
    axes.set(xlabel="first weight", ylabel="second weight", xlim=(0, ends), ylim=(0, ends))
    axes.set_aspect("equal")
    axes.legend(frameon=False)
    tidy(axes)
    return axes


def gamma_v(axes: "Axes", log_gamma: Array) -> "Axes":
    """Draw gamma_V on a logarithmic axis; above the line both points have changed places."""
    axes.plot(np.exp(log_gamma), color=BLUE)
    axes.axhline(1, color=GREY, linewidth=1)
    axes.set(yscale="log", xlabel="updates", ylabel=r"$\gamma_V(t)$")
    tidy(axes)
    return axes


def delta_zeta(axes: "Axes", zeta: Array) -> "Axes":
    """Draw how far apart the points of the mean value theorem are."""
    axes.plot(zeta[:, 1] - zeta[:, 0], color=BLUE)
    axes.set(xlabel="updates", ylabel=r"$\Delta\zeta_t$")
    tidy(axes)
    return axes


def mean_point_distance(axes: "Axes", distance: Array, length: Array, name: str) -> "Axes":
    """Draw how far zeta is from the middle of its interval, beside the interval's length."""
    axes.plot(np.abs(distance), color=BLUE, label=rf"distance of $\zeta_t^{{({name})}}$")
    axes.plot(length, color=ORANGE, label="length of the interval")
    axes.set(yscale="log", xlabel="updates")
    axes.legend(frameon=False)
    tidy(axes)
    return axes


def synthetic_moon(axes: "Axes", moon: Moon, time: int) -> "Axes":
    """Draw the way of both points up to a time: the one with the higher DUAL score is red."""
    chosen = int(np.argmax(moon.dual[time]))
    for point, marker in enumerate("ox"):
        way = np.s_[: time + 1, point]
        axes.plot(moon.deviation[way], moon.mean[way], color=GREY, zorder=1)
        axes.scatter(
            moon.deviation[time, point],
            moon.mean[time, point],
            s=70,
            marker=marker,
            color=_RED if point == chosen else BLUE,
            label=f"$x_{point + 1}$, {'kept' if point == chosen else 'pruned'}",
        )
    axes.set(title=f"{time:,} updates", ylim=(0.48, 1.02), xlabel="deviation")
    axes.locator_params(axis="x", nbins=4)
    axes.legend(frameon=False, loc="lower right")
    tidy(axes)
    return axes


def _draw(grid: Grid, lines: Sequence[Line], folder: Path, home: Path) -> Iterator[Path]:  # noqa: ARG001
    """Write all of them in the paper's setting."""
    slow, fast = learn(POINTS, eta=0.0005, updates=10_000), learn(POINTS, 0.01, _MOON_TIMES[-1])
    (zeta, distance), moon = mean_points(slow), moon_path(fast)

    weights = figure(4.5, 4.5)
    weight_evolution(weights.subplots(), fast.weights[:10_001], POINTS)
    yield save(weights, folder / "weights")[0]

    increasing = figure(9, 3.5)
    left, right = increasing.subplots(1, 2)
    gamma_v(left, log_gamma_v(slow))
    delta_zeta(right, zeta)
    yield save(increasing, folder / "increasing")[0]

    middles = figure(9, 3.5)
    for point, axes in enumerate(middles.subplots(1, 2)):
        mean_point_distance(axes, distance[:, point], slow.moves[:, point], str(point + 1))
    yield save(middles, folder / "middles")[0]

    moons = figure(14, 3.5)
    panels = moons.subplots(1, len(_MOON_TIMES), sharex=True, sharey=True)
    for axes, time in zip(panels, _MOON_TIMES, strict=True):
        synthetic_moon(axes, moon, time)
    panels[0].set_ylabel("mean")
    yield save(moons, folder / "moons")[0]


def _table(grid: Grid) -> Table:
    """Give when the scores turn, in the paper's setting and with a longer window."""
    rows = {}
    for eta, path in ((0.01, learn(POINTS, 0.01, 500)), (0.0005, learn(POINTS, 0.0005, 5_000))):
        for window in (WINDOW, 10 * WINDOW):
            times = flips(path, window)
            rows[f"learning rate {eta:g}, J = {window}"] = [
                Entry([] if time is None else [float(time)], digits=0) for time in times
            ]
    return Table(
        title=f"{grid.title}; updates until the score of the point to keep is the higher one",
        header=["", "T_v (Dyn-Unc)", "T_vm (DUAL)", "T_vm with the variance"],
        rows=rows,
        notes=(
            "the theorem is T_vm < T_v; the paper prints no times",
            "with J = 100 and a learning rate near the limit of the proof both times may be 0",
        ),
    )


THEORY = Kind(_draw, table=_table)
