"""Labelled data: named sets, folders of images, arrays, and files of rows or texts."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

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
from dualprune.data.kept import write_kept
from dualprune.data.labelled import Columns, Data, Encoded, with_labels
from dualprune.data.noise import flip_labels
from dualprune.data.npz import read_npz
from dualprune.data.rows import FORMATS as ROWS
from dualprune.data.split import long_tail, only_readable, split_ids, validation_split
from dualprune.data.tables import Table, table_from
from dualprune.data.texts import Texts, texts_from
from dualprune.data.tree import replace_links, write_tree
from dualprune.errors import InputError, MissingError, did_you_mean
from dualprune.files import reading

__all__ = [
    "CORRUPTIONS",
    "DUPLICATES",
    "NAMED",
    "NO_COLUMNS",
    "ROWS",
    "Columns",
    "Data",
    "Encoded",
    "Images",
    "Table",
    "Texts",
    "corrupt",
    "decode",
    "duplicates",
    "flip_labels",
    "in_memory",
    "list_training",
    "load",
    "long_tail",
    "only_readable",
    "replace_links",
    "rows_from",
    "split_ids",
    "to_show",
    "usual_recipe",
    "validation_split",
    "with_labels",
    "write_duplicates",
    "write_kept",
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

NO_COLUMNS = Columns()


def usual_recipe(data: str | os.PathLike[str], columns: Columns) -> str:
    """Name of the recipe that suits data of this name or path, which is not read.

    >>> usual_recipe("cifar10", NO_COLUMNS), usual_recipe("reviews.csv", Columns(text="review"))
    ('cifar10', 'text')
    """
    if isinstance(data, str) and data in NAMED:
        return data
    if Path(data).suffix.lower() not in ROWS:
        return Images.recipe
    return Table.recipe if columns.text is None else Texts.recipe


@checked
def load(
    data: str | os.PathLike[str],
    *,
    root: Path | None = None,
    download: bool = False,
    out: Path | None = None,
    size: int = 1,
    columns: Columns = NO_COLUMNS,
) -> tuple[Data, Data | None]:
    """Give the training data and, if there are any, the test data.

    Parameters
    ----------
    data
        A name from `NAMED`; a folder with one sub-folder per class, or with such folders `train`
        and `test` or `val` and no others; an ``.npz`` with `x` and `y`; or a CSV, TSV, JSONL or
        Parquet file of rows. A `Path` is never taken for a name.
    root
        Where named sets are kept: `DUALPRUNE_DATA` of the environment, or ``~/.cache/dualprune``.
    download
        Fetch a named set that is not there.
    out
        Where the caller is going to write: refused if that is among the images.
    size
        What a folder's images will be scaled to, so that each is decoded only once.
    columns
        Which columns of a file of rows hold the label and, unless they are rows of a table, the
        text.

    Examples
    --------
    >>> train, test = load("digits")
    >>> len(train), len(test), train.pixels.shape
    (1438, 359, (1438, 8, 8, 1))
    """
    if (isinstance(data, str) and data in NAMED) or Path(data).suffix.lower() not in ROWS:
        _refuse_columns(data, columns)
    if isinstance(data, str) and data in NAMED:
        default = Path(os.environ.get("DUALPRUNE_DATA") or "~/.cache/dualprune")
        return NAMED[data](root or default.expanduser(), download)
    path = Path(os.path.expanduser(data))  # noqa: PTH111 - "~x" is a name where no user is called x
    with reading(path):
        is_folder, suffix = path.is_dir(), path.suffix.lower() if path.is_file() else ""
    if is_folder:
        if out is not None:
            refuse_among_images(path, out)
        return read_sets(path, size)
    if suffix == ".npz":
        return read_npz(path), None
    if suffix in ROWS:
        return rows_from(path, columns), None
    raise MissingError(
        f"there is no data {str(data)!r}: it is neither a folder, nor a file "
        f"({', '.join(('.npz', *ROWS))}), nor one of the named sets {', '.join(NAMED)}."
        f"{did_you_mean(str(data), NAMED)}"
    )


def rows_from(rows: Path | pa.Table, columns: Columns) -> Texts | Table:
    """Give the texts or the table of a file of rows, or of one that is in memory."""
    if columns.label is None:
        raise InputError("say which column holds the label: label=..., or --label COLUMN")
    if columns.text is None:
        return table_from(rows, label=columns.label, ignore=columns.ignore)
    if columns.ignore:
        raise InputError("ignore is for tables; of texts, only the columns text and label are read")
    return texts_from(rows, text=columns.text, label=columns.label)


def to_show(data: Data) -> Images | list[str] | None:
    """Give what a page shows of every sample: images, texts, or nothing."""
    if isinstance(data, Texts | Table):
        return data.snippets(np.arange(len(data)))
    return data if isinstance(data, Images) else None


def _refuse_columns(data: str | os.PathLike[str], columns: Columns) -> None:
    if columns != NO_COLUMNS:
        raise InputError(
            f"text, label and ignore name columns of a file of rows ({', '.join(ROWS)}), and "
            f"{str(data)!r} is none; leave them out"
        )
