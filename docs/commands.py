"""Write `docs/commands.md`, every command with its options, from the commands themselves."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer.main

from dualprune.cli.__main__ import app
from dualprune.cli.examples import EXAMPLES

HEAD = """# Commands

Written by `python docs/commands.py` from the commands themselves; do not edit. In a terminal,
`dualprune COMMAND -h` shows the same, and `dualprune --install-completion` completes names.

A command prints the paths that it wrote. A mistake is one or two sentences on stderr and exit
code 2: what was given, what is possible, what to do. A traceback is a bug. If a command that trains
is interrupted, run it again: it resumes.
"""
ELSEWHERE = {
    "--download": "needs a network",
    "torchrun": "tests/test_torchrun.py runs it",
    "dualprune demo": "tests/test_compare.py runs it",
}


def page() -> str:
    """Give the page of all commands, in the order of `dualprune -h`."""
    return "\n".join([HEAD, *(section(name, command) for name, command in commands().items())])


def commands() -> dict[str, Any]:
    """Give every command by its name, loaded as if it was about to run."""
    group: Any = typer.main.get_command(app)
    return {
        name: command.make_context(name, [], resilient_parsing=True).command
        for name, command in group.commands.items()
    }


def section(name: str, command: Any) -> str:
    """Give what one command does, its arguments and options, and its examples."""
    parts = [f"## `dualprune {name}`", *_words(command.help)]
    subcommands = list(getattr(command, "commands", {}).values())
    if subcommands:
        links = (f"[`{one.name}`](methods/{one.name}.md)" for one in subcommands)
        parts.append(f"`dualprune {name} NAME ...`, where `NAME` is {', '.join(links)}.")
        parts.append("The knobs of each are on its page. All of them have:")
    parts.append(_table(_shared(subcommands or [command])))
    parts.extend(_examples(EXAMPLES[name]))
    return "\n\n".join(parts) + "\n"


def _words(text: str) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def _shared(commands: list[Any]) -> list[Any]:
    """Parameters that all these commands have, but for --help."""
    names = [[parameter.name for parameter in command.params] for command in commands]
    return [
        p
        for p in commands[0].params
        if p.name != "help" and all(p.name in known for known in names)
    ]


def _table(parameters: Iterable[Any]) -> str:
    rows = ["| | meaning | default |", "|---|---|---|"]
    for one in parameters:
        name = ", ".join(one.opts) if one.param_type_name == "option" else one.name.upper()
        cells = (f"`{name}`", " ".join((one.help or "").split()), _default(one))
        rows.append(f"| {' | '.join(cells)} |".replace("|  |", "| |"))
    return "\n".join(rows)


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    unset = parameter.default is None or parameter.default is False or parameter.default == []
    return "" if unset else f"`{parameter.default}`"


def _examples(lines: list[str]) -> Iterable[str]:
    for line in lines:
        reasons = [why for word, why in ELSEWHERE.items() if word in line]
        mark = f"<!-- not run: {reasons[0]} -->\n" if reasons else ""
        yield f"{mark}```sh\n{line}\n```"


if __name__ == "__main__":
    Path(__file__).with_name("commands.md").write_text(page(), "utf-8")
