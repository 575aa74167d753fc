"""Write image files as a new folder tree, linked or copied."""

import os
import shutil
from pathlib import Path
from typing import Literal
from uuid import uuid4

from dualprune.data.images import Images
from dualprune.errors import InputError, WriteError
from dualprune.files import make_folders, sync


def write_tree(images: Images, folder: Path, how: Literal["link", "copy"]) -> None:
    """Write a new folder with one sub-folder per class; it appears complete or not at all.

    When this returns, it survives a power cut. Two names that are one to the disk, as if they
    differ only in case, are refused.
    """
    if os.path.lexists(folder):
        raise InputError(f"{folder} is in the way; choose another folder")
    building = folder.with_name(f".{uuid4().hex}.tmp")
    try:
        _fill(building, images, how)
        building.rename(folder)
        sync(folder.parent)
    except OSError as error:
        raise WriteError(f"cannot write {folder}: {error}") from error
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _fill(building: Path, images: Images, how: Literal["link", "copy"]) -> None:
    make_folders(building)
    folders, copies = {building}, []
    for file, name, label in zip(images.files, images.names, images.labels, strict=True):
        parts = file.parts[-1 - name.count("/") :]  # `name` may be spelled otherwise
        class_name = images.class_names[label]
        if name.partition("/")[0] != class_name:  # its label was corrected
            parts = (class_name, *parts)
        target, depth = building.joinpath(*parts), len(parts) - 1
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
    if os.path.lexists(path):
        raise InputError(
            f"cannot write {name}: to this disk, {path.name} is the same as a name that is already "
            "there, as if they differ only in case; rename one, or choose another disk"
        )
