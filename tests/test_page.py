"""The page as a file: what is in it, what it says, and what cannot get into it."""

import base64
import hashlib
import html
import io
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from dualprune import Coreset, Method, Run, choose, score, select
from dualprune.coreset import ShortClass, Training, WrongLabels
from dualprune.coreset.worth import RIVALS
from dualprune.data import in_memory, load, only_readable
from dualprune.errors import InputError, MissingError
from dualprune.experiments.results import Line, append
from dualprune.method import Arrays
from dualprune.report.facts import gather
from dualprune.report.page import page, shown, write_report
from dualprune.report.page.compared import summarise
from dualprune.report.page.pack import MISSING, numbers, safe_json, safe_text, trajectories
from dualprune.report.page.pictures import draw_sheet
from dualprune.report.page.shown import choose_shown
from dualprune.report.page.steps import places, steps
from dualprune.report.page.summary import class_names, per_class, repeat, rows
from dualprune.select.beta import log_density, parameters
from dualprune.suspects import judge

from .beliefs import between_two, write_beliefs
from .hostile import HOSTILE, write_hostile
from .photos import make_photos, striped

SAMPLES, EPOCHS, CLASSES = 60, 12, 3
LABELS = np.arange(SAMPLES) % CLASSES
IMAGES = replace(striped(SAMPLES, CLASSES), class_names=("ant", "bee", "cat"))


def write_run(root, *, seed=0, epochs=EPOCHS, least=0.05, **about):
    probability = np.random.default_rng(seed).uniform(least, 0.95, (epochs, SAMPLES))
    beliefs = between_two(probability, LABELS, (LABELS + 1) % CLASSES, CLASSES)
    return write_beliefs(root, beliefs, LABELS, **about)


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run", class_names=IMAGES.class_names, data=IMAGES.fingerprint)


def chosen(run, k=20, **knobs):
    return choose(run, Method("dual", "beta", select_knobs=knobs), keep=k, seed=5)


def write_page(path, run, coreset=None, **more):
    return write_report(path, gather(run, coreset), **more)


class Parsed(HTMLParser):
    """Elements with their attributes in order, and the text inside each kind of element."""

    def __init__(self, path):
        super().__init__()
        self.elements, self.texts, self.open = [], {}, ""
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.texts.setdefault(tag, []).append("")
        self.open = tag

    def handle_endtag(self, tag):
        self.open = ""

    def handle_data(self, data):
        if self.open:
            self.texts[self.open][-1] += data

    def attributes(self, name):
        return [attributes[name] for _, attributes in self.elements if name in attributes]

    @property
    def data(self):
        return json.loads(self.texts["script"][0])


def shown_rows(path):
    parsed = Parsed(path)
    return dict(zip(parsed.texts["dt"], parsed.texts["bdi"], strict=False))


def test_it_is_one_file_that_names_no_address(tmp_path, run):
    path = write_page(tmp_path / "page.html", run, chosen(run), samples=IMAGES)
    parsed = Parsed(path)
    assert {tag for tag, _ in parsed.elements}.isdisjoint(
        {"link", "img", "iframe", "object", "embed", "base", "form", "video", "audio", "image"}
    )
    assert [each for each in parsed.attributes("href") if not each.startswith("#")] == []
    assert parsed.attributes("src") == parsed.attributes("action") == []
    assert not [
        value for _, each in parsed.elements for value in each.values() if "//" in str(value)
    ]
    assert not [name for _, each in parsed.elements for name in each if name.startswith("on")]
    styles = "".join(parsed.texts["style"])
    assert re.findall(r"url\(.{6}", styles) == ['url("data:']
    assert "@import" not in styles


def test_its_policy_allows_its_own_scripts_alone(tmp_path, run):
    parsed = Parsed(write_page(tmp_path / "page.html", run))
    (policy,) = (a["content"] for _, a in parsed.elements if "http-equiv" in a)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["img-src"] == "data:"
    kinds = [attributes.get("type") for tag, attributes in parsed.elements if tag == "script"]
    assert kinds == ["application/json", *[None] * 6]
    digests = (hashlib.sha256(each.encode()).digest() for each in parsed.texts["script"][1:])
    hashes = [f"'sha256-{base64.b64encode(each).decode()}'" for each in digests]
    assert rules["script-src"].split() == hashes


def test_the_same_inputs_give_the_same_bytes(tmp_path, run):
    """Also in another process, where hashes are salted otherwise and other models were counted."""
    coreset = chosen(run)
    coreset.save(tmp_path / "kept")
    home = tmp_path / "kept"
    one = write_page(tmp_path / "one.html", run, coreset, folder=home).read_bytes()
    assert write_page(tmp_path / "two.html", run, coreset, folder=home).read_bytes() == one
    words = ["report", tmp_path / "kept", "--run", run.path, "--out", tmp_path / "three.html"]
    subprocess.run(
        [sys.executable, "-m", "dualprune", *words],
        env=os.environ | {"PYTHONHASHSEED": "1"},
        check=True,
        capture_output=True,
    )
    assert (tmp_path / "three.html").read_bytes() == one


