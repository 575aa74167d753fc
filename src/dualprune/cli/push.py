"""`dualprune push`: a copy of a run or coreset on a store."""

from typing import Annotated

import typer

from dualprune.cli.printing import print_path, say
from dualprune.cli.progress import count_to
from dualprune.files import place
from dualprune.workflows.pushing import push as copy


def push(
    folder: Annotated[str, typer.Argument(help="A run, a coreset or a folder of `prune`.")],
    url: Annotated[str, typer.Argument(help="Where to copy it, such as s3://bucket/run.")],
) -> None:
    """Copy a run or coreset to a URL, where all commands that do not train can read it.

    Only complete epochs are copied. Run it again to resume, or to add epochs recorded since.
    """
    pushed = copy(folder, url, tell=count_to("file"))
    print_path(place(url))
    size = f"{pushed.copied:,} files ({pushed.size / 1e6:,.1f} MB)"
    say(f"copied     {size}; {pushed.there:,} were there", err=True)
