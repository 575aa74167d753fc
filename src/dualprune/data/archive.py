"""Read archives without ever extracting them: known names, regular files, known sizes."""

import gzip
import tarfile
import zlib
from collections.abc import Collection, Mapping
from io import BytesIO
from pathlib import Path

from dualprune.data.download import Pinned, check
from dualprune.errors import DamagedError

LARGEST_TEXT = 10_000
_OVERHEAD = 2**20  # headers, padding and members that are not read


def read_members(
    path: Path, pinned: Pinned, folder: str, sizes: Mapping[str, int], texts: Collection[str] = ()
) -> dict[str, bytes]:
    """Give the content of some members of a folder in a ``.tar.gz``, by their names in it.

    Parameters
    ----------
    pinned
        Size and hashes of the archive; they are checked before anything in it is read.
    sizes
        The members that must be there, and how large each one is.
    texts
        Members that may be there, up to `LARGEST_TEXT` bytes each.
    """
    data = read_up_to(path, pinned.size + 1)
    check(data, pinned, path)
    most = sum(sizes.values()) + len(texts) * LARGEST_TEXT + _OVERHEAD
    content = gunzip(data, most, path)
    try:
        members = _select(content, path, folder, sizes, texts)
    except tarfile.TarError as error:
        raise DamagedError(f"{path} is damaged: {error}") from error
    if missing := sorted(f"{folder}/{name}" for name in sizes if name not in members):
        raise DamagedError(f"{path} is damaged: it has no {', '.join(missing)}")
    return members


def _select(
    content: bytes, path: Path, folder: str, sizes: Mapping[str, int], texts: Collection[str]
) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    with tarfile.open(fileobj=BytesIO(content), mode="r:") as tar:
        for member in tar:
            parent, _, name = member.name.rpartition("/")
            if parent != folder or (name not in sizes and name not in texts):
                continue
            size = sizes.get(name)
            fits = member.size <= LARGEST_TEXT if size is None else member.size == size
            file = tar.extractfile(member) if member.isreg() and fits else None
            if file is None or name in contents:
                raise DamagedError(
                    f"{path} is damaged: its member {member.name} ({member.size:,} bytes) "
                    "is not one regular file of the expected size"
                )
            contents[name] = file.read()
    return contents


def gunzip(data: bytes, most: int, origin: Path) -> bytes:
    """Decompress to at most `most` bytes; more are refused."""
    try:
        content = gzip.GzipFile(fileobj=BytesIO(data)).read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DamagedError(f"{origin} is damaged: {error}") from error
    if len(content) > most:
        raise DamagedError(f"{origin} is damaged: it holds more than {most:,} bytes")
    return content


def read_exactly(path: Path, size: int) -> bytes:
    """Read a file that must exist and have this size."""
    actual = path.stat().st_size if path.is_file() else 0
    if actual != size:
        raise DamagedError(f"{path} is damaged: expected {size:,} bytes, got {actual:,}")
    return path.read_bytes()


def read_up_to(path: Path, most: int) -> bytes:
    """Read at most `most` bytes from the start of a file."""
    with path.open("rb") as file:
        return file.read(most)
