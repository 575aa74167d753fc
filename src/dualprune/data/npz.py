"""Images saved with ``numpy.savez("data.npz", x=images, y=labels)``."""

import zipfile
import zlib
from pathlib import Path

import numpy as np

from dualprune.data.images import Images, in_memory
from dualprune.errors import InputError, MissingError
from dualprune.signatures import Array


def read_npz(path: Path) -> Images:
    """Give the images `x` and labels `y` of an ``.npz``; pickled objects in it are refused.

    `x` is (samples, height, width) or (samples, height, width, 1 or 3), uint8 or floats from 0 to
    1; `y` is (samples,), class numbers from 0 or class names.
    """
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path} is not an .npz file; save one with numpy.savez(path, x=x, y=y)")
    try:
        x, y = _arrays(path)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path} cannot be read as plain arrays: {error}") from error
    pixels = _pixels(x, path)
    if y.shape != (len(pixels),):
        raise InputError(f"y of {path} must have shape ({len(pixels)},) as x has, got {y.shape}")
    return in_memory(pixels, *_labels(y, path))


def _arrays(path: Path) -> tuple[Array, Array]:
    with np.load(path, allow_pickle=False) as arrays:
        if missing := {"x", "y"} - set(arrays.files):
            raise MissingError(
                f"{path} has no {' and no '.join(sorted(missing))}; it has {sorted(arrays.files)}"
            )
        return arrays["x"], arrays["y"]


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
        return labels, tuple(names.tolist())
    if y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= len(y):
        raise InputError(
            f"y of {path} must be class names or numbers from 0 to classes - 1, got {_describe(y)}"
        )
    return y, tuple(map(str, range(int(y.max()) + 1)))


def _describe(array: Array) -> str:
    if array.dtype.kind not in "iuf":
        return str(array.dtype)
    return f"{array.dtype} from {array.min()} to {array.max()}"
