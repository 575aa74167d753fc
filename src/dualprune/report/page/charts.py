"""The charts of the page, drawn by Bokeh; `page.js` finds them by their names.

Bokeh was chosen over Plotly after trying both with 50,000 points: its script is a quarter as large
(1.3 against 4.8 MB), and it reports the place of the pointer and the outline of a lasso, so that
the points can be painted as one image. Points as glyphs, in either library, made a lasso take more
than ten seconds in a browser without a graphics card.
"""

import json
import re
from statistics import mean
from typing import Any

import numpy as np
from bokeh.embed import json_item
from bokeh.layouts import row
from bokeh.models import ColumnDataSource, Range1d
from bokeh.plotting import figure

from dualprune.coreset import Shares
from dualprune.report.facts import Facts
from dualprune.report.page.compared import Compared
from dualprune.signatures import Array

_BINS = 60
KEPT, PRUNED = "#c8374e", "#9aa3b2"


def moon(facts: Facts) -> dict[str, Any]:
    """Give an empty moon plot, and beside it the Beta density over the same confidences."""
    largest = float(np.nanmax(facts.variability, initial=0.01))
    plot = figure(
        name="moon",
        height=520,
        sizing_mode="stretch_width",
        tools="pan,wheel_zoom,box_zoom,lasso_select,reset",
        active_drag="lasso_select",
        toolbar_location="above",
        x_range=Range1d(-0.02 * largest, 1.04 * largest),
        y_range=Range1d(-0.03, 1.03),
        x_axis_label="variability (std of p over epochs)",
        y_axis_label="confidence (mean p over epochs)",
    )
    plot.xaxis.ticker.desired_num_ticks = 5
    plot.toolbar.logo = None  # it is a link to a website
    blank = {"image": [np.zeros((1, 1), np.uint32)], "x": [0.0], "y": [0.0], "w": [1.0], "h": [1.0]}
    plot.image_rgba("image", "x", "y", "w", "h", source=ColumnDataSource(blank, name="raster"))
    here = ColumnDataSource({"x": [], "y": []}, name="here")
    plot.scatter("x", "y", source=here, size=14, fill_alpha=0, line_width=3, line_color="#ff8c00")
    both = row([plot, _density(plot.y_range)], sizing_mode="stretch_width")
    return _item(both, "moon")


def _density(confidences: Range1d) -> figure:
    plot = figure(
        name="beta",
        width=80,
        height=520,
        tools="",
        toolbar_location=None,
        y_range=confidences,
        x_range=Range1d(0, 1),
        x_axis_label="Beta density",
    )
    plot.xaxis.ticker.desired_num_ticks = 2
    plot.yaxis.visible = False
    plot.grid.visible = False
    source = ColumnDataSource({"density": [0.0], "confidence": [0.0]}, name="density")
    plot.harea(x1=0, x2="density", y="confidence", source=source, fill_color=KEPT, fill_alpha=0.35)
    plot.line("density", "confidence", source=source, line_color=KEPT, line_width=2)
    return plot


def scores(facts: Facts) -> dict[str, Any]:
    """Draw a histogram of the scores of all samples, and of those kept."""
    scored = np.isfinite(facts.score)
    low, high = (facts.score[scored].min(), facts.score[scored].max()) if scored.any() else (0, 1)
    edges = np.linspace(low, max(high, low + 1e-9), _BINS + 1)
    plot = _chart(facts.score_name, "samples")
    _bars(plot, np.histogram(facts.score[scored], edges)[0], edges, PRUNED)
    if facts.kept is not None:
        _bars(plot, np.histogram(facts.score[scored & facts.kept], edges)[0], edges, KEPT)
    return _item(plot, "scores")


def _bars(plot: figure, counts: Array, edges: Array, color: str) -> None:
    plot.quad(
        left=edges[:-1], right=edges[1:], bottom=0, top=counts, fill_color=color, line_color=None
    )


def accuracies(compared: list[Compared]) -> dict[str, Any]:
    """Draw the accuracy of each method against the share kept; bars are standard deviations."""
    plot = _chart("kept (%)", "accuracy (%)")
    for full in (entry for entry in compared if entry.share == 1):
        plot.hspan(y=100 * full.accuracy, line_color=full.color, line_dash="dashed", line_width=2)
    for method in dict.fromkeys(entry.method for entry in compared if entry.share < 1):
        points = sorted((p for p in compared if p.method == method), key=lambda p: p.share)
        shares = [100 * p.share for p in points]
        means = np.array([100 * p.accuracy for p in points])
        spread = np.array([100 * p.deviation for p in points])
        color = points[0].color
        plot.segment(shares, means - spread, shares, means + spread, line_color=color, line_width=2)
        plot.line(shares, means, line_color=color, line_width=2)
        plot.scatter(shares, means, size=8, color=color)
    return _item(plot, "accuracies")


def shares(tried: Shares) -> dict[str, Any]:
    """Draw the accuracy of each share that was tried, with the interval of its loss; the limit."""
    plot, full = _chart("kept (%)", "accuracy (%)"), 100 * mean(tried.tried[0].accuracies)
    plot.hspan(y=full, line_color=PRUNED, line_width=2)
    plot.hspan(y=full - tried.lose, line_color=PRUNED, line_dash="dashed", line_width=2)
    parts = [share for share in tried.curve if share.keep < 1]
    kept = [100 * share.keep for share in parts]
    reached = [full - tried.loss(share).points for share in parts]
    lows, highs = zip(*map(tried.interval, parts), strict=True)
    ends = [[full - loss for loss in losses] for losses in (lows, highs)]
    plot.segment(kept, ends[0], kept, ends[1], line_color=KEPT, line_width=2)
    plot.line(kept, reached, line_color=KEPT, line_width=2)
    plot.scatter(kept, reached, size=8, color=KEPT)
    return _item(plot, "shares")


def _chart(across: str, up: str) -> figure:
    plot = figure(
        height=320,
        sizing_mode="stretch_width",
        tools="",
        toolbar_location=None,
        x_axis_label=across,
        y_axis_label=up,
    )
    plot.yaxis.formatter.use_scientific = False
    return plot


def _item(plot: Any, target: str) -> dict[str, Any]:
    """Give a chart for the element `target` of the page.

    Its models are numbered from 0, so that the same page has the same bytes.
    """
    text, names = json.dumps(json_item(plot, target)), dict[str, str]()

    def rename(match: re.Match[str]) -> str:
        return names.setdefault(match[0], f'"{target}-{len(names)}"')

    item: dict[str, Any] = json.loads(re.sub(r'"p\d+"', rename, text))
    return item
