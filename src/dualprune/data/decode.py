"""From an image file to an array of the size a model takes."""

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from dualprune.errors import DamagedError, MissingError
from dualprune.signatures import Array

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ["JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF"]  # others run programs, as EPS does


def decode(file: Path, size: int) -> Array:
    """Give the middle square of an image, uint8 of shape (size, size, 3).

    The shorter side becomes `size` and the longer one is cropped on both ends. Grey images become
    colour ones; transparency is dropped.
    """
    image = _eight_bits(open_image(file, size)).convert("RGB")
    side = min(image.size)
    left, top = (image.width - side) / 2, (image.height - side) / 2
    square = image.resize(
        (size, size), pillow().Resampling.BILINEAR, box=(left, top, left + side, top + side)
    )
    return np.array(square)


def decode_sound(file: Path, size: int) -> Array | None:
    """Give what `decode` gives, or None if the file is not sound or cannot be read to its end."""
    images = pillow()
    try:
        with images.open(file, formats=FORMATS) as image:
            image.verify()
        return decode(file, size)
    except MemoryError:
        raise  # which says nothing of the file
    except Exception as error:
        if isinstance(error.__cause__, MemoryError):
            raise error.__cause__ from error
        return None


def pillow() -> ModuleType:
    """Import Pillow's images, or say how to get them."""
    try:
        from PIL import Image  # noqa: PLC0415 - optional
    except ImportError as error:
        raise MissingError("image files need Pillow: pip install 'dualprune[torch]'") from error
    return Image


def open_image(file: Path, size: int) -> "Image":
    """Read an image file to its end; a large JPEG scaled down, but to twice `size` at least."""
    pillow()  # that it is missing is no damage of the file
    try:
        return _load(file, size)
    except Exception as error:
        raise DamagedError(f"cannot read the image {file}: {error}") from error


def _load(file: Path, size: int) -> "Image":
    image: Image
    with pillow().open(file, formats=FORMATS) as image:
        image.draft(None, (2 * size, 2 * size))
        image.load()
    return image


def _eight_bits(image: "Image") -> "Image":
    if image.mode.startswith("I;16"):  # convert() would turn everything above 255 white
        grey: Image = pillow().fromarray((np.asarray(image) >> 8).astype(np.uint8))
        return grey
    if image.mode == "P" and image.has_transparency_data:
        return image.convert("RGBA")
    return image
