"""`dualprune push`: a copy of a run or coreset on a store."""

from typing import Annotated

import typer

from dualprune.cli.printing import print_path, say
from dualprune.cli.progress import count_to
from dualprune.files import place
from dualprune.workflows.pushing import push as copy


def push(
    folder: Annotated[str, typer.Argument(help="A run, a coreset or a folder of `prune`.")],
    url: Annotated[str, typer.Argument(help="Where to, such as s3://bucket/run.")],
) -> None:
    """Copy what is complete to a URL, where every command but those that train can read it.

    Run it again to resume, or to add what was recorded since.
    """
    pushed = copy(folder, url, tell=count_to("file"))
    print_path(place(url))
    size = f"{pushed.copied:,} files ({pushed.size / 1e6:,.1f} MB)"
    say(f"copied     {size}; {pushed.there:,} were there", err=True)
