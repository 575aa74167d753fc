"""`dualprune score`: one number per sample, from what was recorded."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from dualprune.cli.engine import Address, Engine, engine_map
from dualprune.cli.examples import as_lines, epilog
from dualprune.cli.knobs import command_for
from dualprune.cli.options import Epochs, Runs
from dualprune.cli.printing import print_path
from dualprune.errors import InputError
from dualprune.files import place
from dualprune.method import Arrays
from dualprune.method.scoring import save_scores
from dualprune.run import Run
from dualprune.score import SCORES
from dualprune.signatures import Array


def _score(
    *,
    fn: Callable[..., Array],
    knobs: dict[str, Any],
    runs: Runs,
    epochs: Epochs = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="File or URL to write (very many: a folder); default: in scores/ of the run.",
        ),
    ] = None,
    engine: Engine = "threads",
    address: Address = None,
) -> None:
    if len(runs) > 1 and out is None:
        raise InputError("scores over several runs belong to none of them; say --out FILE")
    opened, each = [Run(path) for path in runs], engine_map(engine, address)
    arrays = Arrays(opened, epochs=epochs, map=each)
    print_path(save_scores(arrays, fn, knobs, place(out) if out else None))


app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Give every sample a score; print the path of the file.",
    epilog=epilog("score"),
)
for _name, _fn in SCORES.items():
    app.command(_name, epilog=as_lines([f"dualprune score {_name} run"]))(command_for(_fn, _score))
