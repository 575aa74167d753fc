"""The `dualprune` command: one sub-command per file of this folder."""

import sys
import warnings
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

import dualprune
from dualprune.cli.examples import epilog
from dualprune.cli.printing import visible
from dualprune.errors import DualpruneError, needing
from dualprune.urls import masked

COMMANDS = {
    "demo": "Prune the bundled digits, a tenth of them with wrong labels, and show what it saves.",
    "prune": "Record a short training, score every sample, keep those worth training on.",
    "record": "Train a model and record it; under torchrun every process takes its share.",
    "import": "Make a run from losses or probabilities that you already have; print its path.",
    "score": "Give every sample a score; print the path of the file.",
    "select": "Choose the samples to keep; print the path of the folder.",
    "edit": "Drop, add or keep exactly the samples that a CSV file lists.",
    "train": "Train on a coreset or on everything; print the accuracy and store it in result.json.",
    "compare": "Train on what each method keeps, "
    "and show accuracies with their deviation over seeds.",
    "report": "Write one HTML file: the map of the samples, what was kept, "
    "which labels are suspect.",
    "audit": "List the labels that are probably wrong: the model preferred another class.",
    "reproduce": "Run an experiment of the paper and show our numbers beside the paper's.",
    "push": "Copy a run or coreset to a URL, where all commands that do not train can read it.",
    "methods": "List every method: what it keeps, what it needs, its knobs, its paper.",
    "doctor": "Read a whole run and say what it holds; the exit code is 1 if anything is damaged.",
}
"""Every command with the first line of its help, so that the list needs none of their files."""
_RESUMING = ("demo", "prune", "record", "train", "compare", "reproduce", "push")
_INTERRUPTED = 130


def load_command(name: str) -> Any:
    """Load the file of a command, and give what typer makes of it."""
    module = import_module(f"dualprune.cli.{'import_' if name == 'import' else name}")
    made = getattr(module, "app", None)
    if made is None:
        made = typer.Typer(add_completion=False)
        function = getattr(module, module.__name__.rpartition(".")[2])
        made.command(name, epilog=epilog(name))(function)
    return typer.main.get_command(made)


class _Later(TyperCommand):
    """A command whose file is loaded when it is used."""

    def make_context(self, info_name: str | None, *words: Any, **extra: Any) -> Any:
        """Let the command itself read its words."""
        return load_command(self.name or "").make_context(info_name, *words, **extra)


app = typer.Typer(
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="Find the small part of a training set that is worth training on.",
    epilog=epilog("prune"),
)
for _name, _summary in COMMANDS.items():
    app.command(_name, cls=_Later, help=_summary)(lambda: None)


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
    """Run a command; a user's mistake becomes one sentence, any other error keeps its traceback."""
    warnings.formatwarning = lambda message, *_: f"dualprune: {visible(str(message))}\n"
    try:
        with needing("torch"):
            app()
    except DualpruneError as error:
        _say(str(error))
        sys.exit(2)
    except SystemExit as end:
        if end.code == _INTERRUPTED:
            more = "; run the same command again: it resumes" if sys.argv[1] in _RESUMING else ""
            _say(f"interrupted{more}", start="\n" if sys.stderr.isatty() else "")
        raise


def _say(message: str, start: str = "") -> None:
    sys.stderr.write(f"{start}dualprune: {visible(masked(message))}\n")


if __name__ == "__main__":
    main()