def test_a_card_may_name_what_cannot_be_encoded(tmp_path):
    names = ("lone \ud800", "\udfff", "\ud800 data", "x" * 2**20)
    page = write_hostile(tmp_path, names, "page")
    assert "lone ? with recipe ?: not a published" in page.read_text("utf-8")
    assert page.stat().st_size < 2**21


@pytest.mark.parametrize("trained", [True, False])
def test_hostile_names_make_no_element_and_no_attribute(tmp_path, trained):
    alike = tuple(f"name {i}" for i in range(len(HOSTILE)))
    harmless = Parsed(write_hostile(tmp_path, alike, "harmless", trained=trained))
    hostile = Parsed(write_hostile(tmp_path, HOSTILE, "hostile", trained=trained))
    one, other = (
        [(tag, [*attributes]) for tag, attributes in each.elements] for each in (harmless, hostile)
    )
    assert one == other
    assert hostile.data["classes"] == [safe_text(name) for name in HOSTILE]
    named = set(hostile.texts["bdi"])
    if not trained:
        assert safe_text(" ".join(HOSTILE[:8]), 300) in named
    assert {safe_text(name) for name in HOSTILE} <= named
    size = (tmp_path / "hostile.html").stat().st_size
    assert size < (tmp_path / "harmless.html").stat().st_size + 100_000  # not a name of 1 MB


@given(st.lists(st.text()) | st.dictionaries(st.text(), st.integers() | st.none()))
def test_json_in_a_page_is_the_same_and_ends_nothing(content):
    text = safe_json(content)
    assert json.loads(text) == content
    assert not re.search("[<>&\u2028\u2029]", text)


@given(st.text(st.characters(), max_size=40), st.integers(5, 50))
def test_names_are_cut_and_can_be_encoded(name, longest):
    cut = safe_text(name, longest)
    assert len(cut) <= longest
    assert "\0" not in cut
    assert cut.encode().decode() == cut
    if len(name) <= longest and name.isprintable():
        assert cut == name
    if len(name) > longest:
        assert cut[0] == safe_text(name[0])


@given(st.lists(st.integers(0, 255)))
def test_numbers_arrive(values):
    for kind, dtype in (("Uint8Array", "u1"), ("Int32Array", "<i4"), ("Float64Array", "<f8")):
        packed = numbers(np.array(values), kind)
        assert np.frombuffer(base64.b64decode(packed["base64"]), dtype).tolist() == values


def test_trajectories_take_at_most_sixty_epochs_with_the_first_and_the_last(tmp_path):
    seen = np.ones((130, 5), bool)
    seen[0, 3] = seen[129, 4] = False
    run = write_beliefs(
        tmp_path / "run",
        between_two(np.linspace(0.01, 0.99, 650).reshape(130, 5), LABELS[:5], LABELS[1:6], CLASSES),
        LABELS[:5],
        seen=seen,
    )
    beliefs, epochs = trajectories(run, np.array([1, 3, 4]), 130)
    assert (len(epochs), epochs[0], epochs[-1]) == (60, 1, 130)
    assert beliefs.shape == (3, 60)
    expected = np.nan_to_num(run["target_prob"] * 254, nan=MISSING).round()
    np.testing.assert_array_equal(beliefs, expected[np.array(epochs) - 1][:, [1, 3, 4]].T)
    assert beliefs[1, 0] == beliefs[2, -1] == MISSING
    assert trajectories(run, np.array([0]), 7)[1] == [*range(1, 8)]


def test_only_epochs_that_the_coreset_was_chosen_from_are_shown(tmp_path, run):
    early = choose(run, "dual+beta", keep=20, epochs=10)
    facts = gather(run, early)
    assert facts.epochs == 10
    p = run["target_prob"][:10]
    np.testing.assert_allclose(facts.confidence, p.mean(0))
    np.testing.assert_allclose(facts.variability, p.std(0))
    np.testing.assert_array_equal(facts.labels.quality, judge(Arrays([run], epochs=10)).quality)
    path = write_page(tmp_path / "page.html", run, early)
    assert Parsed(path).data["epochs"] == [*range(1, 11)]


@pytest.mark.parametrize("knobs", [{}, {"c_d": 6.0, "concentration": 9.0}, {"mu": 0.2}])
def test_what_if_is_what_the_library_keeps(run, knobs):
    facts = gather(run, chosen(run, **knobs))
    what_if, p = facts.what_if, run["target_prob"]
    for k in (1, 7, 20, 45, 60):
        notes = select.Notes()
        expected = select.beta(
            score.dual(p), score.confidence(p), k=k, seed=5, notes=notes, **knobs
        )
        c_d = notes.values["c_d"] if what_if.c_d is None else what_if.c_d
        a, b = parameters(what_if.mu, 1 - k / SAMPLES, c_d=c_d, concentration=what_if.concentration)
        keys = what_if.keys - log_density(facts.confidence, a, b)
        assert np.sort(np.argsort(keys)[:k]).tolist() == expected.tolist()


