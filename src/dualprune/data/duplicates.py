"""Samples that are there more than once, exactly."""

from collections.abc import Hashable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from dualprune.data.decode import open_image
from dualprune.data.images import Images
from dualprune.data.labelled import Data
from dualprune.data.tables import Table
from dualprune.data.texts import Texts
from dualprune.signatures import Array
from dualprune.suspects import write_sheet

DUPLICATES = "duplicates.csv"
"""Where `prune` names them, in its folder."""

_WHOLE = 2**15  # pixels, so large that no image is scaled down while it is read


def duplicates(data: Data) -> list[Array]:
    """Give groups of ids with the same content; those with several labels come first.

    Of images, that are the pixels; files that were not kept in memory are not compared: each would
    have to be decoded again. Datasets of torch are not compared.

    >>> pixels = np.array([7, 8, 7, 8, 9], np.uint8)[:, None, None, None]
    >>> images = Images(np.array([0, 1, 0, 2, 2]), tuple("abc"), np.arange(5), pixels)
    >>> [group.tolist() for group in duplicates(images)]
    [[1, 3], [0, 2]]
    """
    if isinstance(data, Images):
        groups = _equal_images(data)
    elif isinstance(data, Texts | Table):
        contents = zip(range(len(data)), data.contents(), strict=True)
        readable = set(data.readable_ids.tolist())
        groups = _equal((i, content) for i, content in contents if i in readable)
    else:
        groups = []
    return sorted(groups, key=lambda ids: (len(np.unique(data.labels[ids])) == 1, ids[0]))


def _equal_images(images: Images) -> list[Array]:
    small = images.squares if images.pixels is None else images.pixels
    if small is None:
        return []
    readable = images.readable_ids
    groups = _equal((i, sha256(small[i].tobytes()).digest()) for i in readable.tolist())
    if images.files:  # equal when scaled down, which different images may be
        whole = (_equal((i, _content(images, i)) for i in group.tolist()) for group in groups)
        groups = [group for parts in whole for group in parts]
    return groups


def _equal(contents: Iterable[tuple[int, Hashable]]) -> list[Array]:
    groups: dict[Hashable, list[int]] = {}
    for sample, content in contents:
        groups.setdefault(content, []).append(sample)
    return [np.array(group) for group in groups.values() if len(group) > 1]


def _content(images: Images, sample: int) -> Hashable:
    image = open_image(images.files[sample], _WHOLE)
    image = image.convert("RGBA") if image.mode == "P" else image  # or its colours would not count
    return image.mode, image.size, sha256(image.tobytes()).digest()


def write_duplicates(path: Path, data: Data, groups: Sequence[Array]) -> None:
    """Write ids, names and labels as CSV, group by group, if there are any."""
    if not groups:
        return
    ids = np.concatenate(groups)
    columns = {"group": np.repeat(np.arange(len(groups)), [*map(len, groups)]), "id": ids}
    if data.names:
        columns["name"] = np.array(data.names, object)[ids]
    columns["label"] = np.array(data.class_names, object)[data.labels[ids]]
    write_sheet(path, columns)
