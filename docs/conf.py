"""The site: `make docs` builds it from this folder and the docstrings, without a network.

The pages are plain Markdown that reads well on a code host. What only the site has is added here,
when a page is read: the tree of pages, the gallery, formulas, links to files outside this folder.
"""

import ast
import importlib.metadata
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

DOCS = Path(__file__).parent
ROOT = DOCS.parent

project, release = "dualprune", importlib.metadata.version("dualprune")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["results/*", "images/*", "_static/*"]
highlight_language = "text"

html_theme = "pydata_sphinx_theme"
html_title = "dualprune"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "footer_start": [],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "header_links_before_dropdown": 7,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "start": [], "gallery": []}

myst_heading_anchors = 3
myst_fence_as_directive = ["math"]
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
python_maximum_signature_line_length = 72

TREE = {
    "index": [
        *("start", "guides", "gallery", "methods/README", "reference"),
        *("Results </results>", "design"),
    ],
    "guides": [
        *("loop", "lightning", "transformers", "sklearn", "texts", "labels", "choosing"),
        *("scale", "resuming", "others", "reproducing"),
    ],
    "methods/README": sorted(
        f"methods/{path.stem}" for path in DOCS.glob("methods/*.md") if path.stem != "README"
    ),
    "reference": [
        *(f"api/{name}" for name in ("dualprune", "score", "select", "dynamic", "data")),
        *("api/integrations", "api/errors", "commands", "formats"),
    ],
    "results": ["kinds", "audit", "full_runs", "reliability"],
    "design": ["limits", "contributing", "security", "changelog", "site"],
}
_NAMED = {page.strip("<>/") for pages in TREE.values() for line in pages for page in line.split()}
TREE["results"] += sorted(  # a study stands below the results, if nothing else is said
    path.stem for path in DOCS.glob("*.md") if path.stem not in {"index", *_NAMED}
)
OUTSIDE = {
    "SECURITY.md": "/security.md",
    "CONTRIBUTING.md": "/contributing.md",
    "CHANGELOG.md": "/changelog.md",
    "README.md": "/index.md",
}
_LINK = re.compile(r"\]\((?:\.\./)+([\w.-]+)/?(#[\w-]*)?\)")
_CODE_LINK = re.compile(r"\[`?([^]`]+)`?\]\((?:\.\./)+src/([\w/]+)\.py\)")
_INLINE_MATH = re.compile(r"\$(`[^`]+`)\$")
_ARRAY = re.compile(r"~?(?:numpy\.)?ndarray\[~?(?:typing\.)?Any, ~?(?:numpy\.)?dtype\[\S*Any\]\]")
_SENTENCES: dict[str, list[str]] = {}
_ACCENT = re.compile(r"(\\bar)\s*(\\[A-Za-z]+|[A-Za-z])")


def read_page(_: Sphinx, name: str, source: list[str]) -> None:
    """Turn the Markdown of a code host into that of the site."""
    text = _INLINE_MATH.sub(r"{math}\1", source[0])
    code = rf'<a href="{"../" * name.count("/")}_modules/\2.html"><code>\1</code></a>'
    text = _LINK.sub(_inside, _CODE_LINK.sub(code, text))
    if name == "gallery":
        text += gallery(ROOT / "examples")
    if name in TREE:
        pages = "\n".join(page if "<" in page else f"/{page}" for page in TREE[name])
        text += f"\n\n```{{toctree}}\n:hidden:\n\n{pages}\n```\n"
    source[0] = text


def _inside(link: re.Match[str]) -> str:
    """Lead a link out of this folder to the page of the site that shows the same."""
    path, anchor = link[1], link[2] or ""
    return f"]({OUTSIDE[path]}{anchor})" if path in OUTSIDE else link[0]


def gallery(folder: Path) -> str:
    """Give a section for each example: its docstring, its picture, its code."""
    return "".join(map(_example, sorted(folder.glob("*.py"))))


def _example(script: Path) -> str:
    source = script.read_text("utf-8")
    tree = ast.parse(source)
    first, _, words = (ast.get_docstring(tree) or script.stem).partition("\n")
    title, _, about = first.rstrip(".").partition(": ")
    code = "\n".join(source.splitlines()[tree.body[0].end_lineno :]).strip()
    picture = DOCS / "images" / "gallery" / f"{script.stem}.png"
    shown = f"![{first}](images/gallery/{picture.name})\n\n" if picture.exists() else ""
    said = f"{about[:1].upper()}{about[1:]}.\n\n" if about else ""
    return f"\n\n## {title}\n\n{said}{words}\n\n{shown}```python\n{code}\n```\n"


def _math(*, as_block: bool) -> Any:
    """Give what writes a formula as MathML, which browsers draw by themselves."""

    def visit(writer: Any, node: nodes.Node) -> None:
        formula = _ACCENT.sub(r"{\1 \2{}}", node.astext())  # the index belongs to the letter
        drawn = str(tex2mathml(formula, as_block=as_block))
        # without a font for mathematics, a bar that is an accent lies on its letter
        writer.body.append(drawn.replace('accent="true"', 'accent="false"'))
        raise nodes.SkipNode

    return visit, None


def name_arrays(*event: Any) -> tuple[str | None, str | None]:
    """Write our word for an array in signatures; they are the last two things of the event."""
    arguments, returned = (text and _ARRAY.sub("Array", text) for text in event[-2:])
    return arguments, returned


def before_napoleon(_: Sphinx, what: str, name: str, *event: Any) -> None:
    """Remember what is said of an attribute: what stands before a colon is no type of it."""
    if what in ("attribute", "data", "property"):
        _SENTENCES[name] = list(event[-1])


def after_napoleon(_: Sphinx, _what: str, name: str, *event: Any) -> None:
    """Say it as it was."""
    event[-1][:] = _SENTENCES.pop(name, event[-1])


def setup(app: Sphinx) -> None:
    """Connect what this file adds."""
    app.add_html_math_renderer("mathml", _math(as_block=False), _math(as_block=True))
    app.connect("source-read", read_page)
    app.connect("autodoc-process-signature", name_arrays)
    app.connect("autodoc-process-docstring", before_napoleon, priority=400)
    app.connect("autodoc-process-docstring", after_napoleon, priority=600)
