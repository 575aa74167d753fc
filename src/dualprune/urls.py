"""Url: a file or folder of a store that fsspec reaches, such as ``s3://bucket/run``.

Credentials are fsspec's. No message shows any, so errors of a store are raised without their cause,
whose text may.
"""

import errno
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from dualprune.errors import InputError, MissingError, StoreError

SECONDS = 60.0
"""How long a call to a store may take, besides the time for the bytes that it moves."""
SLOWEST = 2**17
"""How many bytes per second it must move."""

_URL = re.compile(r"[a-z][a-z0-9+.:-]+:/+", re.IGNORECASE)
_SECRETS = (  # after a colon, even if it has slashes; as the name of a user; after a question mark
    re.compile(r"(:/{1,2})[^\s'\"]*:[^\s'\"]*(?=@)"),
    re.compile(r"(https?:/{1,2})[^/\s'\"]+(?=@)"),
    re.compile(r"(:/{1,2}[^\s'\"?]*\?)[^\s'\"]+"),
)
_ACCESS = "check the credentials that fsspec finds (docs/scale.md), and what they are allowed"


@runtime_checkable
class OnStore(Protocol):
    """What knows its file system of fsspec, such as a `UPath`."""

    @property
    def fs(self) -> Any: ...
    @property
    def path(self) -> str: ...


AnyPath: TypeAlias = str | os.PathLike[str] | OnStore
"""What may be given as a path: text, which may be a URL, a `Path` or a `UPath`."""


@dataclass(frozen=True)
class Entry:
    """What a folder of a store holds, as `os.DirEntry` says it."""

    name: str
    folder: bool

    def is_dir(self) -> bool:
        return self.folder


@dataclass(frozen=True, order=True)
class Url:
    """A file or folder of a store, with what runs and coresets use of a `Path`.

    A file that is written appears as a whole, or not at all: so do S3 and its like.
    """

    store: Any = field(compare=False, repr=False)
    path: str
    process: int = field(default_factory=os.getpid, compare=False, repr=False)

    @property
    def fs(self) -> Any:
        """The file system of fsspec; a forked process cannot use that of its parent."""
        here = os.getpid()
        return self.store if self.process == here else _opened_again(self.store, here)

    def __str__(self) -> str:
        return masked(str(self.fs.unstrip_protocol(self.path)))

    def __truediv__(self, name: str) -> "Url":
        return Url(self.fs, f"{self.path.rstrip('/')}/{name}")

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rpartition("/")[2]

    @property
    def stem(self) -> str:
        return self.name.rpartition(".")[0] or self.name

    @property
    def suffix(self) -> str:
        return self.name.removeprefix(self.stem)

    @property
    def parent(self) -> "Url":
        return Url(self.fs, self.path.rstrip("/").rpartition("/")[0])

    def with_name(self, name: str) -> "Url":
        return self.parent / name

    def exists(self) -> bool:
        try:
            self._info()
        except FileNotFoundError:
            return False
        return True

    def size(self) -> int | None:
        """How many bytes a file has; None for a folder."""
        info = self._info()
        return int(info["size"]) if info["type"] == "file" else None

    def _info(self) -> dict[str, Any]:
        self.fs.invalidate_cache()  # others write, too
        with self._calling("read"):
            info: dict[str, Any] = self.fs.info(self.path, **self._limit())
            return info

    def entries(self) -> list[Entry]:
        self.fs.invalidate_cache()
        with self._calling("read"):
            rows = self.fs.ls(self.path, detail=True, **self._limit())
        inside = [row for row in rows if row["name"].strip("/") != self.path.strip("/")]
        return [Entry(Url(self.fs, r["name"]).name, r["type"] == "directory") for r in inside]

    def files(self) -> list["Url"]:
        """All files below a folder."""
        self.fs.invalidate_cache()
        with self._calling("read"):
            paths = self.fs.find(self.path, **self._limit())
        return [Url(self.fs, path) for path in paths if not path.endswith("/")]

    def read(self, start: int, stop: int) -> bytes:
        """Read a range of bytes, which is not empty, of a file."""
        with self._calling("read"):
            limit = self._limit(stop - start)
            data: bytes = self.fs.cat_file(self.path, start=start, end=stop, **limit)
            return data

    def open(self, size: int | None = None, span: tuple[int, int] = (0, 0)) -> "UrlFile":
        """Open a file to read, whose size may be known, and what will be asked for together."""
        size = self.size() if size is None else size
        if size is None:
            raise IsADirectoryError(errno.EISDIR, "it is not a file")
        return UrlFile(self, size, span)

    def write(self, data: bytes | memoryview) -> None:
        with self._calling("write"):
            limit = self._limit(memoryview(data).nbytes)
            self.fs.pipe_file(self.path, bytes(data), **limit)

    def upload(self, source: Path) -> None:
        """Write the content of a file on this machine."""
        with self._calling("write"):
            self.fs.put_file(os.fspath(source), self.path, **self._limit(source.stat().st_size))

    def remove(self) -> None:
        """Remove a file, or a folder with all that is in it."""
        self.fs.invalidate_cache()
        with self._calling("write"):
            self.fs.rm(self.path, recursive=True, **self._limit())

    def _limit(self, count: int = 0) -> dict[str, float]:
        """Give how long a call may take that moves so many bytes, where fsspec can tell that."""
        return {"timeout": SECONDS + count / SLOWEST} if self.fs.async_impl else {}

    @contextmanager
    def _calling(self, what: str) -> Iterator[None]:
        """Turn whatever a store or its library raises into an error of ours that names the URL."""
        try:
            yield
        except FileNotFoundError as error:
            if what == "read":
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)) from None
            raise self._failed(what, error, "make the bucket first, or correct its name") from None
        except PermissionError as error:
            raise self._failed(what, error, _ACCESS) from None
        except TimeoutError as error:
            reason = f"no answer in time ({type(error).__name__})"
            hint = "check the network and the address of the store, and try again"
            raise StoreError(f"cannot {what} {self}: {reason}; {hint}") from None
        except Exception as error:  # noqa: BLE001 - each store has errors of its own
            hint = _ACCESS if "redential" in str(error) else "remove the cause and try again"
            raise self._failed(what, error, hint) from None

    def _failed(self, what: str, error: Exception, hint: str) -> StoreError:
        reason = getattr(error, "strerror", None) or str(error) or "no reason was stated"
        name = type(error).__name__
        return StoreError(f"cannot {what} {self}: {masked(reason)} ({name}); {hint}")


