r"""Which labels are probably wrong, from what was recorded alone.

.. math:: q_i = \tfrac12 \left( 1 + \operatorname{mean}_t \, (p_{it}(y_i) - \max_{c \ne y_i}
    p_{it}(c)) \right)

The quality of a label is 1 when the model was always sure of it, 0 when it was always sure of one
other class, and below one half when on average it believed another class more. A margin tells a
wrong label, which has a rival, from a hard sample, of which the model believes nothing firmly.
"""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from dualprune.arrays import Array
from dualprune.files import make_folders, write, write_table
from dualprune.run import Run
from dualprune.run.names import read_names
from dualprune.score import aum_prob, from_runs

__all__ = ["Audit", "audit"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # what spreadsheets would compute


@dataclass(frozen=True)
class Audit:
    """One row per sample, the worst label first; a sample that was never seen comes last.

    `columns` are `id`, `name` where samples have names, `given_label` and `predicted_label`,
    `label_quality` and `is_label_issue`, as users of cleanlab know them.
    """

    columns: dict[str, Array]

    @property
    def issues(self) -> int:
        """How many labels are estimated to be wrong."""
        return int(self.columns["is_label_issue"].sum())

    def save(self, folder: Path) -> list[Path]:
        """Write `audit.parquet`, and `audit.csv`, which is safe to open in a spreadsheet."""
        make_folders(folder)
        write_table(folder / "audit.parquet", pa.table(self.columns))
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(self.columns)
        for row in zip(*(column.tolist() for column in self.columns.values()), strict=True):
            writer.writerow(_harmless(cell) for cell in row)
        write(folder / "audit.csv", text.getvalue().encode())
        return [folder / "audit.parquet", folder / "audit.csv"]


def audit(run: Run, *, epochs: int | None = None) -> Audit:
    """Rank all labels of a run by their quality over its first `epochs`."""
    easy = from_runs(aum_prob, run, epochs=epochs, knobs={"keep": "easy"})
    quality = (1 + easy) / 2
    given, rival = run["labels"], _usual_rival(run, epochs)
    issue = quality < 0.5
    order = np.lexsort((np.arange(run.samples), quality))  # NaN, never seen, sorts last
    about = read_names(run.path, run.samples)
    columns = {
        "id": np.arange(run.samples),
        **({"name": about["name"]} if "name" in about else {}),
        "given_label": _named(run, given),
        "predicted_label": _named(run, np.where(issue, rival, given)),
        "label_quality": quality,
        "is_label_issue": issue,
    }
    return Audit({name: column[order] for name, column in columns.items()})


def _usual_rival(run: Run, epochs: int | None) -> Array:
    """Give the class that was most often the best other one; of equally frequent ones the lower."""
    usual = np.full(run.samples, -1)
    for ids, rivals in run.map(_most_frequent, ["rival"], epochs=epochs):
        usual[ids.start : ids.stop] = rivals
    return usual


def _most_frequent(rival: Array) -> Array:
    """Mode of each column; -1, missing, counts only where there is nothing else.

    >>> _most_frequent(np.array([[2, -1], [1, -1], [2, 3]])).tolist()
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
