"""What the floor under every class changes: mean and worst class, with it and without.

    python -m studies.floor OUT [SEEDS] [SETTING ...]
    python -m studies.floor

The first trains in one thread on even classes and on long tails of each setting (by default
`cpu-fashion` and `cpu-cifar10`) and adds a line per training to `studies/floor.jsonl`; what is
there is skipped, so that it can be stopped at any time. Recordings and trainings stay in the folder
OUT. The second prints that file as two tables.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.optim import SGD

from dualprune.coreset import digest
from dualprune.experiments.grid import Cell, Grid, Row
from dualprune.experiments.setting import Setting, settings
from dualprune.experiments.work import chosen, images_of, make_recording
from dualprune.method import FLOOR
from dualprune.signatures import Array
from dualprune.train import Setup, silent, train
from dualprune.train.checkpoint import restore
from dualprune.train.evaluate import _outputs
from studies.lines import append_line, by_key, read_lines, with_deviation, with_interval

RESULTS = Path(__file__).with_suffix(".jsonl")
KEY = ("setting", "tail", "seed", "pruned", "method", "floor")
METHODS = ("random", "el2n", "dual", "dual+beta")
TAILS, PRUNED = (100, 10, 1), (0.9, 0.8, 0.5)


def cells(setting: Setting, seeds: int) -> Iterator[tuple[dict[str, Any], Cell]]:
    """Give what to train, seed by seed: every method with the floor and without."""
    for seed in range(seeds):
        for tail in TAILS:
            rows = [
                Row(f"{method} {floor}", method, select={"floor": floor})
                for method in METHODS
                for floor in (0, FLOOR)
            ]
            shift = {"tail": float(tail)} if tail > 1 else {}
            grid = Grid(
                name="floor",
                kind="accuracy",
                title="",
                setting=setting,
                rows=tuple(rows),
                pruned=PRUNED,
                seeds=seeds,
                model=setting.model,
                shift=shift,
            )
            for pruned in PRUNED:
                for row in rows:
                    key = (setting.name, tail, seed, pruned, row.method, row.select["floor"])
                    yield dict(zip(KEY, key, strict=True)), Cell(grid, row, pruned, seed)


def study(out: Path, setting: Setting, seeds: int) -> None:
    """Train what is not in the file yet."""
    finished = by_key(read_lines(RESULTS), KEY)
    for key, cell in cells(setting, seeds):
        if tuple(key.values()) not in finished:
            append_line(RESULTS, key | measure(cell, out / f"{setting.name}-{key['tail']}"))


def measure(cell: Cell, home: Path) -> dict[str, Any]:
    """Train on what is kept; equal choices are trained on once."""
    for wanted in cell.recordings:
        make_recording(wanted, home, silent)
    coreset = chosen(cell, home)
    images = images_of(cell)
    setup = cell.setting.setup(images, cell.model, {})
    folder = home / "trained" / f"{cell.seed}-{digest(coreset.ids)[:16]}"
    train(setup, folder, ids=coreset.ids, seed=cell.seed + 100_000)
    by_class = accuracies(setup, folder / "checkpoint")
    labels, classes = images.images.labels, len(images.images.class_names)
    sizes, kept = (np.bincount(each, minlength=classes) for each in (labels, labels[coreset.ids]))
    return {
        "accuracy": float(by_class.mean()),  # the test images have as many of each class
        "worst": float(by_class.min()),
        "lost": int((kept == 0).sum()),
        "short": int((2 * kept * len(labels) < len(coreset) * sizes).sum()),
        "ids_sha256": coreset.card.ids_sha256,
    }


def accuracies(setup: Setup, checkpoint: Path) -> Array:
    """Give the accuracy on the test images of each class."""
    model, data = setup.fresh_model(0), setup.test_batches
    restore(checkpoint, model, SGD(model.parameters(), lr=0.1), {})
    parts = _outputs(model, model, data, torch.arange(len(data)))
    hits = torch.cat([logits.argmax(1) == data.labels[ids] for ids, logits in parts]).numpy()
    labels = data.labels.numpy()
    return np.bincount(labels, hits) / np.bincount(labels)


def table() -> Iterator[str]:
    """Give a row per setting, tail, share and method: without the floor, then with it."""
    yield "| data | tail | pruned | method | mean | worst class | classes lost |"
    yield "|---|---|---|---|---|---|---|"
    groups: dict[tuple[Any, ...], dict[float, list[dict[str, Any]]]] = {}
    for line in read_lines(RESULTS):
        group = tuple(line[name] for name in ("setting", "tail", "pruned", "method"))
        groups.setdefault(group, {0: [], FLOOR: []})[line["floor"]].append(line)
    for (setting, tail, pruned, method), by_floor in sorted(groups.items()):
        columns = [
            " → ".join(
                with_deviation([line[name] for line in lines], unit=unit)
                for lines in by_floor.values()
            )
            for name, unit in (("accuracy", 100), ("worst", 100), ("lost", 1))
        ]
        yield f"| {setting} | {tail} | {pruned:.0%} | {method} | {' | '.join(columns)} |"


def gains() -> Iterator[str]:
    """Give a row per setting, tail and method: what the floor adds, pooled over shares and seeds.

    Where both choices are the same, the difference is 0; it counts.
    """
    yield "| data | tail | method | choices changed | mean, points | worst class, points |"
    yield "|---" * 6 + "|"
    lines = by_key(read_lines(RESULTS), KEY)
    groups: dict[tuple[Any, ...], list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for (*case, floor), line in lines.items():
        if floor == 0 and (other := lines.get((*case, FLOOR))):
            groups.setdefault((case[0], case[1], case[4]), []).append((line, other))
    for (setting, tail, method), pairs in sorted(groups.items()):
        changed = sum(one["ids_sha256"] != other["ids_sha256"] for one, other in pairs)
        columns = [
            with_interval([100 * (other[name] - one[name]) for one, other in pairs])
            for name in ("accuracy", "worst")
        ]
        counts = f"{changed} of {len(pairs)}"
        yield f"| {setting} | {tail} | {method} | {counts} | {' | '.join(columns)} |"


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(*gains(), "", *table(), sep="\n")
    else:
        torch.set_num_threads(1)
        names = sys.argv[3:] or ["cpu-fashion", "cpu-cifar10"]
        for name in names:
            study(Path(sys.argv[1]), settings()[name], int((sys.argv[2:] or ["3"])[0]))
