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

from dualprune.data.decode import decode_sound, pillow
from dualprune.data.images import IN_MEMORY, Images, as_text, in_files
from dualprune.data.split import only_readable
from dualprune.errors import InputError

SUFFIXES = (
    ".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp",
)  # fmt: skip
_JUDGED_ON = ("test", "val", "valid", "validation")  # beside `train`; the first that is there
_NAMED_AT_MOST = 20


def read_sets(path: Path, size: int) -> tuple[Images, Images | None]:
    """Give a folder as training images, or its `train` and its `test` (else `val`) sub-folder."""
    splits = _splits(path)
    if not splits:
        return read_folder(path, size=size), None
    _warn(f"left out images of {path} that are in no split", _visible(_inside(path)[1]))
    train = read_folder(path / "train", size=size)
    if len(splits) == 1:
        return train, None
    test = read_folder(path / splits[1], train.class_names, size=size)
    return train, only_readable(test)


def _splits(path: Path) -> list[str]:
    """Give `train` and the splits beside it; none if other folders make it a class."""
    folders, known = _visible(_inside(path)[0]), ("train", *_JUDGED_ON)
    splits = [name for name in known if name in folders and _visible(_inside(path / name)[0])]
    others = [name for name in folders if name not in known]
    if "train" not in splits:
        return []
    if others and len(splits) > 1:
        raise InputError(
            f"{path} holds {' and '.join(splits)}, which look like splits, beside {others}, which "
            "are none; move those elsewhere, or rename train if it is a class"
        )
    _warn(f"{path / 'train'} is read as a class, not a split, because of what is beside it", others)
    return [] if others else splits


def refuse_among_images(path: Path, out: Path) -> None:
    """Refuse an `out` among the images of `path`: the next reading would take it for a class."""
    if out.resolve().is_relative_to(path.resolve()):
        raise InputError(
            f"{out} is among the images of {path}, where what is written would be read as "
            "one of their classes; choose a folder outside"
        )


def read_folder(path: Path, class_names: tuple[str, ...] = (), *, size: int) -> Images:
    """Give all image files, in the order of the usual image-folder dataset.

    The classes are the names of the sub-folders, sorted, unless given; a class may be empty. Inside
    a class, files are ordered by folder, then by name; links are followed; names that begin with a
    dot count like others. Files that cannot be read keep their place and are marked; they and
    whatever is no image are named in warnings. Every file is decoded once, to squares of `size`
    pixels; they are kept if they fit into memory.
    """
    images, others = _list(path, class_names)
    _warn(f"left out files of {path} that are not images ({', '.join(SUFFIXES)})", others)
    _warn(f"left out images of {path} that are in no sub-folder", _visible(_inside(path)[1]))
    images = _decoded(images, path, size)
    counts = np.bincount(images.labels[images.readable_ids], minlength=len(images.class_names))
    if not counts.any():
        raise InputError(f"{path} has no readable image in its {len(counts)} sub-folders")
    _warn(f"classes of {path} without an image", np.array(images.class_names)[counts == 0])
    return images


def _decoded(images: Images, path: Path, size: int) -> Images:
    fits = len(images) * size * size * 3 <= IN_MEMORY
    pillow()  # before many threads need it
    with ThreadPoolExecutor() as pool:
        squares = [*pool.map(partial(decode_sound, size=size if fits else 1), images.files)]
    faults: dict[str, list[str]] = {}
    for name, square in zip(images.names, squares, strict=True):
        if isinstance(square, str):
            faults.setdefault(square, []).append(name)
    for fault, names in sorted(faults.items()):
        _warn(f"left out {fault} of {path}", names)
    if faults:
        unreadable = np.array([isinstance(square, str) for square in squares])
        images = replace(images, unreadable=unreadable)
    if fits and len(images):
        blank = np.zeros((size, size, 3), np.uint8)
        kept = [blank if isinstance(square, str) else square for square in squares]
        images = replace(images, squares=np.stack(kept))
    return images


def list_training(path: Path) -> Images:
    """Give all image files that training on a folder reads, also unreadable ones, by their names.

    None is opened.
    """
    if not path.is_dir():
        raise InputError(f"{path} is no folder of images; give the folder that was recorded")
    return list_folder(path / "train" if _splits(path) else path)


def list_folder(path: Path, class_names: tuple[str, ...] = ()) -> Images:
    """Give all image files of a folder by their names, without opening any."""
    return _list(path, class_names)[0]


def _list(path: Path, class_names: tuple[str, ...]) -> tuple[Images, list[str]]:
    """Give all image files of a folder, and the names of the other files in its classes."""
    folders = {as_text(name): name for name in _inside(path)[0]}
    if not folders:
        raise InputError(f"{path} must hold one sub-folder of images per class; it holds none")
    if class_names and (unknown := sorted(set(folders) - set(class_names))):
        raise InputError(f"{path} has classes that the training images do not: {unknown}")
    class_names = class_names or tuple(folders)
    files = [_files(path, folders[name]) if name in folders else ([], []) for name in class_names]
    labels = np.repeat(np.arange(len(files)), [len(images) for images, _ in files])
    names, others = ([*chain.from_iterable(kind)] for kind in zip(*files, strict=True))
    return in_files(path, names, labels, class_names), others


def _files(path: Path, class_name: str) -> tuple[list[str], list[str]]:
    """Give the images and the other files of a class by their names in `path`, folder by folder."""
    files: list[tuple[str, list[str], list[str]]] = []
    folders = [(class_name, frozenset({path.resolve()}))]
    while folders:
        name, above = folders.pop()
        place = (path / name).resolve()
        if place in above:
            raise InputError(
                f"{path / name} is a link to {place}, in which it lies: that has no end. Remove it"
            )
        deeper, pictures, rest = _inside(path / name)
        folders += [(f"{name}/{folder}", above | {place}) for folder in deeper]
        files.append((name, pictures, rest))
    files.sort()
    images = [f"{name}/{file}" for name, pictures, _ in files for file in pictures]
    return images, [f"{name}/{file}" for name, _, rest in files for file in rest]


def _inside(folder: Path) -> tuple[list[str], list[str], list[str]]:
    """Give the names of the sub-folders, images and other files, sorted; of others not hidden ones.

    As for the usual image-folder dataset, what has the suffix of an image and is no folder is one,
    also a link to nothing.
    """
    folders: list[str] = []
    images: list[str] = []
    others: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                is_image = entry.name.lower().endswith(SUFFIXES)
                kind = folders if entry.is_dir() else images if is_image else others
                kind.append(entry.name)
    except OSError as error:
        raise InputError(
            f"cannot read {error.filename}: {error.strerror} (errno {error.errno}); remove the "
            "cause and try again"
        ) from error
    return sorted(folders), sorted(images), _visible(sorted(others))


def _visible(names: Iterable[str]) -> list[str]:
    return [name for name in names if name[0] != "."]


def _warn(what: str, names: Iterable[str]) -> None:
    listed = [repr(str(name)) for name in names]
    if not listed:
        return
    more = f" and {len(listed) - _NAMED_AT_MOST} more" if len(listed) > _NAMED_AT_MOST else ""
    first = ", ".join(listed[:_NAMED_AT_MOST])
    warnings.warn(f"{what} ({len(listed)}): {first}{more}", stacklevel=3)
