"""The site builds without a warning, asks nobody else, and every link on it leads somewhere."""

import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from markdown_it import MarkdownIt
from sphinx.util.inventory import InventoryFile

import dualprune
from tests.pages import DOCS, PAGES, ROOT, blocks

MODULES = ("score", "select", "dynamic", "data")
INTEGRATIONS = {
    "torch": ["PrunedSampler"],
    "lightning": ["RecordDynamics", "PruneDynamically"],
    "transformers": ["prune_dynamically", "watch", "with_ids"],
    "sklearn": ["CoresetSampler"],
    "ray": ["ray_map"],
    "importers": ["import_run"],
}
LARGEST_PICTURE = 200_000


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", DOCS, out]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return out


class Links(HTMLParser):
    """What a page links to, loads, and can be linked at."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], {""}
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        about = dict(attrs)
        self.anchors |= {about[key] for key in ("id", "name") if about.get(key)}
        if tag == "a" and about.get("href"):
            self.links.append(about["href"])
        if tag in ("link", "img", "script", "source", "iframe"):
            self.loaded += [about[key] for key in ("href", "src") if about.get(key)]


@pytest.fixture(scope="module")
def pages(site):
    files = (path for path in site.rglob("*.html") if "_static" not in path.parts)
    return {path: Links(path) for path in files}


def is_elsewhere(address):
    return bool(urlsplit(address).scheme or urlsplit(address).netloc)


def test_every_link_leads_to_a_page_and_an_anchor_that_exist(pages):
    broken = []
    for path, page in pages.items():
        for link in filter(lambda link: not is_elsewhere(link), page.links):
            address, anchor = urldefrag(link)
            target = (path.parent / unquote(address)).resolve() if address else path
            if not target.is_file():
                broken.append(f"{path.name}: {link}")
            elif target in pages and unquote(anchor) not in pages[target].anchors:
                broken.append(f"{path.name}: {link} has no such anchor")
    assert not broken
    assert len(pages) > len(list(DOCS.rglob("*.md"))) - len(list(DOCS.glob("results/**/*.md")))


def test_a_page_loads_nothing_from_elsewhere_and_what_it_loads_exists(pages):
    for path, page in pages.items():
        for address in page.loaded:
            assert not is_elsewhere(address), f"{path.name} loads {address}"
            file = path.parent / unquote(urlsplit(address).path)
            assert file.exists(), f"{path.name} loads {address}"


def test_formulas_are_drawn_without_a_script(site):
    text = (site / "methods" / "beta.html").read_text("utf-8")
    assert text.count("<math") > 3
    assert "mathjax" not in text.lower()
    assert "{math}" not in text


def public_names():
    yield from (f"dualprune.{name}" for name in dualprune.__all__ if not name.endswith("Error"))
    yield from (f"dualprune.errors.{n}" for n in dualprune.__all__ if n.endswith("Error"))
    for module in MODULES:
        names = import_module(f"dualprune.{module}").__all__
        yield from (f"dualprune.{module}.{name}" for name in names)
    for module, names in INTEGRATIONS.items():
        yield from (f"dualprune.integrations.{module}.{name}" for name in names)


def test_the_reference_has_every_public_name(site):
    with (site / "objects.inv").open("rb") as file:
        inventory = InventoryFile.load(file, "", lambda _, name: name)
    known = {n for kind, names in inventory.items() if kind.startswith("py:") for n in names}
    assert not set(public_names()) - known


def test_links_of_the_readme_and_of_pages_work_on_a_code_host():
    for name, path in PAGES.items():
        if name in ("contributing.md", "security.md", "changelog.md"):
            continue  # they show files of another folder
        for link in links_of_markdown(path):
            file = path.parent / unquote(urldefrag(link)[0])
            assert file.exists(), f"{name}: {link}"


def links_of_markdown(path):
    """Give the links and pictures of a Markdown file that lead to other files."""
    for token in MarkdownIt().enable("table").parse(path.read_text("utf-8")):
        for child in token.children or []:
            address = child.attrGet("href") or child.attrGet("src") or ""
            if address and not is_elsewhere(address) and not address.startswith("#"):
                yield str(address)


def test_the_readme_is_short_and_pictures_are_small():
    assert len(PAGES["README.md"].read_text("utf-8").splitlines()) < 130
    pictures = [path for path in (DOCS / "images").rglob("*") if path.is_file()]
    assert pictures
    assert all(picture.stat().st_size < LARGEST_PICTURE for picture in pictures)


def test_what_is_not_run_says_why():
    reasons = [block.reason for page in PAGES for block in blocks(page) if block.reason]
    assert all(len(reason) > 8 for reason in reasons)
