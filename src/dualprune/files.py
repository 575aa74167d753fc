"""Atomic writes of files, and JSON with a checksum."""

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from dualprune.errors import DamagedError, WriteError


def write(path: Path, data: bytes | memoryview) -> None:
    """Put `data` at `path` so that a crash at any instant leaves the old state or the new one.

    When this returns, the data survives a power cut. The temporary file is a sibling, because a
    rename is atomic only inside one file system.
    """
    temporary = path.with_name(f".{uuid4().hex}.tmp")
    try:
        _write_and_rename(temporary, path, memoryview(data).cast("B"))
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise WriteError(_explain(path, memoryview(data).nbytes, error)) from error


def _write_and_rename(temporary: Path, path: Path, data: memoryview) -> None:
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        while data:
            data = data[os.write(descriptor, data) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(temporary, path)  # noqa: PTH105 - fault tests replace the functions of os
    sync(path.parent)


def _explain(path: Path, size: int, error: OSError) -> str:
    message = f"cannot write {path}: {error.strerror or error}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        free = shutil.disk_usage(path.parent).free
        message += f" ({size:,} bytes needed, {free:,} free); free some space and try again"
    return message


def make_folder(path: Path, *, exist_ok: bool = True) -> None:
    """Make one folder, durably. With `exist_ok=False` only one of several processes succeeds."""
    try:
        os.mkdir(path)  # noqa: PTH102 - fault tests replace the functions of os
    except FileExistsError as error:
        if not exist_ok:
            raise
        if not path.is_dir():
            raise WriteError(f"cannot make the folder {path}: a file is in its place") from error
    except OSError as error:
        raise WriteError(f"cannot make the folder {path}: {error.strerror}") from error
    try:
        # also if it exists: the process that created it may have died before finishing
        sync(path.parent)
    except OSError as error:
        raise WriteError(f"cannot make the folder {path} durable: {error.strerror}") from error


def make_folders(path: Path) -> None:
    """Make a folder and those above it that are missing."""
    for folder in reversed([path, *path.parents]):
        if folder == path or not folder.exists():
            make_folder(folder)


def sync(path: Path) -> None:
    """Make a file or folder survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def seal(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content as canonical JSON.

    >>> seal({"a": 1, "b": 2}) == seal({"b": 2, "a": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write `content` together with its seal."""
    write(path, (json.dumps({**content, "seal": seal(content)}, indent=1) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """Read what `write_json` wrote; anything else is an error that names the file."""
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{path} is damaged: it is not JSON ({error})") from error
    if not isinstance(content, dict) or content.pop("seal", None) != seal(content):
        raise DamagedError(f"{path} is damaged: its content does not match its seal")
    return content


def write_table(
    path: Path, table: pa.Table, compression: str = "zstd", **options: Any
) -> memoryview:
    """Write a Parquet file whose pages carry checksums; gives its bytes."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression=compression, write_page_checksum=True, **options)
    content = memoryview(sink.getvalue())
    write(path, content)
    return content


def read_table(source: Any) -> pa.Table:
    """Read a Parquet file or buffer in this thread, and check its pages.

    Arrow's own threads can outlive the interpreter and abort the process at its exit.
    """
    with pq.ParquetFile(source, page_checksum_verification=True, pre_buffer=False) as file:
        return file.read(use_threads=False)


def read_rows(package: str, name: str) -> dict[str, dict[str, Any]]:
    """Read the tables of a TOML file of the package; `like` copies the rest of an earlier table."""
    text = resources.files(package).joinpath(name).read_text("utf-8")
    rows: dict[str, dict[str, Any]] = {}
    for key, row in tomllib.loads(text).items():
        rows[key] = rows.get(row.pop("like", ""), {}) | row
    return rows
