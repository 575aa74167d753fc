"""Images damaged on purpose, to see whether a method drops or keeps them."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from dualprune.data.draws import draw, draw_share
from dualprune.data.images import Images
from dualprune.errors import InputError
from dualprune.signatures import Array

Draws = Callable[[int], Array]  # gives that many numbers between 0 and 1

_BLUR = 1 / 4  # length of the blur as a share of the shorter side
_FOG = (0.4, 0.8)  # how much of a pixel is fog, from the thinnest to the thickest place
_COVERED = (0.3, 0.6)  # sides of the rectangle as shares of the image's
_DEVIATION = 40.0  # of the noise, in grey levels


def corrupt(images: Images, share: float, seed: int) -> tuple[Images, Array]:
    """Give images of which a share is damaged, and how: positions in `CORRUPTIONS`, -1 for clean.

    Exactly floor(share * samples) images are drawn, and the five kinds take turns among them, so
    their counts differ by one at most. A larger share with the same seed damages the same images
    in the same way, and more. Which of N images are damaged, and with which kind, depends on
    (seed, id, N); the pixels that a kind of damage gives on (seed, id, pixels) alone.

    >>> from dualprune.data import load
    >>> digits, _ = load("digits")
    >>> damaged, kind = corrupt(digits, 0.2, seed=0)
    >>> np.bincount(kind + 1).tolist()
    [1151, 58, 58, 57, 57, 57]

    References
    ----------
    Hendrycks and Dietterich, 2019. Benchmarking Neural Network Robustness to Common Corruptions
    and Perturbations. arXiv:1903.12261
    """
    if not 0 <= share <= 1:
        raise InputError(f"share must be from 0 to 1, got {share}")
    if images.pixels is None:
        raise InputError(
            "only images in memory can be damaged, and these are files; read them first, such as "
            "in_memory(np.stack([decode(file, size=64) for file in images.files]), images.labels, "
            "images.class_names)"
        )
    chosen = draw_share(f"which images are damaged, seed {seed}", len(images), share)
    kind = np.full(len(images), -1, np.int8)
    kind[chosen] = np.arange(len(chosen)) % len(CORRUPTIONS)
    pixels = images.pixels.copy()
    for i in np.flatnonzero(kind >= 0).tolist():
        draws = partial(draw, f"how images are damaged, seed {seed}", stream=i)
        pixels[i] = _DAMAGE[CORRUPTIONS[kind[i]]](pixels[i], draws)
    return replace(images, pixels=pixels), kind


def _motion_blur(image: Array, draws: Draws) -> Array:
    """Average the image along a line of random direction; pixels of the edge repeat outside."""
    height, width = image.shape[:2]
    angle = np.pi * draws(1)[0]
    direction = np.array([np.sin(angle), np.cos(angle)])
    longer = np.abs(direction).max()
    half = max(1, round(min(height, width) * _BLUR / 2 * longer))
    steps = half + np.rint(np.outer(np.arange(-half, half + 1), direction / longer)).astype(int)
    padded = np.pad(image, ((half, half), (half, half), (0, 0)), "edge")
    views = [padded[y : y + height, x : x + width] for y, x in steps.tolist()]
    return _eight_bits(np.mean(views, axis=0))


def _fog(image: Array, draws: Draws) -> Array:
    """Mix every pixel with white: contrast falls, brightness rises, more in some places."""
    height, width = image.shape[:2]
    uniforms = np.split(draws(9 + 25 + 81), [9, 9 + 25])
    clouds = np.zeros((height, width))
    for weight, cells, numbers in zip((4, 2, 1), (2, 4, 8), uniforms, strict=True):
        grid = numbers.reshape(cells + 1, cells + 1)
        clouds += weight * (_interpolate(height, cells) @ grid @ _interpolate(width, cells).T)
    thin, thick = _FOG
    clouds = (clouds - clouds.min()) / max(np.ptp(clouds), np.finfo(float).tiny)
    fog = (thin + (thick - thin) * clouds)[..., None]
    return _eight_bits((1 - fog) * image + fog * 255)


@lru_cache
def _interpolate(side: int, cells: int) -> Array:
    """Weights, (side, cells + 1), that interpolate between the corners of a row of cells."""
    place = np.linspace(0, cells, side)[:, None]
    return np.asarray(np.maximum(0, 1 - np.abs(place - np.arange(cells + 1))))


def _reduced_resolution(image: Array, draws: Draws) -> Array:  # noqa: ARG001 - nothing is drawn
    """Replace blocks by their means: on each side a quarter as many as pixels, but 4 at least."""
    small = image.astype(np.float64)
    for axis in (0, 1):
        side = image.shape[axis]
        blocks = max(side // 4, min(4, side // 2), 1)
        starts = -(-np.arange(blocks) * side // blocks)
        sizes = np.diff(starts, append=side)
        shape = (-1, 1, 1) if axis == 0 else (1, -1, 1)
        small = np.add.reduceat(small, starts, axis) / sizes.reshape(shape)
        small = np.repeat(small, sizes, axis)
    return _eight_bits(small)


def _occlusion(image: Array, draws: Draws) -> Array:
    """Cover a rectangle with black or white, whichever differs more from what it hides."""
    uniforms = draws(4)
    least, most = _COVERED
    sides = np.array(image.shape[:2])
    covered = np.maximum(1, np.rint(sides * (least + (most - least) * uniforms[:2]))).astype(int)
    top, left = np.floor(uniforms[2:] * (sides - covered + 1)).astype(int)
    place = np.s_[top : top + covered[0], left : left + covered[1]]
    hidden = image.copy()
    hidden[place] = 255 if image[place].mean() < 127.5 else 0
    return hidden


def _gaussian_noise(image: Array, draws: Draws) -> Array:
    uniforms = draws(2 * image.size)  # two of them make one normal number (Box and Muller)
    normal = np.sqrt(-2 * np.log(uniforms[::2])) * np.cos(2 * np.pi * uniforms[1::2])
    return _eight_bits(image + _DEVIATION * normal.reshape(image.shape))


def _eight_bits(values: Array) -> Array:
    return np.asarray(np.rint(np.clip(values, 0, 255)), np.uint8)


_DAMAGE: dict[str, Callable[[Array, Draws], Array]] = {
    "motion blur": _motion_blur,
    "fog": _fog,
    "reduced resolution": _reduced_resolution,
    "occlusion": _occlusion,
    "Gaussian noise": _gaussian_noise,
}
CORRUPTIONS = tuple(_DAMAGE)
