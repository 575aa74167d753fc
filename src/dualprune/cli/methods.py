"""`dualprune methods`: every method, as its own code describes it."""

from collections.abc import Callable, Mapping
from inspect import Parameter, getdoc
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dualprune.dynamic import DYNAMIC
from dualprune.errors import InputError, did_you_mean
from dualprune.method.named import in_words, named_methods
from dualprune.run.derived import DERIVED
from dualprune.score import SCORES
from dualprune.select import SELECTORS
from dualprune.signatures import inputs, keyword_only, read_docstring

TABLES: dict[str, Mapping[str, Callable[..., Any]]] = {
    "Scores": SCORES,
    "Selectors": SELECTORS,
    "While training": DYNAMIC,
}

NOT_IMPLEMENTABLE = {
    "SIMS": "Grosz et al., 2024. arXiv:2409.13915. Its three terms are known: the distance to the "
    "nearest other class divided by that to the own one, the length of the features, and 1 minus "
    "the Jensen-Shannon divergence of several models' predictions. Not known, and no code is "
    "public: how the terms are normalised and combined into one score, from which density samples "
    "are drawn at a share pruned, and how draws by class and over all classes are mixed."
}


def methods(
    show: Annotated[
        str | None, typer.Option(help="Show all settings of one named method, such as ccs.")
    ] = None,
) -> None:
    """List every method: what it keeps, what it needs, its knobs, its paper."""
    named = named_methods()
    if show is not None:
        if show not in named:
            raise InputError(
                f"there is no named method {show!r}; choose one of {', '.join(named)}; the knobs "
                f"of a score or selector are in the list without --show.{did_you_mean(show, named)}"
            )
        settings = {"about": named[show]["about"], **published(named[show])}
        _print_section("Named method", {show: settings})
        return
    for title, table in TABLES.items():
        _print_section(title, {name: _entries(fn) for name, fn in table.items()})
    about = {name: {"is": row["method"], "about": row["about"]} for name, row in named.items()}
    _print_section("Named methods (all settings: --show NAME)", about)
    unknown = {name: {"": why} for name, why in NOT_IMPLEMENTABLE.items()}
    _print_section("Not implementable from public sources", unknown)


def needs(fn: Callable[..., Any]) -> str:
    """Say which arrays a function reads, or what a dynamic method does with the losses.

    >>> from dualprune.dynamic import RandomEveryEpoch
    >>> needs(SCORES["dual"]), needs(RandomEveryEpoch)
    ('needs target_prob (from loss)', 'ignores the losses, whatever they are.')
    """
    observe = getattr(fn, "observe", None)
    if observe is not None:
        return third_person(getdoc(observe) or "")
    return "needs " + ", ".join(need(name, required) for name, required in inputs(fn).items())


def need(name: str, required: bool) -> str:
    """Say of an array what it is computed from, and whether it can be left out.

    >>> need("target_prob", True), need("labels", False)
    ('target_prob (from loss)', 'labels (optional)')
    """
    source = f" (from {', '.join(inputs(DERIVED[name]))})" if name in DERIVED else ""
    return name + source + ("" if required else " (optional)")


def third_person(sentence: str) -> str:
    """Turn the imperative of a docstring into the third person.

    >>> third_person("Keep what is hard.")
    'keeps what is hard.'
    """
    verb, space, rest = sentence.partition(" ")
    return f"{verb.lower()}s{space}{rest}"


def published(row: Mapping[str, Any]) -> dict[str, str]:
    """Say every setting of a named method in words.

    >>> published({"method": "tdds+top", "epochs": {"0.0": 70, "0.5": 90}})
    {'method': 'tdds+top', 'epochs': '70, from 50% pruned 90'}
    """
    flat: dict[str, Any] = {}
    for name, value in row.items():
        flat |= value if name in ("score", "select") else {name: value}
    if "reads" in flat:
        flat["reads"] = ", ".join(map("=".join, flat["reads"].items()))
    return {name: in_words(value) for name, value in flat.items() if name != "about"}


def _entries(fn: Callable[..., Any]) -> dict[str, str]:
    about = read_docstring(fn)
    verb, rest = third_person(about.summary).split(" ", 1)
    needs_or_does, what = needs(fn).split(" ", 1)
    knobs = (
        name if knob.default is Parameter.empty else f"{name}={knob.default}"
        for name, knob in keyword_only(fn).items()
    )
    return {
        verb: rest,
        needs_or_does: what,
        "knobs": ", ".join(knobs) or "none",
        "paper": about.paper,
    }


def _print_section(title: str, methods: Mapping[str, Mapping[str, str]]) -> None:
    console = Console(highlight=False)
    console.rule(Text(title), align="left")
    for name, entries in methods.items():
        grid = Table.grid(padding=(0, 1))
        grid.add_column(min_width=8)
        for entry, text in entries.items():
            if text:
                grid.add_row(Text("  " + entry, style="dim"), Text(text))
        console.print(Text(name, style="bold"))
        console.print(grid)