def test_what_if_of_other_methods_has_the_defaults(run):
    facts = gather(run, choose(run, "random", keep=20, seed=9))
    plain = gather(run, None)
    np.testing.assert_array_equal(facts.what_if.keys, plain.what_if.keys)
    assert (facts.what_if.c_d, facts.what_if.concentration) == (None, 15.0)
    assert facts.score_name == "dual"


def test_what_if_owes_the_classes_what_the_method_does(tmp_path, run):
    """Without a coreset of DUAL and Beta, what `dualprune select beta` does."""

    def owed(coreset, run=run):
        rule = gather(run, coreset).what_if
        return rule.balance, rule.floor, rule.unscored

    assert owed(None) == owed(choose(run, "random", keep=20, floor=3)) == ("none", 0.5, "error")
    assert owed(chosen(run, balance="uniform")) == ("uniform", 0, "error")
    assert owed(chosen(run, floor=3, unscored="keep")) == ("none", 3, "keep")
    losses = Run.from_arrays(tmp_path / "losses", loss=np.full((12, 30), 0.5))
    assert owed(None, losses) == ("none", 0, "error")


def test_what_has_no_score_is_dropped_by_the_command_too(dualprune, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seen = np.ones((EPOCHS, SAMPLES), bool)
    seen[:5, 7] = False
    facts = gather(write_run(tmp_path / "run", seen=seen), None)
    command = code_of(facts, None)["Keep another share"]
    assert "--unscored drop --keep 30" in command
    assert dualprune(*shlex.split(command)[1:])[0] == 0
    assert 7 not in Coreset.load("small-30").ids


@pytest.mark.parametrize(
    ("knobs", "owed"),
    [
        ({}, " (at least 50% of each class's fair share)?"),
        ({"floor": 0}, " (regardless of class)?"),
        ({"floor": 3}, " (at least 3 of every class)?"),
        ({"balance": "uniform"}, " (the same number of every class)?"),
        ({"balance": "proportional"}, " (the same share of every class)?"),
    ],
)
def test_the_slider_says_what_it_owes_to_classes(tmp_path, run, knobs, owed):
    text = write_page(tmp_path / "page.html", run, chosen(run, **knobs)).read_text()
    label = text.partition('<label for="share">')[2].partition("</label>")[0]
    assert html.unescape(label) == f"What would DUAL with Beta sampling keep{owed}"


def test_too_few_epochs_for_dual_leave_no_slider(tmp_path):
    run = write_run(tmp_path / "run", epochs=9)
    facts = gather(run, None)
    assert (facts.what_if, facts.score_name) == (None, "variability")
    np.testing.assert_array_equal(facts.score, facts.variability)
    parsed = Parsed(write_page(tmp_path / "page.html", run))
    assert not [a for _, a in parsed.elements if a.get("type") == "range"]


def test_thinning_says_so_and_draws_all_that_is_listed(tmp_path, run, monkeypatch):
    monkeypatch.setattr(shown, "POINTS", 40)
    monkeypatch.setattr(shown, "PICTURES", 30)
    monkeypatch.setattr(shown, "_LISTED", 8)
    path = write_page(tmp_path / "page.html", run, chosen(run), samples=IMAGES)
    data, text = Parsed(path).data, path.read_text()
    ids = np.frombuffer(base64.b64decode(data["columns"]["id"]["base64"]), "<i4")
    assert f"40 of {SAMPLES} samples are drawn" in text
    assert ids.tolist() == sorted(set(ids.tolist()))
    assert (len(ids), data["samples"], len(data["pictured"])) == (40, SAMPLES, 30)
    kept = np.frombuffer(base64.b64decode(data["columns"]["kept"]["base64"]), "u1")
    assert {name: len(listed) for name, listed in data["lists"].items()} == {
        **{"suspects": 8, "kept": 8, "pruned": 8}
    }
    assert kept[data["lists"]["kept"]].all()
    assert not kept[data["lists"]["pruned"]].any()
    worst = judge(Arrays([run])).order[:8]
    assert ids[data["lists"]["suspects"]].tolist() == worst.tolist()
    assert all(set(listed) <= set(data["pictured"]) for listed in data["lists"].values())
    for count in (20, 40):
        assert f"<p>8 of {count}, drawn at random to be shown here.</p>" in text


def test_nothing_is_said_of_thinning_where_all_are_drawn(tmp_path, run):
    path = write_page(tmp_path / "page.html", run, chosen(run))
    assert not re.search("samples are drawn|drawn at random", path.read_text())
    best = choose_shown(gather(run, None)).lists["best"]
    assert best.tolist() == np.argsort(-score.dual(run["target_prob"]), kind="stable").tolist()


def tiles_of(sheet, count):
    kind, _, content = sheet.address.partition(";base64,")
    picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(content))))
    assert picture.shape[:2] == (sheet.rows * sheet.side, sheet.columns * sheet.side)
    side = sheet.side
    places = (divmod(i, sheet.columns) for i in range(count))
    tiles = [picture[r * side : (r + 1) * side, c * side : (c + 1) * side] for r, c in places]
    return kind, np.stack(tiles)


