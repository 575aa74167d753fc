"""From an image file to an array of the size a model takes."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from dualprune.errors import DamagedError, InputError, MissingError
from dualprune.signatures import Array

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ["JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF", "PPM"]  # others run programs, as EPS does
_LARGE = 2**24  # pixels; six images of ten times as many would take 4 GB at once
_ONE_AT_A_TIME = Lock()
_ORIENTATION = 0x0112  # of EXIF
_TURNS = {
    2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE",
    6: "ROTATE_270", 7: "TRANSVERSE", 8: "ROTATE_90",
}  # fmt: skip


def decode(file: Path, size: int) -> Array:
    """Give the middle square of an image, uint8 of shape (size, size, 3).

    It is turned as its camera says (EXIF). The shorter side becomes `size` and the longer one is
    cropped on both ends. Grey images become colour ones; transparency is dropped. Floats and
    integers of 32 bits are scaled so that the smallest value in the image becomes 0 and the largest
    255; NaN becomes 0.
    """
    with _judged(file), _load(file, size) as loaded:
        image = _eight_bits(loaded)
        image = image if image.mode == "RGB" else image.convert("RGB")
        side = min(image.size)
        left, top = (image.width - side) / 2, (image.height - side) / 2
        box = (left, top, left + side, top + side)
        return np.array(image.resize((size, size), pillow().Resampling.BILINEAR, box=box))


def decode_sound(file: Path, size: int) -> Array | str:
    """Give what `decode` gives; of a file that is not sound to its end, what it is instead."""
    images = pillow()
    try:
        with _judged(file):
            if not file.is_file():  # a pipe would be waited for
                return "unreadable images"
            with images.open(file, formats=FORMATS) as image:
                image.verify()
        return decode(file, size)
    except DamagedError as error:
        if isinstance(error.__cause__, images.DecompressionBombError):
            return f"images of more than {2 * images.MAX_IMAGE_PIXELS:,} pixels"
        return "unreadable images"


def pillow() -> ModuleType:
    """Import Pillow's images, or say how to get them."""
    try:
        from PIL import Image  # noqa: PLC0415 - optional
    except ImportError as error:
        raise MissingError("image files need Pillow: pip install 'dualprune[torch]'") from error
    Image.init()  # a format that could not be imported later would look like a broken image
    return Image


def open_image(file: Path, size: int) -> "Image":
    """Read an image file to its end; a large JPEG scaled down, but to twice `size` at least."""
    with _judged(file), _load(file, size) as image:
        return image


@contextmanager
def _judged(file: Path) -> Iterator[None]:
    """Tell an image that is damaged from one that the system could not read."""
    try:
        yield
    except (MemoryError, MissingError):
        raise  # which say nothing of the file
    except Exception as error:
        # Pillow's own errors have no number; damaged offsets make it seek where it is invalid
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise InputError(
                f"cannot read {file}: {error.strerror} (errno {error.errno}); the image may be "
                "sound, so it was not left out. Remove the cause and try again"
            ) from error
        raise DamagedError(f"cannot read the image {file}: {error}") from error


@contextmanager
def _load(file: Path, size: int) -> Iterator["Image"]:
    images = pillow()
    images.core.set_block_size(4 * _LARGE)  # or malloc keeps for each thread what it has freed
    with images.open(file, formats=FORMATS) as image:
        image.draft(None, (2 * size, 2 * size))
        with _ONE_AT_A_TIME if image.width * image.height > _LARGE else nullcontext():
            image.load()
            yield _upright(image, file)


def _upright(image: "Image", file: Path) -> "Image":
    """Turn or mirror an image as its EXIF says, unless that is damaged: its pixels are sound."""
    try:
        with _judged(file):
            turn = _TURNS.get(image.getexif().get(_ORIENTATION, 1))
    except DamagedError:
        return image
    return image if turn is None else image.transpose(pillow().Transpose[turn])


def _eight_bits(image: "Image") -> "Image":
    if image.mode.startswith("I;16"):  # convert() would turn everything above 255 white
        return _grey(np.asarray(image) >> 8)
    if image.mode in ("I", "F"):
        return _grey(_scaled(np.asarray(image, np.float64)))
    if image.mode == "P" and image.has_transparency_data:
        return image.convert("RGBA")
    return image


def _grey(values: Array) -> "Image":
    image: Image = pillow().fromarray(values.astype(np.uint8))
    return image


def _scaled(values: Array) -> Array:
    """Scale to 0..255 by the values' own range.

    >>> _scaled(np.array([-3.0, 7.0, np.nan, np.inf, 2.0])).tolist()
    [0.0, 255.0, 0.0, 255.0, 128.0]
    """
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    shares = (np.clip(values, low, high) - low) / ((high - low) or 1.0)
    scaled: Array = np.rint(np.nan_to_num(shares) * 255)
    return scaled
