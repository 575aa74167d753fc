"""A folder with one sub-folder per class, as most people keep their images."""

import os
import warnings
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from dualprune.data.decode import decode_sound
from dualprune.data.images import IN_MEMORY, Images, in_files
from dualprune.errors import InputError

SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff"})
_JUDGED_ON = ("test", "val")  # beside `train`; the first that is there
_NAMED_AT_MOST = 20


def read_sets(path: Path, size: int) -> tuple[Images, Images | None]:
    """Give a folder as training images, or its `train` and its `test` (else `val`) sub-folder."""
    if not _classes(path / "train"):
        return read_folder(path, size=size), None
    train = read_folder(path / "train", size=size)
    for name in _JUDGED_ON:
        if _classes(path / name):
            return train, read_folder(path / name, train.class_names, size=size)
    return train, None


def refuse_among_images(path: Path, out: Path) -> None:
    """Refuse an `out` among the images of `path`: the next reading would take it for a class."""
    path, place = path.resolve(), out.resolve()
    sets = [path / name for name in ("train", *_JUDGED_ON)]
    for root in sets if _classes(path / "train") else [path]:
        if not place.is_relative_to(root):
            continue
        if not any(part[0] == "." for part in place.relative_to(root).parts):
            raise InputError(
                f"{out} is among the images of {root}, where what is written would be read as "
                "one of their classes; choose a folder outside"
            )


def read_folder(path: Path, class_names: tuple[str, ...] = (), *, size: int) -> Images:
    """Give the images that can be read; those that cannot are left out and named in a warning.

    The classes are the names of the sub-folders, sorted, unless given. Files are in the order of
    their names; what is hidden (begins with a dot) is not looked at. `source` counts what was left
    out, too: it is the position among all image files. Every file is decoded once, to squares of
    `size` pixels; they are kept if they fit into memory.
    """
    images = list_folder(path, class_names)
    fits = len(images) * size * size * 3 <= IN_MEMORY
    with ThreadPoolExecutor() as pool:
        squares = [*pool.map(partial(decode_sound, size=size if fits else 1), images.files)]
    good = np.array([square is not None for square in squares], bool)
    if not good.all():
        _warn(f"left out unreadable images of {path}", np.array(images.names)[~good])
    images = images.take(np.flatnonzero(good))
    if fits and len(images):
        kept = [square for square in squares if square is not None]
        images = replace(images, squares=np.stack(kept))
    counts = np.bincount(images.labels, minlength=len(images.class_names))
    if not counts.any():
        raise InputError(f"{path} has no readable image in its {len(counts)} sub-folders")
    if not counts.all():
        _warn(f"classes of {path} without an image", np.array(images.class_names)[counts == 0])
    return images


def list_folder(path: Path, class_names: tuple[str, ...] = ()) -> Images:
    """Give all image files of a folder by their names, without opening any."""
    folders = _classes(path)
    if not folders:
        raise InputError(f"{path} must hold one sub-folder of images per class; it holds none")
    if class_names and (unknown := sorted(set(folders) - set(class_names))):
        raise InputError(f"{path} has classes that the training images do not: {unknown}")
    class_names = class_names or folders
    names = [_image_names(path, name) for name in class_names]
    labels = np.repeat(np.arange(len(names)), [*map(len, names)])
    return in_files(path, [*chain.from_iterable(names)], labels, class_names)


def _classes(path: Path) -> tuple[str, ...]:
    if not path.is_dir():
        return ()
    return tuple(sorted(p.name for p in path.iterdir() if p.is_dir() and p.name[0] != "."))


def _image_names(path: Path, class_name: str) -> list[str]:
    names = []
    for folder, inside, files in os.walk(path / class_name, onerror=_fail):
        inside[:] = [name for name in inside if name[0] != "."]
        for name in files:
            file = Path(folder, name)
            if name[0] != "." and file.suffix.lower() in SUFFIXES and file.is_file():
                names.append(file.relative_to(path).as_posix())
    return sorted(names)


def _fail(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):  # a class of which there are no test images
        raise InputError(f"cannot read the folder {error.filename}: {error.strerror}") from error


def _warn(what: str, names: Iterable[str]) -> None:
    listed = [repr(str(name)) for name in names]
    more = f" and {len(listed) - _NAMED_AT_MOST} more" if len(listed) > _NAMED_AT_MOST else ""
    first = ", ".join(listed[:_NAMED_AT_MOST])
    warnings.warn(f"{what} ({len(listed)}): {first}{more}", stacklevel=3)
