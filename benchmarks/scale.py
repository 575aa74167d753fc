"""Choose 10 % of very many samples whose signals are computed from their ids, not read from disk.

    python -m benchmarks.scale 1e7 1e8 --engine ray

prints for each number of samples the time per sample of every stage, the peak memory (PSS) of the
driver, of the largest worker and of all processes, and the SHA-256 of the ids.
"""

import argparse
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dualprune.method import Arrays, find_method
from dualprune.method.choose import choose_and_write
from dualprune.method.classes import for_classes
from dualprune.run import Run
from dualprune.run.description import Description
from dualprune.run.part import CHUNK
from dualprune.run.ranges import Map, ranges, threads

EPOCHS, CLASSES = 30, 1_000
NAMES = {"score_part": "score", "_call": "choose", "finish_part": "write"}


class Computed(Run):
    """A run whose losses are a function of id and epoch, so that none are on disk."""

    def __init__(self, samples: int) -> None:
        self.path = Path("computed")
        self.description = Description(samples, CLASSES, {"loss": "<f4"})
        self._epochs = [[] for _ in range(EPOCHS)]

    def __reduce__(self) -> tuple[Callable[..., Run], tuple[int]]:
        return Computed, (self.samples,)

    @property
    def fingerprint(self) -> str:
        return self.description.digest

    def labels_of(self, ids: range) -> np.ndarray:
        numbers = np.arange(ids.start, ids.stop, dtype=np.uint64)
        return (_mixed(numbers) % CLASSES).astype(np.int32)

    def _read(self, _: list[Any], chunk: int, memory: dict[str, np.ndarray]) -> Any:
        """Losses that fall, some sooner than others, and never quite evenly."""
        ids = range(chunk * CHUNK, min((chunk + 1) * CHUNK, self.samples))
        rows = memory["loss"][:, : len(ids)]
        bits = _mixed(np.arange(ids.start, ids.stop, dtype=np.uint64))
        level = -2 * np.log(((bits & 0xFFFFFF).astype(np.float32) + 1) / np.float32(2**24))
        fade = 1 - ((bits >> 24) & 0xFFFF).astype(np.float32) / np.float32(2**18)
        noise = (bits >> 32).astype(np.uint32)
        for row in rows:
            noise += np.uint32(2654435769)  # so that the upper bits differ from epoch to epoch
            level *= fade
            np.multiply(noise, np.float32(0.3 / 2**32), out=row, dtype=np.float32)
            np.add(row, level, out=row)
        return ids, {"loss": rows}


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Give 64 bits that look random for each number."""
    numbers = numbers * np.uint64(0x9E3779B97F4A7C15)
    numbers ^= numbers >> np.uint64(29)
    numbers *= np.uint64(0xBF58476D1CE4E5B9)
    return numbers ^ numbers >> np.uint64(32)


class Stages:
    """A map that says how long each stage took, and how much CPU time its workers used."""

    def __init__(self, each: Map, processes: bool) -> None:
        self._each, self._processes = each, processes
        self.wall: dict[str, float] = {}
        self.cpu: dict[str, float] = {}

    def __call__(self, fn: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        stage = NAMES[fn.func.__name__]
        start, own = time.perf_counter(), time.process_time()
        for result, seconds in self._each(partial(_timed, fn), items):
            self.cpu[stage] = self.cpu.get(stage, 0) + seconds * self._processes
            yield result
        self.wall[stage] = self.wall.get(stage, 0) + time.perf_counter() - start
        self.cpu[stage] = self.cpu.get(stage, 0) + time.process_time() - own


def _timed(fn: Callable[[Any], Any], item: Any) -> tuple[Any, float]:
    start = time.process_time()
    return fn(item), time.process_time() - start


class Memory(threading.Thread):
    """Watches the memory of this process and of all that it started."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.driver = self.worker = self.all = 0.0
        self._end = threading.Event()

    def run(self) -> None:
        while not self._end.wait(0.5):
            sizes = {pid: _pss(pid) for pid in _descendants(os.getpid())}
            own = sizes.pop(os.getpid(), 0.0)
            self.driver, self.all = max(self.driver, own), max(self.all, own + sum(sizes.values()))
            workers = (size for pid, size in sizes.items() if _name(pid).startswith("ray::"))
            self.worker = max([self.worker, *workers])

    def stop(self) -> None:
        self._end.set()
        self.join(10)


def _pss(pid: int) -> float:
    """Memory in GB; shared pages count in part."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:  # it ended
        return 0.0
    return int(text.partition("Pss:")[2].split()[0]) * 1024 / 1e9


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def _descendants(root: int) -> set[int]:
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    family = {root}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return family


def _engine(name: str) -> tuple[Map, bool]:
    if name == "threads":
        return partial(threads, workers=2), False
    from dualprune.integrations.ray import ray_map  # noqa: PLC0415 - only where it is asked for

    return ray_map("local"), True


def measure(samples: int, each: Map, processes: bool, folder: Path) -> None:
    """Choose from so many samples, and print what that took."""
    stages, memory = Stages(each, processes), Memory()
    memory.start()
    method = for_classes(find_method("dual+beta", 0.9), None, None, labels=True)
    arrays = Arrays([Computed(samples)], map=stages)
    start, own = time.perf_counter(), time.process_time()
    parts, out = ranges(samples), folder / "out"
    coreset = choose_and_write(arrays, method, parts, k=samples // 10, seed=0, out=out)
    wall = time.perf_counter() - start
    memory.stop()
    workers = sum(stages.cpu.values()) if processes else 0
    cpu = workers + (time.process_time() - own if not processes else 0)
    lines = (f"{n} {stages.wall[n]:.1f} ({stages.cpu[n]:.1f})" for n in stages.wall)
    print(
        f"{samples:.0e} samples: {wall:.1f} s, CPU {cpu:.1f} s, {cpu / samples * 1e9:.0f} ns of "
        f"CPU per sample; seconds (CPU): {', '.join(lines)}; GB: driver {memory.driver:.2f}, "
        f"worker {memory.worker:.2f}, all {memory.all:.2f}; ids {coreset.card.ids_sha256}",
        flush=True,
    )
    shutil.rmtree(out)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("samples", nargs="+", type=float)
    parser.add_argument("--engine", choices=["ray", "threads"], default="ray")
    parser.add_argument("--folder", type=Path, default=None, help="where to write, 40 B per sample")
    asked = parser.parse_args()
    start = time.perf_counter()
    each, processes = _engine(asked.engine)
    warm = partial(_warm, Computed(CHUNK))
    list(each(warm, range(8)))
    print(f"{asked.engine}: {time.perf_counter() - start:.1f} s to start", flush=True)
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        for samples in asked.samples:
            measure(int(samples), each, processes, Path(folder))


def _warm(run: Run, _: int) -> None:
    from dualprune.method.scoring import scores_of  # noqa: PLC0415 - in a worker
    from dualprune.score import confidence, dual  # noqa: PLC0415

    scores_of([run], [(dual, {}), (confidence, {})], EPOCHS, range(CHUNK))


if __name__ == "__main__":
    main()
