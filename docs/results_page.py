"""Fill the tables of `docs/results.md` from `docs/results/results.jsonl`: `make docs`.

Between ``<!-- NAME SCALE -->`` and ``<!-- end -->`` stands the table of that experiment; everything
else is written by hand.
"""

import re
from pathlib import Path

from dualprune.experiments.experiment import find_experiment
from dualprune.experiments.runner import found
from dualprune.experiments.table import as_markdown, tabulate

DOCS = Path(__file__).parent
BLOCK = re.compile(r"(<!-- (\S+) (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str, out: Path) -> str:
    """Put today's tables in the place of those that are there."""

    def table(block: re.Match[str]) -> str:
        start, name, scale, end = block.groups()
        experiment = find_experiment(name)
        lines = found(experiment, scale, out)
        return f"{start}{as_markdown(tabulate(experiment, scale, lines))}{end}"

    return BLOCK.sub(table, text)


if __name__ == "__main__":
    page = DOCS / "results.md"
    page.write_text(filled(page.read_text("utf-8"), DOCS / "results"), "utf-8")
