"""Write the samples that are kept: image files as a folder tree, rows in the format they had."""

from pathlib import Path
from typing import Literal

from dualprune.coreset import Coreset
from dualprune.data import (
    NAMED,
    ROWS,
    Data,
    Images,
    Table,
    Texts,
    replace_links,
    write_kept,
    write_tree,
)
from dualprune.errors import InputError
from dualprune.files import exists

How = Literal["link", "copy"] | None


def refuse_materialize(data: str | Path | Data, how: How) -> None:
    """Refuse, before anything is read, to link or copy what is no file, or to link rows."""
    if how is None:
        return
    if isinstance(data, str | Path):
        are_rows = Path(data).suffix.lower() in ROWS
        in_memory = data in NAMED or (Path(data).is_file() and not are_rows)
    else:
        are_rows = isinstance(data, Texts | Table)
        in_memory = not getattr(data, "files", ()) and getattr(data, "path", None) is None
    if are_rows and how == "link":
        raise InputError("rows cannot be linked, only copied: say copy instead of link")
    if in_memory:
        raise InputError(
            "only images that are files can be linked or copied, and only rows of a file copied"
        )


def kept_file(out: Path, data: Data) -> Path:
    """Give where what is kept goes: a folder of images, or a file with the suffix of the data's.

    The name of that file is `kept`.
    """
    if isinstance(data, Texts | Table) and data.path is not None:
        return out / f"kept{data.path.suffix}"
    return out / "images"


def write_kept_samples(out: Path, coreset: Coreset, data: Data, how: How) -> None:
    """Write what is kept beside its coreset, unless it is there."""
    if how is None:
        return
    target = kept_file(out, data)
    if isinstance(data, Texts | Table):
        write_kept(data, coreset.ids, target)
    elif isinstance(data, Images):
        kept = data.take(coreset.ids)
        if not exists(target):
            write_tree(kept, target, how)
        elif how == "copy":
            replace_links(kept, target)
