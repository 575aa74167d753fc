"""From labelled data to batches of tensors that a model takes.

Images in memory are one uint8 tensor; files that would not fit are decoded by the workers of a
DataLoader. Either way a batch is cropped, mirrored and normalised at once, which is much faster
than image by image, and comes out in channels-last memory, which convolutions on CPUs prefer.
Texts and rows of a table are encoded batch by batch.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol, cast

import numpy as np
import torch
from torch import Generator, Tensor
from torch.nn.functional import pad
from torch.utils.data import DataLoader, Dataset

from dualprune.data import Data, Encoded, Images, decode
from dualprune.data.images import IN_MEMORY
from dualprune.errors import InputError
from dualprune.signatures import Array
from dualprune.train.crops import centre_crops
from dualprune.train.datasets import DatasetBatches, Samples
from dualprune.train.recipe import Recipe

_PROBE = 1000  # files whose mean and deviation stand for all

Change = Callable[[Tensor], Tensor]
"""Augments a batch of raw images."""


class Batches(Protocol):
    """Inputs and labels of samples on one device; `readable_ids` are those that can be asked for.

    `shape` is what a model must know of its inputs.
    """

    device: torch.device
    labels: Tensor
    readable_ids: Tensor

    @property
    def shape(self) -> tuple[int, ...]: ...
    def __len__(self) -> int: ...
    def inputs(self, order: Sequence[Tensor], change: Change | None = None) -> Iterator[Tensor]:
        """Give what a model takes for each tensor of ids; `change` augments images."""


def batches_of(
    data: Data, recipe: Recipe, device: torch.device, *, like: Batches | None = None
) -> Batches:
    """Give the batches of data of any kind; `like` are those of the training data, for a test."""
    if isinstance(data, Images):
        own, centre = cast("ImageBatches | None", like), recipe.size if recipe.decode else None
        return ImageBatches(data, size=recipe.decoded, device=device, like=own, centre=centre)
    if isinstance(data, Samples):
        return DatasetBatches(data, device)
    return EncodedBatches(cast(Encoded, data), device)


class EncodedBatches:
    """Texts and rows, encoded when asked for."""

    def __init__(self, data: Encoded, device: torch.device) -> None:
        self.device = device
        self.labels = torch.from_numpy(data.labels).to(device)
        self.readable_ids = torch.from_numpy(data.readable_ids)
        self.shape = data.shape
        self._data = data

    def __len__(self) -> int:
        return len(self.labels)

    def inputs(self, order: Sequence[Tensor], change: Change | None = None) -> Iterator[Tensor]:  # noqa: ARG002 - only images are augmented
        """Give the encoded inputs for each tensor of ids."""
        for ids in order:
            yield torch.from_numpy(self._data.batch(ids.numpy())).to(self.device)


class _Files(Dataset[Tensor]):
    """Files of images, decoded when asked for."""

    def __init__(self, images: Images, size: int) -> None:
        self.files = images.files
        self.size = size

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Tensor:
        return torch.from_numpy(decode(self.files[index], self.size))


class ImageBatches:
    """Images as normalised float32 batches of shape (batch, channels, height, width).

    Parameters
    ----------
    size
        What files are scaled to; images in memory keep their own size.
    like
        Take over the mean and deviation per channel of these, which must have as many channels;
        for test images.
    centre
        Show this many pixels a side of the middle of files that are not augmented.
    """

    def __init__(
        self,
        images: Images,
        *,
        size: int,
        device: torch.device,
        like: "ImageBatches | None" = None,
        centre: int | None = None,
    ) -> None:
        self.centre = centre if images.files else None
        self.device = device
        self.labels = torch.from_numpy(images.labels).to(device)
        self.readable_ids = torch.from_numpy(images.readable_ids)
        self._files = _Files(images, size)
        pixels = _pixels(images, size)
        self._pixels = None if pixels is None else torch.from_numpy(pixels).to(device)
        self.mean: Tensor
        self.deviation: Tensor
        self.mean, self.deviation = (like.mean, like.deviation) if like else self._statistics()
        if len(self.mean) != self.shape[0]:
            raise InputError(
                f"training images have {len(self.mean)} channels, test images {self.shape[0]}"
            )

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def shape(self) -> tuple[int, int]:
        """Channels, and the shorter side in pixels, of what a model sees."""
        if self.centre is not None:
            return 3, self.centre
        if self._pixels is None:
            return 3, self._files.size
        return self._pixels.shape[3], min(self._pixels.shape[1:3])

    def raw(self, order: Sequence[Tensor]) -> Iterator[Tensor]:
        """Give uint8 images (batch, height, width, channels) for each tensor of ids."""
        if self._pixels is not None:
            for ids in order:
                yield self._pixels[ids.to(self.device)]
            return
        loader = DataLoader(
            self._files,
            batch_sampler=[ids.tolist() for ids in order],
            num_workers=os.cpu_count() or 1,
            pin_memory=self.device.type == "cuda",
        )
        for batch in loader:
            yield batch.to(self.device, non_blocking=True)

    def inputs(self, order: Sequence[Tensor], change: Change | None = None) -> Iterator[Tensor]:
        """Give normalised images for each tensor of ids, changed before they are normalised."""
        for raw in self.raw(order):
            seen = self._seen(raw) if change is None else change(raw)
            yield self.normalised(seen)

    def _seen(self, raw: Tensor) -> Tensor:
        return raw if self.centre is None else centre_crops(raw, self.centre)

    def normalised(self, batch: Tensor) -> Tensor:
        """Scale to mean 0 and deviation 1 per channel; channels first in shape, last in memory."""
        return ((batch - self.mean) / self.deviation).permute(0, 3, 1, 2)

    def _statistics(self) -> tuple[Tensor, Tensor]:
        ids = self.readable_ids
        if self._pixels is None:
            probe = ids[torch.linspace(0, len(ids) - 1, min(_PROBE, len(ids))).long()]
            sample = next(self.raw([probe]))
        else:
            sample = self._pixels if len(ids) == len(self) else self._pixels[ids.to(self.device)]
        values = sample.reshape(-1, sample.shape[-1])
        mean = torch.zeros(values.shape[1], dtype=torch.float64, device=self.device)
        square = torch.zeros_like(mean)
        for start in range(0, len(values), 2**20):
            part = values[start : start + 2**20].double()
            mean += part.sum(0) / len(values)
            square += part.square().sum(0) / len(values)
        deviation = (square - mean.square()).clamp(min=1.0).sqrt()
        return mean.float(), deviation.float()


def augment(batch: Tensor, *, crop: float, flip: bool, draw: Generator) -> Tensor:
    """Crop at random after padding with zeros, and mirror half of the images: one gather.

    >>> batch = torch.arange(4, dtype=torch.uint8).reshape(1, 1, 4, 1)
    >>> augment(batch, crop=0.0, flip=True, draw=Generator().manual_seed(1)).flatten().tolist()
    [3, 2, 1, 0]
    """
    count, height, width = batch.shape[:3]
    margin = round(crop * min(height, width))
    corner = torch.randint(0, 2 * margin + 1, (2, count, 1), generator=draw)
    mirrored = torch.rand(count, 1, generator=draw) < (0.5 if flip else 0.0)
    along = torch.arange(width)
    rows = corner[0] + torch.arange(height)
    columns = corner[1] + torch.where(mirrored, width - 1 - along, along)
    padded = pad(batch, (0, 0, margin, margin, margin, margin))
    images = torch.arange(count)[:, None, None]
    return padded[images, rows[:, :, None], columns[:, None, :]]


def _pixels(images: Images, size: int) -> Array | None:
    """Give all images as one array, unless they are files that would take too much memory."""
    if images.pixels is not None:
        return np.ascontiguousarray(images.pixels)
    if images.squares is not None and images.squares.shape[1] == size:
        return images.squares
    if len(images) * size * size * 3 > IN_MEMORY:
        return None
    squares = np.zeros((len(images), size, size, 3), np.uint8)
    files = [images.files[i] for i in images.readable_ids]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        squares[images.readable_ids] = list(pool.map(partial(decode, size=size), files))
    return squares
