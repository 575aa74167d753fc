"""The kinds of experiments, by name; a new one is a file and a line here."""

from collections.abc import Sequence

from dualprune.experiments.accuracy import ACCURACY, whole_data
from dualprune.experiments.agreement import AGREEMENT
from dualprune.experiments.grid import Grid
from dualprune.experiments.kind import Kind
from dualprune.experiments.picture import PICTURE
from dualprune.experiments.removed import REMOVED
from dualprune.experiments.results import Line
from dualprune.experiments.table import Table, header, seeds_of
from dualprune.experiments.theory import THEORY

KINDS: dict[str, Kind] = {
    "accuracy": ACCURACY,
    "removed": REMOVED,
    "agreement": AGREEMENT,
    "picture": PICTURE,
    "theory": THEORY,
}


def tabulate(grid: Grid, lines: Sequence[Line]) -> Table | None:
    """Bring the lines of a grid together, whatever it measures; None where it has no table."""
    kind, setting = KINDS[grid.kind], grid.setting
    if not (kind.what and lines):
        return None
    what = f"{setting.judged_on} {kind.what}" if kind.trains else kind.what
    paper = "; the paper's numbers in brackets" if grid.printed else ""
    model = grid.model if isinstance(grid.model, str) else type(grid.model).__name__
    how = f"{setting.about}, {model}, {seeds_of(lines)}"
    return Table(
        title=f"{grid.title}: {what}; {how}{paper}{whole_data(grid, lines)}",
        header=header(grid),
        rows=kind.rows(grid, lines),
        notes=grid.notes,
    )
