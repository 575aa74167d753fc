"""Write image files as a new folder tree, linked or copied."""

import os
import shutil
from pathlib import Path
from typing import Literal
from uuid import uuid4

from dualprune.data.images import Images
from dualprune.errors import InputError, WriteError
from dualprune.files import make_folders


def write_tree(images: Images, folder: Path, how: Literal["link", "copy"]) -> None:
    """Write a new folder with one sub-folder per class; it appears complete or not at all."""
    if os.path.lexists(folder):
        raise InputError(f"{folder} is in the way; choose another folder")
    building = folder.with_name(f".{uuid4().hex}.tmp")
    try:
        for file, name in zip(images.files, images.names, strict=True):
            target = building / name
            make_folders(target.parent)
            if how == "link":
                target.symlink_to(file.resolve(strict=True))
            else:
                shutil.copyfile(file, target)
        building.rename(folder)
    except OSError as error:
        shutil.rmtree(building, ignore_errors=True)
        raise WriteError(f"cannot write {folder}: {error}") from error
