"""Fashion-MNIST from its four IDX files, compressed or plain.

An IDX file starts with a magic number (2051 for images, 2049 for labels), the number of samples
and, for images, their height and width, each as four bytes, the most significant first.
"""

from pathlib import Path

import numpy as np

from dualprune.data.archive import gunzip
from dualprune.data.download import absent, download, pins
from dualprune.data.images import Images, check_labels, in_memory
from dualprune.errors import DamagedError
from dualprune.signatures import Array

CLASS_NAMES = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
    "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip
DEBIAN = Path("/usr/share/datasets/fashion-mnist")
SAMPLES = {"train": 60_000, "t10k": 10_000}
_ADDRESS = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
PINNED = pins("fashion-mnist")


def fashion_mnist(root: Path, fetch: bool) -> tuple[Images, Images]:
    """70,000 grey pictures of clothes, 28 x 28, in 10 classes."""
    home = root / "fashion-mnist"
    complete = [*filter(_is_complete, (home, DEBIAN))]
    if fetch and not complete:
        for name, pinned in PINNED.items():
            download(f"{_ADDRESS}{name}.gz", home / f"{name}.gz", pinned)
        complete = [home]
    if not complete:
        how = "Ask for it with --download, or install Debian's dataset-fashion-mnist."
        raise absent("fashion-mnist", [home, DEBIAN], how)
    return _read(complete[0], "train"), _read(complete[0], "t10k")


def _is_complete(folder: Path) -> bool:
    return all(_file(folder, name).is_file() for name in PINNED)


def _file(folder: Path, name: str) -> Path:
    plain = folder / name
    return plain if plain.is_file() else folder / f"{name}.gz"


def _read(folder: Path, part: str) -> Images:
    samples = SAMPLES[part]
    pixels = _read_idx(folder, f"{part}-images-idx3-ubyte", (2051, samples, 28, 28))
    labels = _read_idx(folder, f"{part}-labels-idx1-ubyte", (2049, samples))
    check_labels(labels, len(CLASS_NAMES), folder / f"{part}-labels-idx1-ubyte")
    return in_memory(pixels[..., None], labels, CLASS_NAMES)


def _read_idx(folder: Path, name: str, header: tuple[int, ...]) -> Array:
    file = _file(folder, name)
    start = np.array(header, ">u4").tobytes()
    size = len(start) + int(np.prod(header[1:]))
    data = file.read_bytes()
    if file.suffix == ".gz":
        data = gunzip(data, size, file)
    if not data.startswith(start) or len(data) != size:
        raise DamagedError(
            f"{file} is damaged: expected {size:,} bytes that start with {start.hex()}, "
            f"got {len(data):,} with {data[: len(start)].hex()}"
        )
    return np.frombuffer(data, np.uint8, offset=len(start)).reshape(header[1:])
