"""Show what was chosen: the part of the card that says how it was recorded, figures, the page."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from dualprune.coreset import Coreset, Training
from dualprune.data import NO_COLUMNS, Columns, Data, Table, to_show
from dualprune.experiments.results import Line
from dualprune.report.facts import Facts
from dualprune.report.figures import draw_moons
from dualprune.report.page import write_report
from dualprune.signatures import Array
from dualprune.train import Setup


def describe(
    coreset: Coreset,
    facts: Facts,
    setup: Setup,
    data: str,
    epochs: int,
    *,
    columns: Columns = NO_COLUMNS,
    groups: Sequence[Array] = (),
    workflow: str = "prune",
    overlaps: dict[str, float] | None = None,
) -> Coreset:
    """Give the coreset with a card that also says what was trained to record, and what it saves."""
    recipe, samples, labels = setup.recipe, facts.samples, setup.data.labels
    conflicting = sum(len(ids) for ids in groups if len(np.unique(labels[ids])) > 1)
    training = Training(
        data=Path(data).name,
        model=setup.model_name,
        recipe=recipe.name,
        published=recipe.published == data and setup.model_name == recipe.model,
        epochs=epochs,
        settings=setup.settings(),
        suspects=facts.labels.wrong,
        full_passes=recipe.passes(samples, samples),
        coreset_passes=recipe.passes(len(coreset), samples),
        workflow=workflow,
        size=setup.size,
        relabelled=setup.data.relabelled,
        duplicates=sum(map(len, groups)),
        conflicting=conflicting,
        kind=setup.data.kind,
        columns=setup.data.described() if isinstance(setup.data, Table) else [],
        flags=columns.flags(),
        overlaps=overlaps or {},
    )
    return replace(coreset, card=replace(coreset.card, training=training))


def illustrate(
    out: Path,
    coreset: Coreset,
    facts: Facts,
    data: Data,
    marked: dict[str, Array],
    results: Sequence[Line] = (),
) -> list[Path]:
    """Draw scores and what is marked, and write the page, if their libraries are installed."""
    panels = {"score": facts.score} | marked if coreset.card.score else marked
    facts, paths = replace(facts, coreset=coreset), []
    if find_spec("matplotlib") is not None:
        paths.append(out / "moon.png")
        draw_moons(paths[0], facts.variability, facts.confidence, panels)
    if find_spec("bokeh") is not None:
        samples = to_show(data)
        paths.append(out / "report.html")
        write_report(paths[-1], facts, samples=samples, results=results, folder=out)
    return paths