def noise(*shape):
    return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


def test_grey_images_are_on_the_sheet_exactly():
    images = in_memory(noise(70, 9, 9, 1), LABELS[:1].repeat(70), ("a",))
    ids = np.arange(69, -1, -1)
    sheet = draw_sheet(images, ids)
    assert (sheet.side, sheet.columns, sheet.rows) == (9, 50, 2)
    kind, tiles = tiles_of(sheet, 70)
    assert kind == "data:image/png"
    np.testing.assert_array_equal(tiles, images.pixels[ids, ..., 0])


def test_colour_images_are_on_the_sheet_nearly():
    smooth = np.linspace(0, 200, 16, dtype=np.uint8)[:, None, None] + noise(60, 1, 16, 3) // 5
    images = in_memory(smooth, np.zeros(60, int), ("a",))
    kind, tiles = tiles_of(draw_sheet(images, np.arange(60)), 60)
    assert kind == "data:image/jpeg"
    off = np.abs(tiles.astype(int) - images.pixels).mean((1, 2, 3))
    swapped = np.abs(tiles.astype(int) - images.pixels[::-1]).mean((1, 2, 3))
    assert (off < 5).all()
    assert (off < swapped).mean() > 0.9


def test_images_that_are_not_square_lie_in_the_middle():
    images = in_memory(noise(3, 4, 10, 1), np.zeros(3, int), ("a",))
    sheet = draw_sheet(images, np.arange(3))
    _, tiles = tiles_of(sheet, 3)
    assert sheet.side == 10
    np.testing.assert_array_equal(tiles[:, 3:7], images.pixels[..., 0])
    assert not tiles[:, :3].any()
    assert not tiles[:, 7:].any()


def test_large_images_are_shrunk_in_their_proportions():
    pixels = np.zeros((2, 200, 100, 1), np.uint8)
    pixels[0, :, :50] = 250  # its left half
    pixels[1, 100:] = 250  # its lower half
    _, tiles = tiles_of(draw_sheet(in_memory(pixels, np.zeros(2, int), ("a",)), np.arange(2)), 2)
    assert tiles.shape == (2, 64, 64)
    assert not tiles[:, :, :16].any()
    assert not tiles[:, :, 48:].any()
    assert (tiles[0, :, 16:30] > 240).all()
    assert (tiles[0, :, 34:48] < 10).all()
    assert (tiles[1, 34:, 16:48] > 240).all()
    assert (tiles[1, :30, 16:48] < 10).all()


def test_files_are_drawn_with_their_colour(tmp_path):
    names = make_photos(tmp_path / "photos")
    with pytest.warns(UserWarning, match="broken|nothing yet"):
        images = only_readable(load(tmp_path / "photos")[0])
    ids = np.array([0, 25, 59])
    _, tiles = tiles_of(draw_sheet(images, ids), 3)
    assert tiles.shape == (3, 64, 64, 3)
    for i, tile in zip(ids, tiles, strict=True):
        assert images.names[i] == names[i]
        with Image.open(tmp_path / "photos" / names[i]) as photo:
            colour = np.asarray(photo.convert("RGB"))[0, 0].astype(int)
        assert np.abs(tile.mean((0, 1)) - colour).max() < 4


def test_classes_that_lost_most_come_first(tmp_path):
    """Of class 0 half is kept, of 1 all, of 2 a third, of 3 half of more; class 4 has no sample."""
    labels = np.repeat([0, 1, 2, 3], [4, 2, 3, 6])
    kept = np.array([0, 1, 4, 5, 6, 9, 10, 11])
    low = np.isin(np.arange(15), [2, 3, 7])
    mean = np.where(low, 0.04, 0.93) + np.linspace(-0.01, 0.01, 15)
    probability = mean + np.tile([0.005, -0.005], 6)[:, None]
    beliefs = between_two(probability, labels, (labels + 1) % 5, 5)
    run = write_beliefs(tmp_path / "run", beliefs, labels, class_names=tuple("abcde"))
    coreset = replace(chosen(run, 8), ids=kept)
    found = per_class(gather(run, coreset), class_names(run))
    counted = [(each.name, each.samples, each.kept, each.suspects) for each in found]
    assert counted == [
        *[("c", 3, 1, 1), ("d", 6, 3, 0), ("a", 4, 2, 2)],
        *[("b", 2, 2, 0), ("e", 0, 0, 0)],
    ]
    path = write_page(tmp_path / "page.html", run, coreset)
    table = path.read_text().partition("<table>")[2].partition("</table>")[0]
    assert table.count("<td>no samples</td>") == 1
    assert re.findall(r"<bdi>(.)</bdi>", table) == list("cdabe")
    assert re.findall(r"</meter> ([\d.]+%)", table) == [*("33.3%", "50.0%", "50.0%", "100.0%")]


