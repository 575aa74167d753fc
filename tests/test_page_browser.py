"""The page in a real browser: what a person sees, points at, moves and presses."""

import csv
import re
import shlex
import socket
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from selenium.webdriver import Keys

from dualprune import Coreset, Method, Run, choose
from dualprune.coreset import Arm, Search, Share, Shares
from dualprune.data import in_memory
from dualprune.method import Arrays
from dualprune.report.facts import gather
from dualprune.report.page import shown, write_report
from dualprune.report.page.pack import beginning, safe_text
from dualprune.select.ease import ENOUGH
from dualprune.select.quotas import even, parts_of_fair, proportional
from dualprune.suspects import judge

from .beliefs import between_two, write_beliefs
from .browsing import (
    addresses,
    ask,
    complaints,
    downloaded,
    draw_by_finger,
    hover,
    in_view,
    lasso,
    look,
    needs_chromium,
    open_browser,
    pixel,
    place,
    press,
    printed,
    swipe,
    text,
    until,
    visit,
    when,
)
from .hostile import HOSTILE, write_hostile

pytestmark = needs_chromium

EPOCHS, CLASSES = 12, 4
LOUD, QUIET = (200, 55, 78), (154, 163, 178)
LIGHT, DARK = ((251, 251, 253), (29, 36, 48)), ((18, 22, 28), (230, 233, 238))  # ground, ink
ATTEMPTS = {  # by what must refuse them
    "connect-src": "fetch(arguments[0]).catch(() => 0)",
    "img-src": "new Image().src = arguments[0]",
    "frame-src": "document.body.append(Object.assign(document.createElement('iframe'), "
    "{src: 'data:text/html,x'}))",  # Chromium connects for others before it asks the policy
    "script-src-elem": "document.body.append(Object.assign(document.createElement('script'), "
    "{textContent: 'window.hacked = 1'}))",
    "script-src-attr": "document.body.insertAdjacentHTML('beforeend', "
    "'<b onclick=\"window.hacked = 1\"></b>'); document.body.lastChild.click()",
}


@pytest.fixture(scope="module")
def browser():
    with open_browser() as opened:
        yield opened


