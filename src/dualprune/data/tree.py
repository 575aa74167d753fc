"""Write image files as a new folder tree, linked or copied."""

import os
import shutil
from pathlib import Path
from typing import Literal

from dualprune.data.images import Images, as_text
from dualprune.errors import InputError
from dualprune.files import draft, draft_folder, exists, read, remove_abandoned, sync


def write_tree(images: Images, folder: Path, how: Literal["link", "copy"]) -> None:
    """Write a new folder with one sub-folder per class; it appears complete or not at all.

    When this returns, it survives a power cut. Two names that are one to the disk, as if they
    differ only in case, are refused.
    """
    if exists(folder):
        raise InputError(f"{folder} is in the way; choose another folder")
    with draft_folder(folder) as building:
        _fill(building, images, how)


def _fill(building: Path, images: Images, how: Literal["link", "copy"]) -> None:
    folders, copies = {building}, []
    for file, name, label in zip(images.files, images.names, images.labels, strict=True):
        target = _inside(building, file, name, images.class_names[label])
        depth = len(target.relative_to(building).parts) - 1
        for folder in reversed(target.parents[:depth]):
            if folder not in folders:
                _refuse_taken(folder, name)
                folder.mkdir()
                folders.add(folder)
        _refuse_taken(target, name)
        if how == "link":
            target.symlink_to(_address(file, name.count("/"), target.parent))
        else:
            shutil.copyfile(file, target)
            copies.append(target)
    for path in (*copies, *folders):
        sync(path)


def _inside(folder: Path, file: Path, name: str, class_name: str) -> Path:
    """Give the place of a file in another folder, under its new class if that was corrected."""
    parts = file.parts[-1 - name.count("/") :]  # `name` may be spelled otherwise
    corrected = as_text(parts[0]) != class_name
    return folder.joinpath(*[class_name] * corrected, *parts)


def _address(file: Path, depth: int, folder: Path) -> str:
    """Give what a link in `folder` points to: relative, so that both can be moved together.

    Where the images are on another disk, it is absolute.
    """
    home = file.parents[depth].resolve()
    own = home / file.relative_to(file.parents[depth])  # which may itself be a link
    own.stat()  # raises if there is nothing
    if home.stat().st_dev != folder.stat().st_dev:
        return str(own)
    return os.path.relpath(own, folder.resolve())


def replace_links(images: Images, folder: Path) -> None:
    """Replace the links that `write_tree` made by copies, one after the other.

    Each name is a link or the whole copy at any instant; started again, this goes on.
    """
    classes = [images.class_names[label] for label in images.labels]
    places = zip(images.files, images.names, classes, strict=True)
    targets = [_inside(folder, *place) for place in places]
    for parent in {target.parent for target in targets}:
        remove_abandoned(parent)
    for file, target in zip(images.files, targets, strict=True):
        if target.is_symlink():
            with draft(target.parent, target.name) as copy:
                copy.write(read(file))


def _refuse_taken(path: Path, name: str) -> None:
    if exists(path):
        raise InputError(
            f"cannot write {name}: to this disk, {path.name} is the same as a name that is already "
            "there, as if they differ only in case; rename one, or choose another disk"
        )
