"""Figures: each draws what it was given, all of it, with names as they are, into two files."""

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import mean, stdev
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.cbook import is_math_text
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgba
from matplotlib.text import Text
from PIL import Image
from scipy.stats import beta as beta_distribution

from dualprune.errors import InputError, MissingError
from dualprune.experiments.results import Line, by_share, seed_means
from dualprune.report import figures
from dualprune.report.figures.canvas import BLUE, GREY, ORANGE, REFERENCE, plain, ramp
from dualprune.report.figures.seeds import mean_and_deviation
from dualprune.select.beta import parameters

NAMES = (r"$\frac{$", "<script>a--b</script>", "_x", "dual+beta")  # the first is no valid formula
SHARES = np.array([0.9, 0.3, 0.7])


@dataclass
class Given:
    """Numbers to draw: of samples, and of methods with several seeds."""

    variability: Any
    confidence: Any
    score: Any
    kept: Any
    grid: dict  # (shares, seeds)
    seeds: dict  # (seeds,)


def numbers(samples=60, seeds=3):
    draw = np.random.default_rng(0)
    return Given(
        variability=draw.random(samples) / 2,
        confidence=draw.random(samples),
        score=draw.random(samples),
        kept=np.sort(draw.permutation(samples)[: samples // 3]),
        grid={name: draw.random((len(SHARES), seeds)) for name in NAMES},
        seeds={name: draw.random(seeds) for name in NAMES},
    )


@dataclass
class Figure:
    """How to draw it, and what should be there: points, lines and bars of each panel."""

    draw: Callable[[Any, Given], Any]
    panels: int = 1
    points: tuple[tuple[int, ...], ...] = ((),)
    lines: int = 0
    bars: int = 0
    names: tuple[str, ...] = ()


def place(given):
    return given.variability, given.confidence


FIGURES = {
    "moon": Figure(
        lambda axes, g: figures.moon(axes, *place(g), g.score, NAMES[0]),
        points=((60,),),
        names=NAMES[:1],
    ),
    "moon of yes or no": Figure(
        lambda axes, g: figures.moon(axes, *place(g), g.score > 2, NAMES[0]),
        points=((60, 0),),
        names=NAMES[:1],
    ),
    "moon_evolution": Figure(
        lambda axes, g: figures.moon_evolution(axes, [place(g)] * 2, [g.score] * 2, [5, 30]),
        panels=4,
        points=((60,),) * 4,
    ),
    "coresets": Figure(
        lambda axes, g: figures.coresets(axes, *place(g), dict.fromkeys(NAMES, g.kept)),
        panels=4,
        points=((40, 20),) * 4,
        names=NAMES,
    ),
    "selection": Figure(
        lambda axes, g: figures.selection(axes, *place(g), g.score, g.kept),
        panels=3,
        points=((60,), (40, 20), (20, 40)),
    ),
    "wrong_labels": Figure(
        lambda axes, g: figures.wrong_labels(axes, *place(g), g.kept), points=((40, 20),)
    ),
    "beta_densities": Figure(
        lambda axes, _: figures.beta_densities(axes, 0.3, pruned=[0, 0.3, 0.9], c_d=4), lines=4
    ),
    "accuracy_curves": Figure(
        lambda axes, g: figures.accuracy_curves(axes, SHARES, g.grid, full=0.9),
        lines=5,
        names=NAMES,
    ),
    "accuracy_by_time": Figure(
        lambda axes, g: figures.accuracy_by_time(axes, SHARES, g.grid, g.grid, full=0.9),
        lines=5,
        names=NAMES,
    ),
    "accuracy_by_images": Figure(
        lambda axes, g: figures.accuracy_by_images(axes, g.grid, g.grid, full=0.9),
        lines=5,
        names=NAMES,
    ),
    "use_curves": Figure(lambda axes, g: figures.use_curves(axes, g.seeds), lines=4, names=NAMES),
    "removed_curves": Figure(
        lambda axes, g: figures.removed_curves(axes, SHARES, g.grid, wrong=0.2),
        lines=6,
        names=NAMES,
    ),
    "time_bars": Figure(
        lambda axes, g: figures.time_bars(axes, g.seeds, g.seeds, full=0.8),
        lines=1,
        bars=8,
        names=NAMES,
    ),
    "rank_correlation_bars": Figure(
        lambda axes, g: figures.rank_correlation_bars(axes, g.seeds), lines=1, bars=4, names=NAMES
    ),
    "gain_map": Figure(lambda axes, g: figures.gain_map(axes, SHARES, g.grid), names=NAMES),
}
OF_SAMPLES = [name for name, each in FIGURES.items() if any(each.points)]
OF_SEEDS = [
    name for name, each in FIGURES.items() if each.lines and each.names and name != "use_curves"
]

every_figure = pytest.mark.parametrize("name", FIGURES)


def drawn(name, given):
    """Give a figure, its panels, and what the function returned."""
    wanted = FIGURES[name]
    canvas = figures.figure(4 * wanted.panels, 4)
    axes = list(canvas.subplots(1, wanted.panels, squeeze=False)[0])
    returned = wanted.draw(axes[0] if wanted.panels == 1 else axes, given)
    return canvas, axes, returned


@cache
def usual(name):
    """Give the same of the usual numbers, for tests that only look."""
    canvas, axes, returned = drawn(name, numbers())
    canvas.draw_without_rendering()  # a formula that is none would fail here
    return canvas, axes, returned


def one_axes():
    return figures.figure(5, 4).subplots()


def scatters(axes):
    return [each for each in axes.collections if isinstance(each, PathCollection)]


def offsets(points):
    return np.asarray(points.get_offsets()).tolist()


def key(axes):
    return [text.get_text().replace(r"\$", "$") for text in axes.get_legend().get_texts()]


def row_names(axes):
    return [text.get_text().replace(r"\$", "$") for text in axes.get_yticklabels()]


@every_figure
def test_the_axes_that_were_given_come_back(name):
    _, axes, returned = usual(name)
    assert returned is axes[0] if len(axes) == 1 else returned == axes


@every_figure
def test_everything_is_drawn_once(name):
    wanted, (_, axes, _) = FIGURES[name], usual(name)
    if any(wanted.points):
        assert tuple(tuple(len(offsets(s)) for s in scatters(a)) for a in axes) == wanted.points
    bars = sum(len(patch.patches) for patch in axes[0].containers if hasattr(patch, "patches"))
    assert (len(axes[0].lines), bars) == (wanted.lines, wanted.bars)


@every_figure
def test_axes_are_named(name):
    _, axes, _ = usual(name)
    assert all(panel.get_xlabel() for panel in axes)
    assert axes[0].get_ylabel() or row_names(axes[0]) == list(FIGURES[name].names)
    assert not any(panel.get_ylabel() for panel in axes[1:]), "the same for all, so said once"


@every_figure
def test_two_files_are_written_the_same_every_time(name, tmp_path):
    written = figures.save(drawn(name, numbers())[0], tmp_path / "dual-0.3")
    assert written == (tmp_path / "dual-0.3.png", tmp_path / "dual-0.3.svg")
    again = figures.save(drawn(name, numbers())[0], tmp_path / "again")
    assert [path.read_bytes() for path in written] == [path.read_bytes() for path in again]
    with Image.open(written[0]) as image:
        assert image.format == "PNG"
        assert len(image.convert("RGB").getcolors(2**20)) > 10
    root = ElementTree.fromstring(written[1].read_text())
    tags = {element.tag.rsplit("}", 1)[1] for element in root.iter()}
    assert "path" in tags
    assert not tags & {"script", "date"}


@every_figure
def test_names_are_drawn_as_they_are(name):
    canvas, _, _ = usual(name)
    texts = [text.get_text() for text in canvas.findobj(Text)]
    for each in FIGURES[name].names:
        shown = [text for text in texts if each in text.replace(r"\$", "$")]
        assert shown
        assert not any(map(is_math_text, shown))


@every_figure
def test_a_name_begins_outside_the_data_and_ends_inside_the_figure(name):
    canvas, axes, _ = usual(name)
    for legend in filter(None, (panel.get_legend() for panel in axes)):
        box, data = legend.get_window_extent(), legend.axes.get_window_extent()
        assert box.x0 > data.x1 or box.y0 >= data.y1
    seen = canvas.get_tightbbox()
    assert seen.x0 >= 0
    assert seen.y0 >= 0
    assert (seen.x1, seen.y1) <= tuple(canvas.get_size_inches())


@pytest.mark.parametrize("name", OF_SAMPLES)
def test_one_sample_is_drawn(name):
    canvas, axes, _ = drawn(name, numbers(samples=1))
    figures.canvas.render(canvas, "png")
    assert all(sum(len(offsets(each)) for each in scatters(panel)) == 1 for panel in axes)


@pytest.mark.parametrize("name", OF_SAMPLES)
def test_samples_that_cannot_be_placed_are_counted(name):
    given = numbers()
    given.variability[:5] = np.nan
    canvas, axes, _ = drawn(name, given)
    figures.canvas.render(canvas, "png")
    for panel in axes:
        assert sum(len(offsets(each)) for each in scatters(panel)) == 55
        assert "5 never seen" in panel.get_xlabel()


@pytest.mark.parametrize("missing", [7, 60])
@pytest.mark.parametrize("name", ["moon", "moon_evolution", "selection"])
def test_samples_without_a_score_are_grey_and_counted(name, missing):
    given = numbers()
    given.score[:missing] = np.nan
    canvas, axes, _ = drawn(name, given)
    figures.canvas.render(canvas, "png")
    for panel in axes[:1] if name == "selection" else axes:
        grey, painted = scatters(panel)
        assert (len(offsets(grey)), len(offsets(painted))) == (missing, 60 - missing)
        assert grey.get_facecolor().tolist() == [list(to_rgba(GREY))]
        assert f"{missing} without a score" in panel.get_xlabel()


@pytest.mark.parametrize("name", OF_SEEDS)
@pytest.mark.parametrize("everywhere", [False, True])
def test_missing_numbers_are_counted_and_do_not_spoil_the_others(name, everywhere):
    given = numbers()
    part = slice(None) if everywhere else slice(1)
    given.grid["dual+beta"][:, part] = given.seeds["dual+beta"][part] = np.nan
    canvas, (axes,), _ = drawn(name, given)
    figures.canvas.render(canvas, "svg")
    names = row_names(axes) if FIGURES[name].bars else key(axes)
    seeds = 3 if everywhere else 1
    count = seeds if FIGURES[name].bars else seeds * len(SHARES)
    assert names[:4] == [*NAMES[:3], f"dual+beta ({count} missing)"]
    ends = axes.lines[3].get_ydata() if not FIGURES[name].bars else [axes.patches[-1].get_width()]
    assert np.isnan(ends).all() == everywhere


@every_figure
def test_one_seed_is_drawn(name):
    canvas, _, _ = drawn(name, numbers(seeds=1))
    assert figures.canvas.render(canvas, "png")


def curve(axes, number):
    return np.asarray(axes.lines[number].get_data())


@pytest.mark.parametrize("name", ["accuracy_curves", "accuracy_by_time", "removed_curves"])
def test_a_curve_is_the_mean_and_its_band_the_deviation(name):
    given = numbers()
    _, (axes,), _ = drawn(name, given)
    assert len(axes.collections) == len(NAMES)
    for number, (values, band) in enumerate(
        zip(given.grid.values(), axes.collections, strict=True)
    ):
        rows = [values[list(SHARES).index(share)].tolist() for share in sorted(SHARES)]
        means, deviations = np.array([(mean(row), stdev(row)) for row in rows]).T
        np.testing.assert_allclose(curve(axes, number), [sorted(SHARES), means])
        (path,) = band.get_paths()
        for edge in (means - deviations, means + deviations):
            for point in zip(sorted(SHARES), edge, strict=True):
                assert np.isclose(path.vertices, point).all(axis=1).any()


def test_one_share_has_a_bar_for_its_deviation():
    axes = figures.accuracy_curves(one_axes(), np.array([0.5]), {"dual": np.array([[0.8, 0.9]])})
    np.testing.assert_allclose(curve(axes, 0), [[0.5], [0.85]])
    (segment,) = axes.collections[0].get_segments()
    np.testing.assert_allclose(segment[:, 1], [0.85 - stdev([0.8, 0.9]), 0.85 + stdev([0.8, 0.9])])


def test_what_everything_reaches_is_a_line_only_if_it_is_known():
    grid = {name: 0.9 + values / 10 for name, values in numbers().grid.items()}
    assert len(figures.accuracy_curves(one_axes(), SHARES, grid).lines) == 4
    axes = figures.accuracy_curves(one_axes(), SHARES, grid, full=0.75)
    assert axes.lines[-1].get_ydata() == [0.75, 0.75]
    assert key(axes) == [*NAMES, "all the data"]


def test_a_method_that_falls_far_is_cut_off_and_says_how_far():
    good = {"dual": np.array([[0.7], [0.9], [0.8]]), "random": np.array([[0.74], [0.86], [0.8]])}
    axes = figures.accuracy_curves(one_axes(), SHARES, good | {"el2n": np.full((3, 1), 0.55)})
    assert (key(axes), axes.get_ylim()[0] < 0.55) == (["dual", "random", "el2n"], True)
    far = good | {"el2n": np.array([[0.005], [0.9], [0.2]])}
    axes = figures.accuracy_curves(one_axes(), SHARES, far, full=0.95)
    assert key(axes) == ["dual", "random", "el2n\ndown to 0.5", "all the data"]
    bottom, top = axes.get_ylim()
    assert bottom == pytest.approx(0.7 - (0.9 - 0.7))
    assert top > 0.95
    np.testing.assert_allclose(curve(axes, 2)[1], [0.9, 0.2, 0.005])


def test_a_small_loss_is_not_cut_off():
    accuracies = {"a": 0.9, "b": 0.899, "c": 0.85}
    close = {name: np.array([[accuracy]]) for name, accuracy in accuracies.items()}
    axes = figures.accuracy_curves(one_axes(), np.array([0.5]), close)
    assert (key(axes), axes.get_ylim()[0] < 0.85) == (["a", "b", "c"], True)


def test_methods_are_told_apart_by_colour_or_by_marker():
    many = {f"method {number}": np.ones((3, 1)) for number in range(20)}
    axes = figures.accuracy_curves(one_axes(), SHARES, many)
    assert len({(line.get_color(), line.get_marker()) for line in axes.lines}) == 20


def test_colours_follow_the_time():
    grid = numbers().grid
    seconds = dict(zip(NAMES, ([2.0, 2.0], [0.5, 0.7], [1.3, 1.3], [np.nan, np.nan]), strict=True))
    time = {name: np.tile(row, (3, 1)) for name, row in seconds.items()}
    axes = figures.accuracy_by_time(one_axes(), SHARES, grid, time)
    colors = [line.get_color() for line in axes.lines]
    expected = [ramp()(1.0), ramp()(0.0), ramp()(0.5), to_rgba(REFERENCE)]
    np.testing.assert_allclose([to_rgba(color) for color in colors], expected)
    (bar,) = [each for each in axes.figure.axes if each is not axes]
    np.testing.assert_allclose(bar.get_xlim(), [0.6, 2.0])
    assert bar.get_xlabel() == "total time\n(% of training on all the data)"


def test_what_is_to_beat_is_black_and_not_among_the_colours():
    grid = numbers().grid
    time = {name: np.full((3, 2), cost) for name, cost in zip(NAMES, (9.0, 1, 2, 3), strict=True)}
    axes = figures.accuracy_by_time(one_axes(), SHARES, grid, time, to_beat=NAMES[:1])
    assert [line.get_linestyle() for line in axes.lines] == ["--", "-", "-", "-"]
    assert axes.lines[0].get_color() == "black"
    (bar,) = [each for each in axes.figure.axes if each is not axes]
    np.testing.assert_allclose(bar.get_xlim(), [1, 3])


def test_removal_lies_between_perfect_and_random():
    _, (axes,), _ = usual("removed_curves")
    perfect, by_chance = axes.lines[-2:]
    shares = np.linspace(0, 1, 21)
    np.testing.assert_allclose(
        np.interp(shares, *perfect.get_data()), np.minimum(1, shares / 0.2), atol=1e-12
    )
    np.testing.assert_allclose(np.interp(shares, *by_chance.get_data()), shares)
    assert key(axes)[-2:] == ["perfect", "expected at random"]
    axes = figures.removed_curves(
        one_axes(), SHARES, numbers().grid, wrong=0.2, what="corrupted images"
    )
    assert axes.get_ylabel() == "corrupted images removed (%)"


def test_times_are_stacked_shares_of_full_training():
    recording = {"dual": np.array([1.0, 3.0]), "random": np.zeros(2)}
    training = {"dual": np.array([4.0, 8.0]), "random": np.array([5.0, 5.0])}
    axes = figures.time_bars(one_axes(), recording, training, full=8.0)
    found = [(bar.get_x(), bar.get_width()) for bar in axes.patches]
    assert found == [(0, 0.25), (0, 0), (0.25, 0.75), (0, 0.625)]
    assert [text.get_text() for text in axes.texts] == ["100 %", "62 %"]
    assert axes.lines[0].get_xdata() == [1, 1]
    assert key(axes) == ["recording", "training", "all the data"]
    assert row_names(axes) == ["dual", "random"]
    low, high = axes.get_ylim()
    assert low > high, "the first one is at the top"


def test_the_line_at_everything_is_seen_also_where_all_is_faster():
    seconds = {"random": np.array([1.0])}
    assert figures.time_bars(one_axes(), seconds, seconds, full=100.0).get_xlim()[1] > 1


def test_correlations_are_means_with_their_deviations():
    pairs = {"dual": np.array([0.7, 0.8, 0.9]), "el2n": np.array([-0.4, -0.6])}
    axes = figures.rank_correlation_bars(one_axes(), pairs)
    np.testing.assert_allclose([bar.get_width() for bar in axes.patches], [0.8, -0.5])
    (errors,) = axes.collections
    for segment, values in zip(errors.get_segments(), pairs.values(), strict=True):
        ends = mean(values) + stdev(values) * np.array([-1, 1])
        np.testing.assert_allclose(segment[:, 0], ends)
        assert axes.get_xlim()[0] < ends[0]


def test_accuracy_stands_over_the_images_trained_on():
    images = {"infobatch": np.array([[0.7, 0.9], [0.3, 0.5]])}
    accuracy = {"infobatch": np.array([[0.8, 0.9], [0.5, 0.7]])}
    axes = figures.accuracy_by_images(one_axes(), images, accuracy, full=0.95)
    np.testing.assert_allclose(curve(axes, 0), [[0.4, 0.8], [0.6, 0.85]])
    bars = {tuple(segment.ravel().round(6)) for segment in axes.collections[0].get_segments()}
    around = {0.8: (0.85, stdev([0.8, 0.9])), 0.4: (0.6, stdev([0.5, 0.7]))}
    assert bars == {
        (x, round(y - spread, 6), x, round(y + spread, 6)) for x, (y, spread) in around.items()
    }
    assert key(axes) == ["infobatch", "all the data"]


def test_uses_are_relative_to_all_evenly_and_sorted():
    axes = figures.use_curves(one_axes(), {"ies": np.array([1.0, 0, 4, 3])})
    np.testing.assert_allclose(curve(axes, 0), [[0, 1 / 3, 2 / 3, 1], [2, 1.5, 0.5, 0]])


def test_gains_are_points_under_their_share():
    gains = {
        "dual": np.array([[-0.4, -0.4], [0.01, 0.03]]),
        "el2n": np.array([[np.nan, np.nan], [-0.01, np.nan]]),
    }
    axes = figures.gain_map(one_axes(), np.array([0.9, 0.3]), gains)
    found = {text.get_position(): text.get_text() for text in axes.texts}
    assert found == {(0, 0): "+2.0 ± 1.4", (1, 0): "-40.0 ± 0.0", (0, 1): "-1.0"}
    assert [text.get_text() for text in axes.get_xticklabels()] == ["30", "90"]
    assert row_names(axes) == ["dual", "el2n (3 missing)"]
    colors = axes.images[0].to_rgba(axes.images[0].get_array())
    assert colors[0, 0, 2] > colors[0, 0, 0], "blue is a gain"
    assert colors[0, 1, 2] < colors[0, 1, 0], "orange is a loss"
    assert axes.get_title("right") == "points of accuracy over random"


@pytest.mark.parametrize(
    ("knobs", "names"),
    [
        ({"pruned": [0, 0.3, 0.9], "c_d": 5.5}, ["0 % pruned", "30 % pruned", "90 % pruned"]),
        ({"pruned": 0.9, "c_d": [3, 4, 11]}, ["c_D 3", "c_D 4", "c_D 11"]),
        ({"pruned": 0.5, "c_d": 4, "concentration": [5, 15, 30]}, ["C 5", "C 15", "C 30"]),
        ({"pruned": [0.3, 0.9], "c_d": [4, 5.5]}, ["30 % pruned, c_D 4", "90 % pruned, c_D 5.5"]),
        ({"pruned": 0.125, "c_d": 4}, ["12.5 % pruned, c_D 4, C 15"]),
    ],
)
def test_beta_densities_are_exact_and_named_by_what_varies(knobs, names):
    axes = figures.beta_densities(one_axes(), 0.3, **knobs)
    assert key(axes) == [*names, "mu 0.3"]
    *lines, at_mu = axes.lines
    assert at_mu.get_xdata() == [0.3, 0.3]
    wanted = np.broadcast(knobs["pruned"], knobs["c_d"], knobs.get("concentration", 15.0))
    for line, (pruned, c_d, concentration) in zip(lines, wanted, strict=True):
        x, density = line.get_data()
        a, b = parameters(0.3, pruned, c_d=c_d, concentration=concentration)
        np.testing.assert_allclose(density, beta_distribution.pdf(x, a, b), rtol=1e-9)
        assert np.trapezoid(density, x) == pytest.approx(1, abs=1e-3)


def test_a_density_that_is_infinite_somewhere_is_drawn_and_one_that_is_nowhere_refused():
    axes = figures.beta_densities(one_axes(), 0.95, pruned=0.9, c_d=3)
    assert np.isfinite(axes.lines[0].get_ydata()).all()
    for mu, pruned in ((0.3, 1.0), (1.0, 0.5)):
        with pytest.raises(InputError, match="both must be below 1"):
            figures.beta_densities(one_axes(), mu, pruned=pruned, c_d=3)


def test_evolution_shows_two_scores_at_two_epochs():
    draw = np.random.default_rng(0)
    places, scores = [tuple(draw.random((2, 30))) for _ in range(2)], list(draw.random((2, 30)))
    places[1][0][int(scores[0].argmax())] = np.nan  # the best is not seen, its scale is the same
    axes = list(figures.figure(8, 8).subplots(2, 2).ravel())
    figures.moon_evolution(axes, places, scores, [5, 30])
    for number, panel in enumerate(axes):
        score, (variability, confidence) = scores[number // 2], places[number % 2]
        (points,) = panel.collections
        seen = [i for i in np.argsort(score) if not np.isnan(variability[i])]
        np.testing.assert_array_equal(points.get_array(), score[seen])
        np.testing.assert_array_equal(
            points.get_offsets(), np.stack([variability, confidence], 1)[seen]
        )
        assert points.get_clim() == (score.min(), score.max())
        assert panel.get_title() == f"samples at epoch {(5, 30)[number % 2]}"
        heavy = {spine.get_linewidth() == 2 for spine in panel.spines.values()}
        assert heavy == {number in (0, 3)}
    bars = [each.get_ylabel() for each in axes[0].figure.axes if each not in axes]
    assert bars == ["score of epoch 5", "score of epoch 30"]
    assert len({panel.get_xlim() for panel in axes}) == 1


def test_coresets_are_what_each_method_kept():
    given, axes = numbers(), list(figures.figure(8, 4).subplots(1, 2))
    mask = given.score > 0.4
    figures.coresets(axes, *place(given), {"dual": given.kept, "$x": mask})
    everyone = np.stack(place(given), 1)
    for panel, kept in zip(axes, (given.kept, np.flatnonzero(mask)), strict=True):
        grey, marked = panel.collections
        assert sorted(offsets(marked)) == sorted(everyone[kept].tolist())
        assert sorted(offsets(grey)) == sorted(np.delete(everyone, kept, axis=0).tolist())
        assert marked.get_facecolor().tolist() == [list(to_rgba(BLUE))]
    assert axes[0].get_title() == "dual: 20 kept"
    assert key(axes[1]) == ["kept", "pruned"]


def test_selection_shows_the_kept_and_the_pruned():
    given, axes = numbers(), list(figures.figure(9, 3).subplots(1, 3))
    figures.selection(axes, *place(given), given.score, given.kept)
    everyone = np.stack(place(given), 1)
    np.testing.assert_array_equal(axes[0].collections[0].get_array(), np.sort(given.score))
    kept, pruned = (panel.collections[1] for panel in axes[1:])
    assert sorted(offsets(kept)) == sorted(everyone[given.kept].tolist())
    assert sorted(offsets(pruned)) == sorted(np.delete(everyone, given.kept, 0).tolist())
    assert [panel.get_title() for panel in axes[1:]] == ["20 kept", "40 pruned"]


def test_wrong_labels_are_marked_and_counted():
    given = numbers()
    axes = figures.wrong_labels(one_axes(), *place(given), given.kept)
    marked = axes.collections[1]
    assert sorted(offsets(marked)) == sorted(np.stack(place(given), 1)[given.kept].tolist())
    assert marked.get_facecolor().tolist() == [list(to_rgba(ORANGE))]
    assert key(axes) == ["wrong label: 20", "right label: 40"]


def test_of_very_many_samples_the_rare_ones_are_all_shown_in_small_files(tmp_path):
    x, y = np.random.default_rng(0).random((2, 100_000))
    canvas = figures.figure(5, 4)
    axes = figures.wrong_labels(canvas.subplots(), x, y, np.arange(7))
    grey, marked = (len(offsets(each)) for each in axes.collections)
    assert grey == 20_000
    assert marked == 7
    _, svg = figures.save(canvas, tmp_path / "many")
    assert svg.read_text().count("<use") < 200, "points are an image, not shapes"
    assert svg.stat().st_size < 10**6


def test_one_image_has_a_panel_for_each_title(tmp_path):
    given = numbers()
    panels = {"score": given.score, "kept": given.score > 0.5, r"$\frac{$": given.score < 0.5}
    figures.draw_moons(tmp_path / "moon.png", *place(given), panels)
    with Image.open(tmp_path / "moon.png") as image:
        assert image.size == (2250, 630)


def test_nothing_is_left_behind_in_matplotlib():
    before = dict(mpl.rcParams)
    figures.canvas.render(drawn("accuracy_by_time", numbers())[0], "svg")
    assert dict(mpl.rcParams) == before
    script = "import sys; from dualprune.report import figures as f; import numpy as np;"
    script += "print('matplotlib' in sys.modules);"
    script += "c = f.figure(2, 2); f.moon(c.subplots(), *np.ones((3, 4)), 'x');"
    script += "f.canvas.render(c, 'svg'); print('matplotlib.pyplot' in sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert told.stdout == "False\nFalse\n", told.stderr


def test_without_matplotlib_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingError, match=re.escape("pip install 'dualprune[plot]'")):
        figures.figure(3, 3)


@settings(derandomize=True, deadline=None)
@given(st.text(alphabet="$\\x ", max_size=8))
def test_no_name_is_a_formula(name):
    assert not is_math_text(plain(name))
    assert plain(name).replace(r"\$", "$") == name


values = st.one_of(st.just(float("nan")), st.floats(-1e3, 1e3))


@settings(derandomize=True, deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(values, min_size=n, max_size=n), min_size=1)
    )
)
def test_mean_and_deviation_are_of_what_is_there(rows):
    means, deviations = mean_and_deviation(np.array(rows))
    for row, found_mean, found_deviation in zip(rows, means, deviations, strict=True):
        there = [value for value in row if not np.isnan(value)]
        expected = mean(there) if there else np.nan
        np.testing.assert_allclose(found_mean, expected, atol=1e-9)
        expected = stdev(there) if len(there) > 1 else np.nan
        np.testing.assert_allclose(found_deviation, expected, atol=1e-9)


def test_lines_are_gathered_by_share_and_seed():
    lines = [
        Line("e", "s", row, pruned, seed, {"seconds": 100 * seed + number}, "", 0, "")
        for seed in (2, 0, 1)
        for number, (row, pruned) in enumerate([("a", 0.5), ("a", 0.1), ("b", 0.5)])
    ]
    for value in ("seconds", lambda line: line.values["seconds"]):
        found = by_share(lines, value)
        assert list(found) == ["a", "b"]
        np.testing.assert_array_equal(found["a"], [[1, 101, 201], [0, 100, 200]])
        np.testing.assert_array_equal(found["b"], [[np.nan] * 3, [2, 102, 202]])
    assert seed_means(found["a"]).tolist() == [0.5, 100.5, 200.5]
    assert np.isnan(seed_means(found["b"])).all()
