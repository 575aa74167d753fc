"""Fill the tables of `docs/results.md` from `docs/results/results.jsonl`: `make docs`.

Between ``<!-- NAME SCALE -->`` and ``<!-- end -->`` stands the table of that experiment; everything
else is written by hand.
"""

import re
from pathlib import Path

from dualprune.experiments.experiment import find_experiment
from dualprune.experiments.present import tabulate
from dualprune.experiments.runner import lines_of
from dualprune.experiments.table import as_markdown

DOCS = Path(__file__).parent
BLOCK = re.compile(r"(<!-- (\S+) (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(text: str, out: Path) -> str:
    """Put today's tables in the place of those that are there."""

    def table(block: re.Match[str]) -> str:
        start, name, scale, end = block.groups()
        grid = find_experiment(name).at(scale)
        content = tabulate(grid, lines_of(grid, out))
        return f"{start}{as_markdown(content) if content else ''}{end}"

    return BLOCK.sub(table, text)


if __name__ == "__main__":
    page = DOCS / "results.md"
    page.write_text(fill(page.read_text("utf-8"), DOCS / "results"), "utf-8")
