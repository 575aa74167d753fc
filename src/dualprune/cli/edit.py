"""`dualprune edit`: a coreset changed by hand, with a list of ids."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from dualprune.cli.printing import kept_lines, print_path, say
from dualprune.coreset import Coreset, read_ids
from dualprune.errors import InputError


def edit(
    coreset: Annotated[
        str, typer.Argument(help="Folder or URL of the coreset, which is not changed.")
    ],
    *,
    out: Annotated[
        str, typer.Option(metavar="PATH", help="Folder or URL to write the new coreset into.")
    ],
    drop: Annotated[Path | None, typer.Option(help="CSV file of ids to drop.")] = None,
    add: Annotated[Path | None, typer.Option(help="CSV file of ids to add.")] = None,
    only: Annotated[Path | None, typer.Option(help="CSV file of ids to keep, no others.")] = None,
) -> None:
    """Drop, add or keep exactly the samples that a CSV file lists.

    The file needs a column `id`; the page saves such a file as ids.csv.
    """
    if [drop, add, only].count(None) != 2:
        raise InputError("give one of --drop, --add and --only, with a CSV file of ids")
    before = Coreset.load(coreset)
    if drop is not None:
        ids = np.setdiff1d(before.ids, read_ids(drop, before.card.samples))
    elif add is not None:
        ids = np.union1d(before.ids, read_ids(add, before.card.samples))
    elif only is not None:
        ids = read_ids(only, before.card.samples)
    after = before.with_ids(ids)
    print_path(after.save(out))
    card = after.card
    changed = [
        f"{card.reasons[how]:,} {how}" for how in ("added", "dropped") if how in card.reasons
    ]
    say(f"changed    {', '.join(changed) or 'nothing'}", err=True)
    for line in kept_lines(card):
        say(line, err=True)
