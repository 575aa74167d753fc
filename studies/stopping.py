"""Whether a recording that stops by itself chooses as well as one of the recipe's length.

    python -m studies.stopping KINDS OUT [NAME ...]
    python -m studies.stopping

The first records and trains in one thread on the sets named (by default all) and adds lines to
`studies/stopping.jsonl`: where each recording settles, and the accuracy of trainings on what is
chosen there and after all 30 epochs. What is there is skipped, so that it can be stopped at any
time; recordings and trainings stay in the folder OUT. KINDS has the Parquet files that
`studies/data.py` makes. The second prints the file as tables.

At most 10,000 samples are trained on. docs/stopping.md says how threshold and patience were chosen.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch

from dualprune.data import load
from dualprune.method import Settling, at_shares, choose
from dualprune.run import Run
from dualprune.train import Setup, record, train
from dualprune.train.recipe import recipes
from studies.data import at_most, load_split
from studies.lines import append_line, read_lines, with_deviation, with_interval

RESULTS = Path(__file__).with_suffix(".jsonl")
METHOD = "dual+beta"
ROWS = {"letter": "tables", "newsgroups": "texts"}
ORDER = ("digits", "letter", "newsgroups", "fashion-mnist", "cifar10")
SCHEDULES, RECORDED = (30, 200), 30  # epochs: of a recipe for CPUs, of the published one
SEEDS, KEPT = 3, ("10%", "30%")
MOST = 10_000


def study(name: str, schedule: int, kinds: Path, out: Path) -> None:
    """Record and train what is not in the file yet."""
    setup = setup_of(name, kinds)
    for seed in range(SEEDS):
        run = recorded(setup, name, schedule, seed, out)
        key = {"data": name, "schedule": schedule, "seed": seed}
        write(key | (stop := settles(run, setup, seed)))
        for kept in KEPT:
            for epochs in (stop["stopped"], RECORDED):
                measure(setup, run, key | {"kept": kept, "epochs": epochs}, out)


def setup_of(name: str, kinds: Path) -> Setup:
    """Give at most 10,000 samples with the default model and recipe, and those to judge by."""
    if name in ROWS:
        data, test = load_split(kinds / ROWS[name] / f"{name}.parquet")
    else:
        data, test = load(name)
    data = at_most(data, MOST)
    recipe = recipes()["digits" if name == "digits" else data.recipe]
    return Setup.of(data, test, recipe=replace(recipe, judge_every=1000))  # at the end only


def recorded(setup: Setup, name: str, schedule: int, seed: int, out: Path) -> Run:
    """Record the first epochs of a schedule, unless that is there."""
    longer = replace(setup, recipe=replace(setup.recipe, epochs=schedule))
    folder = out / "recorded" / f"{name}-{schedule}-{seed}"
    return record(longer, folder, epochs=RECORDED, seed=seed)


def settles(run: Run, setup: Setup, seed: int) -> dict[str, Any]:
    """Say where a recording settles, and how much of the choice is that after all its epochs."""
    settling = Settling(run.path, at_shares(METHOD, setup.recipe.select), seed)
    epochs = range(1, RECORDED + 1)
    stopped = next((epoch for epoch in epochs if settling.settled(epoch)), RECORDED)
    return {
        "stopped": stopped,
        "overlaps": settling.overlaps(stopped),
        "as_after_all": {
            kept: shared(*(chosen(run, setup, kept, seed, at) for at in (stopped, RECORDED)))
            for kept in ("10%", "30%", "50%")
        },
    }


def chosen(run: Run, setup: Setup, kept: str, seed: int, epochs: int) -> np.ndarray:
    """Give what `prune` would keep."""
    method = at_shares(METHOD, setup.recipe.select)[float(kept.removesuffix("%")) / 100]
    return choose(run, method, keep=kept, seed=seed, epochs=epochs).ids


def shared(one: np.ndarray, other: np.ndarray) -> float:
    """Give how much of one choice is in the other."""
    return len(np.intersect1d(one, other)) / len(one)


def measure(setup: Setup, run: Run, key: dict[str, Any], out: Path) -> None:
    """Train on the choice after so many epochs, unless that was done."""
    if any(key.items() <= line.items() for line in read_lines(RESULTS)):
        return
    seed = key["seed"]
    ids = chosen(run, setup, key["kept"], seed, key["epochs"])
    folder = out / "trained" / "-".join(map(str, key.values()))
    result = train(setup, folder, ids=ids, seed=seed + 100_000)  # not the start that was recorded
    write(key | {"held_out": len(setup.test), "accuracy": result.accuracy})


def write(line: dict[str, Any]) -> None:
    """Add a line, unless it is there."""
    if line not in read_lines(RESULTS):
        append_line(RESULTS, line)


def stops() -> Iterator[str]:
    """Say of every set and schedule where recordings settle, and what is chosen there."""
    yield "| data | schedule | stopped after | same as one epoch before | same as after 30 epochs |"
    yield "|---|---|---|---|---|"
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for line in read_lines(RESULTS):
        if "stopped" in line:
            groups.setdefault((line["data"], line["schedule"]), []).append(line)
    for (data, schedule), lines in sorted(groups.items(), key=lambda one: one[0][::-1]):
        after = ", ".join(str(line["stopped"]) for line in lines)
        columns = [_shares([line[name] for line in lines]) for name in ("overlaps", "as_after_all")]
        yield f"| {data} | {schedule} | {after} | {' | '.join(columns)} |"


def _shares(values: list[dict[str, float]]) -> str:
    """Give the means at 10, 30 and 50 % kept."""
    return " / ".join(f"{mean(one[kept] for one in values):.0%}" for kept in values[0])


def losses() -> Iterator[str]:
    """Compare accuracies, seed by seed, with their mean difference and its 95 % interval."""
    yield "| data | schedule | kept | after 30 epochs | stopped by itself | difference |"
    yield "|---|---|---|---|---|---|"
    for schedule in SCHEDULES:
        for kept in KEPT:
            everything: list[float] = []
            for data in ORDER:
                if pairs := list(_pairs(data, schedule, kept)):
                    short, full = zip(*pairs, strict=True)
                    points = [100 * (one - other) for one, other in pairs]
                    everything += points
                    reached = [with_deviation(own, unit=100) for own in (full, short)]
                    columns = [*reached, with_interval(points)]
                    yield f"| {data} | {schedule} | {kept} | {' | '.join(columns)} |"
            if everything:
                yield f"| all of these | {schedule} | {kept} | | | {with_interval(everything)} |"


def _pairs(data: str, schedule: int, kept: str) -> Iterator[tuple[float, float]]:
    """Give the accuracies of each seed: stopped by itself, and after all epochs."""
    for seed in range(SEEDS):
        key = {"data": data, "schedule": schedule, "seed": seed}
        lines = [line for line in read_lines(RESULTS) if key.items() <= line.items()]
        stops = [line["stopped"] for line in lines if "stopped" in line]
        reached = {line["epochs"]: line["accuracy"] for line in lines if line.get("kept") == kept}
        if stops and {*stops, RECORDED} <= reached.keys():
            yield reached[stops[0]], reached[RECORDED]


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(*stops(), "", *losses(), sep="\n")
    else:
        torch.set_num_threads(1)
        for schedule in SCHEDULES:
            for name in sys.argv[3:] or ORDER:
                study(name, schedule, *map(Path, sys.argv[1:3]))
