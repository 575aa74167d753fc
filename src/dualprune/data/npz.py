"""Images saved with ``numpy.savez("data.npz", x=images, y=labels)``."""

import math
import os
import zipfile
import zlib
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from dualprune.data.images import IN_MEMORY, Images, as_text, in_memory
from dualprune.errors import InputError, MissingError
from dualprune.signatures import Array

_FOLDED = 100  # times that large images may have been compressed; blank ones are 1,000 times


def read_npz(path: Path) -> Images:
    """Give the images `x` and labels `y` of an ``.npz``; pickled objects in it are refused.

    `x` is (samples, height, width) or (samples, height, width, 1 or 3), uint8 or floats from 0 to
    1; `y` is (samples,), class numbers from 0 or class names.
    """
    try:
        x, y = _arrays(path)
    except (ValueError, OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(
            f"{path} cannot be read as an .npz of plain arrays: {error}; save one with "
            "numpy.savez(path, x=x, y=y)"
        ) from error
    pixels = _pixels(x, path)
    if y.shape != (len(pixels),):
        raise InputError(f"y of {path} must have shape ({len(pixels)},) as x has, got {y.shape}")
    return in_memory(pixels, *_labels(y, path))


def _arrays(path: Path) -> tuple[Array, Array]:
    with zipfile.ZipFile(path) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if missing := {"x", "y"} - set(members):
            raise MissingError(
                f"{path} has no {' and no '.join(sorted(missing))}; it has {sorted(members)}"
            )
        x, y = members["x"], members["y"]
        _refuse_too_large(x.file_size + y.file_size, path.stat().st_size)
        return _read(archive, x), _read(archive, y)


def _refuse_too_large(unpacked: int, packed: int) -> None:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    most = min(memory, max(IN_MEMORY, _FOLDED * packed))
    if unpacked > most:
        raise ValueError(
            f"its x and y would take {unpacked:,} bytes, the file has {packed:,}; at most {most:,} "
            f"are unpacked: no more than the memory of this machine ({memory:,}), and beyond "
            f"{IN_MEMORY:,} no more than {_FOLDED} times the file"
        )


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    """Read an array, unless its header states another size than the archive does."""
    with archive.open(member) as file:
        first = npy.read_magic(file) == (1, 0)
        header = npy.read_array_header_1_0(file) if first else npy.read_array_header_2_0(file)
        shape, _, dtype = header
        size = file.tell() + math.prod(shape) * dtype.itemsize
        if size != member.file_size and not dtype.hasobject:  # which are refused below
            raise ValueError(
                f"{member.filename} has {member.file_size:,} bytes, not the {size:,} of an array "
                f"of {dtype} of shape {shape}"
            )
        file.seek(0)
        array: Array = npy.read_array(file, allow_pickle=False)
        return array


def _pixels(x: Array, path: Path) -> Array:
    pixels = x[..., None] if x.ndim == 3 else x
    if pixels.ndim != 4 or pixels.shape[3] not in (1, 3) or 0 in pixels.shape:
        raise InputError(
            f"x of {path} must have shape (samples, height, width) or (samples, height, width, "
            f"1 or 3), got {x.shape}"
        )
    if pixels.dtype == np.uint8:
        return pixels
    if pixels.dtype.kind != "f" or not (pixels.min() >= 0 and pixels.max() <= 1):
        raise InputError(
            f"x of {path} must be uint8 or floats from 0 to 1, got {_describe(pixels)}"
        )
    return np.asarray(np.rint(pixels * 255), np.uint8)


def _labels(y: Array, path: Path) -> tuple[Array, tuple[str, ...]]:
    if y.dtype.kind == "U":
        names, labels = np.unique(y, return_inverse=True)
        return labels, tuple(map(as_text, names.tolist()))
    if y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= len(y):
        raise InputError(
            f"y of {path} must be class names or numbers from 0 to classes - 1, got {_describe(y)}"
        )
    return y, tuple(map(str, range(int(y.max()) + 1)))


def _describe(array: Array) -> str:
    if array.dtype.kind not in "iuf":
        return str(array.dtype)
    return f"{array.dtype} from {array.min()} to {array.max()}"
