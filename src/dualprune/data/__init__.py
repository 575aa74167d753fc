"""Labelled images: named sets, folders with one sub-folder per class, and arrays."""

import os
from collections.abc import Callable
from pathlib import Path

from dualprune.arguments import checked
from dualprune.data.cifar import cifar10, cifar100
from dualprune.data.corruption import CORRUPTIONS, corrupt
from dualprune.data.decode import decode
from dualprune.data.digits import digits
from dualprune.data.duplicates import DUPLICATES, duplicates, write_duplicates
from dualprune.data.fashion_mnist import fashion_mnist
from dualprune.data.folder import list_training, read_sets, refuse_among_images
from dualprune.data.imagenet import imagenet, tiny_imagenet
from dualprune.data.images import Images, in_memory
from dualprune.data.noise import flip_labels
from dualprune.data.npz import read_npz
from dualprune.data.split import long_tail, validation_split
from dualprune.data.tree import replace_links, write_tree
from dualprune.errors import MissingError, did_you_mean
from dualprune.files import reading

__all__ = [
    "CORRUPTIONS",
    "DUPLICATES",
    "NAMED",
    "Images",
    "corrupt",
    "decode",
    "duplicates",
    "flip_labels",
    "in_memory",
    "list_training",
    "load",
    "long_tail",
    "replace_links",
    "validation_split",
    "write_duplicates",
    "write_tree",
]

NAMED: dict[str, Callable[[Path, bool], tuple[Images, Images]]] = {
    "digits": digits,
    "fashion-mnist": fashion_mnist,
    "cifar10": cifar10,
    "cifar100": cifar100,
    "tiny-imagenet": tiny_imagenet,
    "imagenet": imagenet,
}


@checked
def load(
    data: str | os.PathLike[str],
    *,
    root: Path | None = None,
    download: bool = False,
    out: Path | None = None,
    size: int = 1,
) -> tuple[Images, Images | None]:
    """Give the training images and, if there are any, the test images.

    Parameters
    ----------
    data
        A name from `NAMED`; a folder with one sub-folder per class, or with such folders `train`
        and `test` or `val` and no others; or an ``.npz`` with `x` and `y`. A `Path` is never taken
        for a name.
    root
        Where named sets are kept: `DUALPRUNE_DATA` of the environment, or ``~/.cache/dualprune``.
    download
        Fetch a named set that is not there.
    out
        Where the caller is going to write: refused if that is among the images.
    size
        What a folder's images will be scaled to, so that each is decoded only once.

    Examples
    --------
    >>> train, test = load("digits")
    >>> len(train), len(test), train.pixels.shape
    (1438, 359, (1438, 8, 8, 1))
    """
    if isinstance(data, str) and data in NAMED:
        default = Path(os.environ.get("DUALPRUNE_DATA") or "~/.cache/dualprune")
        return NAMED[data](root or default.expanduser(), download)
    path = Path(os.path.expanduser(data))  # noqa: PTH111 - "~x" is a name where no user is called x
    with reading(path):
        is_folder, is_arrays = path.is_dir(), path.is_file() and path.suffix == ".npz"
    if is_folder:
        if out is not None:
            refuse_among_images(path, out)
        return read_sets(path, size)
    if is_arrays:
        return read_npz(path), None
    raise MissingError(
        f"there is no data {str(data)!r}: it is neither a folder, nor an .npz file, nor one of the "
        f"named sets {', '.join(NAMED)}.{did_you_mean(str(data), NAMED)}"
    )