def test_classes_that_keep_too_little_are_told_at_the_top(run, tmp_path):
    coreset = chosen(run, 20)
    assert 'class="warning"' not in write_page(tmp_path / "fine.html", run, coreset).read_text()
    short = [ShortClass("<b>truck", 3, 157, 15.7), *[ShortClass("x", 0, 9, 4.0)] * 11]
    coreset = replace(coreset, card=replace(coreset.card, short=short))
    text = write_page(tmp_path / "short.html", run, coreset).read_text()
    box = text.partition('class="warning"')[2].partition("</div>")[0]
    assert text.index('class="warning"') < text.index("<dl")
    assert "12 classes keep less than half of their fair share" in box
    assert "<bdi>class &lt;b&gt;truck: kept 3 of 157, fair share 16</bdi>" in box
    assert box.count("<li>") == 11
    assert "and 2 more" in box


def test_what_it_says_of_a_run_alone(tmp_path):
    run = write_run(tmp_path / "run", notes="my <notes>", least=0.6)
    assert dict(rows(gather(run, None))) == {
        "Data": "60 samples of 3 classes",
        "Notes": "my <notes>",
        "Recorded": "12 epochs, in the training pass",
        "Labels": "no labels look wrong",
    }
    assert repeat(None) is None
    assert class_names(run) == ["0", "1", "2"]


def test_what_it_says_of_a_coreset(run):
    coreset = chosen(run)
    training = Training("ants", "cnn", "small", False, 12, {}, WrongLabels(5, 4, 6), 200.0, 66.6)
    coreset = replace(coreset, card=replace(coreset.card, training=training))
    facts = gather(run, coreset)
    suspect = np.isin(
        np.arange(SAMPLES), [*coreset.ids[:2], *np.setdiff1d(range(60), coreset.ids)[:4]]
    )
    facts = replace(facts, labels=replace(facts.labels, suspect=suspect, wrong=training.suspects))
    assert dict(rows(facts)) == {
        "Data": "ants: 60 samples of 3 classes",
        "Model": "cnn with recipe small: not a published setting",
        "Recorded": "12 epochs, in the training pass",
        "Method": f"dual+beta (c_D {coreset.card.values['c_d']:g}, found from the recording)",
        "Kept": "20 of 60 (33.3%)",
        "Labels": "about 5 (4 to 6) labels are probably wrong; of 6 suspects 4 were pruned",
        "Cost": "training on what was kept takes 66.6 passes over the full set instead of 200 "
        "(33%), or 39% with the 12 passes of recording, which are needed once",
        "Worth it": "compared with training on all the data, it pays from the first training on; "
        + RIVALS,
    }


def test_where_it_cannot_be_told_how_many_are_wrong_the_page_says_what_to_do(tmp_path, run):
    facts = gather(run, None)
    vague = replace(facts.labels, wrong=WrongLabels(None, 1, 130), suspect=np.zeros(SAMPLES, bool))
    text = write_report(tmp_path / "page.html", replace(facts, labels=vague)).read_text()
    section = text.partition('id="suspects-title">')[2].partition("</section>")[0]
    assert section.startswith("Labels of the lowest quality")
    assert (
        "1 to 130 labels may be wrong, how many cannot be told: look at the 50 worst, and go on if "
        "many of them are wrong. These are the labels that the model agreed with least"
    ) in section
    assert "dualprune audit run --review labels.csv" in text


def test_the_hash_comes_last_and_what_to_do_next_first(tmp_path, run):
    coreset = chosen(run)
    text = write_page(tmp_path / "page.html", run, coreset).read_text()
    body = text.partition("<body>")[2]
    places = [body.index(part) for part in ("What to do next", "The map", coreset.card.ids_sha256)]
    assert places == sorted(places)
    assert body.index("How it was made") > body.index('id="classes-title"')


def code_of(facts, folder):
    """What the page advises, by title, with the number that stands there before the slider."""
    at = places(facts, folder)
    return {title: re.sub("<.*?>", "", html.unescape(code)) for title, _, code in steps(facts, at)}


