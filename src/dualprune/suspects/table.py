"""Audit: the labels of a run as a table, the worst first."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from dualprune.arguments import checked
from dualprune.coreset import WrongLabels
from dualprune.errors import DamagedError, InputError
from dualprune.files import (
    Place,
    make_folders,
    open_file,
    read_table,
    reading,
    refuse_to_replace,
    write_table,
)
from dualprune.method import Arrays
from dualprune.run import Run
from dualprune.run.ranges import Map
from dualprune.signatures import Array
from dualprune.suspects.judgement import judge
from dualprune.suspects.sheet import write_sheet
from dualprune.urls import AnyPath

BYTES = 75
"""Memory per sample in which labels are ranked, without names, as measured with 8 million."""

_COLUMNS = ("given_label", "predicted_label", "label_quality", "is_label_issue")
_LONGEST = 1000  # bytes of a line with names of columns


@dataclass(frozen=True)
class Audit:
    """One row per sample, the worst label first; a sample that was never seen comes last.

    `columns` are `id`, `name` where samples have names, `content` where it was given,
    `given_label`, `predicted_label`, `label_quality` and `is_label_issue`, as users of cleanlab
    know them.
    """

    columns: dict[str, Array]
    wrong: WrongLabels

    @property
    def suspects(self) -> int:
        """How many labels are suspect: they come first."""
        return int(self.columns["is_label_issue"].sum())

    def save(self, folder: Place) -> list[Place]:
        """Write `audit.parquet`, and `audit.csv`, which is safe to open in a spreadsheet.

        Only another audit is replaced.
        """
        table, sheet = folder / "audit.parquet", folder / "audit.csv"
        for path in (table, sheet):
            refuse_to_replace(path, "an audit", _check_audit)
        make_folders(folder)
        write_table(table, pa.table(self.columns))
        write_sheet(sheet, self.columns)
        return [table, sheet]


def _check_audit(path: Place) -> None:
    if path.suffix == ".csv":
        with open_file(path) as file, reading(path):
            columns = file.readline(_LONGEST).decode("utf-8", "replace").rstrip().split(",")
    else:
        columns = read_table(path).column_names
    if tuple(columns[-len(_COLUMNS) :]) != _COLUMNS:
        raise DamagedError(f"{path} is no audit")


@checked
def audit(
    run: Run | AnyPath,
    *,
    epochs: int | None = None,
    contents: Sequence[str] | None = None,
    map: Map | None = None,
) -> Audit:
    """Rank all labels of a run by their quality over its first `epochs`.

    `contents`, one text per sample, become a column, for a person to judge by. `map` is what reads
    ranges of ids, as for `choose`; the labels are ranked in this process, which needs about
    `BYTES` of memory per sample.
    """
    run = run if isinstance(run, Run) else Run(run)
    if contents is not None and len(contents) != run.samples:
        raise InputError(
            f"the run is of {run.samples} samples, {len(contents)} contents were given"
        )
    labels = judge(Arrays([run], epochs=epochs, map=map))
    names = run.names
    columns = {
        "id": np.arange(run.samples),
        **({"name": names["name"]} if "name" in names else {}),
        **({} if contents is None else {"content": np.array(contents, object)}),
        "given_label": _named(run, labels.label),
        "predicted_label": _named(run, labels.predicted),
        "label_quality": labels.quality,
        "is_label_issue": labels.suspect,
    }
    return Audit({name: column[labels.order] for name, column in columns.items()}, labels.wrong)


def _named(run: Run, labels: Array) -> Array:
    names = run.description.class_names
    if names is None:
        return labels
    named: Array = np.array([*names, ""], object)[labels]  # -1, never seen, has no name
    return named
