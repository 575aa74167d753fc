"""Atomic writes of files, and JSON with a checksum.

What is read, and what is written as a whole, may also be on a store, at a `Url`.
"""

import contextlib
import errno
import fcntl
import hashlib
import io
import json
import os
import shutil
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from importlib import resources
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dualprune.errors import DamagedError, DualpruneError, InputError, StoreError, WriteError
from dualprune.urls import AnyPath, Entry, Url, is_url, masked, open_url

Place: TypeAlias = Path | Url
"""A file or folder on this machine, or on a store."""

_LARGEST_JSON = 2**26
_TEMPORARY = f".{'[0-9a-f]' * 32}.tmp"  # and no file of anybody else


def place(path: AnyPath) -> Place:
    """Give the file or folder that a path or a URL names.

    >>> place("run"), str(place("memory://run"))
    (PosixPath('run'), 'memory:///run')
    """
    if isinstance(path, Url):
        return path
    if not isinstance(path, str | os.PathLike):
        return open_url(path)
    text = os.fspath(path)
    if not is_url(text):
        return Path(text)
    if "://" not in text:
        raise InputError(
            f"{masked(text)} looks like a URL that lost a slash, as in a Path; give it as text"
        )
    return open_url(text)


def on_disk(path: AnyPath) -> Path:
    """Give a folder of this machine; refuse a URL, where one cannot record."""
    if not isinstance(path, str | os.PathLike) or is_url(path):
        raise InputError(
            f"{masked(str(path))} is a URL, but this must be a folder on this machine; write into "
            "one, then copy what is complete: dualprune push FOLDER URL"
        )
    return Path(path)


class Draft:
    """A file under a temporary name; it gets `name` when it is complete and durable."""

    def __init__(self, descriptor: int, name: str) -> None:
        self.descriptor = descriptor
        self.name = name
        self.size = 0
        self.closed = False  # Arrow asks

    def write(self, data: bytes | memoryview) -> int:
        rest = memoryview(data).cast("B")
        self.size += len(rest)
        while rest:
            rest = rest[os.write(self.descriptor, rest) :]
        return memoryview(data).nbytes

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        pass

    def close(self) -> None:
        """Leave the descriptor open: Arrow closes what it wrote to before the file is durable."""

    def tail(self, count: int) -> bytes:
        """Give the last bytes written."""
        return os.pread(self.descriptor, count, self.size - count)


@contextlib.contextmanager
def draft(folder: Path, name: str = "") -> Iterator[Draft]:
    """Let a file be written so that a crash at any instant leaves the old state or the new one.

    After this, the data survives a power cut. The temporary file is a sibling, because a rename is
    atomic only inside one file system; it is locked, so that `remove_abandoned` leaves it alone.
    """
    temporary, file = folder / f".{uuid4().hex}.tmp", Draft(-1, name)
    try:
        file.descriptor = _open_locked(temporary)
        try:
            yield file
            os.fsync(file.descriptor)
            os.replace(temporary, folder / file.name)  # noqa: PTH105 - fault tests replace os
        finally:
            os.close(file.descriptor)
        sync(folder)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        raise WriteError(_explain(folder / file.name, file.size, error)) from error


@contextlib.contextmanager
def draft_folder(path: Path) -> Iterator[Path]:
    """Let a new folder be filled under a temporary name; it gets its own when it is complete.

    It is locked as a temporary file is. What is filled in must be made durable by who does it.
    """
    make_folders(path.parent)
    building = path.with_name(f".{uuid4().hex}.tmp")
    with writing(path), contextlib.ExitStack() as at_end:
        at_end.callback(shutil.rmtree, building, ignore_errors=True)
        building.mkdir()
        at_end.callback(os.close, descriptor := os.open(building, os.O_RDONLY))
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield building
        building.rename(path)
        sync(path.parent)


def _open_locked(temporary: Path) -> int:
    """Open a new file and lock it; again if it was removed before it was locked."""
    while True:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o644)
        with contextlib.ExitStack() as at_end:
            at_end.callback(os.close, descriptor)
            with contextlib.suppress(OSError):  # where there are no locks, nothing is removed
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:
                at_end.pop_all()
                return descriptor


