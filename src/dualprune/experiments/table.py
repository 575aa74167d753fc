"""A table of an experiment: ours beside the paper's, for a terminal, Markdown and LaTeX."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from math import isnan
from statistics import mean, stdev

from dualprune.experiments.experiment import WHOLE, Experiment, Row
from dualprune.experiments.results import Line

__all__ = ["Entry", "Table", "as_latex", "as_markdown", "tabulate"]


@dataclass(frozen=True)
class Entry:
    """Percentages or shares over seeds, and what the paper printed, if it did."""

    ours: list[float]
    paper: float | None
    digits: int = 1

    def __str__(self) -> str:
        """Give our mean and deviation, and the paper's mean in brackets.

        >>> [str(each) for each in (Entry([90.0, 92.0], 95.51), Entry([0.25], None, digits=2))]
        ['91.0 ± 1.4 (95.5)', '0.25']
        """
        told = f"{mean(self.ours):.{self.digits}f}" if self.ours else ""
        if len(self.ours) > 1:
            told += f" ± {stdev(self.ours):.{self.digits}f}"
        return told if self.paper is None else f"{told} ({self.paper:.{self.digits}f})".strip()


@dataclass(frozen=True)
class Table:
    """Rows of entries under the shares pruned; notes say what to know of it."""

    title: str
    header: list[str]
    rows: dict[str, list[Entry]]
    notes: list[str]


def tabulate(experiment: Experiment, scale: str, lines: Sequence[Line]) -> Table:
    """Bring the lines of an experiment together, whatever it measures."""
    setting = experiment.setting(scale)
    shares = setting.pruned or experiment.pruned
    model, seeds = setting.stand_in(experiment.model), _seeds(lines)
    paper = "; the paper's numbers in brackets" if experiment.printed else ""
    told = f"{_WHAT[experiment.kind]}; {setting.about}, {model}, {seeds}{paper}"
    return Table(
        title=f"{experiment.title}: {told}{_everything(experiment, lines)}",
        header=["pruned", *(f"{share:.0%}" for share in shares)],
        rows=_ROWS[experiment.kind](experiment, lines, shares),
        notes=[
            *(f"{row}: {doubt}" for row, doubt in experiment.doubts.items()),
            *(f"{row}, here: {change}" for row, change in _changes(experiment, scale).items()),
        ],
    )


def _changes(experiment: Experiment, scale: str) -> dict[str, str]:
    """Say of the rows that differ at a scale from the paper's in what."""
    both = zip(experiment.rows, experiment.rows_at(scale), strict=True)
    return {row.name: ", ".join(_differences(row, now)) for row, now in both if now != row}


def _differences(row: Row, now: Row) -> Iterator[str]:
    for each in fields(Row):
        before, after = getattr(row, each.name), getattr(now, each.name)
        if before != after:
            knobs = after if isinstance(after, dict) else {each.name: after}
            yield ", ".join(f"{name} {value}" for name, value in knobs.items())


def _seeds(lines: Sequence[Line]) -> str:
    """Say over how many seeds the entries are, also where some are still missing."""
    counts = Counter((line.row, line.pruned) for line in lines).values()
    least, most = min(counts), max(counts)
    return f"{most} seeds" if least == most else f"{least} to {most} seeds"


def _everything(experiment: Experiment, lines: Sequence[Line]) -> str:
    """Say what training on everything reaches: it belongs under no share."""
    reached = [_percent(line) for line in lines if line.row == WHOLE.name]
    entry = Entry(reached, experiment.printed.get(WHOLE.name))
    return f"; everything reaches {entry}" if reached else ""


def _accuracy(
    experiment: Experiment, lines: Sequence[Line], shares: list[float]
) -> dict[str, list[Entry]]:
    return _rows(experiment, lines, shares, _percent)


def _percent(line: Line) -> float:
    return 100 * float(line.values["accuracy"])


def _removed(
    experiment: Experiment, lines: Sequence[Line], shares: list[float]
) -> dict[str, list[Entry]]:
    (damaged,) = experiment.shift
    return _rows(
        experiment, lines, shares, lambda line: 100 * float(line.values["removed"][damaged])
    )


def _agreement(
    experiment: Experiment, lines: Sequence[Line], shares: list[float]
) -> dict[str, list[Entry]]:
    """Give what two rows keep in common, if the paper does; what two seeds do; how they rank."""
    rows: dict[str, list[Entry]] = {}
    for pair in experiment.printed:
        one, other = pair.split(" & ")
        same = [replace(line, row=pair) for line in lines if line.row == one]
        values = _rows(experiment, same, shares, partial(_overlap, other), digits=2)
        rows |= {f"in common: {row}": entries for row, entries in values.items()}
    every = {(line.row, line.pruned): line for line in lines}.values()  # seeds say the same of all
    ranked = [line for line in lines if "rank_correlation" in line.values]
    for told, name, some in (
        ("in common, two seeds", "overlap_of_seeds", every),
        ("rank correlation", "rank_correlation", ranked),
    ):
        values = _rows(experiment, list(some), shares, partial(_named, name), digits=2)
        rows |= {f"{told}: {row}": entries for row, entries in values.items()}
    return rows


def _overlap(other: str, line: Line) -> float:
    return float(line.values["overlap"][other])


def _named(name: str, line: Line) -> float:
    return float(line.values[name])


def _rows(
    experiment: Experiment,
    lines: Sequence[Line],
    shares: list[float],
    value: Callable[[Line], float],
    *,
    digits: int = 1,
) -> dict[str, list[Entry]]:
    """Collect the value of every seed under its row and share."""
    return {
        row: [
            Entry(
                [value(line) for line in lines if (line.row, line.pruned) == (row, share)],
                _printed(experiment, row, share),
                digits,
            )
            for share in shares
        ]
        for row in dict.fromkeys(line.row for line in lines if line.row != WHOLE.name)
    }


def _printed(experiment: Experiment, row: str, share: float) -> float | None:
    """Look up the paper's number; it has none for shares that only a small scale uses."""
    if row not in experiment.printed or share not in experiment.pruned:
        return None
    number = float(experiment.printed[row][experiment.pruned.index(share)])
    return None if isnan(number) else number


_ROWS = {"accuracy": _accuracy, "removed": _removed, "agreement": _agreement}
_WHAT = {
    "accuracy": "test accuracy in %",
    "removed": "damaged samples that were pruned, in %",
    "agreement": "share of what is kept that is in common, and rank correlation of a seed's scores "
    "with their mean over seeds",
}


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
