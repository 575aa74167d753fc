"""Whether DUAL+beta beats random on texts and tables, and what costs the same.

    python -m studies.kinds DATA OUT [NAME ...]
    python -m studies.kinds

DATA has the Parquet files that `studies/data.py` makes. The first trains on those named (by default
all of them), two processes at a time, and puts a line per training into `studies/kinds.jsonl`.
It can be stopped at any time: recordings and trainings stay in the folder OUT, and it resumes. The
second prints the file as tables.

A fifth of every class is held out and judges all trainings; its labels are never made wrong. At
most 10,000 of the other rows are trained on. Every method has its default knobs, but Beta sampling
a c_D of 0.5, which was the default when this was measured; every kind of data has its default
recipe. Nothing was chosen by the accuracies that are printed.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from dualprune.coreset.worth import ALL, ANEW, SHORTER, Arm, Check, Difference
from dualprune.experiments.grid import WHOLE, Grid, Row
from dualprune.experiments.results import Line
from dualprune.experiments.runner import run_loaded
from dualprune.experiments.setting import Setting
from dualprune.train import silent
from dualprune.train.recipe import recipes
from dualprune.workflows.comparing import grid_of
from studies.data import at_most, load_split
from studies.lines import put_lines, read_lines, with_deviation

RESULTS = Path(__file__).with_suffix(".jsonl")
KEY = ("data", "wrong", "pruned", "method", "seed")
OURS, FORMER = "dual+beta", "dual+beta, c_D 3"
SCORES = ("dual", "dyn_unc", "el2n", "forgetting", "aum", "entropy", "tdds", "ccs")
RIVALS = ("random", ANEW, SHORTER, FORMER, *SCORES)
WRONG, PRUNED, SEEDS = (0.0, 0.2), (0.5, 0.9), 3
MOST, PROCESSES = 10_000, 2

Case = tuple[str, float, float]
"""Data, share of wrong labels, share pruned."""


def study(path: Path, out: Path) -> None:
    """Train on one file, with wrong labels and without, and write what was measured."""
    kind, name = path.parent.name, path.stem
    rest, test = load_split(path)
    train = at_most(rest, MOST)
    setting = Setting.of(name, recipes()[train.recipe], train, test, seeds=SEEDS)
    last = {"judge_every": setting.trained.epochs}
    setting = replace(setting, train=setting.train | last)
    largest = float(np.bincount(test.labels).max() / len(test))
    facts = {"kind": kind, "samples": len(train), "held_out": len(test), "largest_class": largest}
    for wrong in WRONG:
        lines = run_loaded(grid(setting, wrong), out, processes=PROCESSES, tell=print, watch=silent)
        facts |= {"data": name, "wrong": wrong}
        put_lines(RESULTS, (facts | measured(line) for line in lines), KEY)


def grid(setting: Setting, wrong: float) -> Grid:
    """Give every method, and two ways to train that take as long but need no recording."""
    methods = grid_of(setting, (OURS, "random", *SCORES), PRUNED)
    own = (replace(r, select={"c_d": 0.5}) if r.name == OURS else r for r in methods.rows)
    rows = (*own, Row(FORMER, OURS, select={"c_d": 3.0}))
    name, shift = f"{setting.name}, {wrong:.0%} wrong", {"labels": wrong} if wrong else {}
    return replace(methods, name=name, shift=shift, rows=rows)


def measured(line: Line) -> dict[str, Any]:
    """Give what a training reached and cost; wrong labels that were pruned are a share of them."""
    values = line.values
    return {
        "pruned": line.pruned,
        "method": ALL if line.row == WHOLE.name else line.row,
        "seed": line.seed,
        "accuracy": values["accuracy"],
        "trained": values["forward"],
        "recorded": values["recorded"],
        "wrong_pruned": values.get("removed", {}).get("labels"),
    }


def cases() -> dict[Case, dict[str, list[dict[str, Any]]]]:
    """Give the lines of every case by method; what was trained on all the data is in each case."""
    lines = sorted(read_lines(RESULTS), key=lambda line: line["seed"])
    found: dict[Case, dict[str, list[dict[str, Any]]]] = {}
    for line in lines:
        for pruned in (line["pruned"],) if line["pruned"] else PRUNED:
            case = found.setdefault((line["data"], line["wrong"], pruned), {})
            case.setdefault(line["method"], []).append(line)
    return found


def difference(case: dict[str, list[dict[str, Any]]], rival: str) -> Difference:
    """Compare DUAL+beta with a rival, seed by seed, in points of accuracy."""
    arms = [
        Arm(name, case[name][0]["trained"], [line["accuracy"] for line in case[name]])
        for name in (OURS, rival)
    ]
    return Check(case[OURS][0]["held_out"], arms).against(arms[1])


def accuracies() -> Iterator[str]:
    """Give a table per share of wrong labels and share pruned, with a column per data set.

    Passes are those over all the training data, of recording and training together.
    """
    known = cases()
    for wrong, pruned in sorted({case[1:] for case in known}):
        part = {case[0]: methods for case, methods in known.items() if case[1:] == (wrong, pruned)}
        yield f"\n{wrong:.0%} of the labels wrong, {pruned:.0%} pruned: accuracy in %\n"
        yield f"| | passes | {' | '.join(part)} |"
        yield "|---|---|" + "---|" * len(part)
        for name in (ALL, OURS, *RIVALS):
            own = [methods.get(name, []) for methods in part.values()]
            yield f"| {name} | {_passes([*chain(*own)])} | {' | '.join(map(_entry, own))} |"


def _passes(lines: list[dict[str, Any]]) -> str:
    passes = [(line["trained"] + line["recorded"]) / line["samples"] for line in lines]
    return f"{mean(passes):.0f}" if passes else ""


def _entry(lines: list[dict[str, Any]]) -> str:
    return with_deviation([line["accuracy"] for line in lines], unit=100)


def tally() -> Iterator[str]:
    """Count in how many cases DUAL+beta is better and worse than each rival."""
    finished = {case: methods for case, methods in cases().items() if _is_finished(methods)}
    groups: dict[str, list[dict[str, list[dict[str, Any]]]]] = {}
    for (_, wrong, _), methods in finished.items():
        groups.setdefault(f"{methods[OURS][0]['kind']}, {wrong:.0%} wrong", []).append(methods)
    counted = "significantly better / significantly worse / neither; mean points"
    yield f"\nCases in which {OURS} is {counted}\n"
    yield f"| against | {' | '.join(groups)} |"
    yield "|---|" + "---|" * len(groups)
    for rival in RIVALS:
        counts = [_counts([difference(case, rival) for case in own]) for own in groups.values()]
        yield f"| {rival} | {' | '.join(counts)} |"


def _is_finished(case: dict[str, list[dict[str, Any]]]) -> bool:
    return all(len(case.get(name, [])) == SEEDS for name in (OURS, *RIVALS))


def _counts(differences: list[Difference]) -> str:
    sure = [each.points for each in differences if not each.may_be_chance]
    better, worse = sum(points > 0 for points in sure), sum(points < 0 for points in sure)
    points = mean(each.points for each in differences)
    return f"{better} / {worse} / {len(differences) - len(sure)}; {points:+.1f}"


def beside_random() -> Iterator[str]:
    """Compare DUAL+beta with random in every case, worst first."""
    yield f"\n{OURS} beside random, in points, and how many of the wrong labels it prunes\n"
    yield "| data | wrong | pruned | points | wrong labels pruned |"
    yield "|---|---|---|---|---|"
    finished = {case: methods for case, methods in cases().items() if _is_finished(methods)}
    compared = {case: difference(methods, "random") for case, methods in finished.items()}
    for case, against in sorted(compared.items(), key=lambda each: each[1].points):
        data, wrong, pruned = case
        shares = [line["wrong_pruned"] for line in finished[case][OURS]]
        removed = f"{mean(shares):.0%}" if wrong else ""
        yield f"| {data} | {wrong:.0%} | {pruned:.0%} | {against} | {removed} |"


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(*accuracies(), *tally(), *beside_random(), sep="\n")
    else:
        files = sorted(Path(sys.argv[1]).glob("*/*.parquet"))
        for file in files:
            if file.stem in (sys.argv[3:] or [file.stem]):
                study(file, Path(sys.argv[2]))
