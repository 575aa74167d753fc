"""Crops as they are usual for ImageNet: random and resized to train, the centre to test.

A crop has a random share of the square's area, from 8 % to all of it, and a random shape, from 3:4
to 4:3; both are drawn up to ten times until the crop fits, else the crop is the whole square. It is
resized to what the model takes. These are the settings of Szegedy et al., 2015, as most public
training code has them. Here the square is the middle of the image, which `decode` gives, not the
whole image: what lies at the ends of a long side is never seen.

References
----------
Szegedy et al., 2015. Going Deeper with Convolutions. arXiv:1409.4842
"""

import math

import torch
from torch import Generator, Tensor
from torch.nn.functional import grid_sample

_AREA = (0.08, 1.0)
_SHAPE = (3 / 4, 4 / 3)
_TRIES = 10


def random_boxes(count: int, side: int, *, draw: Generator) -> Tensor:
    """Give top, left, height and width of a crop per image in pixels of the square, (count, 4).

    >>> random_boxes(1, 10, draw=Generator().manual_seed(0)).tolist()
    [[0, 0, 9, 10]]
    """
    uniform = torch.rand(count, _TRIES, 4, generator=draw, dtype=torch.float64)
    area = side**2 * (_AREA[0] + (_AREA[1] - _AREA[0]) * uniform[..., 0])
    low, high = map(math.log, _SHAPE)
    shape = torch.exp(low + (high - low) * uniform[..., 1])
    height, width = (torch.round(torch.sqrt(part)) for part in (area / shape, area * shape))
    fits = (height >= 1) & (width >= 1) & (height <= side) & (width <= side)
    first = fits.double().argmax(1, keepdim=True)
    room = torch.stack([side + 1 - height, side + 1 - width], -1)
    corner = torch.floor(uniform[..., 2:] * room)
    boxes = torch.cat([corner, height[..., None], width[..., None]], -1)
    chosen = boxes.gather(1, first[..., None].expand(-1, 1, 4))[:, 0]
    whole = torch.tensor([0.0, 0.0, side, side], dtype=torch.float64)
    return torch.where(fits.any(1, keepdim=True), chosen, whole).long()


def resized_crops(batch: Tensor, size: int, *, flip: bool, draw: Generator) -> Tensor:
    """Crop squares at random, resize to `size` x `size`, and mirror half of the images.

    `batch` is uint8 (batch, side, side, channels); so is what comes back, with another side. What
    lies between pixels is interpolated from the nearest four.

    >>> batch = torch.full((2, 16, 16, 3), 7, dtype=torch.uint8)
    >>> resized_crops(batch, 12, flip=True, draw=Generator().manual_seed(0)).unique().tolist()
    [7]
    """
    count, side = batch.shape[:2]
    boxes = random_boxes(count, side, draw=draw).to(batch.device, torch.float32)
    mirrored = torch.rand(count, 1, generator=draw) < (0.5 if flip else 0.0)
    along = (torch.arange(size, device=batch.device) + 0.5) / size
    across = torch.where(mirrored.to(batch.device), 1 - along, along)
    rows, columns = boxes[:, :1] + along * boxes[:, 2:3], boxes[:, 1:2] + across * boxes[:, 3:]
    places = [part.expand(-1, size, size) for part in (columns[:, None, :], rows[:, :, None])]
    grid = 2 * torch.stack(places, -1) / side - 1
    images = batch.permute(0, 3, 1, 2).float()
    resized = grid_sample(images, grid, padding_mode="border", align_corners=False)
    return resized.round().clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1)


def centre_crops(batch: Tensor, size: int) -> Tensor:
    """Give the middle of squares: of 256 pixels a side 224 are what ImageNet is usually tested on.

    >>> centre_crops(torch.arange(16).reshape(1, 4, 4, 1), 2).flatten().tolist()
    [5, 6, 9, 10]
    """
    start = (batch.shape[1] - size) // 2
    return batch[:, start : start + size, start : start + size]
