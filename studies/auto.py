"""Whether what `auto` chooses beats a random choice, on several sets, with a recording per seed.

    python -m studies.auto DATA OUT [NAME ...]
    python -m studies.auto

DATA has the Parquet files that `studies/data.py` makes. The first trains in one thread, by default
on all sets, the cheap ones first, and puts the lines of each cell into `studies/auto.jsonl`. A cell
that is there is not measured again. It can be stopped at any time: recordings and trainings stay in
the folder OUT, and it resumes. The second prints the file as tables.

Each set has its default model and recipe. Of the table, a fifth of every class are test data.
A cell of `auto` tries its candidates on held-out parts of the training data and keeps one, which is
then trained and judged as the other rows are. Test data are looked at once, at the end of each
training; nothing was chosen by them.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, product
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch

from dualprune.data import load
from dualprune.experiments.grid import Grid
from dualprune.experiments.results import Line
from dualprune.experiments.runner import InThisProcess, run
from dualprune.experiments.setting import Setting
from dualprune.train.recipe import find_recipe
from dualprune.workflows.comparing import grid_of
from studies.data import at_most, load_split
from studies.lines import put_lines, read_lines, with_interval

RESULTS = Path(__file__).with_suffix(".jsonl")
KEY = ("data", "pruned", "method", "seed")
METHODS = ("auto", "dual+beta", "random")
PRUNED, SEEDS = (0.9, 0.7, 0.5), 3
SETS = {"digits": 1_438, "letter": 5_000, "fashion-mnist": 4_000, "cifar10": 3_000}
"""How many samples are trained on."""
FILES = {"letter": "tables/letter.parquet"}


def study(name: str, folder: Path, out: Path) -> None:
    """Train on one set, and write what was measured cell by cell."""
    file = FILES.get(name)
    train, test = load_split(folder / file) if file else load(name, download=True)
    train = at_most(train, SETS[name])
    recipe = find_recipe("auto", name if name in ("digits", "cifar10") else train.recipe, gpu=False)
    setting = Setting.of(name, recipe, train, test, seeds=SEEDS)
    setting = replace(setting, train=setting.train | {"judge_every": recipe.epochs})
    finished = cells()
    for seed, pruned in product(range(SEEDS), PRUNED):
        if (name, pruned, seed) not in finished:
            grid = replace(_grid(setting, pruned), first_seed=seed)
            lines = run(grid, out, pool=InThisProcess(), tell=print)
            facts = {"data": name, "samples": len(train), "test": len(test)}
            put_lines(RESULTS, (facts | measured(line) for line in lines), KEY)


def _grid(setting: Setting, pruned: float) -> Grid:
    """Give the methods alone, without what costs the same."""
    grid = grid_of(setting, METHODS, [pruned])
    return replace(grid, rows=grid.rows[: len(METHODS)], whole=False, seeds=1)


def measured(line: Line) -> dict[str, Any]:
    """Give what a training reached, and of `auto` what was tried on held-out parts."""
    return {
        "pruned": line.pruned,
        "method": line.row,
        "seed": line.seed,
        "accuracy": line.values["accuracy"],
        "trained": line.values["forward"],
        "recorded": line.values["recorded"],
        "auto": line.values.get("auto"),
    }


def cells() -> dict[tuple[str, float, int], dict[str, dict[str, Any]]]:
    """Give the lines of every finished cell, by method."""
    found: dict[tuple[str, float, int], dict[str, dict[str, Any]]] = {}
    for line in read_lines(RESULTS):
        cell = found.setdefault((line["data"], line["pruned"], line["seed"]), {})
        cell[line["method"]] = line
    return {key: cell for key, cell in found.items() if len(cell) == len(METHODS)}


def pooled() -> Iterator[str]:
    """Give points over random of all cells of a share: the mean and its 95 % interval.

    Cells of one set are alike, so the interval over sets, each with its mean, is there, too.
    """
    yield "\n| pruned | cells | better, equal, worse | auto | each set once | dual+beta |"
    yield "|---|---|---|---|---|---|"
    for pruned in sorted(PRUNED):
        points = [*chain(*_by_set(pruned, "auto").values())]
        signs = Counter(np.sign(points))
        counts = ", ".join(str(signs[sign]) for sign in (1, 0, -1))
        sets = [*map(mean, _by_set(pruned, "auto").values())]
        usual = [*chain(*_by_set(pruned, "dual+beta").values())]
        columns = (with_interval(values, places=2) for values in (points, sets, usual))
        yield f"| {pruned:.0%} | {len(points)} | {counts} | {' | '.join(columns)} |"


def _by_set(pruned: float, method: str) -> dict[str, list[float]]:
    """Give the gains of all cells of a share, by set."""
    found: dict[str, list[float]] = {}
    for (data, share, _), cell in cells().items():
        if share == pruned:
            found.setdefault(data, []).append(_gain(cell, method))
    return found


def _gain(cell: dict[str, dict[str, Any]], method: str) -> float:
    return 100 * float(cell[method]["accuracy"] - cell["random"]["accuracy"])


def each() -> Iterator[str]:
    """Give every cell: accuracies on the test data in %, and which method `auto` kept."""
    yield "\n| data | samples | pruned | seed | random | dual+beta | auto | beside random | kept |"
    yield "|---|---|---|---|---|---|---|---|---|"
    order = {name: number for number, name in enumerate(SETS)}
    for key, cell in sorted(cells().items(), key=lambda one: (order[one[0][0]], one[0][1:])):
        data, pruned, seed = key
        reached = [f"{100 * cell[name]['accuracy']:.1f}" for name in reversed(METHODS)]
        auto = cell["auto"]
        yield (
            f"| {data} | {auto['samples']:,} | {pruned:.0%} | {seed} | {' | '.join(reached)} | "
            f"{_gain(cell, 'auto'):+.1f} | {auto['auto']['kept']} |"
        )


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(*pooled(), *each(), sep="\n")
    else:
        torch.set_num_threads(1)
        for name in sys.argv[3:] or SETS:
            study(name, Path(sys.argv[1]), Path(sys.argv[2]))
