"""Labelled texts: the rows of a file that has a column of texts and one of labels."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dualprune.data.classes import find_classes
from dualprune.data.images import IN_MEMORY
from dualprune.data.ngrams import ngrams, number
from dualprune.data.rows import Source, left_out, origin_of, path_and_digest, read_blocks
from dualprune.errors import InputError
from dualprune.signatures import Array

_SHOWN = 300  # characters
_AT_ONCE = 2**10  # texts


@dataclass(frozen=True, eq=False)
class Texts:
    """Labelled texts in memory; a sample's id is its position here. Made with `texts_from`.

    Parameters
    ----------
    labels
        int64, shape (samples,): positions in `class_names`.
    source
        int64, shape (samples,): the row of the file, or of the table, that each sample was.
    texts
        Arrow array of large strings: each text as it stands in the file.
    grams
        int32: the n-grams of all texts, one after the other, as `dualprune.data.ngrams` numbers
        them; of a text, its first 256 tokens count.
    starts
        int64, shape (samples + 1,): where each text's n-grams begin in `grams`.
    buckets
        How many numbers there are for n-grams, at most 65,536; 0 is for padding.
    unreadable
        bool, shape (samples,): rows without a label or without a text; None if there are none.
    relabelled
        How many labels were corrected after loading.
    label
        Name of the column of labels.
    path, sha256
        The file and the hash of its bytes; None and empty for a table in memory.
    """

    kind: ClassVar[str] = "texts"
    recipe: ClassVar[str] = "text"

    labels: Array
    class_names: tuple[str, ...]
    source: Array
    texts: pa.LargeStringArray
    grams: Array
    starts: Array
    buckets: int
    names: tuple[str, ...] = ()
    unreadable: Array | None = None
    relabelled: int = 0
    label: str = ""
    path: Path | None = None
    sha256: str = ""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many numbers an n-gram can have, that of the padding included."""
        return (self.buckets,)

    @property
    def nbytes(self) -> float:
        """Bytes in memory."""
        return float(self.texts.nbytes + self.grams.nbytes)

    @cached_property
    def readable_ids(self) -> Array:
        """Ids of the samples that have a label and a text."""
        ids = np.arange(len(self))
        return ids if self.unreadable is None else ids[~self.unreadable]

    def take(self, ids: Array) -> "Texts":
        """Give these samples in this order; `source` still says where each one comes from."""
        chosen = np.arange(len(self))[ids]
        counts = np.diff(self.starts)[chosen]
        return replace(
            self,
            labels=self.labels[chosen],
            source=self.source[chosen],
            texts=self.texts.take(pa.array(chosen)),
            grams=self.grams[_ranges(self.starts[chosen], counts)],
            starts=np.concatenate([[0], np.cumsum(counts)]),
            unreadable=None if self.unreadable is None else self.unreadable[chosen],
        )

    def batch(self, ids: Array) -> Array:
        """N-grams of these texts as int32, shape (ids, most n-grams of one of them), 0 as padding.

        >>> rows = {"text": ["yes", "oh no"] * 5, "label": ["a", "b"] * 5}
        >>> batch = texts_from(pa.table(rows), text="text", label="label").batch(np.array([0, 1]))
        >>> batch.shape, batch[0, 1:]  # "yes"; "oh", "no", "oh no"
        ((2, 3), array([0, 0], dtype=int32))
        """
        starts, counts = self.starts[ids], np.diff(self.starts)[ids]
        padded = np.zeros((len(ids), max(1, counts.max(initial=0))), np.int32)
        padded[np.arange(padded.shape[1]) < counts[:, None]] = self.grams[_ranges(starts, counts)]
        return padded

    def snippets(self, ids: Array) -> list[str]:
        """The beginning of each of these texts."""
        texts = self.texts.take(pa.array(ids)).to_pylist()
        return [text[:_SHOWN] + "…" * (len(text) > _SHOWN) for text in texts]

    def contents(self) -> Iterator[bytes]:
        """A digest of every text; that of equal texts is equal."""
        for first in range(0, len(self), _AT_ONCE):
            for text in self.texts.slice(first, _AT_ONCE).to_pylist():
                yield hashlib.sha256(text.encode()).digest()

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of labels, class names and texts; not of paths."""
        content = hashlib.sha256(json.dumps([self.kind, self.class_names, len(self)]).encode())
        content.update(np.ascontiguousarray(self.labels, "<i8").data)
        for digest in self.contents():
            content.update(digest)
        return content.hexdigest()


def texts_from(source: Source, *, text: str, label: str) -> Texts:
    """Read the texts and labels of a CSV, TSV, JSONL or Parquet file, or of an Arrow table.

    Rows without a label, or whose text is blank, keep their id and are `unreadable`; a warning
    counts them. An empty cell is missing, a cell that says ``NA`` is not.

    Parameters
    ----------
    text, label
        Names of the two columns. A label may be a text or a number; classes are sorted, by value
        if all are numbers.

    Examples
    --------
    >>> rows = pa.table({"review": ["good", "bad"] * 5, "stars": [5, 1] * 5})
    >>> data = texts_from(rows, text="review", label="stars")
    >>> len(data), data.class_names, data.labels[:2], data.snippets(np.array([1]))
    (10, ('1', '5'), array([1, 0]), ['bad'])
    """
    if text == label:
        raise InputError(f"the text and the label cannot be the same column, {text!r}")
    path, sha256 = path_and_digest(source)
    labels, texts, parts = [], [], []
    for block_labels, block_texts, *part in _read(source, text, label):
        labels.append(block_labels)
        texts.append(block_texts)
        parts.append((part[0], part[1]))
    classes, class_names = find_classes(_joined(labels), label, origin_of(source))
    unreadable = left_out(classes, "a label or a text", origin_of(source))
    grams, counts, buckets = number(parts)
    return Texts(
        labels=np.maximum(classes, 0),
        class_names=class_names,
        source=np.arange(len(classes)),
        texts=_joined(texts).combine_chunks(),
        grams=grams,
        starts=np.concatenate([[0], np.cumsum(counts)]),
        buckets=buckets,
        unreadable=unreadable,
        label=label,
        path=path,
        sha256=sha256,
    )


def _read(
    source: Source, text: str, label: str
) -> Iterator[tuple[pa.Array, pa.Array, Array, Array]]:
    """Give labels (null where there is no text), texts, hashes of n-grams and their counts."""
    size = 0
    for block in read_blocks(source, [text, label], only=True):
        column = block[text].combine_chunks()
        if not (pa.types.is_large_string(column.type) or pa.types.is_null(column.type)):
            raise InputError(
                f"the column {text!r} of {origin_of(source)} holds {column.type}, not texts; "
                "name the column of the texts, or use all columns as a table"
            )
        texts = column.cast(pa.large_string()).fill_null("")
        blank = pc.equal(pc.utf8_trim_whitespace(texts), "")
        labels = block[label].combine_chunks()
        for first in range(0, len(texts), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            hashes, counts = ngrams(texts[part].to_pylist())
            size += hashes.nbytes
            if size > IN_MEMORY:
                raise InputError(
                    f"{origin_of(source)}: the n-grams of its texts take more than {IN_MEMORY:,} "
                    "bytes of memory; take a part of the rows"
                )
            yield pc.if_else(blank[part], None, labels[part]), texts[part], hashes, counts


def _joined(parts: list[pa.Array]) -> pa.ChunkedArray:
    return pa.chunked_array(parts, None if parts else pa.null())


def _ranges(starts: Array, counts: Array) -> Array:
    """Give starts[0], starts[0] + 1, ..., as many as counts[0], and so on.

    >>> _ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    before = np.cumsum(counts) - counts
    ranges: Array = np.arange(counts.sum()) + np.repeat(starts - before, counts)
    return ranges
