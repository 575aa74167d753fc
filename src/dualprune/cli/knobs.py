"""Commands whose flags are the knobs of a function, so that no flag is written twice."""

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer

from dualprune.cli.options import Floor
from dualprune.signatures import Array, inputs, knobs, read_docstring


def command_for(fn: Callable[..., Array], body: Callable[..., None]) -> Callable[..., None]:
    """Give `body` the knobs of `fn` as flags; it gets their values as one dict, `knobs`."""
    about = read_docstring(fn)
    meaning = about.parameters
    flags = [_flag(knob, meaning[name]) for name, knob in knobs(fn).items()]
    passed = {"fn", "knobs"} if "scores" in inputs(fn) else {"fn", "knobs", "score"}
    own = [p for p in signature(body).parameters.values() if p.name not in passed]

    def command(**arguments: Any) -> None:
        values = {flag.name: arguments.pop(flag.name) for flag in flags}
        body(fn=fn, knobs=values, **arguments)

    parameters = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in own + flags]
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined] # typer reads it
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    command.__doc__ = about.summary
    return command


def _flag(knob: Parameter, meaning: str) -> Parameter:
    """Give the flag of a knob; a floor that is not given is None, and then that of `prune`."""
    if knob.annotation == int | float:
        return knob.replace(default=None, annotation=Floor)
    return knob.replace(annotation=Annotated[knob.annotation, typer.Option(help=meaning)])
