"""Fill the tables of `docs/results.md` from `docs/results/results.jsonl`: `make docs`.

Between ``<!-- NAME SCALE -->`` and ``<!-- end -->`` stands the table of that experiment; everything
else is written by hand.
"""

import re
from pathlib import Path

from dualprune.experiments.experiment import find_experiment
from dualprune.experiments.results import Line, read
from dualprune.experiments.table import as_markdown, tabulate

DOCS = Path(__file__).parent
BLOCK = re.compile(r"(<!-- (\S+) (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str, lines: list[Line]) -> str:
    """Put today's tables in the place of those that are there."""

    def table(found: re.Match[str]) -> str:
        start, name, scale, end = found.groups()
        same = [line for line in lines if (line.experiment, line.scale) == (name, scale)]
        return f"{start}{as_markdown(tabulate(find_experiment(name), scale, same))}{end}"

    return BLOCK.sub(table, text)


if __name__ == "__main__":
    page = DOCS / "results.md"
    page.write_text(filled(page.read_text("utf-8"), read(DOCS / "results" / "results.jsonl")))
