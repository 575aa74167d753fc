"""Write image files as a new folder tree, linked or copied."""

import shutil
from pathlib import Path
from typing import Literal

from dualprune.data.images import Images
from dualprune.errors import InputError
from dualprune.files import draft_folder, exists, sync


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
    for file, name in zip(images.files, images.names, strict=True):
        depth = name.count("/")
        target = building.joinpath(*file.parts[-1 - depth :])  # `name` may be spelled otherwise
        for folder in reversed(target.parents[:depth]):
            if folder not in folders:
                _refuse_taken(folder, name)
                folder.mkdir()
                folders.add(folder)
        _refuse_taken(target, name)
        if how == "link":
            target.symlink_to(file.resolve(strict=True))
        else:
            shutil.copyfile(file, target)
            copies.append(target)
    for path in (*copies, *folders):
        sync(path)


def _refuse_taken(path: Path, name: str) -> None:
    if exists(path):
        raise InputError(
            f"cannot write {name}: to this disk, {path.name} is the same as a name that is already "
            "there, as if they differ only in case; rename one, or choose another disk"
        )
