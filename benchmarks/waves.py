"""Choose 10 % of 20 million samples in waves, against whole arrays; from disk, against scoring."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.run_by_hand import NOTHING_ODD, start

from benchmarks.timing import interleaved
from dualprune.run.ranges import ranges
from dualprune.run.writer import write_part
from dualprune.select import OF_BLOCKS, beta, top
from dualprune.select.waves import Block, Waves, positions
from dualprune.signatures import Function

MANY, CLASSES, EPOCHS = 20_000_000, 1_000, 30

_FROM_DISK = """
import sys, time
from pathlib import Path
from dualprune import choose
from dualprune.method import Arrays
from dualprune.run import Run
from dualprune.score import confidence, dual
path, out, what = sys.argv[1:]
before = time.process_time()
if what == "score":
    Arrays([Run(path)]).scores([(dual, {}), (confidence, {})])
elif what == "choose":
    choose(path, "dual+beta", keep=0.1)
elif what == "save":
    choose(path, "dual+beta", keep=0.1).save(out)
else:
    choose(path, "dual+beta", keep=0.1, out=out)
used = time.process_time() - before
status = Path("/proc/self/status").read_text()  # ru_maxrss would count the parent's memory too
print(used, status.partition("VmHWM:")[2].split()[0])
"""


def _columns(rng: np.random.Generator) -> dict[str, np.ndarray]:
    labels = rng.integers(0, CLASSES, MANY).astype(np.int32)
    return {"scores": rng.random(MANY), "confidence": rng.random(MANY), "labels": labels}


def _choose(waves: Waves, fn: Function, knobs: dict[str, Any]) -> np.ndarray:
    return positions(waves, OF_BLOCKS[fn](waves, **knobs).kept)


def _in_memory() -> Iterator[tuple[str, str, str]]:
    columns, k = _columns(np.random.default_rng(0)), MANY // 10
    waves = Waves(
        Block(ids.start, len(ids), {n: c[ids.start : ids.stop] for n, c in columns.items()})
        for ids in ranges(MANY)
    )
    top_columns = {name: columns[name] for name in ("scores", "labels")}
    for fn, read in ((beta, columns), (top, top_columns)):
        for way in ({}, {"floor": 0.5}, {"balance": "proportional"}):
            knobs = {"k": k, "seed": 0, **way}
            ways = {
                "arrays": partial(fn, **read, **knobs),
                "waves": partial(_choose, waves, fn, knobs),
            }
            best = interleaved(ways, 3)
            ratio = f"{best['arrays'] / best['waves']:.2f}x"
            yield f"{fn.__name__} {way or ''}: arrays / waves at 2e7", ratio, "reported"


def _make_run(root: Path) -> None:
    rng, ids = np.random.default_rng(0), np.arange(MANY)
    attempt = start(root, MANY, CLASSES, ("loss",))
    labels = rng.integers(0, CLASSES, MANY).astype(np.int32)
    hard, speed = rng.gamma(1, 1, MANY), rng.random(MANY) / 5
    for epoch in range(1, EPOCHS + 1):
        loss = (hard * np.exp(-speed * epoch) + 0.3 * rng.random(MANY)).astype(np.float32)
        rows = {"id": ids, "label": labels, "loss": loss}
        write_part(attempt, epoch, 0, rows, NOTHING_ODD)


def _measure(run: Path, what: str) -> tuple[float, float]:
    """CPU time in seconds and peak memory in GiB of a process of its own."""
    out = run.parent / "out"
    command = [sys.executable, "-c", _FROM_DISK, str(run), str(out), what]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    shutil.rmtree(out, ignore_errors=True)
    seconds, peak = done.stdout.split()
    return float(seconds), int(peak) / 2**20


def rows() -> Iterator[tuple[str, str, str]]:
    yield from _in_memory()
    with tempfile.TemporaryDirectory() as folder:
        _make_run(Path(folder) / "run")
        ways = ("score", "choose", "save", "out")
        measured = [{way: _measure(Path(folder) / "run", way) for way in ways} for _ in range(3)]
    seconds = {way: min(one[way][0] for one in measured) for way in ways}
    peak = {way: max(one[way][1] for one in measured) for way in ways}
    yield "score + select / score", f"{seconds['choose'] / seconds['score']:.2f}x", "at most 1.4x"
    selecting = f"{seconds['choose'] - seconds['score']:.2f} s"
    yield "select 2e7 samples, CPU", selecting, "at most 1 s"
    saving = f"{seconds['save'] - seconds['choose']:.1f} s"
    yield "save 2e7 samples from memory, CPU", saving, "under 4 s"
    yield "score, select, write / score", f"{seconds['out'] / seconds['score']:.2f}x", "reported"
    yield (
        "the same in memory, saved / by ranges",
        f"{seconds['save'] / seconds['out']:.2f}x",
        "reported",
    )
    yield "peak memory in memory, saved", f"{peak['save']:.2f} GiB", "reported"
    yield "peak memory by ranges", f"{peak['out']:.2f} GiB", "half of that at most"
