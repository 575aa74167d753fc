"""The pages of README and site: their blocks of code, and the smallest form of a command."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from runpy import run_path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {"README.md": ROOT / "README.md", **{path.name: path for path in sorted(DOCS.glob("*.md"))}}
STUDIES = {
    f"{name}.md" for name in ("results", *run_path(str(DOCS / "conf.py"))["TREE"]["results"])
}
"""Pages of what was measured, by hours of work: their commands are only read."""
MARK = re.compile(r"<!-- not run: (.+) -->")
OTHER_PROGRAMS = ("pip", "make", "python", "torchrun")


@dataclass(frozen=True)
class Block:
    """Code on a page; `reason` says why it is not run, if it is not."""

    page: str
    line: int
    language: str
    code: str
    reason: str = ""

    @property
    def commands(self):
        """Lines that a user types into a shell, as words, without their comments."""
        if self.language not in ("sh", ""):
            return []
        lines = [shlex.split(line, comments=True) for line in self.code.splitlines()]
        return [words for words in lines if words]

    def __str__(self):
        return f"{self.page}:{self.line}"


def blocks(page):
    """Give the blocks of code of a page, in their order; an indented one has no language."""
    found, reason = [], ""
    for token in MarkdownIt().enable("table").parse(PAGES[page].read_text("utf-8")):
        if token.type in ("fence", "code_block"):
            language = token.info.strip()
            found.append(Block(page, token.map[0] + 1, language, token.content, reason))
        mark = MARK.fullmatch(token.content.strip()) if token.type == "html_block" else None
        reason = mark[1] if mark else ""
    return found


def smallest(words):
    """Give the words of a command that does the same with as little work as possible."""
    command, *rest = words
    if command == "reproduce":
        small = ["--scale", "smoke", "--dry-run", "--out", "planned"]
        return ["reproduce", *rest[:1], *(small if rest else [])]
    rest = ["tiny.npz" if word in ("digits", "cifar10") else word for word in rest]
    rest = [word.replace("s3://", "memory://") for word in rest if word != "--download"]
    of_images = any(word.startswith(("photos", "tiny")) for word in rest)
    if command in ("prune", "record", "train", "compare") and of_images and "--run" not in rest:
        rest += ["--recipe", "digits"]
    if command in ("prune", "record") and not {"--epochs", "--run"} & set(rest):
        rest += ["--epochs", "10"]
    if command == "compare":
        rest += ["--seeds", "1", "--processes", "1"]
        rest += [] if "--keep" in rest else ["--keep", "0.5"]
    return [command, *rest]
