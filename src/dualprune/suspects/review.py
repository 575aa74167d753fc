"""From suspects to corrected labels: a sheet for a person, and the labels that came back on it."""

from collections.abc import Sequence

import numpy as np

from dualprune.coreset import FIRST
from dualprune.errors import InputError
from dualprune.files import Place, exists
from dualprune.signatures import Array
from dualprune.suspects.sheet import read_sheet, write_sheet
from dualprune.suspects.table import Audit

_LISTED = 20


def write_review(audit: Audit, path: Place, count: int | None = None) -> int:
    """Write the worst labels as CSV with an empty column `label`; give how many.

    They are `count`, or all suspects, or `FIRST` where no label is suspect. A file that is there is
    never replaced: it may hold somebody's corrections.
    """
    if exists(path):
        raise InputError(f"{path} exists and may hold corrections; choose another file")
    count = count or audit.suspects or FIRST
    columns = {name: column[:count] for name, column in audit.columns.items()}
    suggested, _ = columns.pop("predicted_label"), columns.pop("is_label_issue")
    quality = columns.pop("label_quality").round(4)
    empty = np.full(len(quality), "", object)
    more = {"suggested_label": suggested, "label_quality": quality, "label": empty}
    write_sheet(path, columns | more)
    return len(quality)


def corrected(
    path: Place,
    labels: Array,
    class_names: Sequence[str],
    names: Sequence[str] = (),
    unreadable: Array | None = None,
) -> Array:
    """Give the labels with those of a CSV in their place; rows without a `label` change nothing.

    Its columns are `label`, a name of a class, and `id` or `name`; others are not looked at. A
    label for a sample that is `unreadable` is refused: it would stay left out.
    """
    rows, new = read_sheet(path), labels.copy()
    columns = set(rows[0]) if rows else set()
    if "label" not in columns or not {"id", "name"} & columns:
        raise InputError(
            f"{path} must have rows with the columns `label` and `id` or `name`, got "
            f"{sorted(columns)}; `dualprune audit RUN --review FILE` writes such a file"
        )
    position = {name: number for number, name in enumerate(class_names)}
    by_name = {name: number for number, name in enumerate(names)}
    lines: dict[int, int] = {}
    for line, row in enumerate(rows, 2):
        if not row["label"].strip():
            continue
        where = f"row {line} of {path}"
        sample = _sample(row, where, by_name, names, len(labels))
        if unreadable is not None and unreadable[sample]:
            raise InputError(
                f"{where} labels sample {sample}, which is left out: its file cannot be read, or "
                "its row has no label or no text. Put that right in the data themselves, or leave "
                "its label empty here"
            )
        if lines.setdefault(sample, line) != line:
            raise InputError(f"{where} labels sample {sample} again, as row {lines[sample]} did")
        new[sample] = _class(row["label"], where, position)
    return new


def _sample(
    row: dict[str, str], where: str, by_name: dict[str, int], names: Sequence[str], samples: int
) -> int:
    given, name = row.get("id", "").strip(), row.get("name", "")
    if not given:
        if name not in by_name:
            raise InputError(f"{where}: there is no sample with the name {name!r} in this data")
        return by_name[name]
    if not (given.isdecimal() and int(given) < samples):
        raise InputError(f"{where}: id must be from 0 to {samples - 1}, got {given!r}")
    sample = int(given)
    if name and names and names[sample] != name:
        raise InputError(
            f"{where}: sample {sample} of this data is {names[sample]!r}, not {name!r}; is the "
            "file of other data? Without the column `id` samples are found by their names"
        )
    return sample


def _class(label: str, where: str, position: dict[str, int]) -> int:
    known = label if label in position else label.strip()
    if known not in position:
        first = ", ".join(list(position)[:_LISTED]) + (", ..." if len(position) > _LISTED else "")
        raise InputError(f"{where}: there is no class {label!r}; there are {first}")
    return position[known]