def write(path: Place, data: bytes | memoryview) -> None:
    """Put `data` at `path`, atomically and durably; what killed writers left beside it goes."""
    if isinstance(path, Url):
        path.write(data)
        return
    remove_abandoned(path.parent)
    with draft(path.parent, path.name) as file:
        file.write(data)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error of the system while something is written into one of ours that names it."""
    try:
        yield
    except DualpruneError:
        raise
    except OSError as error:
        raise WriteError(_explain(path, 0, error)) from error


def _explain(path: Path, size: int, error: OSError) -> str:
    message = f"cannot write {path}: {error.strerror or error} (errno {error.errno}"
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return f"{message}); remove the cause and try again"
    free = shutil.disk_usage(path.parent).free
    needed = f"{size:,} bytes needed, " if size else ""
    return f"{message}; {needed}{free:,} free); free some space and try again"


def remove_abandoned(folder: Path) -> None:
    """Remove temporary files and folders of killed processes; those of living ones are locked."""
    with contextlib.suppress(OSError):  # who cannot tidy up can still write
        for path in folder.glob(_TEMPORARY):
            with contextlib.suppress(OSError), contextlib.ExitStack() as at_end:
                descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                at_end.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def exists(path: Place) -> bool:
    """Say whether anything is there, if only a link to nothing; not to be able to is an error."""
    if isinstance(path, Url):
        return path.exists()
    with reading(path), contextlib.suppress(FileNotFoundError, NotADirectoryError):
        path.lstat()
        return True
    return False


def is_folder(path: Place) -> bool:
    """Say whether there is a folder."""
    if isinstance(path, Url):
        return path.exists() and path.size() is None
    with reading(path):
        return path.is_dir()


def entries(folder: Place) -> Sequence[os.DirEntry[str] | Entry]:
    """Give what a folder holds, sorted by name: nothing if there is no such folder."""
    with reading(folder), contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if isinstance(folder, Url):
            return sorted(folder.entries(), key=lambda entry: entry.name)
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    return []


def files_below(folder: Place) -> list[Place]:
    """Give all files in a folder and its folders."""
    with reading(folder):
        if isinstance(folder, Url):
            return [*folder.files()]
        found = os.walk(folder, onerror=_stop)
        return [Path(inside, name) for inside, _, names in found for name in names]


def _stop(error: OSError) -> None:
    raise error


def remove_folder(folder: Place) -> None:
    """Remove a folder with all that is in it."""
    folder.remove() if isinstance(folder, Url) else shutil.rmtree(folder)


def make_folder(path: Path, *, exist_ok: bool = True) -> None:
    """Make one folder, durably. With `exist_ok=False` only one of several processes succeeds."""
    with writing(path):
        try:
            os.mkdir(path)  # noqa: PTH102 - fault tests replace the functions of os
        except FileExistsError as error:
            if not exist_ok:
                raise InputError(f"{path} is already there") from error
            if not path.is_dir():
                raise WriteError(f"cannot write {path}: a file is in its place") from error
        # also if it exists: the process that created it may have died before finishing
        sync(path.parent)


def make_folders(path: Place) -> None:
    """Make a folder and those above it that are missing; what killed writers left in it goes.

    A store has no folders, but names of files with slashes.
    """
    if isinstance(path, Url):
        return
    for folder in reversed([path, *path.parents]):
        if folder == path or not exists(folder):
            make_folder(folder)
    remove_abandoned(path)


def refuse_foreign(folder: Place, *ours: str) -> None:
    """Refuse a folder that holds something, but nothing of what we write before all else."""
    names = [e.name for e in entries(folder) if not fnmatch(e.name, _TEMPORARY)]  # killed writers'
    if names and not set(ours) & set(names):
        raise InputError(
            f"{folder} holds other files, such as {names[0]}; choose a new or empty folder"
        )


def refuse_to_replace(path: Place, what: str, check: Callable[[Place], object]) -> None:
    """Refuse to write where there is a file that is not ours, so that `check` cannot read it."""
    if exists(path):
        try:
            check(path)
        except DualpruneError as error:
            raise InputError(
                f"{path} exists and is not {what}; choose another place, or remove it first"
            ) from error


def sync(path: Path) -> None:
    """Make a file or folder survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that cannot sync folders
            raise
    finally:
        os.close(descriptor)