def test_what_to_do_next_can_be_done_as_it_stands(dualprune, tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    coreset, home = chosen(run, c_d=4.0), tmp_path / "my small one"
    coreset.save(home)
    code = code_of(gather(Run("run"), coreset), home)
    loaded = {"dataset": np.arange(SAMPLES)}
    exec(code["Train on what was kept"], loaded)
    assert loaded["small"].tolist() == coreset.ids.tolist()
    for title in ("Keep another share", "Review the labels"):
        assert dualprune(*shlex.split(code[title])[1:])[0] == 0
    expected = choose(run, Method("dual", "beta", select_knobs={"c_d": 4.0}), keep=10, seed=5)
    assert Coreset.load("small-10").ids.tolist() == expected.ids.tolist()
    assert (tmp_path / "labels.csv").is_file()


def test_of_a_run_alone_one_can_choose_next(dualprune, tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = code_of(gather(run, None), None)
    assert [*code] == ["Keep another share", "Review the labels"]
    assert dualprune(*shlex.split(code["Keep another share"])[1:])[0] == 0
    assert len(Coreset.load("small-30")) == 30


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("", "dualprune prune 'my ants' --run run --seed 5 --keep 10 --out here-10"),
        ("run", "dualprune prune 'my ants' --run here --seed 5 --keep 10 --out here-10"),
    ],
)
def test_what_was_pruned_is_pruned_otherwise_with_the_same_recording(tmp_path, folder, said):
    """The run is inside the folder of `prune`, unless that used another recording."""
    home = tmp_path / "here"
    run = write_run(home / "run" if folder else tmp_path / "run")
    training = Training("my ants", "cnn", "small", False, 12, {}, 6, 200.0, 66.6)
    coreset = chosen(run)
    coreset = replace(coreset, card=replace(coreset.card, training=training))
    assert code_of(gather(run, coreset), home)["Keep another share"] == said
    balanced = replace(coreset.card, select_knobs={"balance": "uniform"}, epochs=10)
    balanced = replace(balanced, training=replace(training, relabelled=2))
    flags = "--seed 5 --epochs 10 --labels corrected.csv --balance uniform"
    code = code_of(gather(run, replace(coreset, card=balanced)), home)
    assert code["Keep another share"] == said.replace("--seed 5", flags)
    demo = replace(coreset.card, training=replace(training, workflow="demo"))
    code = code_of(gather(run, replace(coreset, card=demo)), home)
    assert code == {"Prune your own images": "dualprune prune photos --keep 0.5 --out pruned"}


BETA = ["select", "beta", "--keep", "20"]
STRATA = ["select", "stratified", "--keep", "31", "--cut-off", "0.1"]
REPEATED = {
    "beta": ["select", "beta", "--keep", "20", "--seed", "3", "--c-d", "5.5", "--floor", "2"],
    "beta with no score": ["select", "beta", "--keep", "20", "--score", "none"],
    "fewer epochs": ["select", "top", "--keep", "0.1", "--epochs", "10"],
    "one sample": ["select", "top", "--score", "dyn_unc", "--prune", "59"],
    "another score": ["select", "top", "--keep", "7", "--score", "aum"],
    "random": ["select", "random", "--keep", "33%", "--seed", "12", "--balance", "uniform"],
    "strata": STRATA,
    "two other arrays": [*BETA, "--reads", "anchors=aum", "--reads", "confidence=variability"],
    "another array": [*STRATA, "--reads", "aum=confidence"],
}
KNOBS = {
    "window": ["score", "dual", "--window", "4"],
    "a switch": ["score", "dyn_unc", "--skip-last"],
}


@pytest.mark.filterwarnings("ignore:.*fair share")
@pytest.mark.parametrize(
    ("name", "runs"),
    [*((name, 1) for name in (*REPEATED, *KNOBS)), ("beta with no score", 2), ("window", 2)],
)
def test_the_command_chooses_the_same_again(dualprune, tmp_path, monkeypatch, name, runs):
    """Also where the score had knobs of its own, and where it is the mean over runs."""
    folders = [tmp_path / f"run {i}" for i in range(runs)]
    for i, folder in enumerate(folders):
        write_run(folder, seed=i)
    monkeypatch.chdir(tmp_path)
    words = REPEATED.get(name, ["select", "beta", "--keep", "20", "--score", "made.parquet"])
    if name in KNOBS:
        assert dualprune(*KNOBS[name], *folders, "--out", "made.parquet")[0] == 0
    code, _, said = dualprune(*words, *folders, "--out", "first")
    assert code == 0, said
    first = Coreset.load("first")
    placeholders = iter(folders * 2)
    for line in repeat(first).split(" && "):
        given = [str(next(placeholders)) if word == "RUN" else word for word in shlex.split(line)]
        code, _, said = dualprune(*given[1:])
        assert code == 0, said
    again = Coreset.load("again")
    assert again.ids.tolist() == first.ids.tolist()
    assert again.card == first.card


