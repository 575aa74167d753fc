"""The `dualprune` command: one sub-command per file of this folder."""

import sys
import warnings

import typer

from dualprune.cli.audit import audit
from dualprune.cli.compare import compare
from dualprune.cli.demo import demo
from dualprune.cli.doctor import doctor
from dualprune.cli.edit import edit
from dualprune.cli.methods import methods
from dualprune.cli.printing import visible
from dualprune.cli.prune import prune
from dualprune.cli.record import record
from dualprune.cli.report import report
from dualprune.cli.reproduce import reproduce
from dualprune.cli.score import app as score
from dualprune.cli.select import app as select
from dualprune.cli.train import train
from dualprune.errors import DualpruneError

_EXTRA = ("torch", "safetensors", "sklearn")  # of the extra `torch`

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Find the small part of a training set that is worth training on.",
)
app.add_typer(score, name="score")
app.add_typer(select, name="select")
for _command in (
    demo,
    prune,
    record,
    train,
    compare,
    edit,
    report,
    audit,
    reproduce,
    methods,
    doctor,
):
    app.command()(_command)


def main() -> None:
    """Run a command; a mistake of the user is one sentence, anything else keeps its traceback."""
    warnings.formatwarning = lambda message, *_: f"dualprune: {visible(str(message))}\n"
    try:
        app()
    except DualpruneError as error:
        sys.exit(_refuse(str(error)))
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        sys.exit(_refuse(f"this command needs {error.name}: pip install 'dualprune[torch]'"))


def _refuse(message: str) -> int:
    sys.stderr.write(f"dualprune: {visible(message)}\n")
    return 2


if __name__ == "__main__":
    main()
