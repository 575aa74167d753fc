"""Which c_D Beta sampling should have on tables: the landscape of `docs/kinds.md`.

    python -m studies.c_d OUT DATA/tables/adult.parquet ...
    python -m studies.c_d

The first trains on files that `studies/data.py` makes and adds a line per training to
`studies/c_d.jsonl`; the second prints that file. A fifth of every class is set aside, the same
that judges `studies/kinds.py`, and is not looked at here. A fifth of the rest judges, at most 8,000
of the others are trained on.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import torch

from dualprune.data import validation_split
from dualprune.experiments.grid import Grid, Row
from dualprune.experiments.runner import run_loaded
from dualprune.experiments.setting import Setting
from dualprune.train import recipes, silent
from studies.data import at_most, load_split
from studies.lines import append_line, read_lines

RESULTS = Path(__file__).with_suffix(".jsonl")
WRONG, PRUNED, SEEDS, MOST = (0.0, 0.2), (0.5, 0.7, 0.9), 2, 8_000
C_D = (0.5, 1.0, 2.0, 3.0, 5.5, 9.0)
ROWS = (
    *(Row(name, name) for name in ("random", "ccs", "dyn_unc")),
    *(Row(f"c{c_d}", "dual+beta", select={"c_d": c_d}) for c_d in C_D),
)


def study(path: Path, out: Path) -> None:
    """Train on one file, with wrong labels and without."""
    rest, _ = load_split(path)
    others, judging = validation_split(rest, 0.2, seed=1)
    train = at_most(others, MOST)
    setting = Setting.of(path.stem, recipes()[train.recipe], train, judging, seeds=SEEDS)
    setting = replace(setting, train=setting.train | {"judge_every": setting.trained.epochs})
    for wrong in WRONG:
        grid = Grid(
            name=f"{path.stem}-{wrong}",
            kind="accuracy",
            title="",
            setting=setting,
            rows=ROWS,
            pruned=PRUNED,
            seeds=SEEDS,
            model=setting.model,
            shift={"labels": wrong} if wrong else {},
            whole=True,
        )
        lines = run_loaded(grid, out / grid.name, processes=1, tell=print, watch=silent)
        for line in lines:
            facts = {"data": path.stem, "wrong": wrong, "row": line.row, "pruned": line.pruned}
            facts |= {"seed": line.seed, "accuracy": line.values["accuracy"]}
            append_line(RESULTS, facts)


def table() -> Iterator[str]:
    """Give points over random, paired by seed, a row per case."""
    names = [row.name for row in ROWS if row.name != "random"]
    yield f"| data | wrong | pruned | random | {' | '.join(map(_title, names))} |"
    yield "|---" * (4 + len(names)) + "|"
    cases: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    for line in read_lines(RESULTS):
        case = cases.setdefault((line["data"], line["wrong"], line["pruned"]), {})
        case.setdefault(line["row"], []).append(100 * line["accuracy"])
    for (data, wrong, pruned), rows in sorted(cases.items()):
        if pruned:
            base = mean(rows["random"])
            gains = (f"{mean(rows[name]) - base:+.1f}" for name in names)
            yield f"| {data} | {wrong:.0%} | {pruned:.0%} | {base:.1f} | {' | '.join(gains)} |"


def _title(name: str) -> str:
    return f"c_D {float(name[1:]):g}" if name[1:2].isdigit() else name


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(*table(), sep="\n")
    else:
        torch.set_num_threads(1)
        for name in sys.argv[2:]:
            study(Path(name), Path(sys.argv[1]))
