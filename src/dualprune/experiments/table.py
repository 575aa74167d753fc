"""A table of an experiment: ours beside the paper's, for a terminal, Markdown and LaTeX."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from dualprune.experiments.experiment import WHOLE, Experiment
from dualprune.experiments.results import Line

__all__ = ["Entry", "Table", "as_latex", "as_markdown", "tabulate"]


@dataclass(frozen=True)
class Entry:
    """Percentages over seeds, and what the paper printed, if it did."""

    ours: list[float]
    paper: float | None

    def __str__(self) -> str:
        """Give our mean and deviation, and the paper's mean in brackets.

        >>> str(Entry([90.0, 92.0], 95.51)), str(Entry([], None))
        ('91.0 ± 1.4 (95.5)', '')
        """
        told = f"{mean(self.ours):.1f}" if self.ours else ""
        if len(self.ours) > 1:
            told += f" ± {stdev(self.ours):.1f}"
        return told if self.paper is None else f"{told} ({self.paper:.1f})".strip()


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
    names = [row.name for row in experiment.rows_at(scale)]
    rows = {name: [_entry(experiment, lines, name, share) for share in shares] for name in names}
    if experiment.kind == "accuracy":
        rows = {WHOLE.name: [_entry(experiment, lines, WHOLE.name, 0.0)]} | rows
    seeds = len({line.seed for line in lines})
    paper = "; the paper's numbers in brackets" if experiment.printed else ""
    what = _WHAT[experiment.kind]
    return Table(
        title=f"{experiment.title}: {what}, {setting.about}, {seeds} seeds{paper}",
        header=["", *(f"{share:.0%} pruned" for share in shares)],
        rows=rows,
        notes=[f"{row}: {doubt}" for row, doubt in experiment.doubts.items()],
    )


_WHAT = {
    "accuracy": "test accuracy in %",
    "removed": "damaged samples that were pruned, in %",
    "agreement": "samples in common between seeds, in %",
}


def _entry(experiment: Experiment, lines: Sequence[Line], row: str, share: float) -> Entry:
    ours = [
        100 * _value(experiment, line) for line in lines if (line.row, line.pruned) == (row, share)
    ]
    return Entry(ours, _printed(experiment, row, share))


def _value(experiment: Experiment, line: Line) -> float:
    if experiment.kind == "accuracy":
        return float(line.values["accuracy"])
    if experiment.kind == "removed":
        return float(next(iter(line.values["removed"].values())))
    found: list[float] = line.values["overlap_of_seeds"]
    return mean(share for seed, share in enumerate(found) if seed != line.seed)


def _printed(experiment: Experiment, row: str, share: float) -> float | None:
    """Look up the paper's number; it has none for shares that only a small scale uses."""
    printed = experiment.printed.get(row)
    if printed is None or (share not in experiment.pruned and isinstance(printed, list)):
        return None
    return float(printed[experiment.pruned.index(share)] if isinstance(printed, list) else printed)


def as_markdown(table: Table) -> str:
    """Give the table as Markdown, its title above and its notes below."""
    head = [f"| {' | '.join(table.header)} |", f"|{'---|' * len(table.header)}"]
    body = [f"| {' | '.join([name, *map(str, row)])} |" for name, row in table.rows.items()]
    notes = ["", *(f"- {note}" for note in table.notes)] if table.notes else []
    return "\n".join([f"**{table.title}**", "", *head, *body, *notes, ""])


def as_latex(table: Table) -> str:
    """Give the table as a LaTeX tabular, for a paper of your own."""
    columns = "l" + "c" * (len(table.header) - 1)
    escape = {"%": r"\%", "&": r"\&", "_": r"\_", "±": r"$\pm$", "+": "{+}"}

    def line(cells: list[str]) -> str:
        return " & ".join("".join(escape.get(c, c) for c in cell) for cell in cells) + r" \\"

    body = [line([name, *map(str, row)]) for name, row in table.rows.items()]
    start, end = rf"\begin{{tabular}}{{{columns}}}", r"\end{tabular}"
    parts = [f"% {table.title}", start, r"\toprule", line(table.header), r"\midrule", *body]
    return "\n".join([*parts, r"\bottomrule", end, ""])
