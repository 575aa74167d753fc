"""The `dualprune` command: one sub-command per file of this folder."""

import sys
import warnings
from typing import Annotated

import typer

import dualprune
from dualprune.cli.audit import audit
from dualprune.cli.compare import compare
from dualprune.cli.demo import demo
from dualprune.cli.doctor import doctor
from dualprune.cli.edit import edit
from dualprune.cli.examples import epilog
from dualprune.cli.import_ import import_
from dualprune.cli.methods import methods
from dualprune.cli.printing import visible
from dualprune.cli.prune import prune
from dualprune.cli.push import push
from dualprune.cli.record import record
from dualprune.cli.report import report
from dualprune.cli.reproduce import reproduce
from dualprune.cli.score import app as score
from dualprune.cli.select import app as select
from dualprune.cli.train import train
from dualprune.errors import DualpruneError, needing_torch
from dualprune.urls import masked

_RESUMING = (demo, prune, record, train, compare, reproduce, push)
_INTERRUPTED = 130

app = typer.Typer(
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="Find the small part of a training set that is worth training on.",
    epilog=epilog("prune"),
)
app.command("import", epilog=epilog("import"))(import_)
app.add_typer(score, name="score")
app.add_typer(select, name="select")
for _command in (*_RESUMING, edit, report, audit, methods, doctor):
    app.command(epilog=epilog(_command.__name__))(_command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dualprune {dualprune.__version__}")
        raise typer.Exit


@app.callback()
def _before_commands(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run a command; a mistake of the user is one sentence, anything else keeps its traceback."""
    warnings.formatwarning = lambda message, *_: f"dualprune: {visible(str(message))}\n"
    try:
        with needing_torch():
            app()
    except DualpruneError as error:
        _say(str(error))
        sys.exit(2)
    except SystemExit as end:
        if end.code == _INTERRUPTED:
            resumes = sys.argv[1] in [command.__name__ for command in _RESUMING]
            more = "; run the same command again: it resumes" if resumes else ""
            _say(f"interrupted{more}", start="\n" if sys.stderr.isatty() else "")
        raise


def _say(message: str, start: str = "") -> None:
    sys.stderr.write(f"{start}dualprune: {visible(masked(message))}\n")


if __name__ == "__main__":
    main()