def seal(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content as canonical JSON.

    >>> seal({"a": 1, "b": 2}) == seal({"b": 2, "a": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def write_json(path: Place, content: Mapping[str, Any]) -> None:
    """Write `content` together with its seal."""
    data = (json.dumps({**content, "seal": seal(content)}, indent=1) + "\n").encode()
    if len(data) > _LARGEST_JSON:
        raise InputError(
            f"{path} would have {len(data):,} bytes, at most {_LARGEST_JSON:,} are read"
        )
    write(path, data)


@contextlib.contextmanager
def reading(path: Place) -> Iterator[None]:
    """Turn whatever goes wrong while a file is read and understood into an error that names it."""
    try:
        yield
    except (DamagedError, StoreError):
        raise
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise DamagedError(f"{path} is damaged: {error}") from error
    except (OSError, pa.ArrowException) as error:  # Arrow's have no number of the system
        if reason := getattr(error, "strerror", None):
            reason += f" (errno {error.errno}); remove the cause and try again"
            raise DamagedError(f"cannot read {path}: {reason}") from error
        raise DamagedError(f"{path} is damaged: {error}") from error


def open_file(path: Place) -> BinaryIO:
    """Open a regular file to read; what else is there is refused, a pipe is not waited for."""
    with reading(path):
        if isinstance(path, Url):
            return io.BufferedReader(path.open())
        if not stat.S_ISREG(path.stat().st_mode):
            raise DamagedError(f"{path} is damaged: it is not a file")
        return path.open("rb")


def open_table(
    path: Place, size: int | None = None, span: Callable[[], tuple[int, int]] = lambda: (0, 0)
) -> pa.NativeFile:
    """Open a Parquet file, whose size may be known, so that only what is asked for is read.

    From a store the bytes of `span()` come with one request.
    """
    if isinstance(path, Url):
        return pa.PythonFile(path.open(size, span()), "r")
    return pa.OSFile(os.fsencode(path))  # a str would have to be UTF-8


def read(path: Place, *, most: int | None = None, sha256: str | None = None) -> bytes:
    """Read a regular file, of at most so many bytes; check the hash of its bytes, if known."""
    with open_file(path) as file, reading(path):
        if most is not None and (size := file.seek(0, os.SEEK_END)) > most:
            raise DamagedError(f"{path} is damaged: it has {size:,} bytes, more than {most:,}")
        file.seek(0)
        data = file.read()
    if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
        raise DamagedError(f"{path} is damaged: its bytes are not what was written")
    return data


def read_json(path: Place) -> dict[str, Any]:
    """Read what `write_json` wrote; anything else is an error that names the file."""
    with reading(path):
        content = json.loads(read(path, most=_LARGEST_JSON))
        if not isinstance(content, dict) or content.pop("seal", None) != seal(content):
            raise DamagedError(f"{path} is damaged: its content does not match its seal")
        return content


def write_table(
    path: Place, table: pa.Table, compression: str | dict[str, str] = "zstd", **options: Any
) -> memoryview:
    """Write a Parquet file whose pages carry checksums; gives its bytes."""
    content = table_bytes(table, compression, **options)
    write(path, content)
    return content


def table_bytes(table: pa.Table, compression: str | dict[str, str], **options: Any) -> memoryview:
    """Give a table as the bytes of a Parquet file whose pages carry checksums."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression=compression, write_page_checksum=True, **options)
    return memoryview(sink.getvalue()).cast("B")  # unsigned, so that it compares like bytes


def read_table(path: Place, *, sha256: str | None = None) -> pa.Table:
    """Read a Parquet file in this thread; check its pages and, if known, the hash of its bytes.

    Arrow's own threads can outlive the interpreter and abort the process at its exit.
    """
    with reading(path):
        source = pa.BufferReader(read(path, sha256=sha256))
        with pq.ParquetFile(source, page_checksum_verification=True, pre_buffer=False) as file:
            return file.read(use_threads=False)


def read_column(path: Place, name: str) -> np.ndarray[Any, np.dtype[Any]]:
    """Read one column of a Parquet file in this thread, and check its pages."""
    with (
        reading(path),
        open_table(path) as source,
        pq.ParquetFile(source, page_checksum_verification=True, pre_buffer=False) as file,
    ):
        column = file.read(columns=[name], use_threads=False).column(name)
        values: np.ndarray[Any, np.dtype[Any]] = column.to_numpy()
        return values


def read_rows(package: str, name: str) -> dict[str, dict[str, Any]]:
    """Read the tables of a TOML file of the package; `like` copies the rest of an earlier table."""
    text = resources.files(package).joinpath(name).read_text("utf-8")
    rows: dict[str, dict[str, Any]] = {}
    for key, row in tomllib.loads(text).items():
        rows[key] = rows.get(row.pop("like", ""), {}) | row
    return rows
