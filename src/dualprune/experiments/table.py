"""Tables of a grid: ours beside the paper's, for a terminal, Markdown and LaTeX."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan, nan
from statistics import mean, stdev

from dualprune.experiments.grid import WHOLE, Grid
from dualprune.experiments.results import Line


@dataclass(frozen=True)
class Entry:
    """Percentages or shares over seeds; what the paper printed and its deviation, else NaN."""

    ours: list[float]
    paper: float = nan
    deviation: float = nan
    digits: int = 1

    def __str__(self) -> str:
        """Give our mean and deviation, and the paper's in brackets.

        >>> print(Entry([90.0, 92.0], 95.51, 0.06), Entry([0.25], digits=2))
        91.0 ± 1.4 (95.5 ± 0.1) 0.25
        """
        ours = self._number(mean(self.ours)) if self.ours else ""
        if len(self.ours) > 1:
            ours += f" ± {self._number(stdev(self.ours))}"
        if isnan(self.paper):
            return ours
        paper = self._number(self.paper)
        if not isnan(self.deviation):
            paper += f" ± {self._number(self.deviation)}"
        return f"{ours} ({paper})".strip()

    def _number(self, value: float) -> str:
        return f"{value:.{self.digits}f}"


@dataclass(frozen=True)
class Table:
    """Rows of entries under the shares pruned; notes say what to know of it."""

    title: str
    header: list[str]
    rows: dict[str, list[Entry]]
    notes: Sequence[str] = ()


def by_row(
    grid: Grid, lines: Sequence[Line], value: str | Callable[[Line], float], *, digits: int = 1
) -> dict[str, list[Entry]]:
    """Collect the value of every seed under its row and share."""
    rows, unprinted = {}, [nan] * len(grid.pruned)
    for row in dict.fromkeys(line.row for line in lines if line.row != WHOLE.name):
        ours: dict[float, list[float]] = {share: [] for share in grid.pruned}
        for line in lines:
            if line.row == row:
                ours[line.pruned].append(line.number(value))
        printed = grid.printed.get(row, unprinted)
        deviations = grid.deviations.get(row, unprinted)
        rows[row] = [
            Entry(ours[share], paper, deviation, digits)
            for share, paper, deviation in zip(grid.pruned, printed, deviations, strict=True)
        ]
    return rows


def shows_paper(rows: dict[str, list[Entry]]) -> bool:
    """Whether any entry has a number of the paper, which stands in brackets."""
    return any(not isnan(entry.paper) for row in rows.values() for entry in row)


def header(grid: Grid) -> list[str]:
    """Give the heads of the columns: the shares pruned."""
    return ["pruned", *(f"{100 * share:.3g}%" for share in grid.pruned)]


def seeds_of(lines: Sequence[Line]) -> str:
    """Say over how many seeds the entries are, also where some are still missing."""
    counts = Counter((line.row, line.pruned) for line in lines).values()
    least, most = min(counts), max(counts)
    if least < most:
        return f"{least} to {most} seeds"
    return f"{most} seeds" if most > 1 else "1 seed"


def as_markdown(table: Table) -> str:
    """Give the table as Markdown, its title above and its notes below."""
    head = [f"| {' | '.join(table.header)} |", f"|{'---|' * len(table.header)}"]
    body = [f"| {' | '.join(cells)} |" for cells in _cells(table)]
    notes = ["", *(f"- {note}" for note in table.notes)] if table.notes else []
    return "\n".join([f"**{table.title}**", "", *head, *body, *notes, ""])


def _cells(table: Table) -> list[list[str]]:
    return [[name, *map(str, row)] for name, row in table.rows.items()]


def as_latex(table: Table) -> str:
    """Give the table as a LaTeX tabular, for a paper of your own."""
    columns = "l" + "c" * (len(table.header) - 1)
    escape = {"%": r"\%", "&": r"\&", "_": r"\_", "±": r"$\pm$", "+": "{+}"}

    def line(cells: list[str]) -> str:
        return " & ".join("".join(escape.get(c, c) for c in cell) for cell in cells) + r" \\"

    body = [line(cells) for cells in _cells(table)]
    start, end = rf"\begin{{tabular}}{{{columns}}}", r"\end{tabular}"
    parts = [f"% {table.title}", start, r"\toprule", line(table.header), r"\midrule", *body]
    return "\n".join([*parts, r"\bottomrule", end, ""])
