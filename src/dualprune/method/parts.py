"""A coreset of very many samples: scored, chosen and written range by range.

What the worker of a range computes goes into a file of its own. So no process ever holds all
samples, and after an interruption only what is missing is computed. Wherever the workers are, they
must find the run and the folder at the same paths.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

import numpy as np
import pyarrow as pa

from dualprune.coreset.coreset import WHY, digest_of_parts, part_name, save_rows
from dualprune.files import Place, exists, make_folders, read_column, seal, write_table
from dualprune.method.arrays import Arrays, Wanted, is_score, sources
from dualprune.method.classes import class_sizes
from dualprune.method.named import Method
from dualprune.method.scoring import scores_of
from dualprune.run import Run
from dualprune.run.ranges import threads
from dualprune.score import SCORES, confidence
from dualprune.score.parts import ScoreParts
from dualprune.select import OF_BLOCKS, random
from dualprune.select.blocked import Choice
from dualprune.select.waves import Block, Waves, unpacked
from dualprune.signatures import Array, inputs, name_of

_COLUMNS = {"labels": "label", "scores": "score", "confidence": "confidence"}  # as they are saved


def columns_for(arrays: Arrays, method: Method) -> dict[str, Wanted | None] | None:
    """Give what to compute of every sample, by the selector's name for it; None are the labels.

    Nothing is given for a method that compares samples with each other.
    """
    if method.select not in OF_BLOCKS:
        return None
    wanted: dict[str, Wanted | None] = {}
    if method.scorer is not None:
        wanted["scores"] = (method.scorer, method.score_knobs)
    for name, required in inputs(method.select).items():
        source = method.reads.get(name, name)
        needed = required and method.select is not random  # which can do without labels
        if name == "scores" or not (needed or arrays.has(source)):
            continue
        if source != "labels" and not is_score(source):
            return None
        wanted[name] = None if source == "labels" else (SCORES[source], {})
    if arrays.has("labels"):
        wanted["labels"] = None
    if arrays.can_score(confidence, {}):
        wanted.setdefault("confidence", (confidence, {}))
    read = {name for score in wanted.values() if score for name in inputs(score[0])}
    return None if "features" in sources(read) else wanted


@dataclass(frozen=True)
class Scoring:
    """What a worker needs to know to score a range."""

    runs: list[Run]
    wanted: dict[str, Wanted | None]
    epochs: int
    folder: Place
    saved: dict[str, ScoreParts]
    """Scores that were written before."""

    def file(self, ids: range) -> Place:
        return self.folder / f"{ids.start:012d}-{ids.stop:012d}.parquet"


@dataclass(frozen=True)
class Piece:
    """A range of ids; where samples in it could not be read, and what its samples are called."""

    ids: range
    first: int
    """How many samples before this range could be read."""
    unreadable: Array
    names: dict[str, Array]

    @staticmethod
    def cut(run: Run, ids: range) -> "Piece":
        """Give the piece of a run."""
        start, stop = np.searchsorted(run.unreadable, [ids.start, ids.stop])
        names = {name: column[ids.start : ids.stop] for name, column in run.names.items()}
        unreadable = run.unreadable[start:stop] - ids.start
        return Piece(ids, ids.start - int(start), unreadable, names)

    def at(self, marks: Array) -> Array:
        """Where in the range the samples are that are marked among those that could be read."""
        where = unpacked(marks, len(self.ids) - len(self.unreadable))
        before = self.unreadable - np.arange(len(self.unreadable))  # readable ones before each
        return where + np.searchsorted(before, where, side="right") if len(before) else where


class _Columns(Mapping[str, Array]):
    """Columns of the samples of a range that could be read, each read when it is asked for."""

    def __init__(self, file: Place, names: list[str], unreadable: Array) -> None:
        self._file, self._names, self._unreadable = file, names, unreadable

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise KeyError(name)
        values = read_column(self._file, name)
        return np.delete(values, self._unreadable) if len(self._unreadable) else values

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True)
class Written:
    """What was chosen: the hash of its ids, that of each file, what each class has and keeps."""

    choice: Choice
    scratch: Place
    """A folder that is needed until the card is written."""
    sha256: str
    files: dict[str, str]
    columns: list[str]
    sizes: Array
    kept: Array


def choose_in_parts(
    arrays: Arrays,
    method: Method,
    wanted: dict[str, Wanted | None],
    parts: Sequence[range],
    *,
    k: int,
    seed: int,
    out: Place,
) -> Written:
    """Score, choose and write every range; the card is still to be written."""
    scoring = Scoring(
        arrays.runs,
        wanted,
        arrays.epochs,
        out / _folder_name(arrays, wanted),
        {n: saved for n, score in wanted.items() if score and (saved := arrays.saved(*score))},
    )
    pieces = [Piece.cut(arrays.runs[0], ids) for ids in parts if ids]
    make_folders(scoring.folder)
    make_folders(out / "coreset.parquet")
    scores = [score for score in wanted.values() if score is not None]
    for _ in arrays.mapping(scores)(partial(score_part, scoring), [p.ids for p in pieces]):
        pass
    waves = Waves((_block(scoring, piece) for piece in pieces), arrays.map or threads)
    choice = OF_BLOCKS[method.select](waves, k=k, seed=seed, **method.select_knobs)
    marks = zip(choice.kept, *choice.reasons.values(), strict=True)
    finish = partial(finish_part, scoring, out, [choice.why, *choice.reasons])
    results = list((arrays.map or threads)(finish, zip(pieces, marks, strict=True)))
    return _written(scoring, pieces, choice, results)


def _written(
    scoring: Scoring,
    pieces: list[Piece],
    choice: Choice,
    results: list[tuple[str, list[str], Array, Array]],
) -> Written:
    hashes, columns, sizes, kept = zip(*results, strict=True)
    ids = (p.ids.start + p.at(marks) for p, marks in zip(pieces, choice.kept, strict=True))
    files = {part_name(piece.ids.start): sha for piece, sha in zip(pieces, hashes, strict=True)}
    counts = (np.sum(counts, axis=0) for counts in (sizes, kept))
    return Written(choice, scoring.folder, digest_of_parts(ids), files, columns[0], *counts)


def _folder_name(arrays: Arrays, wanted: dict[str, Wanted | None]) -> str:
    """Give a name that is the same only if the same is to be computed."""
    scores = {name: score for name, score in wanted.items() if score is not None}
    own = any(fn not in SCORES.values() for fn, _ in scores.values())
    content = {
        "scores": {name: [name_of(fn), dict(knobs)] for name, (fn, knobs) in scores.items()},
        "columns": sorted(wanted),
        "runs": [run.fingerprint for run in arrays.runs],
        "epochs": arrays.epochs,
        "once": uuid4().hex if own else "",  # code of somebody's own may change
    }
    return f"scoring-{seal(content)[:16]}"


def score_part(scoring: Scoring, ids: range) -> None:
    """Write the columns of a range, unless that is done."""
    if not scoring.wanted or exists(scoring.file(ids)):
        return
    columns = {name: parts.read(ids) for name, parts in scoring.saved.items()}
    scores = {
        name: score
        for name, score in scoring.wanted.items()
        if score is not None and name not in columns
    }
    values = scores_of(scoring.runs, list(scores.values()), scoring.epochs, ids)
    columns |= dict(zip(scores, values, strict=True))
    if "labels" in scoring.wanted:
        columns["labels"] = scoring.runs[0].labels_of(ids)
    table = pa.table(columns)
    write_table(scoring.file(ids), table, "none", use_dictionary=False, write_statistics=False)


def _block(scoring: Scoring, piece: Piece) -> Block:
    columns = _Columns(scoring.file(piece.ids), list(scoring.wanted), piece.unreadable)
    return Block(piece.first, len(piece.ids) - len(piece.unreadable), columns)


def finish_part(
    scoring: Scoring, out: Place, reasons: list[str], task: tuple[Piece, tuple[Array, ...]]
) -> tuple[str, list[str], Array, Array]:
    """Write the rows of a range, unless that is done.

    Gives the file's hash, its columns, and the classes' counts.
    """
    piece, marks = task
    columns = dict(piece.names)
    for name, column in _COLUMNS.items():
        if name in scoring.wanted:
            columns[column] = read_column(scoring.file(piece.ids), name)
    kept, why = _kept_and_why(piece, marks, reasons)
    ids = np.arange(piece.ids.start, piece.ids.stop)
    rows = pa.table({"id": ids, **columns, "why": why, "kept": kept})
    sha = save_rows(out / part_name(piece.ids.start), rows)
    labels = np.array(columns.get("label", np.full(len(ids), -1)))
    labels[piece.unreadable] = -1
    classes = scoring.runs[0].classes or 0
    sizes, of_kept = class_sizes(labels, classes), class_sizes(labels[kept], classes)
    return sha, [*columns, "why"], sizes, of_kept


def _kept_and_why(
    piece: Piece, marks: tuple[Array, ...], reasons: list[str]
) -> tuple[Array, pa.Array]:
    """Say of every sample whether it is kept, and why; the first marks are of what is kept."""
    codes = np.zeros(len(piece.ids), np.int8)
    codes[piece.at(marks[0])] = 1
    kept = codes == 1
    for code, members in enumerate(marks[1:], 2):
        codes[piece.at(members)] = code
    codes[piece.unreadable] = len(reasons) + 1
    words = pa.array(["", *reasons, "unreadable"])
    return kept, pa.DictionaryArray.from_arrays(codes, words).cast(WHY)
