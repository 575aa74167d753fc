"""Random resized crops: which boxes, and what is seen in them."""

import numpy as np
import pytest
import torch
from PIL import Image

from dualprune.train import crops
from dualprune.train.crops import centre_crops, random_boxes, resized_crops


def stream(seed=0):
    return torch.Generator().manual_seed(seed)


def test_boxes_lie_inside_and_have_the_areas_and_shapes_that_are_said():
    side, (top, left, height, width) = 256, random_boxes(20_000, 256, draw=stream()).T
    assert (top >= 0).all()
    assert (left >= 0).all()
    assert (top + height <= side).all()
    assert (left + width <= side).all()
    area, shape = height * width / side**2, width / height
    assert 0.078 < area.min() < 0.085
    assert 0.99 < area.max() <= 1
    assert 0.74 < shape.min() < 0.76
    assert 1.32 < shape.max() < 1.35
    assert abs(shape.log().mean()) < 0.01, "neither wide nor tall ones are preferred"
    free = (side - height, side - width)
    for start, room in zip((top, left), free, strict=True):
        share = (start / room)[room > 50]
        assert abs(share.mean() - 0.5) < 0.01, "they lie anywhere"


def test_small_boxes_reach_both_ends():
    side, (top, left, height, width) = 6, random_boxes(2_000, 6, draw=stream()).T
    for start, room in ((top, side - height), (left, side - width)):
        free = room > 0
        assert {(start == 0)[free].any().item(), (start == room)[free].any().item()} == {True}


def test_a_crop_that_never_fits_is_the_whole_square(monkeypatch):
    monkeypatch.setattr(crops, "_SHAPE", (9.0, 10.0))
    monkeypatch.setattr(crops, "_AREA", (0.9, 1.0))
    assert random_boxes(3, 8, draw=stream()).tolist() == [[0, 0, 8, 8]] * 3


def by_pillow(image, box, size):
    top, left, height, width = box
    part = Image.fromarray(image).crop((left, top, left + width, top + height))
    return np.array(part.resize((size, size), Image.Resampling.BILINEAR))


@pytest.mark.parametrize("mirrored", [False, True])
def test_what_is_seen_is_what_pillow_gives_of_the_same_boxes(mirrored):
    across = np.linspace(0, 255, 48)[None, :, None] * np.ones((48, 1, 1))
    image = np.concatenate([across, across.swapaxes(0, 1), 255 - across], 2).astype(np.uint8)
    batch = torch.from_numpy(np.stack([image] * 40))
    seen = resized_crops(batch, 64, flip=True, draw=stream(1)).numpy()  # only enlarged
    boxes = random_boxes(40, 48, draw=stream(1)).tolist()
    draw = stream(1)
    torch.rand(40, crops._TRIES, 4, generator=draw, dtype=torch.float64)
    flips = (torch.rand(40, 1, generator=draw) < 0.5)[:, 0].tolist()
    assert mirrored in flips
    for view, box, flip in zip(seen, boxes, flips, strict=True):
        if flip == mirrored:
            expected = by_pillow(image, box, 64)[:, :: -1 if flip else 1].astype(int)
            inner = np.s_[8:-8, 8:-8]  # beyond its edge Pillow repeats the crop, not the image
            assert np.abs(view.astype(int) - expected)[inner].max() <= 1


def test_crops_depend_on_the_stream_alone():
    batch = torch.randint(0, 256, (5, 16, 16, 3), generator=stream(), dtype=torch.uint8)
    first, again, other = (
        resized_crops(batch, 12, flip=True, draw=stream(seed)) for seed in (1, 1, 2)
    )
    assert first.shape == (5, 12, 12, 3)
    assert first.dtype == torch.uint8
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_the_centre_is_the_middle():
    batch = torch.arange(256 * 256).reshape(1, 256, 256, 1)
    assert torch.equal(centre_crops(batch, 224), batch[:, 16:240, 16:240])
    assert torch.equal(centre_crops(batch, 256), batch)
