"""ImageNet and Tiny ImageNet in their published folders; the classes are WordNet ids."""

from pathlib import Path

import numpy as np

from dualprune.data.download import absent
from dualprune.data.folder import list_folder
from dualprune.data.images import Images, in_files
from dualprune.errors import DamagedError

COUNTS = {"imagenet": (1_281_167, 50_000), "tiny-imagenet": (100_000, 10_000)}


def imagenet(root: Path, fetch: bool) -> tuple[Images, Images]:  # noqa: ARG001 - the same for all named sets
    """1.3 million photographs in 1,000 classes: `train/<wnid>` and `val/<wnid>`."""
    train, val = root / "imagenet" / "train", root / "imagenet" / "val"
    if not (train.is_dir() and val.is_dir()):
        how = "It cannot be downloaded without an account: see https://image-net.org/download"
        raise absent("imagenet", [train, val], how)
    images = list_folder(train)
    return _check("imagenet", root / "imagenet", images, list_folder(val, images.class_names))


def tiny_imagenet(root: Path, fetch: bool) -> tuple[Images, Images]:  # noqa: ARG001 - the same for all
    """110,000 photographs of 64 x 64 in 200 classes; the test set is its validation part."""
    home = root / "tiny-imagenet-200"
    annotations = home / "val" / "val_annotations.txt"
    if not ((home / "train").is_dir() and annotations.is_file()):
        how = f"Unpack http://cs231n.stanford.edu/tiny-imagenet-200.zip in {root}."
        raise absent("tiny-imagenet", [home / "train", annotations], how)
    train = list_folder(home / "train")
    return _check("tiny-imagenet", home, train, _read(annotations, train.class_names))


def _read(annotations: Path, class_names: tuple[str, ...]) -> Images:
    """Give the images beside a table of file names and classes."""
    rows = sorted(line.split("\t")[:2] for line in annotations.read_text().splitlines())
    positions = {name: label for label, name in enumerate(class_names)}
    files = [annotations.parent / "images" / row[0] for row in rows]
    for row, file in zip(rows, files, strict=True):
        if row[-1] not in positions or file.name != row[0] or not file.is_file():
            raise DamagedError(f"{annotations} is damaged: {row} is not an image and its class")
    labels = np.array([positions[row[1]] for row in rows], np.int64)
    names = [f"images/{row[0]}" for row in rows]
    return in_files(annotations.parent, names, labels, class_names)


def _check(name: str, home: Path, train: Images, test: Images) -> tuple[Images, Images]:
    if (actual := (len(train), len(test))) != COUNTS[name]:
        raise DamagedError(
            f"{home} is not the complete {name}: expected {COUNTS[name]} images for training and "
            f"validation, got {actual}; give the path instead of the name to use it as it is"
        )
    return train, test
