"""Records of CSV, TSV and JSONL files: where each begins, its very bytes, and what it says."""

import csv
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from dualprune.errors import InputError
from dualprune.files import reading

LONGEST = 2**24
"""Most bytes of a line, and most characters of a cell."""

_DELIMITERS = ",;\t|"


def csv_records(
    file: BinaryIO, path: Path, delimiter: str
) -> Iterator[tuple[int, bytes, list[str]]]:
    r"""Give line number, bytes and cells of every record, the header first.

    Quotes are as in RFC 4180. Blank lines are no records, as for pandas.

    >>> from io import BytesIO
    >>> for record in csv_records(BytesIO(b'a,b\n\n"x\ny",2\n'), Path("x.csv"), ","):
    ...     print(record)
    (1, b'a,b\n', ['a', 'b'])
    (3, b'"x\ny",2\n', ['x\ny', '2'])
    """
    pending: list[bytes] = []
    blank = " \t\r\n".replace(delimiter, "").encode()
    reader = csv.reader(_noting(_lines(file, path), pending), delimiter=delimiter, strict=True)
    line = 1
    usual = csv.field_size_limit(LONGEST)
    try:
        for cells in reader:
            raw = b"".join(pending)
            pending.clear()
            if raw.strip(blank):
                yield line, raw, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{path} cannot be read: the row that begins at line {line} is no CSV ({error}); "
            "look there for a quote that is not closed or not doubled, or for line ends of "
            "another kind, and write the file again"
        ) from error
    finally:
        csv.field_size_limit(usual)


def find_delimiter(file: BinaryIO, path: Path) -> str:
    r"""Give the delimiter that makes most columns of the first line: comma, ``;``, tab or ``|``.

    >>> from io import BytesIO
    >>> find_delimiter(BytesIO(b'"a, b";c\n'), Path("x.csv"))
    ';'
    """
    first = next((text for _, text in _lines(file, path) if text.strip()), "")
    file.seek(0)
    header = first.replace("\r", "\n").splitlines()[:1]
    return max(_DELIMITERS, key=lambda mark: len(next(csv.reader(header, delimiter=mark), [])))


def json_records(file: BinaryIO, path: Path) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
    r"""Give line number, bytes and object of every line that is not blank; numbers stay text.

    >>> from io import BytesIO
    >>> list(json_records(BytesIO(b'{"a": 1.50}\n'), Path("x.jsonl")))
    [(1, b'{"a": 1.50}\n', {'a': '1.50'})]
    """
    for line, (raw, text) in enumerate(_lines(file, path), 1):
        if not text.strip():
            continue
        try:
            value = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
            if r"\ud" in text or r"\uD" in text:  # perhaps half of a pair, which is no text
                json.dumps(value, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{path} cannot be read: line {line} is not JSON ({error}); each line must be one "
                'JSON object, such as {"text": "good", "label": "yes"}'
            ) from error
        if not isinstance(value, dict):
            raise InputError(
                f"{path} cannot be read: line {line} is not a JSON object but {text.strip()[:40]!r}"
                "; write each row as an object of column names and values"
            )
        yield line, raw, value


def _noting(lines: Iterator[tuple[bytes, str]], pending: list[bytes]) -> Iterator[str]:
    for raw, text in lines:
        pending.append(raw)
        yield text


def _lines(file: BinaryIO, path: Path) -> Iterator[tuple[bytes, str]]:
    """Give each line as bytes and as text; what is not UTF-8, or too long, is refused."""
    for number, raw in enumerate(_raw(file, path), 1):
        if len(raw) == LONGEST and not raw.endswith(b"\n"):
            raise InputError(
                f"{path} cannot be read: line {number} has more than {LONGEST:,} bytes; "
                "is it text with one row per line?"
            )
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path} cannot be read: line {number} is not UTF-8 (byte {error.start + 1} of it "
                f"is {raw[error.start]:#04x}); save the file as UTF-8"
            ) from error
        if "\0" in text:
            raise InputError(
                f"{path} cannot be read: line {number} holds a NUL byte, so it is damaged or "
                "UTF-16; save the file as UTF-8"
            )
        yield raw, text


def _raw(file: BinaryIO, path: Path) -> Iterator[bytes]:
    with reading(path):
        yield from iter(partial(file.readline, LONGEST), b"")
