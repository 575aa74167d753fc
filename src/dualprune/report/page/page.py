"""Put the page together: data, charts, texts, and a policy that forbids network access."""

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from importlib.util import find_spec

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from dualprune.data import Images
from dualprune.errors import DamagedError, InputError, MissingError
from dualprune.files import Place, open_file, place, reading, refuse_to_replace, write
from dualprune.report.facts import Facts
from dualprune.report.page.compared import Result, summarise
from dualprune.report.page.content import content
from dualprune.report.page.pack import safe_json, safe_text
from dualprune.report.page.pictures import draw_sheet
from dualprune.report.page.shown import choose_shown
from dualprune.report.page.steps import (
    another_share,
    classes_of_slider,
    edit_by_list,
    places,
    steps,
)
from dualprune.report.page.summary import class_names, per_class, repeat, rows
from dualprune.run import Run
from dualprune.urls import AnyPath

Samples = Images | Sequence[str] | None
"""The images of a dataset, its texts, or neither."""

_MARK = b'<meta name="generator" content="dualprune">'
_BEGINNING = 1000  # bytes of a page among which it is
_SCRIPTS = ("data.js", "share.js", "moon.js", "samples.js", "page.js")


def write_report(
    path: AnyPath,
    facts: Facts,
    *,
    samples: Samples = None,
    results: Sequence[Result] = (),
    folder: Place | None = None,
) -> Place:
    """Write one HTML file that needs nothing else: no server, no network.

    Only another page of dualprune is replaced.

    Parameters
    ----------
    samples
        The images, for thumbnails, or the texts, for snippets; one per sample.
    results
        The lines of `results.jsonl`, as `compare` writes them.
    folder
        Where the coreset is saved, so that the commands on the page can name it.
    """
    if find_spec("bokeh") is None:
        raise MissingError("the page needs Bokeh: pip install 'dualprune[report]'")
    file = place(path)
    refuse_to_replace(file, "a page of dualprune", _check_page)
    _refuse_other_samples(facts.run, samples)
    write(file, _render(facts, samples, results, folder).encode())
    return file


def _check_page(path: Place) -> None:
    with open_file(path) as file, reading(path):
        if _MARK not in file.read(_BEGINNING):
            raise DamagedError(f"{path} is no page of dualprune")


def _refuse_other_samples(run: Run, samples: Samples) -> None:
    if samples is not None and len(samples) != run.samples:
        raise InputError(f"the run is of {run.samples} samples, {len(samples)} were given to show")
    recorded = run.description.data
    if recorded and isinstance(samples, Images) and samples.fingerprint != recorded:
        raise InputError(f"the images are not those that {run.path} was recorded of")


def _render(facts: Facts, samples: Samples, results: Sequence[Result], folder: Place | None) -> str:
    from dualprune.report.page import charts  # noqa: PLC0415 - loads Bokeh

    shown, names, compared = choose_shown(facts), class_names(facts.run), summarise(results)
    at = places(facts, folder)
    sheet = draw_sheet(samples, shown.pictured) if isinstance(samples, Images) else None
    texts = None if isinstance(samples, Images) else samples
    plots = [charts.moon(facts), charts.scores(facts)]
    if compared:
        plots.append(charts.accuracies(compared))
    if facts.coreset is not None and (tried := facts.coreset.card.shares) is not None:
        plots.append(charts.shares(tried))
    scripts = [_text("server/static/js/bokeh.min.js", "bokeh"), *map(_text, _SCRIPTS)]
    return _template().render(
        policy=_policy(scripts),
        scripts=[Markup(script) for script in scripts],  # noqa: S704 - ours and Bokeh's
        style=Markup(_text("page.css")),  # noqa: S704
        sheet=sheet,
        texts=texts is not None,
        data=safe_json({**content(facts, shown, sheet, texts), "classes": names, "charts": plots}),
        rows=list(rows(facts)),
        steps=list(steps(facts, at)),
        another=another_share(facts, at),
        owed=classes_of_slider(facts),
        edit=edit_by_list(facts, at),
        again=repeat(facts.coreset),
        facts=facts,
        shown=shown,
        classes=per_class(facts, names),
        compared=compared,
    )


def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("dualprune.report.page", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = "{:.1%}".format
    environment.filters["grouped"] = "{:,}".format
    environment.filters["safe_text"] = lambda thing: safe_text(str(thing))
    return environment.get_template("page.html")


def _policy(scripts: Sequence[str]) -> str:
    """Allow these scripts and nothing else: no other script runs, and nothing is fetched."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _text(file: str, package: str = "dualprune.report.page") -> str:
    return resources.files(package).joinpath(file).read_text("utf-8")
