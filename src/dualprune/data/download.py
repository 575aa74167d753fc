"""Download files whose hash is known; no other content is written to disk."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from threading import Thread
from typing import IO
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from dualprune.errors import DamagedError, InputError, MissingError, WriteError
from dualprune.files import read_rows, write

TIMEOUT = 60.0  # seconds without a byte
SLOWEST = 50_000  # bytes per second


@dataclass(frozen=True)
class Pinned:
    """Expected size in bytes and hash of a file."""

    size: int
    sha256: str


def pins(data: str) -> dict[str, Pinned]:
    """Sizes and hashes of a named set's files, by name."""
    rows = read_rows("dualprune.data", "pins.toml")[data]
    return {name: Pinned(**row) for name, row in rows.items()}


def download(url: str, path: Path, pinned: Pinned) -> None:
    """Download `url` to `path` if its size and hash are the expected ones; https only.

    The content is checked before anything is written, and the write is atomic.
    """
    data = _fetch(url, pinned.size)
    check(data, pinned, url)
    make_home(path.parent)
    write(path, data)


def check(data: bytes, pinned: Pinned, origin: str | Path) -> None:
    """Refuse content of another size or hash; `data` may be cut off one byte after the size."""
    if len(data) != pinned.size:
        actual = f"{len(data):,}" if len(data) < pinned.size else "more"
        raise DamagedError(f"{origin} is damaged: expected {pinned.size:,} bytes, got {actual}")
    if (actual := hashlib.sha256(data).hexdigest()) != pinned.sha256:
        raise DamagedError(f"{origin} is damaged: expected SHA-256 {pinned.sha256}, got {actual}")


def make_home(path: Path) -> None:
    """Make the folder of a dataset."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(
            f"cannot make the folder {path}: {error.strerror}; choose another place with "
            "DUALPRUNE_DATA"
        ) from error


def absent(name: str, paths: Sequence[Path], how: str) -> MissingError:
    """Give the error for a missing dataset: where it was looked for, and how to get it."""
    places = "".join(f"\n  {path}" for path in paths)
    return MissingError(f"{name} is not on this machine; looked for{places}\n{how}")


def longest(size: int) -> float:
    """Seconds after which a download of so many bytes is abandoned."""
    return TIMEOUT + size / SLOWEST


def _fetch(url: str, size: int) -> bytes:
    """Download in a thread that can be abandoned: any byte, also of the headers, resets TIMEOUT."""
    _check_url(url)
    content: Future[bytes] = Future()
    Thread(target=_read, args=(url, size, content), daemon=True).start()
    try:
        return content.result(longest(size))
    except (OSError, HTTPException) as error:
        if isinstance(error, HTTPError):
            error.close()
        reason = error if content.done() else f"not complete after {longest(size):,.0f} seconds"
        raise MissingError(f"cannot download {url}: {reason}; try again later") from error


def _read(url: str, size: int, content: Future[bytes]) -> None:
    request = Request(url, headers={"User-Agent": "dualprune"})  # noqa: S310 - checked before
    try:
        with build_opener(_Redirects).open(request, timeout=TIMEOUT) as response:
            content.set_result(response.read(size + 1))
    except Exception as error:  # noqa: BLE001 - raised again where the result is awaited
        content.set_exception(error)


def _check_url(url: str) -> None:
    if urlsplit(url).scheme != "https":
        raise InputError(f"refused to download from {url}: it does not start with https://")


class _Redirects(HTTPRedirectHandler):
    """Follow a redirect only to another https address."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        try:
            _check_url(newurl)
        except InputError:
            fp.close()
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)