@lru_cache
def _opened_again(store: Any, process: int) -> Any:  # noqa: ARG001 - once in every process
    return type(store)(*store.storage_args, **store.storage_options)


class UrlFile(io.RawIOBase):
    """A file of a store; a read is one request for just these bytes, but for those of a span."""

    def __init__(self, url: Url, size: int, span: tuple[int, int]) -> None:
        self._url, self._size, self._at = url, size, 0
        self._start, self._stop = span
        self._ahead = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def read(self, count: int = -1) -> bytes:
        stop = self._size if count < 0 else min(self._at + count, self._size)
        data = self._fetch(self._at, stop) if stop > self._at else b""
        self._at += len(data)
        return data

    readall = read

    def _fetch(self, start: int, stop: int) -> bytes:
        if not self._start <= start < stop <= self._stop:
            return self._url.read(start, stop)
        self._ahead = self._ahead or self._url.read(self._start, self._stop)
        return self._ahead[start - self._start : stop - self._start]


def is_url(path: AnyPath) -> bool:
    """Whether this is a URL, also one that was made a `Path` and lost a slash."""
    if isinstance(path, str | os.PathLike):
        return _URL.match(os.fspath(path)) is not None
    return True


def open_url(path: OnStore | str) -> Url | Path:
    """Give the place that a URL names; what is on this machine is a `Path`."""
    if isinstance(path, str):
        if masked(path) != path:
            raise InputError(
                f"{masked(path)} holds a password or a token, which others would see; leave it "
                "out: fsspec finds credentials in the environment and its own files (docs/scale.md)"
            )
        fs, inside = _find_store(path)
    else:
        fs, inside = path.fs, path.path
    local = "file" in ([fs.protocol] if isinstance(fs.protocol, str) else fs.protocol)
    return Path(inside) if local else Url(fs, inside)


def _find_store(url: str) -> tuple[Any, str]:
    try:
        import fsspec  # noqa: PLC0415 - only who gives a URL needs it

        fs, path = fsspec.url_to_fs(url)
    except ImportError as error:
        raise MissingError(f"{url} needs {_missing(url)}") from error
    except ValueError as error:
        raise InputError(f"{url} cannot be used: {error}") from error
    except Exception as error:  # noqa: BLE001 - some stores connect at once
        reason = f"{masked(str(error))} ({type(error).__name__})"
        raise StoreError(f"cannot read {url}: {reason}; {_ACCESS}") from None
    return fs, path


def _missing(url: str) -> str:
    """Say what to install for the store of a URL."""
    scheme = url.partition("://")[0].rpartition("::")[2].lower()
    if scheme in ("s3", "s3a"):
        return "s3fs, which is not installed: pip install 'dualprune[s3]'"
    try:
        from fsspec.registry import known_implementations  # noqa: PLC0415
    except ImportError:
        return "fsspec, which is not installed: pip install fsspec"
    package = known_implementations[scheme]["class"].partition(".")[0]
    return f"{package}, which is not installed: pip install {package}"


def masked(text: str) -> str:
    """Hide passwords and tokens of the URLs in a text.

    >>> masked("sftp://me:secret@host/run?sig=abc is not there")
    'sftp://***@host/run?*** is not there'
    """
    for secret in _SECRETS:
        text = secret.sub(r"\1***", text)
    return text
