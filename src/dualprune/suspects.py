r"""Which labels are probably wrong, from what was recorded alone.

.. math:: q_i = \sigma(m_i), \qquad m_i = \operatorname{mean}_t \,
    (z_{it}(y_i) - \max_{c \ne y_i} z_{it}(c))

The quality of a label is the logistic function of its area under the margin (AUM, Pleiss et al.,
2020): 1 when the model was always sure of it, below one half when on average it believed another
class more. A margin tells a wrong label, which has a rival, from a hard sample, of which the model
believes nothing firmly.

How many are wrong: two normal distributions are fitted to the margins. If they stand apart
(Ashman's D above 2) and the lower one's mean is negative, its members with a negative margin are
the suspects; otherwise no group of labels stands apart, and there are none.
"""

import csv
import io
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from dualprune.arguments import checked
from dualprune.errors import DamagedError
from dualprune.files import (
    make_folders,
    open_file,
    read_table,
    reading,
    refuse_to_replace,
    write,
    write_table,
)
from dualprune.method import Arrays
from dualprune.run import Run
from dualprune.score import aum
from dualprune.signatures import Array

_ASHMAN = 2.0  # two normal distributions farther apart than this have two peaks
_FITTED = 100_000  # samples are enough to fit them
_ROUNDS = 200
_COLUMNS = ("given_label", "predicted_label", "label_quality", "is_label_issue")
_LONGEST = 1000  # bytes of a line with names of columns
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # what spreadsheets would compute


@dataclass(frozen=True)
class Audit:
    """One row per sample, the worst label first; a sample that was never seen comes last.

    `columns` are `id`, `name` where samples have names, `given_label` and `predicted_label`,
    `label_quality` and `is_label_issue`, as users of cleanlab know them.
    """

    columns: dict[str, Array]

    @property
    def suspects(self) -> int:
        """How many labels are estimated to be wrong."""
        return int(self.columns["is_label_issue"].sum())

    def save(self, folder: Path) -> list[Path]:
        """Write `audit.parquet`, and `audit.csv`, which is safe to open in a spreadsheet.

        Only another audit is replaced.
        """
        table, sheet = folder / "audit.parquet", folder / "audit.csv"
        for path in (table, sheet):
            refuse_to_replace(path, "an audit", _check_audit)
        make_folders(folder)
        write_table(table, pa.table(self.columns))
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(self.columns)
        for row in zip(*(column.tolist() for column in self.columns.values()), strict=True):
            writer.writerow(_harmless(cell) for cell in row)
        write(sheet, text.getvalue().encode())
        return [table, sheet]


def _check_audit(path: Path) -> None:
    if path.suffix == ".csv":
        with open_file(path) as file, reading(path):
            columns = file.readline(_LONGEST).decode("utf-8", "replace").rstrip().split(",")
    else:
        columns = read_table(path).column_names
    if tuple(columns[-len(_COLUMNS) :]) != _COLUMNS:
        raise DamagedError(f"{path} is no audit")


@dataclass(frozen=True)
class Judgement:
    """What the model believed of every label, by id; classes are positions, -1 where unknown."""

    label: Array
    predicted: Array
    quality: Array
    suspect: Array

    @property
    def order(self) -> Array:
        """Ids with the worst label first; NaN, never seen, sorts last."""
        return np.argsort(self.quality, kind="stable")


@checked
def audit(run: Run | str | os.PathLike[str], *, epochs: int | None = None) -> Audit:
    """Rank all labels of a run by their quality over its first `epochs`."""
    run = run if isinstance(run, Run) else Run(run)
    labels = judge(Arrays([run], epochs=epochs))
    names = run.names
    columns = {
        "id": np.arange(run.samples),
        **({"name": names["name"]} if "name" in names else {}),
        "given_label": _named(run, labels.label),
        "predicted_label": _named(run, labels.predicted),
        "label_quality": labels.quality,
        "is_label_issue": labels.suspect,
    }
    return Audit({name: column[labels.order] for name, column in columns.items()})


def judge(arrays: Arrays) -> Judgement:
    """Judge every label of a run."""
    margin, rival = arrays.scores([(aum, {"keep": "easy"}), (usual_rival, {})])
    label = arrays["labels"]
    quality = (1 + np.tanh(margin / 2)) / 2  # the logistic function, which cannot overflow so
    predicted = np.where(margin < 0, rival.astype(np.int32), label)
    return Judgement(label, predicted, quality, _stand_apart(margin))


def _stand_apart(margin: Array) -> Array:
    """Say which samples belong to a lower group, if there is one.

    >>> margin = np.concatenate([np.linspace(-5, -3, 20), np.linspace(2, 4, 80)])
    >>> int(_stand_apart(margin).sum()), int(_stand_apart(margin[20:]).sum())
    (20, 0)
    """
    known = margin[~np.isnan(margin)]
    if len(np.unique(known)) < 3 or known.min() >= 0:
        return np.zeros(len(margin), bool)
    weight, mean, spread = _two_normals(known[:: -(-len(known) // _FITTED)])
    apart = np.sqrt(2) * (mean[1] - mean[0]) / np.hypot(*spread)
    if apart <= _ASHMAN or mean[0] >= 0:
        return np.zeros(len(margin), bool)
    lower, upper = (
        np.log(weight[i] / spread[i]) - ((margin - mean[i]) / spread[i]) ** 2 / 2 for i in (0, 1)
    )
    below: Array = (margin < 0) & ((lower > upper) | (margin < mean[0]))
    return below


def _two_normals(values: Array) -> tuple[Array, Array, Array]:
    """Fit weights, means and deviations by expectation and maximisation; the lower one first."""
    mean, spread = np.quantile(values, [0.1, 0.7]), np.full(2, values.std())
    weight, least = np.array([0.3, 0.7]), 1e-3 * values.std()
    for _ in range(_ROUNDS):
        density = weight / spread * np.exp(-(((values[:, None] - mean) / spread) ** 2) / 2)
        share = density / np.maximum(density.sum(1, keepdims=True), np.finfo(float).tiny)
        count = np.maximum(share.sum(0), 1e-9)
        weight, mean = count / len(values), (share * values[:, None]).sum(0) / count
        spread = np.sqrt((share * (values[:, None] - mean) ** 2).sum(0) / count) + least
    order = np.argsort(mean)
    return weight[order], mean[order], spread[order]


def usual_rival(rival: Array) -> Array:
    """Give the class that was most often the best other one; of equally frequent ones the lower.

    -1, missing, counts only where there is nothing else.

    >>> usual_rival(np.array([[2, -1], [1, -1], [2, 3]])).tolist()
    [2, 3]
    """
    ordered = np.sort(rival, axis=0)
    best: Array = ordered[0]
    length = most = np.zeros(ordered.shape[1], int)
    for before, now in zip(np.vstack([ordered[:1], ordered[:-1]]), ordered, strict=True):
        length = np.where(now == before, length + 1, 1)
        better = (now >= 0) & (length > most)
        best, most = np.where(better, now, best), np.where(better, length, most)
    return best


def _named(run: Run, labels: Array) -> Array:
    names = run.description.class_names
    if names is None:
        return labels
    named: Array = np.array([*names, ""], object)[labels]  # -1, never seen, has no name
    return named


def _harmless(cell: object) -> object:
    """Put a quote before text that a spreadsheet would take for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
