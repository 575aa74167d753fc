"""Whether the c_D that is found from a recording beats random.

    python -m studies.ease DATA OUT [NAME ...]
    python -m studies.ease

DATA has the Parquet files that `studies/data.py` makes. The first trains in one thread, by default
on all sets, and adds a line per training to `studies/ease.jsonl`; rows of a set that are there are
skipped, and what was interrupted resumes from the folder OUT. The second prints that file as
tables, `docs/ease.md` has them.

A fifth of every class is held out of tables and texts and judges; images have test images. The
rule was made on validation parts of the sets of `studies/c_d.py`; docs/ease.md says what of it was
chosen in sight of these results.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import mean

import torch

from dualprune.data import Data, load
from dualprune.experiments.grid import Grid, Row
from dualprune.experiments.runner import run_loaded
from dualprune.experiments.setting import Setting
from dualprune.train import silent
from dualprune.train.recipe import find_recipe
from studies.data import at_most, load_split
from studies.lines import append_line, read_lines, with_deviation, with_interval

RESULTS = Path(__file__).with_suffix(".jsonl")
WRONG, PRUNED, SEEDS, MOST = (0.0, 0.2), (0.5, 0.7, 0.9), 3, 5_000
ROWS = (
    Row("random", "random"),
    Row("found", "dual+beta", select={"c_d": None}),
    Row("c_D 0.5", "dual+beta", select={"c_d": 0.5}),
    Row("c_D 3", "dual+beta", select={"c_d": 3.0}),
)
TABLES = ["penbased", "optdigits", "ring", "twonorm", "marketing", "banana", "splice", "segment"]
TEXTS = ["newsgroups", "reuters", "debian"]
IMAGES = {"digits": 1_438, "fashion-mnist": 4_000, "cifar10": 3_000}
"""How many images are trained on. The rule was made on other trainings of the last two."""


def loaded(name: str, folder: Path) -> tuple[Data, Data]:
    """Give what is trained on, and what judges."""
    if name in IMAGES:
        train, test = load(name, download=True)
    else:
        kind = "texts" if name in TEXTS else "tables"
        train, test = load_split(folder / kind / f"{name}.parquet")
    return at_most(train, IMAGES.get(name, MOST)), test


def study(name: str, folder: Path, out: Path) -> None:
    """Train on one set, with wrong labels and without."""
    train, test = loaded(name, folder)
    recipe = find_recipe("auto", name if name in IMAGES else train.recipe, gpu=False)
    setting = Setting.of(name, recipe, train, test, seeds=SEEDS)
    setting = replace(setting, train=setting.train | {"judge_every": recipe.epochs})
    for wrong in WRONG:
        measured = {(line["data"], line["wrong"], line["row"]) for line in read_lines(RESULTS)}
        rows = tuple(row for row in ROWS if (name, wrong, row.name) not in measured)
        if not rows:
            continue
        grid = Grid(
            name=f"{name}-{wrong}",
            kind="accuracy",
            title="",
            setting=setting,
            rows=rows,
            pruned=PRUNED,
            seeds=SEEDS,
            model=setting.model,
            shift={"labels": wrong} if wrong else {},
        )
        lines = run_loaded(grid, out / grid.name, processes=1, tell=print, watch=silent)
        for line in lines:
            facts = {"data": name, "samples": len(train), "wrong": wrong, "row": line.row}
            facts |= {"pruned": line.pruned, "seed": line.seed}
            append_line(RESULTS, facts | {"accuracy": line.values["accuracy"]})


def gains(wrong: float, pruned: float, row: str) -> dict[str, list[float]]:
    """Give the points over random of every set, seed by seed."""
    reached: dict[tuple[str, int], dict[str, float]] = {}
    for line in read_lines(RESULTS):
        if (line["wrong"], line["pruned"]) == (wrong, pruned):
            case = reached.setdefault((line["data"], line["seed"]), {})
            case[line["row"]] = 100 * line["accuracy"]
    by_set: dict[str, list[float]] = {}
    for (data, _), case in reached.items():
        by_set.setdefault(data, []).append(case[row] - case["random"])
    return by_set


def pooled() -> Iterator[str]:
    """Compare with random over all sets: mean points with their 95 % interval, and the worst set.

    The interval is that of sets: each counts once, with its mean over seeds.
    """
    rows = [row.name for row in ROWS[1:]]
    yield f"| wrong | pruned | sets | {' | '.join(rows)} | worst: {' | worst: '.join(rows)} |"
    yield "|---" * (3 + 2 * len(rows)) + "|"
    for wrong in WRONG:
        for pruned in PRUNED:
            means = [[*map(mean, gains(wrong, pruned, row).values())] for row in rows]
            pools, worst = map(with_interval, means), (f"{min(own):+.1f}" for own in means)
            shares = f"{wrong:.0%} | {pruned:.0%} | {len(means[0])}"
            yield f"| {shares} | {' | '.join([*pools, *worst])} |"


def each() -> Iterator[str]:
    """Give every set: points over random, mean and deviation over seeds."""
    yield f"\n| data | wrong | pruned | {' | '.join(row.name for row in ROWS[1:])} |"
    yield "|---" * (2 + len(ROWS)) + "|"
    for data in dict.fromkeys(line["data"] for line in read_lines(RESULTS)):
        for wrong in WRONG:
            for pruned in PRUNED:
                own = [gains(wrong, pruned, row.name).get(data, []) for row in ROWS[1:]]
                columns = (with_deviation(points, sign="+") for points in own if points)
                yield f"| {data} | {wrong:.0%} | {pruned:.0%} | {' | '.join(columns)} |"


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(*pooled(), *each(), sep="\n")
    else:
        torch.set_num_threads(1)
        for name in sys.argv[3:] or [*TABLES, *TEXTS, *IMAGES]:
            study(name, Path(sys.argv[1]), Path(sys.argv[2]))
