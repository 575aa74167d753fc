"""`dualprune demo`: all steps on a small dataset that comes with scikit-learn."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dualprune.cli.options import Processes
from dualprune.cli.printing import print_path, print_table, say
from dualprune.cli.progress import watch
from dualprune.files import on_disk


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write.")] = Path("demo"),
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds to run everything with.")] = 3,
    processes: Processes = None,
) -> None:
    """Prune the bundled digits, a tenth of them with wrong labels, and show what it saves."""
    from dualprune.workflows.demo import demo as run_demo  # noqa: PLC0415 - loads torch

    comparison = run_demo(
        on_disk(out), seeds=seeds, processes=processes, tell=partial(say, err=True), watch=watch
    )
    for table in comparison.tables:
        print_table(table)
    for path in comparison.figures:
        print_path(path)
