"""Images to train on: a few in memory, a folder as people have them, and those of Debian."""

import os

import numpy as np
import pytest
from PIL import Image

from dualprune.data import in_memory
from dualprune.data.fashion_mnist import DEBIAN

COLOURS = {"grüne Äpfel": (40, 200, 60), "houses": (225, 60, 40), "night sky": (15, 25, 130)}
MODES = ("RGB", "L", "P", "RGBA")
BROKEN = "houses/house broken.jpg"
EMPTY = "nothing yet"

needs_fashion_mnist = pytest.mark.skipif(
    not DEBIAN.is_dir() and not os.environ.get("CI"), reason="dataset-fashion-mnist is missing"
)


def striped(samples, classes):
    """Noise of 8 x 8 with a bright stripe where its class has it."""
    labels = np.arange(samples) % classes
    pixels = np.random.default_rng(0).integers(0, 90, (samples, 8, 8, 1), np.uint8)
    pixels[np.arange(samples), :, labels * 2] += 120
    return in_memory(pixels, labels, tuple("abcdefgh"[:classes]))


def make_photos(folder, each=20):
    """Write images of all kinds, oddly named, one broken, a class empty; gives the good names."""
    names = []
    for class_name, (red, green, blue) in COLOURS.items():
        (folder / class_name).mkdir(parents=True)
        for number in range(each):
            size = (6 + number % 5, 6 + number % 3)
            colour = (red + number, green - number, blue + 2 * number)
            mode = MODES[number % len(MODES)]
            suffix = "jpg" if mode == "RGB" and number % 8 else "png"
            name = f"{class_name}/{class_name[:-1]} é {number}.{suffix}"
            Image.new("RGB", size, colour).convert(mode).save(folder / name)
            names.append(name)
    (folder / BROKEN).write_bytes((folder / names[0]).read_bytes()[:40])
    (folder / EMPTY).mkdir()
    (folder / EMPTY / "notes.txt").write_text("no image")
    return sorted(names)


def picture(mode="RGB", size=(9, 7), seed=0):
    rng = np.random.default_rng(seed)
    image = Image.fromarray(rng.integers(0, 256, (size[1], size[0], 4), np.uint8), "RGBA")
    return image.convert("RGB").convert(mode) if mode == "P" else image.convert(mode)


def save(path, mode="RGB", size=(9, 7), seed=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    picture(mode, size, seed).save(path)


def some_images(samples=12, classes=3):
    rng = np.random.default_rng(5)
    pixels = rng.integers(0, 256, (samples, 4, 4, 3), np.uint8)
    return in_memory(pixels, np.arange(samples) % classes, tuple("abcdefgh"[:classes]))
