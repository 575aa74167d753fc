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
        parts.append(
            "The knobs of each are on its page. All have these, unless the table says otherwise:"
        )
    parts.append(_table(_shared(subcommands or [command])))
    parts.extend(_examples(EXAMPLES[name]))
    return "\n\n".join(parts) + "\n"


def _words(text: str) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def _shared(commands: list[Any]) -> dict[Any, list[str]]:
    """Give the parameters that most commands have, and which lack them; no --help."""
    names = {command.name: [one.name for one in command.params] for command in commands}
    parameters = {one.name: one for command in commands for one in command.params}
    lacking = {
        one: [command for command, known in names.items() if name not in known]
        for name, one in parameters.items()
        if name != "help"
    }
    return {one: some for one, some in lacking.items() if len(some) <= len(commands) // 3}


def _table(parameters: dict[Any, list[str]]) -> str:
    rows = ["| | meaning | default |", "|---|---|---|"]
    for one, lacking in parameters.items():
        name = ", ".join(one.opts) if one.param_type_name == "option" else one.name.upper()
        but = f" Not for {', '.join(f'`{name}`' for name in lacking)}." if lacking else ""
        cells = (f"`{name}`", " ".join((one.help or "").split()) + but, _default(one))
        rows.append(f"| {' | '.join(cells)} |".replace("|  |", "| |"))
    return "\n".join(rows)


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    if isinstance(said := getattr(parameter, "show_default", None), str):
        return said
    unset = parameter.default is None or parameter.default is False or parameter.default == []
    return "" if unset else f"`{parameter.default}`"


def _examples(lines: list[str]) -> Iterable[str]:
    for line in lines:
        reasons = [why for word, why in ELSEWHERE.items() if word in line]
        mark = f"<!-- not run: {reasons[0]} -->\n" if reasons else ""
        yield f"{mark}```sh\n{line}\n```"


if __name__ == "__main__":
    Path(__file__).with_name("commands.md").write_text(page(), "utf-8")
