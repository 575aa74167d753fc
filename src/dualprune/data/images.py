"""Images, in memory or as files."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import ClassVar

import numpy as np

from dualprune.errors import DamagedError
from dualprune.signatures import Array

IN_MEMORY = 2**31
"""Most bytes of decoded images that are kept."""


@dataclass(frozen=True, eq=False)
class Images:
    """Labelled images, in memory or as files; a sample's id is its position here.

    Parameters
    ----------
    labels
        int64, shape (samples,): positions in `class_names`.
    source
        int64, shape (samples,): where each sample was in the set it was taken from.
    pixels
        uint8, shape (samples, height, width, channels), or None if the images are files.
    files
        One file per sample if there are no pixels.
    squares
        uint8, shape (samples, size, size, 3): the files as they were decoded to check them, if
        they fit into memory.
    names
        The files relative to their folder, such as ``"class/file.png"``, as `as_text` spells them;
        empty in memory.
    unreadable
        bool, shape (samples,): files that cannot be decoded; None if there are none.
    relabelled
        How many labels were corrected after loading.
    """

    kind: ClassVar[str] = "images"
    recipe: ClassVar[str] = "small"

    labels: Array
    class_names: tuple[str, ...]
    source: Array
    pixels: Array | None = None
    files: tuple[Path, ...] = ()
    names: tuple[str, ...] = ()
    squares: Array | None = None
    unreadable: Array | None = None
    relabelled: int = 0

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def readable_ids(self) -> Array:
        """Ids of the samples that can be read, which are all but the `unreadable`."""
        ids = np.arange(len(self))
        return ids if self.unreadable is None else ids[~self.unreadable]

    @property
    def nbytes(self) -> float:
        """Bytes of decoded images in memory; infinite if they are decoded while training."""
        decoded = self.squares if self.pixels is None else self.pixels
        return inf if decoded is None else decoded.nbytes

    def take(self, ids: Array) -> "Images":
        """Give these samples in this order; `source` still says where each one comes from.

        >>> images = in_memory(np.zeros((4, 2, 2, 1), np.uint8), np.arange(4), tuple("abcd"))
        >>> images.take(np.array([3, 1])).take(np.array([1])).source
        array([1])
        """
        chosen = np.arange(len(self))[ids]
        return replace(
            self,
            labels=self.labels[chosen],
            source=self.source[chosen],
            pixels=None if self.pixels is None else self.pixels[chosen],
            files=tuple(self.files[i] for i in chosen) if self.files else (),
            names=tuple(self.names[i] for i in chosen) if self.names else (),
            squares=None if self.squares is None else self.squares[chosen],
            unreadable=None if self.unreadable is None else self.unreadable[chosen],
        )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of labels, class names and pixels, or names and sizes of files; not of paths."""
        shape = None if self.pixels is None else self.pixels.shape
        sizes: list[int | None] = [None] * len(self.files)
        for i in self.readable_ids if self.files else ():
            sizes[i] = self.files[i].stat().st_size
        header = json.dumps([self.class_names, len(self), shape, self.names, sizes])
        content = hashlib.sha256(header.encode())
        content.update(np.ascontiguousarray(self.labels, "<i8").data)
        if self.pixels is not None:
            content.update(np.ascontiguousarray(self.pixels).data)
        return content.hexdigest()


def in_files(
    folder: Path, names: Sequence[str], labels: Array, class_names: tuple[str, ...]
) -> Images:
    """Give a whole set of image files by their true names relative to a folder."""
    return Images(
        labels=labels,
        class_names=class_names,
        source=np.arange(len(labels)),
        files=tuple(folder / name for name in names),
        names=tuple(map(as_text, names)),
    )


def as_text(name: str) -> str:
    r"""Spell a name so that it can be stored as UTF-8: a byte NN that is not UTF-8 as ``\udcNN``.

    In such a name, or where that stands already, backslashes are doubled: no two names become one.

    >>> print(as_text("caf\udce9.png"), as_text(r"caf\udce9.png"), as_text(r"caf\e9.png"))
    caf\udce9.png caf\\udce9.png caf\e9.png
    """
    if r"\ud" not in name.encode("utf-8", "backslashreplace").decode():
        return name
    return name.replace("\\", r"\\").encode("utf-8", "backslashreplace").decode()


def in_memory(pixels: Array, labels: Array, class_names: tuple[str, ...]) -> Images:
    """Give a whole set of uint8 images, (samples, height, width, channels)."""
    return Images(
        labels=labels.astype(np.int64),
        class_names=class_names,
        source=np.arange(len(labels)),
        pixels=np.require(pixels, np.uint8, ["C", "W"]),
    )


def check_labels(labels: Array, classes: int, origin: str | Path) -> None:
    """Refuse labels that are not positions among the classes."""
    wrong = np.flatnonzero((labels < 0) | (labels >= classes))
    if len(wrong):
        raise DamagedError(
            f"{origin} is damaged: label {labels[wrong[0]]} of sample {wrong[0]} "
            f"is not from 0 to {classes - 1} ({len(wrong)} such)"
        )
