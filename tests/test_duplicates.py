"""Images that are there more than once, exactly."""

import numpy as np
from PIL import Image

from dualprune.data import duplicates, in_memory, load


def test_equal_pixels_are_found_and_several_labels_come_first():
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (8, 4, 4, 3), np.uint8)
    pixels[5], pixels[7], pixels[6] = pixels[0], pixels[0], pixels[2]
    labels = np.array([0, 1, 0, 1, 0, 0, 1, 0])
    groups = duplicates(in_memory(pixels, labels, ("a", "b")))
    assert [group.tolist() for group in groups] == [[2, 6], [0, 5, 7]]
    assert duplicates(in_memory(pixels[:5], labels[:5], ("a", "b"))) == []


def test_files_are_compared_by_what_they_show_not_by_their_bytes_or_their_size_for_the_model(
    tmp_path,
):
    rng = np.random.default_rng(0)
    shown = Image.fromarray(rng.integers(0, 256, (64, 64, 3), np.uint8))
    for name in ("a/first.png", "b/same.bmp"):
        (tmp_path / name).parent.mkdir()
        shown.save(tmp_path / name)
    for number, colour in enumerate([(9, 9, 9), (9, 9, 9)]):
        Image.new("RGB", (20 + number, 20), colour).save(tmp_path / f"a/plain {number}.png")
    images, _ = load(tmp_path, size=8)
    (group,) = duplicates(images)
    assert [images.names[i] for i in group] == ["a/first.png", "b/same.bmp"]
