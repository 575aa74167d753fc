"""The `dualprune` command: one sub-command per file of this folder."""

import sys

import typer

from dualprune.cli.doctor import doctor
from dualprune.cli.methods import methods
from dualprune.cli.score import app as score
from dualprune.cli.select import app as select
from dualprune.errors import DualpruneError

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Find the small part of a training set that is worth training on.",
)
app.add_typer(score, name="score")
app.add_typer(select, name="select")
app.command()(methods)
app.command()(doctor)


def main() -> None:
    """Run a command; what the user can mend is told in a sentence, the rest keeps its traceback."""
    try:
        app()
    except DualpruneError as error:
        sys.stderr.write(f"dualprune: {error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
