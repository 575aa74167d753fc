"""The page for 50,000 and for 1,281,167 samples: seconds, size and memory of making it."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image
from tests.run_by_hand import NOTHING_ODD, start

from dualprune.run import Run
from dualprune.run.writer import write_part

EPOCHS = 30
SIGNALS = ("loss", "margin", "rival")

_MAKE = """
import sys, time
from pathlib import Path
import numpy as np
from dualprune.data import Images, in_memory
from dualprune import choose
from dualprune.report.facts import gather
from dualprune.report.page import write_report
from dualprune.run import Run
home = Path(sys.argv[1])
run = Run(home / "run")
labels = run["labels"].astype(np.int64)
classes = tuple(map(str, range(run.description.classes)))
photos = tuple(sorted((home / "photos").iterdir()))
if photos:
    files = tuple(photos[i % len(photos)] for i in range(run.samples))
    images = Images(labels, classes, np.arange(run.samples), files=files)
else:
    images = in_memory(np.load(home / "pixels.npy", mmap_mode="r"), labels, classes)
coreset = choose(run, "dual+beta", keep=run.samples // 2)
start = time.perf_counter()
write_report(home / "report.html", gather(run, coreset), samples=images)
seconds = time.perf_counter() - start
peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
print(seconds, (home / "report.html").stat().st_size / 1e6, int(peak) / 2**20)
"""


def write_world(root: Path, samples: int, classes: int, names: list[str] | None = None) -> Run:
    """Write a run with the shape of a moon: each label is learned at its own time, or never."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, classes, samples).astype(np.int32)
    when, final = rng.gamma(2, 6, samples), np.where(rng.random(samples) < 0.05, -2, 4)
    attempt = start(root, samples, classes, SIGNALS, names=names)
    for epoch in range(1, EPOCHS + 1):
        margin = np.where(epoch > when, final, -1) + rng.normal(0, 1, samples)
        columns = {
            "id": np.arange(samples),
            "label": labels,
            "loss": np.logaddexp(0, -margin).astype(np.float32),
            "margin": margin.astype(np.float32),
            "rival": ((labels + 1) % classes).astype(np.int32),
        }
        write_part(attempt, epoch, 0, columns, NOTHING_ODD)
    return Run(root)


def make_home(home: Path, samples: int, classes: int, photos: int) -> None:
    rng = np.random.default_rng(1)
    folders = [f"n{i % classes:08}" for i in range(samples)]
    names = [f"{folder}/{folder}_{i}.JPEG" for i, folder in enumerate(folders)]
    write_world(home / "run", samples, classes, names if photos else None)
    (home / "photos").mkdir()
    for number in range(photos):
        coarse = Image.fromarray(rng.integers(0, 256, (12, 16, 3), np.uint8))
        coarse.resize((500, 375)).save(home / "photos" / f"{number:03}.jpg")
    if not photos:  # smooth noise, which is about as hard to compress as photographs of this size
        coarse = rng.integers(0, 256, (samples, 8, 8, 3), np.uint8)
        np.save(home / "pixels.npy", coarse.repeat(4, 1).repeat(4, 2))


def rows() -> Iterator[tuple[str, str, str]]:
    for samples, classes, photos, goal in (
        (50_000, 10, 0, "under 20 s, 12 MB"),
        (1_281_167, 1000, 200, "under 60 s, 20 MB, 2 GB"),
    ):
        with tempfile.TemporaryDirectory() as folder:
            make_home(Path(folder), samples, classes, photos)
            command = [sys.executable, "-c", _MAKE, folder]
            printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        seconds, size, peak = map(float, printed.split())
        measured = f"{seconds:.1f} s, {size:.1f} MB, {peak:.2f} GB"
        yield f"page for {samples:,} samples", measured, goal