@pytest.fixture
def visiting(browser):
    """Open a page as most people see it; one that is open already is good enough for a look."""

    def at(page, *, anew=True):
        look(browser)
        if anew or browser.current_url != page.as_uri():
            assert visit(browser, page) == []

    return at


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def world(home):
    """Every point alone at a place that is known: means by deviations; the lowest are suspect."""
    means = np.array([0.08, 0.13, 0.18, 0.55, 0.62, 0.69, 0.76, 0.83, 0.9])
    mean, deviation = (
        each.ravel() for each in np.meshgrid(means, np.linspace(0.01, 0.06, 6), indexing="ij")
    )
    probability = mean + np.tile([1, -1], EPOCHS // 2)[:, None] * deviation
    labels = np.arange(len(mean)) % CLASSES
    beliefs = between_two(probability, labels, (labels + 1) % CLASSES, CLASSES)
    names = tuple("abcd")
    run = write_beliefs(home / "world", beliefs, labels, class_names=names)
    grey = (40 + 4 * np.arange(len(mean))).astype(np.uint8)
    images = in_memory(np.broadcast_to(grey[:, None, None, None], (54, 8, 8, 1)), labels, names)
    coreset = choose(run, "dual+beta", keep=20, seed=3)
    return SimpleNamespace(
        page=write_report(home / "world.html", gather(run, coreset), samples=images),
        x=deviation,
        y=mean,
        probability=probability,
        labels=labels,
        grey=grey,
        kept=coreset.mask,
        suspect=judge(Arrays([run])).suspect,
        score=coreset.columns["score"],
    )


@pytest.fixture(scope="module")
def crowd(home):
    """Samples as they come, some of score 0, some never seen; chosen with settings of its own."""
    rng = np.random.default_rng(0)
    probability = rng.beta(2, 2, 600) + rng.normal(0, 0.08, (EPOCHS, 600))
    probability[:, :40] = probability[0, :40]
    probability = probability.clip(0.02, 0.98)
    labels, seen = rng.integers(0, CLASSES, 600), np.ones((EPOCHS, 600), bool)
    seen[:, 595:] = False
    beliefs = between_two(probability, labels, (labels + 1) % CLASSES, CLASSES)
    run = write_beliefs(home / "crowd", beliefs, labels, seen=seen)
    knobs = {"c_d": 4.0, "concentration": 12.0, "unscored": "drop"}
    method = Method("dual", "beta", select_knobs=knobs)
    coreset = choose(run, method, keep=201, seed=7)
    return SimpleNamespace(
        page=write_report(home / "crowd.html", gather(run, coreset)),
        run=run,
        coreset=coreset,
        keeping=lambda k: choose(run, method, keep=k, seed=7).ids,
    )


def card(browser):
    rows = ask(browser, "[...document.querySelectorAll('#card tr')].map((r) => r.innerText)")
    return dict(re.split(r"\t", row, maxsplit=1) for row in rows)


def color_of(browser, world, sample):
    return pixel(browser, *place(browser, world.x[sample], world.y[sample]))


def painted_as(browser, world, sample, color):
    when(lambda: color_of(browser, world, sample) == color, f"sample {sample} is not {color}")


def colored_by(browser, mode):
    browser.execute_script("document.querySelector(`input[value=${arguments[0]}]`).click()", mode)


def slide(browser, percent=None):
    """Move the slider to a percentage, or touch it without moving; gives the ids kept then."""
    browser.execute_script(
        "const share = document.getElementById('share'); share.value = arguments[0] ?? share.value;"
        "share.dispatchEvent(new Event('input'))",
        percent,
    )
    return ask(browser, "[...column.id].filter((_, i) => kept[i])")


def chosen(browser):
    """What is listed: the words, the ids, and the ids of the tiles."""
    ids = ask(browser, "chosen.map((sample) => column.id[sample])")
    tiles = ask(
        browser, "[...document.querySelectorAll('#chosen-tiles .tile')].map((t) => +t.dataset.id)"
    )
    return text(browser, "#chosen-title"), ids, tiles


def test_what_auto_tried_is_shown_as_tables_and_a_curve(browser, visiting, home, crowd):
    search = Search(
        "ccs",
        60,
        [Arm("random", 9, [0.5, 0.52]), Arm("ccs", 9, [0.6, 0.61]), Arm("<b>dual", 9, [0.4])],
    )
    tried = [(1.0, [0.9, 0.92]), (0.1, [0.8, 0.82]), (0.2, [0.899, 0.918])]
    shares = Shares(0.5, 0.2, 60, [Share(keep, 9, reached) for keep, reached in tried])
    card = replace(crowd.coreset.card, search=search, shares=shares)
    facts = gather(crowd.run, replace(crowd.coreset, card=card))
    visiting(write_report(home / "auto.html", facts))
    for title, measured in (("search-title", search), ("shares-title", shares)):
        section = f"section[aria-labelledby={title}]"
        assert str(measured) in text(browser, f"{section} p")
        cells = f"[...document.querySelectorAll('{section} tbody tr')].map((r) => [...r.cells].map("
        shown_rows = ask(browser, cells + "(c) => c.innerText))")
        assert shown_rows == [list(row) for row in measured.rows()]
    assert until(browser, "document.querySelector('#shares').getBoundingClientRect().height") > 100
    lines = "Bokeh.documents.flatMap((d) => d.roots()).flatMap((r) => r.renderers ?? [])"
    lines += ".filter((each) => each.glyph.type === 'HSpan').map((each) => each.glyph.y.value)"
    assert ask(browser, lines) == pytest.approx([91.0, 90.5])


def test_without_labels_nothing_on_the_page_speaks_of_them(browser, visiting, home, tmp_path):
    loss = np.random.default_rng(0).gamma(1, 1, (EPOCHS, 30))
    run = Run.from_arrays(home / "losses", loss=loss, names=[f"text {i}" for i in range(30)])
    visiting(write_report(home / "losses.html", gather(run, choose(run, keep=9))))
    colors = "[...document.querySelectorAll('input[name=color]')].map((each) => each.value)"
    assert ask(browser, colors) == ["score", "kept"]
    slide(browser, 50)
    browser.execute_script("document.querySelector('[data-list=kept] .tile').click()")
    assert set(card(browser)) == {"id", "name", "confidence", "variability", "dual", "kept"}
    browser.execute_script("choose([0, 1])")
    assert text(browser, "#chosen-title") in [f"2 chosen, {count} kept" for count in range(3)]
    saved = downloaded(browser, tmp_path, "#chosen-file").read_text()
    assert saved == 'id,name\n0,"text 0"\n1,"text 1"\n'
    assert complaints(browser) == []
    words = "label|class|suspect|unknown|floor|predicted|image|picture"
    assert not re.search(words, ask(browser, "document.body.innerText"), re.IGNORECASE)


def test_it_asks_nothing_of_any_network_and_cannot_be_made_to(browser, visiting, world):
    visiting(world.page)
    asked = addresses(browser)
    assert [each for each in asked if not each.startswith("data:")] == [world.page.as_uri()]
    browser.execute_script(
        "window.refused = []; document.addEventListener('securitypolicyviolation', "
        "(event) => refused.push(event.effectiveDirective));"
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        for attempt in ATTEMPTS.values():
            browser.execute_script(attempt, f"http://127.0.0.1:{server.getsockname()[1]}/")
        until(browser, f"refused.length === {len(ATTEMPTS)}")
        assert sorted(ask(browser, "refused")) == sorted(ATTEMPTS)
        server.setblocking(False)
        with pytest.raises(BlockingIOError):  # nobody has knocked
            server.accept()
    assert ask(browser, "window.hacked === undefined")


def test_every_sample_is_painted_once_where_it_belongs(browser, visiting, world):
    visiting(world.page)
    assert ask(browser, "document.getElementById('moon').dataset.painted") == str(len(world.x))
    for sample in (np.flatnonzero(world.kept)[0], np.flatnonzero(~world.kept)[-1]):
        painted_as(browser, world, sample, LOUD if world.kept[sample] else QUIET)
    x, y = (world.x[0] + world.x[1]) / 2, world.y[20]
    assert pixel(browser, *place(browser, x, y)) == (255, 255, 255)  # between points is nothing
    colored_by(browser, "suspect")
    assert 0 < world.suspect.sum() < len(world.x)
    for sample in (np.flatnonzero(world.suspect)[0], np.flatnonzero(~world.suspect)[0]):
        painted_as(browser, world, sample, LOUD if world.suspect[sample] else QUIET)
    colored_by(browser, "score")
    painted_as(browser, world, int(world.score.argmin()), (68, 1, 84))
    painted_as(browser, world, int(world.score.argmax()), (253, 231, 37))
    survivors = slide(browser, 10)
    for sample in (survivors[0], int(np.setdiff1d(np.arange(54), survivors)[0])):
        painted_as(browser, world, sample, LOUD if sample in survivors else QUIET)


def test_classes_have_colors_and_one_can_be_shown(browser, visiting, world):
    visiting(world.page)
    assert ask(browser, "document.getElementById('one-class').hidden")
    colored_by(browser, "class")
    found = {}
    for sample in range(CLASSES):
        swatch = f"document.querySelectorAll('#legend .swatch')[{sample}].style.background"
        color = tuple(map(int, re.findall(r"\d+", ask(browser, swatch))))
        painted_as(browser, world, sample, color)
        found[sample] = color
    assert len(set(found.values())) == CLASSES
    assert re.findall(r"\w", text(browser, "#legend")) == list("abcd")
    options = ask(browser, "[...document.getElementById('class').options].map((o) => o.text)")
    assert options == ["all classes", *"abcd"]
    browser.execute_script(
        "const one = document.getElementById('class'); one.value = 2;"
        "one.dispatchEvent(new Event('change'))"
    )
    for sample in (2, 3):
        painted_as(browser, world, sample, LOUD if sample == 2 else QUIET)
    assert text(browser, "#legend").split() == ["c", "others"]


def test_pointing_at_a_sample_tells_of_it(browser, visiting, world):
    visiting(world.page, anew=False)
    for sample in (7, 52):  # on the first and on the second row of the sheet
        hover(browser, world.x[sample], world.y[sample])
        until(browser, f"document.getElementById('card').dataset.id === '{sample}'")
        check_card(browser, world, sample)
    hover(browser, world.x[0], 0.4)  # where nothing is
    assert card(browser)["id"] == "52"


def check_card(browser, world, sample):
    told, label = card(browser), world.labels[sample]
    assert told["id"] == str(sample)
    assert told["label"] == "abcd"[label]
    assert told["predicted"] == "abcd"[(label + 1) % 4 if world.suspect[sample] else label]
    assert told["confidence"] == f"{world.y[sample]:.3f}"
    assert told["variability"] == f"{world.x[sample]:.3f}"
    assert float(told["dual"]) == pytest.approx(world.score[sample], rel=1e-2)
    assert told["kept"] == ("yes" if world.kept[sample] else "no")
    assert told["label quality"].endswith(", suspect") == world.suspect[sample]
    thumb = ask(browser, "document.querySelector('#card .thumb').getBoundingClientRect().toJSON()")
    middle = [round(thumb[a] + thumb[b] / 2) for a, b in (("x", "width"), ("y", "height"))]
    assert pixel(browser, *middle) == (world.grey[sample],) * 3
    drawn = ask(browser, "document.querySelector('#card .curve').getAttribute('points')")
    points = np.array([point.split(",") for point in drawn.split()], float)
    np.testing.assert_allclose(points[:, 0], np.linspace(0, 100, EPOCHS))
    beliefs = 1 - points[:, 1] / 34
    np.testing.assert_allclose(beliefs, world.probability[:, sample], atol=0.5 / 254 + 1e-6)
    scale = ask(browser, "[...document.querySelectorAll('#card text')].map((t) => t.textContent)")
    assert scale == ["1", "0.5", "0", "1", "epoch", "12"]
    assert text(browser, "#card .hint") == "probability of the label, by epoch"


def test_a_lasso_lists_what_is_inside(browser, visiting, world):
    visiting(world.page)
    outline = [(0.015, 0.05), (0.045, 0.05), (0.045, 0.15), (0.025, 0.15), (0.025, 0.58)]
    lasso(browser, [*outline, (0.015, 0.58), (0.015, 0.06)])  # an L, which is not convex
    until(browser, "!document.getElementById('chosen').hidden")
    x, y = world.x, world.y
    foot, leg = (x > 0.015) & (x < 0.045) & (y < 0.15), (x > 0.015) & (x < 0.025) & (y < 0.58)
    inside = np.flatnonzero(foot | leg)
    told, ids, tiles = chosen(browser)
    assert ids == inside.tolist()
    assert sorted(tiles) == ids
    kept, suspects = world.kept[inside].sum(), world.suspect[inside].sum()
    assert told == f"{len(inside)} chosen, {kept} kept, {suspects} with a suspect label"
    assert 0 < kept < suspects < len(inside)
    assert ask(browser, "document.getElementById('chosen-file').download") == "ids.csv"
    press_on(browser, "chosen-clear")
    assert ask(browser, "document.getElementById('chosen').hidden")


def test_a_slow_hand_draws_a_lasso_too(browser, visiting, world):
    visiting(world.page)
    lasso(browser, [(0.015, 0.05), (0.045, 0.05), (0.045, 0.15), (0.015, 0.15)], wait=1)
    until(browser, "!document.getElementById('chosen').hidden")
    _, ids, _ = chosen(browser)
    assert ids == np.flatnonzero((world.x > 0.015) & (world.x < 0.045) & (world.y < 0.15)).tolist()


def press_on(browser, name):
    browser.execute_script("document.getElementById(arguments[0]).click()", name)


def open_at(browser, page, width):
    look(browser, width=width, touch=width < 500)
    assert visit(browser, page) == []


@pytest.mark.parametrize("width", [1280, 390])
def test_pressing_a_tile_tells_of_it_in_view(browser, world, width):
    open_at(browser, world.page, width)
    tile = "[data-list=pruned] .tile:last-child"
    browser.execute_script("document.querySelector(arguments[0]).scrollIntoView()", tile)
    browser.execute_script("document.querySelector(arguments[0]).click()", tile)
    sample = ask(browser, "document.querySelector(arguments[0]).dataset.id", tile)
    assert card(browser)["id"] == sample
    assert in_view(browser, "#card")
    assert ask(browser, "document.querySelector(arguments[0]).ariaCurrent", tile) == "true"
    if width < 500:
        press_on(browser, "panel-close")
        assert not in_view(browser, "#card")


@pytest.mark.parametrize("width", [1280, 390])
def test_a_lasso_shows_what_it_took_in_view_and_on_the_map(browser, world, width):
    open_at(browser, world.page, width)
    inside = [(0.005, 0.05), (0.065, 0.05), (0.065, 0.3), (0.005, 0.3), (0.005, 0.06)]
    if width < 500:
        press_lasso(browser)
        draw_by_finger(browser, [place(browser, x, y) for x, y in inside])
    else:
        lasso(browser, inside)
    until(browser, "!document.getElementById('chosen').hidden")
    assert chosen(browser)[1] == np.flatnonzero(world.y < 0.3).tolist()
    for part in ("#chosen-title", "#chosen-file"):
        assert in_view(browser, part)
    browser.execute_script("delete document.getElementById('panel').dataset.open")
    others = np.flatnonzero((world.y > 0.5) & ~world.kept)
    painted_as(browser, world, 1, LOUD if world.kept[1] else QUIET)
    when(lambda: min(color_of(browser, world, others[-1])) > 200, "others are not faint")
    press_on(browser, "chosen-clear")
    painted_as(browser, world, others[-1], QUIET)


def press_lasso(browser):
    browser.execute_script(
        "map.plot.toolbar.tools.find((tool) => tool.type === 'LassoSelectTool').active = true"
    )


def test_a_finger_scrolls_past_the_map(browser, world):
    """Unless the lasso was pressed; after one drawing it rests again."""
    open_at(browser, world.page, 390)
    across, down = place(browser, world.x[20], world.y[20])
    at = ask(browser, "scrollY")
    swipe(browser, across, down, 250)
    assert ask(browser, "scrollY") > at + 200
    corners = [place(browser, x, y) for x, y in ((0.005, 0.3), (0.03, 0.9), (0.05, 0.3))]
    at = ask(browser, "scrollY")
    press_lasso(browser)
    draw_by_finger(browser, corners)
    until(browser, "chosen.length > 0")
    assert ask(browser, "scrollY") == at
    assert ask(browser, "getComputedStyle(document.querySelector('.touch')).display") == "inline"
    across, down = place(browser, world.x[20], world.y[20])
    browser.execute_script("delete document.getElementById('panel').dataset.open")
    at = ask(browser, "scrollY")
    swipe(browser, across, down, 250)
    assert ask(browser, "scrollY") > at + 200


@pytest.mark.parametrize("width", [1280, 390])
def test_the_slider_says_its_number_and_its_result_at_once(browser, world, width):
    open_at(browser, world.page, width)
    browser.execute_script("document.getElementById('share').scrollIntoView({block: 'center'})")
    assert text(browser, "#share-value") == "37.0 %"
    assert text(browser, "#share-result").startswith("20 samples of mean confidence")
    slide(browser, 10)
    assert text(browser, "#share-value") == "10.0 %"
    for part in ("#share", "#share-value", "#share-result", "#share-command"):
        assert in_view(browser, part), part


def test_the_beta_density_has_a_scale(browser, visiting, world):
    visiting(world.page, anew=False)
    density = np.array(ask(browser, "[...map.density.data.density]"))
    assert density.mean() == pytest.approx(1)  # over confidences from 0 to 1
    assert ask(browser, "map.beta.x_range.end") > density.max()
    assert ask(browser, "map.beta.below[0].major_label_text_font_size") != "0px"


def lab(colors):
    """Give colours in CIELAB (D65), where a distance of 2 can just be seen."""
    linear = np.where(colors > 0.04045, ((colors + 0.055) / 1.055) ** 2.4, colors / 12.92)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    x, y, z = np.cbrt((linear @ to_xyz.T) / [0.9505, 1, 1.089]).T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


@pytest.mark.parametrize(("classes", "apart"), [(10, 30), (100, 7)])
def test_colors_of_classes_are_told_apart(browser, visiting, home, classes, apart):
    visiting(write_odd(home, f"{classes} classes", classes * 5, labels=classes))
    colored_by(browser, "class")
    swatches = "[...document.querySelectorAll('#legend .swatch')].map((s) => s.style.background)"
    colors = [[*map(int, re.findall(r"\d+", each))] for each in ask(browser, swatches)]
    assert len(colors) == classes
    seen = lab(np.array(colors) / 255)
    distances = np.linalg.norm(seen[:, None] - seen, axis=2)
    assert distances[np.triu_indices(classes, 1)].min() > apart
    assert ((seen[:, 0] > 25) & (seen[:, 0] < 85)).all()  # on dark and on light
    browser.execute_script("document.querySelectorAll('#legend button')[3].click()")
    assert text(browser, "#legend").split() == ["3", "others"]


def test_names_are_on_the_tiles_and_in_the_file_that_edit_takes(
    browser, visiting, home, tmp_path, dualprune
):
    names = [f'some folder/photo {i}, "{i}".png' for i in range(30)]
    names[4] = "=1+1.png"
    labels = np.arange(30) % 2
    probability = np.random.default_rng(0).uniform(0.05, 0.95, (EPOCHS, 30))
    beliefs = between_two(probability, labels, 1 - labels, 2)
    run = write_beliefs(home / "named", beliefs, labels, names=names)
    coreset = choose(run, "dual+beta", keep=15)
    coreset.save(tmp_path / "small")
    facts = gather(run, coreset)
    visiting(write_report(home / "named.html", facts, folder=tmp_path / "small"))
    shown = (
        "[...document.querySelectorAll(arguments[0])].map((each) => [each.textContent, each.title])"
    )
    listed = dict(ask(browser, shown, "[data-list=kept] .file"))
    assert listed == {names[i].split("/")[-1]: names[i] for i in coreset.ids}
    listed = [4, 7, *coreset.ids[:3].tolist()]
    browser.execute_script("choose(arguments[0])", listed)
    file = downloaded(browser, tmp_path, "#chosen-file")
    with file.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert [int(row["id"]) for row in rows] == listed
    assert [row["name"] for row in rows] == [names[i].replace("=", "'=") for i in listed]
    assert [row["label"] for row in rows] == [str(i % 2) for i in listed]
    words = shlex.split(text(browser, "#chosen pre"))
    assert words == ["dualprune", "edit", "small", "--drop", "ids.csv", "--out", "edited"]
    paths = [
        str(tmp_path / word) if word in ("small", "ids.csv", "edited") else word for word in words
    ]
    assert dualprune(*paths[1:])[0] == 0
    edited = Coreset.load(tmp_path / "edited").ids
    assert edited.tolist() == np.setdiff1d(coreset.ids, listed).tolist()


def test_no_column_is_lost_on_a_phone(browser, hostile):
    open_at(browser, hostile, 390)
    for table in ("details table", "#accuracies + * table"):
        edges = ask(
            browser,
            "[...document.querySelectorAll(`${arguments[0]} :is(th, td)`)]"
            ".map((cell) => cell.getBoundingClientRect().right)",
            table,
        )
        assert len(edges) > 5
        limit = ask(
            browser,
            "document.querySelector(arguments[0]).parentElement.getBoundingClientRect().right",
            table,
        )
        assert max(edges) <= limit + 0.5
        assert limit < 390


def test_the_slider_keeps_what_the_library_would(browser, visiting, crowd):
    visiting(crowd.page)
    before = ask(browser, "[...map.density.data.density]")
    assert ask(browser, "document.getElementById('share-back').hidden")
    assert (crowd.coreset.columns["score"] == 0).sum() == 40
    assert slide(browser) == crowd.coreset.ids.tolist()
    assert text(browser, "#share-value") == "33.5 %"
    start = text(browser, "#share-result")
    assert start.startswith("201 samples of mean confidence")
    densities = {}
    for percent in (1, 5, 30, 33.3, 60, 90, 97, 99):
        k = int(600 * percent / 100 + 0.5)
        assert slide(browser, percent) == crowd.keeping(k).tolist(), percent
        assert text(browser, "#share-value") == f"{percent:.1f} %"
        assert text(browser, "#share-result").startswith(f"{k} samples of mean confidence")
        numbers = "[...document.querySelectorAll('.count')].map((each) => each.textContent)"
        assert set(ask(browser, numbers)) == {str(k)}  # the commands keep as many
        assert "NaN" not in text(browser, "#share-result")
        densities[percent] = tuple(ask(browser, "[...map.density.data.density]"))
    assert len(set(densities.values())) == len(densities)
    peaks = [np.argmax(densities[percent]) for percent in (5, 30, 90)]
    assert peaks == sorted(peaks, reverse=True)  # the less is kept, the easier
    assert len(slide(browser, 100)) == 595  # what was never seen has no score
    assert ask(browser, "document.querySelector('input[value=kept]').checked")
    press_on(browser, "share-back")
    assert ask(browser, "[...column.id].filter((_, i) => kept[i])") == crowd.coreset.ids.tolist()
    assert ask(browser, "[...map.density.data.density]") == before
    assert text(browser, "#share-result") == start
    assert float(ask(browser, "document.getElementById('share').value")) == pytest.approx(33.5)
    assert ask(browser, "document.getElementById('share-back').hidden")


UNEVEN = [300, 140, 70, 33, 10, 3, 1]
RULES = {
    "the default": {},
    "a small share": {"floor": 0.9},
    "all of the fair share": {"floor": 1.0},
    "a count": {"floor": 5},
    "no floor": {"floor": 0},
    "proportional": {"balance": "proportional"},
    "uniform": {"balance": "uniform"},
    "the unscored dropped": {"unscored": "drop"},
    "the unscored kept": {"unscored": "keep", "floor": 0.7},
}


def test_of_many_samples_the_slider_finds_the_same_c_d(browser, visiting, home):
    """More than are looked at to find it; a third of them the model knew from the beginning."""
    samples = ENOUGH + 2_000
    rng = np.random.default_rng(0)
    p = rng.beta(3, 2, (12, samples)).clip(0.01, 0.99)
    p[:, ::3] = rng.uniform(0.97, 1, p[:, ::3].shape)
    run = Run.from_arrays(home / "many", loss=-np.log(p).astype(np.float32))
    visiting(write_report(home / "many.html", gather(run, choose(run, keep=0.1))))
    for k in (1_000, 5_000, 9_001):
        expected = choose(run, keep=k)
        assert slide(browser, 100 * k / samples) == expected.ids.tolist()
        assert f"c_d {expected.card.values['c_d']:g}," in text(browser, "#share-result")


@pytest.fixture(scope="module")
def uneven(home):
    """Two runs of classes of which the small ones are hard; a few samples have no score."""
    labels = np.repeat(np.arange(7), UNEVEN)
    runs = {}
    for name, unseen in (("first", 0), ("second", 0), ("gaps", 9)):
        rng = np.random.default_rng(len(runs))
        mean = rng.uniform(0.5, 0.9, len(labels)) - 0.06 * labels
        probability = (mean + rng.normal(0, 0.08, (EPOCHS, len(labels)))).clip(0.02, 0.98)
        beliefs = between_two(probability, labels, (labels + 1) % 7, 7)
        seen = np.ones((EPOCHS, len(labels)), bool)
        seen[3:, rng.choice(len(labels), unseen, replace=False)] = False
        runs[name] = write_beliefs(home / f"uneven-{name}", beliefs, labels, seen=seen)
    return runs


@pytest.mark.filterwarnings("ignore:.*fair share")
@pytest.mark.parametrize("rule", RULES)
def test_the_slider_owes_the_classes_what_the_library_does(browser, visiting, home, uneven, rule):
    run = uneven["gaps" if "unscored" in RULES[rule] else "first"]
    method = Method("dual", "beta", select_knobs=RULES[rule])
    facts = gather(run, choose(run, method, keep=100, seed=3))
    visiting(write_report(home / "uneven.html", facts))
    for k in (35, 57, 100, 211, 280, 400, 541):
        expected = choose(run, method, keep=k, seed=3).ids.tolist()
        assert slide(browser, 100 * k / 557) == expected, k
    least, most = len(slide(browser, 0)), len(slide(browser, 100))
    choose(run, method, keep="100%" if most == 557 else most)
    assert {"a count": 29, "the unscored kept": 9}.get(rule, 6) == least
    if least in (9, 29):
        with pytest.raises(ValueError, match=r"cannot keep|needs 29"):
            choose(run, method, keep=least - 1)


def test_quotas_are_those_of_the_library(browser, visiting, home):
    """Of sizes as they come, and of some whose quotas depend on how exact halves are rounded."""
    visiting(write_odd(home, "quotas", 30))
    rng = np.random.default_rng(0)
    sizes = [rng.integers(0, 40, rng.integers(1, 9)) + 1 for _ in range(400)]
    budgets = [int(rng.integers(1, some.sum() + 1)) for some in sizes]
    shares = rng.choice([0.1, 0.5, 0.7, 1.0], len(sizes)).tolist()
    sizes.append(np.array([31, 16, 31, 24, 71, 16, 13, 15, 15, 47, 7, 32, 143, 5, 46]))
    budgets, shares = [*budgets, 460], [*shares, 1.0]
    cases = list(zip([some.tolist() for some in sizes], budgets, shares, strict=True))
    for name in (proportional, even, parts_of_fair):
        script = {"parts_of_fair": "partsOfFair"}.get(name.__name__, name.__name__)
        mapped = f"arguments[0].map(([sizes, k, share]) => {script}(sizes, k, share))"
        more = [(share,) if name is parts_of_fair else () for share in shares]
        expected = [
            name(some, k, *share).tolist()
            for some, k, share in zip(sizes, budgets, more, strict=True)
        ]
        assert ask(browser, mapped, cases) == expected, script


@pytest.mark.filterwarnings("ignore:.*fair share")
def test_the_slider_of_several_runs_and_of_another_method(browser, visiting, home, uneven):
    both = [uneven["first"], uneven["second"]]
    facts = gather(both[0], choose(both, "dual+beta", keep=100))
    visiting(write_report(home / "uneven.html", facts))
    assert slide(browser, 100 * 60 / 557) == choose(both, "dual+beta", keep=60).ids.tolist()
    facts = gather(both[0], choose(both[0], "random", keep=100, floor=0, seed=8))
    visiting(write_report(home / "uneven.html", facts))
    assert slide(browser, 100 * 60 / 557) == choose(both[0], "dual+beta", keep=60).ids.tolist()


def test_it_works_with_the_keyboard(browser, visiting, world):
    visiting(world.page)
    press(browser, Keys.TAB)
    assert ask(browser, "document.activeElement.className") == "skip"
    tab_to(browser, "share")
    press(browser, Keys.ARROW_RIGHT)
    moved = text(browser, "#share-value")
    press(browser, Keys.ARROW_RIGHT)
    assert text(browser, "#share-value") != moved
    tab_to(browser, "moon")
    press(browser, Keys.ARROW_DOWN)
    first = int(until(browser, "document.getElementById('card').dataset.id"))
    for key, axis, way in (
        (Keys.ARROW_LEFT, world.x, -1),
        (Keys.ARROW_RIGHT, world.x, 1),
        (Keys.ARROW_UP, world.y, 1),
        (Keys.ARROW_DOWN, world.y, -1),
    ):
        press(browser, key)
        now = int(ask(browser, "document.getElementById('card').dataset.id"))
        assert way * (axis[now] - axis[first]) > 0
        other = world.y if axis is world.x else world.x
        assert other[now] == other[first]
        first = now
    press(browser, Keys.ENTER)
    press(browser, Keys.ARROW_UP, Keys.ENTER, Keys.ENTER)
    second = int(ask(browser, "document.getElementById('card').dataset.id"))
    assert chosen(browser)[1] == [first, second]


def tab_to(browser, name):
    for _ in range(20):
        press(browser, Keys.TAB)
        if ask(browser, "document.activeElement.id") == name:
            return
    raise AssertionError(f"Tab does not reach {name}")


def test_a_button_of_the_toolbar_is_no_sample(browser, visiting, world):
    """The keys that work a tool neither move nor list."""
    visiting(world.page)
    hover(browser, world.x[9], world.y[9])
    until(browser, "document.getElementById('card').dataset.id === '9'")
    # Not by Tab: where it starts after scrolling depends on the browser's version.
    browser.execute_script("document.getElementById('moon').focus()")
    within = "[...document.querySelectorAll('#moon > *')].includes(document.activeElement)"
    deep = (
        "(() => { let e = document.activeElement; while (e.shadowRoot?.activeElement) "
        "e = e.shadowRoot.activeElement; return e.className })()"
    )
    while "Button" not in ask(browser, deep):
        press(browser, Keys.TAB)
        assert ask(browser, within)
    press(browser, Keys.ENTER)
    assert ask(browser, "document.getElementById('chosen').hidden")


def test_tiles_show_their_sample(browser, visiting, world):
    visiting(world.page, anew=False)
    lists = ask(
        browser,
        "Object.fromEntries([...document.querySelectorAll('[data-list]')].map((list) => "
        "[list.dataset.list, [...list.children].map((tile) => +tile.dataset.id)]))",
    )
    assert sorted(lists["kept"]) == np.flatnonzero(world.kept).tolist()
    assert sorted(lists["pruned"]) == np.flatnonzero(~world.kept).tolist()
    assert sorted(lists["suspects"]) == np.flatnonzero(world.suspect).tolist()
    assert lists["suspects"][0] == 5 or world.y[lists["suspects"][0]] == 0.08  # the worst first
    browser.execute_script("document.querySelector('[data-list=suspects] .tile').click()")
    assert card(browser)["id"] == str(lists["suspects"][0])
    told = text(browser, "[data-list=suspects] .tile")
    label = world.labels[lists["suspects"][0]]
    assert told == f"{'abcd'[label]} → {'abcd'[(label + 1) % 4]}#{lists['suspects'][0]}"


def test_dark_and_light(browser, visiting, world):
    visiting(world.page, anew=False)
    dressed = (
        "Bokeh.documents.flatMap((each) => [...each._all_models.values()])"
        ".filter((model) => model.type === 'Figure')"
        ".map((plot) => [plot.background_fill_color, plot.below[0].axis_label_text_color])"
    )
    empty = (world.x[0] + world.x[1]) / 2, 0.45  # beside the grid
    seen = {}
    for dark in (False, True, False):
        look(browser, dark=dark)
        ground, ink = DARK if dark else LIGHT
        for name, color in (("backgroundColor", ground), ("color", ink)):
            until(browser, f"getComputedStyle(document.body).{name} === 'rgb{color}'")
        panel = (26, 32, 41) if dark else (255, 255, 255)
        when(lambda panel=panel: pixel(browser, *place(browser, *empty)) == panel, f"not {panel}")
        seen[dark] = ask(browser, dressed)
    assert seen[True] == [["#1a2029", "#a2acba"]] * 3
    assert seen[False] == [["#ffffff", "#5b6472"]] * 3


def test_it_prints(browser, visiting, world):
    visiting(world.page, anew=False)
    paper = printed(browser)
    assert paper.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) >= 2


@pytest.fixture(scope="module")
def hostile(home):
    return write_hostile(home, HOSTILE, "hostile")


CARDS = """
return [...column.id.keys()].map((sample) => {
  showCard(sample);
  choose([sample]);
  const parts = ["#card tr:nth-child(2) bdi", "#card tr:nth-child(3) bdi", "#chosen-tiles p"];
  return parts.map((part) => document.querySelector(part).textContent);
});
"""  # file name, label and text
ELEMENTS = "[...document.querySelectorAll('*')].map((each) => each.tagName)"
ATTRIBUTES = "[...document.querySelectorAll('*')].flatMap((each) => each.getAttributeNames())"


def test_hostile_names_are_only_text(browser, visiting, home, hostile):
    alike = tuple(f"name {i}" for i in range(len(HOSTILE)))
    found = {}
    for names, page in ((alike, write_hostile(home, alike, "harmless")), (HOSTILE, hostile)):
        visiting(page)
        colored_by(browser, "class")
        told = [[safe_text(name), safe_text(name), beginning(name, 300)] for name in names] * 3
        assert browser.execute_script(CARDS) == told
        for expression in (ELEMENTS, ATTRIBUTES):
            found.setdefault(expression, []).append(Counter(ask(browser, expression)))
        assert ask(browser, "window.hacked === undefined && document.title.endsWith('dualprune')")
    for one, other in found.values():
        assert one == other
    cut = {safe_text(name) for name in HOSTILE}
    said = "[...document.querySelectorAll(arguments[0])].map((each) => each.textContent)"
    for selector in ("#class option + option", "#legend bdi", "main details bdi"):
        assert set(ask(browser, said, selector)) == cut, selector
    assert set(ask(browser, said, "#accuracies + * bdi")) == cut | {"all the data"}
    summary = text(browser, ".summary")
    assert HOSTILE[2] in summary
    assert HOSTILE[0] in summary
    assert complaints(browser) == []


MANY = (
    "The parcel came two days late; the box had been opened.",
    "وصلت الشحنة متأخرة يومين (رقم الطلب 4711-B).",
    "שלום.",
    "快递晚了两天、箱子已经被打开过、但是客服一个小时之内就回复了。" * 6,
    "one\ntwo\n\n\tthree",
    "<b>bold</b> &amp; <i>not</i>",
    "longest" * 60,
    "https://example.org/" + "way/" * 70,
    " \n ",
    "",
    "🦔👩‍👩‍👧‍👦 ok",
    *HOSTILE,
)
OVERFLOWING = """
return [...document.querySelectorAll(".tile, .tile *, #card, #card *")].filter((each) => {
  const box = each.getBoundingClientRect(), around = each.parentElement.getBoundingClientRect();
  return box.width > 0 && (box.left < around.left - 5 || box.right > around.right + 5);
}).map((each) => each.outerHTML.slice(0, 200));
"""


@pytest.fixture(scope="module")
def texts(home):
    told = [f"{number}: {MANY[number % len(MANY)]}" for number in range(2 * len(MANY))]
    told[: len(MANY)] = MANY
    return told, write_odd(home, "texts", len(told), told=told, labels=3)


@pytest.mark.parametrize("width", [1280, 390])
def test_texts_of_all_languages_stay_in_their_place(browser, texts, width):
    told, page = texts
    open_at(browser, page, width)
    check_texts(browser, [beginning(text, 300) for text in told])
    for sample in range(len(MANY)):
        browser.execute_script("choose([arguments[0]]); showCard(arguments[0])", sample)
        assert text(browser, "#card .text") == beginning(told[sample], 300)
        assert browser.execute_script(OVERFLOWING) == [], sample
    assert ask(browser, "document.documentElement.scrollWidth <= innerWidth")
    assert complaints(browser) == []
    assert ask(browser, "window.hacked === undefined")


def first_letter(browser, sample):
    """How far from the left end of its card a text begins, as a share of the width."""
    browser.execute_script("showCard(arguments[0])", sample)
    return browser.execute_script(
        "const shown = document.querySelector('#card .text'), range = document.createRange();"
        "range.setStart(shown.firstChild, 0); range.setEnd(shown.firstChild, 1);"
        "const letter = range.getBoundingClientRect(), box = shown.getBoundingClientRect();"
        "return (letter.x - box.x) / box.width"
    )


def test_a_text_begins_on_the_side_of_its_language(browser, visiting, texts):
    visiting(texts[1])
    assert [first_letter(browser, sample) > 0.5 for sample in range(4)] == [
        False,
        True,
        True,
        False,
    ]
    browser.execute_script("showCard(9)")
    empty = "getComputedStyle(document.querySelector('#card .text'), '::before').content"
    assert ask(browser, empty) == '"(empty)"'


ROWS = [f"age: {i}, job: {job}, سن: , last one: a, b" for i, job in enumerate(("clerk", *HOSTILE))]


@pytest.mark.parametrize("width", [1280, 390])
def test_rows_of_a_table_are_a_line_per_column(browser, home, width):
    rows = [beginning(row, 300) for row in ROWS]
    open_at(browser, write_odd(home, f"rows {width}", len(ROWS), told=ROWS), width)
    check_texts(browser, rows)
    for sample, row in enumerate(rows):
        browser.execute_script("showCard(arguments[0])", sample)
        cells = "[...document.querySelectorAll('#card .row bdi')].map((each) => each.textContent)"
        shown = ask(browser, cells)
        assert ", ".join(map(": ".join, zip(shown[::2], shown[1::2], strict=True))) == row
        if not row.endswith("…"):
            assert shown[::2] == ["age", "job", "سن", "last one"]
        assert browser.execute_script(OVERFLOWING) == [], sample
    assert ask(browser, "window.hacked === undefined")


@pytest.mark.parametrize(
    "told",
    [
        ["Note: this is prose, and so: is this", "Nothing: of the kind"],
        ["Q: who? A: me", "Q: where, when? A: here"],
        ["a: 1, b: 2", "a: 1"],
    ],
)
def test_prose_is_not_taken_for_rows(browser, visiting, home, told):
    visiting(write_odd(home, told[0], 2, told=told))
    browser.execute_script("showCard(1)")
    assert text(browser, "#card .text") == told[1]
    assert not ask(browser, "document.querySelector('#card .row')")


SOME_UNSEEN = np.arange(30 * EPOCHS).reshape(EPOCHS, 30) % 3 > 0  # every third, in all epochs
ODD = {
    "neither coreset nor pictures": {"samples": 30},
    "texts of one class": {"samples": 30, "labels": 1, "told": [f"text {i}" for i in range(30)]},
    "one sample": {"samples": 1},
    "fewer epochs than the window": {"samples": 30, "epochs": 1},
    "some never seen": {"samples": 30, "seen": SOME_UNSEEN},
    "none ever seen": {"samples": 30, "seen": np.zeros((EPOCHS, 30), bool)},
    "a thousand classes": {"samples": 1000, "labels": 1000},
}


def write_odd(home, name, samples, *, epochs=EPOCHS, labels=2, seen=None, told=None):
    probability = np.random.default_rng(0).uniform(0.05, 0.95, (epochs, samples))
    given, classes = np.arange(samples) % labels, max(labels, 2)
    beliefs = between_two(probability, given, (given + 1) % classes, classes)
    run = write_beliefs(home / name, beliefs, given, seen=seen)
    return write_report(home / f"{name}.html", gather(run, None), samples=told)


@pytest.mark.parametrize("name", ODD)
def test_odd_pages_work(browser, visiting, home, name):
    odd = ODD[name]
    visiting(write_odd(home, name, **odd))
    positions = odd.get("seen", np.ones((1, odd["samples"]), bool)).any(0)
    painted = ask(browser, "document.getElementById('moon').dataset.painted")
    assert painted == str(positions.sum())
    slider = ask(browser, "document.getElementById('share') !== null")
    assert slider == (odd.get("epochs", EPOCHS) >= 10 and positions.any())
    for mode in ("class", "suspect", "score"):
        colored_by(browser, mode)
    if slider:
        check_slider(browser, odd["samples"], positions.sum())
    if "told" in odd:
        check_texts(browser, odd["told"])
    browser.execute_script("document.querySelector('[data-list=best] .tile:last-child').focus()")
    browser.execute_script("document.getElementById('moon').focus()")
    press(browser, Keys.ARROW_UP, Keys.ARROW_DOWN, Keys.ENTER)
    if positions.any():
        told = card(browser)
        assert positions[int(told["id"])]
        assert chosen(browser)[1] == [int(told["id"])]
    assert complaints(browser) == []


def check_slider(browser, samples, scored):
    """Without a coreset, kept is what the slider says."""
    colored_by(browser, "kept")
    half = max(1, samples // 2)
    assert text(browser, "#share-result").startswith(f"{half} samples of mean confidence")
    assert ask(browser, "map.painting.marked.reduce((sum, is) => sum + is, 0)") == half
    assert len(slide(browser, 1)) == max(1, samples // 100)
    assert len(slide(browser, 100)) == scored


def check_texts(browser, told):
    listed = ask(
        browser,
        "[...document.querySelectorAll('[data-list=best] .tile')]"
        ".map((tile) => [+tile.dataset.id, tile.querySelector('p').textContent])",
    )
    assert len(listed) == len(told)
    assert all(said == told[sample] for sample, said in listed)


def test_a_part_of_many_samples_is_drawn(browser, visiting, home, monkeypatch):
    monkeypatch.setattr(shown, "POINTS", 20)
    monkeypatch.setattr(shown, "_LISTED", 5)
    visiting(write_odd(home, "thinned", 100))
    assert ask(browser, "document.getElementById('moon').dataset.painted") == "20"
    assert "20 of 100 samples are drawn" in text(browser, ".note")
    assert len(slide(browser, 50)) == 10
    assert text(browser, "#share-result").startswith("about 50 samples of mean confidence")
    assert "slider says is estimated from those drawn" in text(browser, ".note")


@pytest.mark.parametrize("name", ["world", "hostile"])
def test_nothing_overflows_on_a_phone(browser, world, hostile, name):
    page = world.page if name == "world" else hostile
    look(browser, width=390)
    assert visit(browser, page) == []
    for mode in ("class", "kept"):
        colored_by(browser, mode)
        browser.execute_script("showCard(8); choose([...column.id.keys()])")
        wide = "document.documentElement.scrollWidth"
        until(browser, f"{wide} <= document.documentElement.clientWidth")
    assert ask(browser, "document.getElementById('moon').clientWidth") > 250