def test_prune_leaves_a_page_whose_command_prunes_the_same(dualprune, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("my images.npz", x=IMAGES.pixels, y=IMAGES.labels)
    words = ("prune", "my images.npz", "--keep", "0.3", "--epochs", "10", "--seed", "2")
    assert dualprune(*words, "--recipe", "digits", "--out", "first")[0] == 0
    shown = shown_rows(tmp_path / "first" / "report.html")
    assert shown["Data"] == "my images.npz: 60 samples of 3 classes"
    assert shown["Kept"] == "18 of 60 (30.0%)"
    command = repeat(Coreset.load("first"))
    assert command in (tmp_path / "first/report.html").read_text().replace("&#39;", "'")
    assert dualprune(*shlex.split(command)[1:])[0] == 0
    first, again = Coreset.load("first"), Coreset.load("again")
    assert again.ids.tolist() == first.ids.tolist()
    assert (tmp_path / "again/report.html").stat().st_size > 1e6


@pytest.mark.parametrize("told", [("--text", "words"), ()])
def test_what_the_page_of_rows_advises_can_be_done(dualprune, tmp_path, monkeypatch, told):
    monkeypatch.chdir(tmp_path)
    rows = [f"{'good' if i % 2 else 'bad'} {i % 7},{i % 5},{i % 2}" for i in range(60)]
    (tmp_path / "rows.csv").write_text("\n".join(["words,number,label", *rows]))
    words = ("rows.csv", *told, "--label", "label", "--keep", "30", "--epochs", "10")
    assert dualprune("prune", *words, "--balance", "uniform", "--out", "first")[0] == 0
    first = Coreset.load("first")
    code = code_of(gather(Run("first/run"), first), tmp_path / "first")
    for command in (repeat(first), code["Keep another share"], code["Review the labels"]):
        assert dualprune(*shlex.split(command)[1:])[0] == 0, command
    assert Coreset.load("again").ids.tolist() == first.ids.tolist()
    assert Coreset.load("first-15").card.select_knobs == first.card.select_knobs
    assert (tmp_path / "labels.csv").read_text().startswith("id,content,")
    shown = Parsed(tmp_path / "first/report.html").data["texts"]
    assert shown[1] == ("good 1" if told else "words: good 1, number: 1")


def test_what_was_pruned_in_memory_is_chosen_from_its_recording(tmp_path, run):
    training = Training("rows", "mlp", "table", False, 12, {}, 6, 200.0, 66.6, kind="rows")
    training = replace(training, flags=["--label", "income"])
    coreset = chosen(run)
    coreset = replace(coreset, card=replace(coreset.card, training=training))
    code = code_of(gather(run, coreset), tmp_path / "here")
    assert repeat(coreset).startswith("dualprune select beta RUN ")
    assert code["Keep another share"].startswith("dualprune select beta run ")
    assert code["Review the labels"] == "dualprune audit run --review labels.csv"


def line(row, pruned, accuracy, seconds, *, recording=0.0, seed=0):
    values = {"accuracy": accuracy, "training_seconds": seconds, "recording_seconds": recording}
    return Line("compare", "", row, pruned, seed, values, "settings", 2, "here")


LINES = [
    line("everything", 0.0, 0.9, 10.0),
    line("everything", 0.0, 0.8, 30.0, seed=1),
    line("dual+beta", 0.7, 0.7, 4.0, recording=6.0),
    line("dual+beta", 0.7, 0.9, 6.0, recording=4.0, seed=1),
    line("random", 0.7, 0.5, 5.0),
    replace(line("random", 0.7, 0.5, 5.0), values={"overlap": {"dual+beta": 0.5}}),
]


def test_comparisons_are_brought_together_over_seeds():
    whole, dual, random = summarise(LINES)
    assert (dual.method, dual.seeds) == ("dual+beta", 2)
    assert dual.share == pytest.approx(0.3)
    assert dual.accuracy == pytest.approx(0.8)
    assert dual.deviation == pytest.approx(0.02**0.5)
    assert (dual.training, dual.cost) == (5 / 20, 10 / 20)
    assert (random.deviation, random.cost) == (0.0, 5 / 20)
    assert (whole.share, whole.cost) == (1.0, 1.0)
    assert whole.method == "all the data"
    assert len({whole.color, dual.color, random.color}) == 3
    assert summarise([]) == []
    untimed = replace(LINES[0], values={"accuracy": 0.5})
    assert summarise([untimed]) == []


def test_a_comparison_of_which_nothing_was_trained_in_full_has_no_times():
    (found,) = summarise(LINES[-2:])
    assert np.isnan([found.training, found.cost]).all()
    assert found.accuracy == 0.5


def test_refusals_say_what_to_do(tmp_path, run, monkeypatch):
    path = tmp_path / "page.html"
    other = write_run(tmp_path / "other", seed=1)
    with pytest.raises(InputError, match=r"not chosen from .*; give the run that it was chosen"):
        write_page(path, other, chosen(run))
    with pytest.raises(InputError, match="of 60 samples, 59 were given"):
        write_page(path, run, samples=["text"] * 59)
    moved = replace(IMAGES, labels=IMAGES.labels[::-1])
    with pytest.raises(InputError, match=r"not those that .* was recorded of"):
        write_page(path, run, samples=moved)
    write_page(path, other, samples=moved)  # which says nothing of its data
    path.unlink()
    monkeypatch.setattr(page, "find_spec", lambda _: None)
    with pytest.raises(MissingError, match=r"pip install 'dualprune\[report\]'"):
        write_page(path, run)
    assert not path.exists()


def test_scores_that_hardly_differ_can_be_drawn(tmp_path):
    """Numpy's own bins cannot be narrower than the numbers between two neighbours."""
    run = write_run(tmp_path / "run")
    coreset = chosen(run)
    nearly = np.where(np.arange(SAMPLES) % 2, 0.1, np.nextafter(0.1, 1))
    coreset = replace(coreset, columns={**coreset.columns, "score": nearly})
    assert write_page(tmp_path / "page.html", run, coreset).exists()


@pytest.fixture
def pruned(tmp_path, run):
    """A coreset with its run inside, as `prune` leaves it."""
    return chosen(run).save(tmp_path)


def test_report_of_a_folder_of_prune(dualprune, tmp_path, pruned):
    assert dualprune("report", pruned) == (0, f"{tmp_path / 'report.html'}\n", "")
    assert shown_rows(tmp_path / "report.html")["Kept"] == "20 of 60 (33.3%)"


def test_report_of_a_run_alone(dualprune, run):
    code, out, _ = dualprune("report", run.path)
    assert (code, out) == (0, f"{run.path / 'report.html'}\n")
    assert "Kept" not in shown_rows(run.path / "report.html")
    assert Run(run.path).fingerprint == run.fingerprint


def test_report_of_a_coreset_whose_run_is_elsewhere(dualprune, tmp_path, run):
    chosen(run).save(tmp_path / "kept")
    code, _, said = dualprune("report", tmp_path / "kept")
    assert (code, "say --run RUN" in said) == (2, True)
    to = tmp_path / "there.html"
    assert dualprune("report", tmp_path / "kept", "--run", run.path, "--out", to)[0] == 0
    assert shown_rows(to)["Kept"] == "20 of 60 (33.3%)"
    assert not (tmp_path / "kept" / "report.html").exists()


def test_report_with_images(dualprune, tmp_path, pruned):
    np.savez(tmp_path / "data.npz", x=IMAGES.pixels, y=np.array(IMAGES.class_names)[LABELS])
    assert dualprune("report", pruned, "--data", tmp_path / "data.npz")[0] == 0
    parsed = Parsed(tmp_path / "report.html")
    assert parsed.data["sheet"] == {"columns": 50, "rows": 2}
    assert 'url("data:image/png;base64,' in parsed.texts["style"][1]


def test_report_with_texts(dualprune, tmp_path, pruned):
    """A line is what ends with a newline, whatever else Unicode calls the end of one."""
    lines = [f"<b>{i}</b> a\u2028b\x0cc\x85d" for i in range(SAMPLES)]
    (tmp_path / "texts.txt").write_bytes("\r\n".join(lines).encode() + b"\r\n")
    assert dualprune("report", pruned, "--texts", tmp_path / "texts.txt")[0] == 0
    data = Parsed(tmp_path / "report.html").data
    assert (data["texts"], data["sheet"]) == (lines, None)


def test_report_with_results(dualprune, tmp_path, pruned):
    for each in LINES:
        append(tmp_path / "results.jsonl", each)
    assert dualprune("report", pruned, "--results", tmp_path / "results.jsonl")[0] == 0
    shown = (tmp_path / "report.html").read_text().partition("Compared</h2>")[2]
    assert "80.0% ± 14.1%</td>\n<td>2</td><td>25.0%</td><td>50.0%</td>" in shown
    assert [item["target_id"] for item in Parsed(tmp_path / "report.html").data["charts"]] == [
        *("moon", "scores", "accuracies")
    ]


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["--data", "digits", "--texts", "lines.txt"], "give --data or --texts, not both"),
        (["--texts", "lines.txt"], "the run is of 60 samples, 3 were given to show"),
        (["--data", "digits"], "the run is of 60 samples, 1438 were given to show"),
        (["--data", "nowhere"], "there is no data 'nowhere'"),
        (["--texts", "nowhere.txt"], "'nowhere.txt' does not exist"),
        (["--results", "nowhere.json"], "'nowhere.json' does not exist"),
        (["--results", "card.json"], "is damaged: line 1 is no result"),
        (["--results", "lines.txt"], "is damaged: line 1 is no result"),
        (["--run", "nowhere"], "there is no run at nowhere"),
        (["--out", "nowhere/page.html"], "cannot write nowhere/page.html"),
    ],
)
def test_report_refuses(dualprune, tmp_path, pruned, monkeypatch, words, wrong):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "lines.txt").write_text("one\ntwo\nthree\n")
    code, out, said = dualprune("report", pruned, *words)
    assert (code, out) == (2, "")
    assert wrong in said
    assert not (tmp_path / "report.html").exists()


def test_report_replaces_a_page_of_its_own_and_nothing_else(dualprune, tmp_path, pruned):
    for _ in range(2):
        assert dualprune("report", pruned)[0] == 0
    (tmp_path / "other.html").write_text("<!doctype html><title>mine</title>")
    os.mkfifo(tmp_path / "pipe")
    for name in ("other.html", "card.json", "coreset.parquet", "run/run.json", "pipe", "run"):
        path = tmp_path / name
        before = path.read_bytes() if path.is_file() else None
        code, out, said = dualprune("report", pruned, "--out", path)
        assert (code, out) == (2, "")
        assert f"{path} exists and is not a page of dualprune; choose another place" in said
        assert before is None or path.read_bytes() == before


def test_report_of_nothing(dualprune, tmp_path):
    code, _, said = dualprune("report", tmp_path)
    assert (code, "there is no run" in said) == (2, True)
