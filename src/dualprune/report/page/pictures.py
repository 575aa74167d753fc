"""Thumbnails, all on one sheet: one image in the page instead of thousands."""

import base64
import io
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from dualprune.data import Images, decode
from dualprune.data.decode import pillow
from dualprune.signatures import Array

_LARGEST = 64  # pixels a side
_COLUMNS = 50


@dataclass(frozen=True)
class Sheet:
    """A `data:` address of one image: squares of `side` pixels, row by row."""

    address: str
    side: int
    columns: int
    rows: int


def draw_sheet(images: Images, ids: Array) -> Sheet:
    """Draw these samples in this order; grey images losslessly, colour ones as JPEG."""
    tiles = _tiles(images, ids)
    count, side, _, channels = tiles.shape
    columns = min(_COLUMNS, count)
    rows = -(-count // columns)
    blank = np.zeros((rows * columns - count, side, side, channels), np.uint8)
    grid = np.concatenate([tiles, blank]).reshape(rows, columns, side, side, channels)
    sheet = grid.swapaxes(1, 2).reshape(rows * side, columns * side, channels)
    return Sheet(_address(sheet), side, columns, rows)


def _tiles(images: Images, ids: Array) -> Array:
    if images.pixels is None:
        with ThreadPoolExecutor() as pool:
            return np.stack([*pool.map(lambda i: decode(images.files[i], _LARGEST), ids)])
    pixels = images.pixels[ids]
    if max(pixels.shape[1:3]) > _LARGEST:
        pixels = np.stack([_shrink(image) for image in pixels])
    tall, wide = pixels.shape[1:3]
    side = max(tall, wide)
    top, left = (side - tall) // 2, (side - wide) // 2
    return np.pad(pixels, [(0, 0), (top, side - tall - top), (left, side - wide - left), (0, 0)])


def _shrink(image: Array) -> Array:
    picture = pillow().fromarray(image.squeeze(-1) if image.shape[-1] == 1 else image)
    picture.thumbnail((_LARGEST, _LARGEST))
    return np.asarray(picture).reshape(picture.height, picture.width, -1)


def _address(sheet: Array) -> str:
    content, grey = io.BytesIO(), sheet.shape[-1] == 1
    picture = pillow().fromarray(sheet.squeeze(-1) if grey else sheet)
    kind, options = ("png", {}) if grey else ("jpeg", {"quality": 85, "subsampling": 0})
    picture.save(content, kind, **options)
    return f"data:image/{kind};base64,{base64.b64encode(content.getvalue()).decode()}"
