"""Write `docs/methods/`, a page per method, from the docstrings: `python docs/pages.py`."""

import re
from collections.abc import Callable, Iterable
from inspect import Parameter
from pathlib import Path
from textwrap import dedent
from typing import Any, get_args

from dualprune.cli.methods import NOT_IMPLEMENTABLE, TABLES, need, needs, published, third_person
from dualprune.method.named import named_methods
from dualprune.signatures import inputs, keyword_only, read_docstring

KINDS = {
    "Scores": "Score: one number per sample, and high is kept.",
    "Selectors": "Selector: which `k` samples to keep; the same `seed` keeps the same ones.",
    "While training": "Dynamic: what each epoch trains on; nothing is dropped for good.",
}
METHODS = [(KINDS[title], *method) for title in KINDS for method in TABLES[title].items()]
MATH = re.compile(r"^ *\.\. math::(?: (.+)\n|\n\n((?: +.*\n)+))", re.MULTILINE)


def write_pages(folder: Path) -> None:
    """Write a page for every method in the tables, and the index."""
    for kind, name, fn in METHODS:
        (folder / f"{name}.md").write_text(page(kind, name, fn), "utf-8")
    (folder / "README.md").write_text(index(), "utf-8")


def page(kind: str, name: str, fn: Callable[..., Any]) -> str:
    """Give the page of one method; a part that is empty is left out."""
    told = read_docstring(fn)
    words, prompt, code = told.example.partition(">>>")
    named = [key for key, row in named_methods().items() if name in row["method"].split("+")]
    arrays: dict[str, list[str]] = {}
    for array, required in inputs(fn).items():
        arrays.setdefault(told.parameters[array], []).append(need(array, required))
    read = [(", ".join(names), meaning) for meaning, names in arrays.items()]
    parts = {
        f"# `{name}`": f"{told.title}\n\n{kind}",
        "## What it does": f"It {third_person(told.summary)}\n\n{told.details}",
        "## Steps" if "1. " in told.formula else "## Formula": told.formula,
        "## Inputs": _table("array | meaning", read) or f"It {needs(fn)}",
        "## Knobs": _table("knob | default | meaning", _knobs(fn, told.parameters)),
        "## Example": f"{words.strip()}\n\n```python\n{prompt}{code}\n```",
        "## Cost": told.cost,
        "## Public implementations": told.variants,
        "## Named methods": " ".join(f"[`{key}`](README.md#named-methods)" for key in named),
        "## Reference": told.paper,
        "## Source": f"[`{fn.__module__}`](../../src/{fn.__module__.replace('.', '/')}.py)",
    }
    return markdown("\n".join(f"{h}\n\n{text.strip()}\n" for h, text in parts.items() if text))


def index() -> str:
    """Give the table of all methods, the named ones and those that cannot be had."""
    rows = []
    for kind, name, fn in METHODS:
        told, needed = read_docstring(fn), needs(fn).removeprefix("needs ")
        about = (third_person(told.summary), needed, told.paper)
        rows.append((f"[`{name}`]({name}.md)", kind.split(":")[0].lower(), *about))
    named = (
        (f"`{name}`", row["about"], "; ".join(map(" = ".join, published(row).items())))
        for name, row in named_methods().items()
    )
    return markdown(f"""# Methods\n
Written by `python docs/pages.py` from the docstrings; do not edit.\n
{_table("name | kind | what it keeps | needs | paper", rows)}\n
## Named methods\n
A score, a selector and the settings published with them; see `dualprune methods --show NAME`.\n
{_table("name | about | settings", named)}\n
## Not implementable from public sources\n
{_table("name | why", NOT_IMPLEMENTABLE.items())}\n""")


def markdown(text: str) -> str:
    r"""Turn math into GitHub's, in fences since between dollars Markdown eats ``\,`` and ``\{``."""
    text = MATH.sub(lambda m: f"```math\n{dedent(m[1] or m[2]).strip()}\n```\n", text)
    text = re.sub(r":math:`([^`]+)`", lambda m: f"$`{' '.join(m[1].split())}`$", text)
    text = text.replace(r"\operatorname{", r"\mathrm{")  # the former is refused by GitHub
    return re.sub(r"arXiv:(\d{4}\.\d{5})", r"[arXiv:\1](https://arxiv.org/abs/\1)", text)


def _knobs(fn: Callable[..., Any], meaning: dict[str, str]) -> Iterable[tuple[str, ...]]:
    for name, knob in keyword_only(fn).items():
        default = "required" if knob.default is Parameter.empty else f"`{knob.default!r}`"
        choices = [f"`{each!r}`" for each in get_args(knob.annotation) if isinstance(each, str)]
        yield f"`{name}`", default, f"{meaning[name]} {' or '.join(choices)}"


def _table(head: str, rows: Iterable[tuple[str, ...]]) -> str:
    lines = [" | ".join(cell.strip().replace("|", r"\|") for cell in row) for row in rows]
    rule = re.sub(r"\w[\w ]*\w", "---", head)
    return "\n".join(f"| {line} |" for line in (head, rule, *lines)) if lines else ""


if __name__ == "__main__":
    write_pages(Path(__file__).with_name("methods"))
