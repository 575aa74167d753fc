"""`dualprune methods`: every score and selector, as its own code describes it."""

from collections.abc import Callable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dualprune.arrays import Array, inputs, knobs
from dualprune.cli.docs import read_docstring
from dualprune.run.derived import DERIVED
from dualprune.score import SCORES
from dualprune.select import SELECTORS

__all__ = ["methods"]

NOT_IMPLEMENTABLE = {
    "SIMS": "Grosz et al., 2024. arXiv:2409.13915. No code is public, and what is public of the "
    "paper does not say how its terms are combined and sampled.",
    "InfoMax": "Tan et al., 2025. arXiv:2506.01701. No code is public; score, solver and settings "
    "cannot be told from public sources.",
}


def methods() -> None:
    """List every method: what it keeps, what it needs, its knobs, its paper."""
    console = Console(highlight=False)
    for title, table in (("Scores", SCORES), ("Selectors", SELECTORS)):
        console.rule(Text(title), align="left")
        for name, fn in table.items():
            console.print(Text(name, style="bold"))
            console.print(_entries(fn))
    console.rule(Text("Not implementable from public sources"), align="left")
    for name, why in NOT_IMPLEMENTABLE.items():
        console.print(Text(name, style="bold"))
        console.print(_grid({"": why}))


def _entries(fn: Callable[..., Array]) -> Table:
    passport = read_docstring(fn)
    verb, _, rest = passport.summary.partition(" ")
    settings = (f"{name}={knob.default}" for name, knob in knobs(fn).items())
    return _grid(
        {
            verb.lower() + "s": rest,
            "needs": ", ".join(_need(name, required) for name, required in inputs(fn).items()),
            "knobs": ", ".join(settings) or "none",
            "paper": passport.paper,
        }
    )


def _need(name: str, required: bool) -> str:
    source = f" (from {', '.join(DERIVED[name][1])})" if name in DERIVED else ""
    return name + source + ("" if required else " (optional)")


def _grid(entries: dict[str, str]) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(min_width=8)
    for name, text in entries.items():
        if text:
            grid.add_row(Text("  " + name, style="dim"), Text(text))
    return grid
