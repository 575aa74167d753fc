"""Comparisons: every method on the same data, killed and started again; and the demo."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dualprune import Method, compare, prune
from dualprune.coreset.worth import ANEW, SHORTER
from dualprune.errors import InputError
from dualprune.experiments.results import read
from dualprune.report.page.compared import summarise
from dualprune.train import recipes

from .commands import dualprune, killed_when
from .photos import striped

SAMPLES, CLASSES = 61, 3
IMAGES = striped(SAMPLES, CLASSES)
COMPARE = "compare NPZ --method dual+beta --method random --keep 0.2 --seeds 2 --recipe digits"
ROWS = {"everything": 0.0, "dual+beta": 0.8, "random": 0.8, SHORTER: 0.8, ANEW: 0.8}


@pytest.fixture(scope="module")
def npz(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "tiny.npz"
    np.savez(path, x=IMAGES.pixels, y=IMAGES.labels)
    return path


@pytest.fixture(scope="module")
def compared(npz, tmp_path_factory):
    """The folder of a comparison, and what was printed."""
    out = tmp_path_factory.mktemp("compared")
    code, table, said = dualprune(*COMPARE.replace("NPZ", str(npz)).split(), "--out", out)
    assert code == 0, said
    return out, table


def trained(out, kind="accuracy"):
    return [line for line in read(out / "results.jsonl") if kind in line.values]


def by_key(lines):
    return {line.key: line.values for line in lines}


def test_compare_shows_every_method_with_its_deviation_over_seeds(compared):
    out, printed = compared
    found = sorted((line.row, line.pruned, line.seed) for line in trained(out))
    assert found == sorted((*each, seed) for each in ROWS.items() for seed in (0, 1))
    text = " ".join(printed.split())
    assert "validation accuracy in %" in text  # an .npz has no test images
    assert "training on all the data reaches" in text
    accuracy, cost, agreement = printed.split("└")[:3]
    for table in (accuracy, cost):
        rows = [
            line.split("│")[1].strip() for line in table.splitlines() if "│" in line and "±" in line
        ]
        assert rows == ["dual+beta", "random", SHORTER, ANEW]
    assert "in common: dual+beta & random" in agreement
    assert "rank correlation: dual+beta" in agreement
    assert "| dual+beta | " in (out / "table.md").read_text()


def test_compare_draws_accuracies_and_costs_where_it_can(compared, npz, monkeypatch):
    out, printed = compared
    names = ["results.jsonl", "accuracy.png", "accuracy-by-cost.png", "cost.png", "gain.png"]
    paths = [Path(line) for line in printed.splitlines()[-len(names) :]]
    assert paths == [out / name for name in names]
    for path in paths[1:]:
        with Image.open(path) as image:
            assert image.format == "PNG"
        assert path.with_suffix(".svg").read_text().startswith("<?xml")
        path.unlink()
    monkeypatch.setattr("dualprune.experiments.present.find_spec", lambda _: None)
    code, table, said = dualprune(*COMPARE.replace("NPZ", str(npz)).split(), "--out", out)
    assert (code, table.splitlines()[-1]) == (0, str(paths[0])), said
    assert "epoch" not in said, "all of it was there"
    assert not paths[1].exists()


def test_methods_are_compared_on_equally_many_samples(compared):
    kept = {line.row: line.values["kept"] for line in trained(compared[0], "kept")}
    assert kept == {"dual+beta": 11, "random": 11}


def test_two_rows_cost_as_much_as_training_on_what_is_kept_and_record_nothing(compared):
    lines, recipe = trained(compared[0]), recipes()["digits"]
    images = {line.row: line.values["forward"] for line in lines}
    assert images["random"] == images["dual+beta"] == images[ANEW] == recipe.epochs * 11
    assert abs(images[SHORTER] - images["random"]) <= recipe.batch
    rivals = [line.values for line in lines if line.row in (SHORTER, ANEW)]
    assert {values["recorded"] for values in rivals} == {0}
    used = [line.values["uses"] for line in lines if line.row == ANEW]
    assert all(uses[50] > 0 for uses in used), "more than the 20 % of a coreset have their turn"


def test_a_comparison_that_was_killed_repeats_nothing_and_ends_the_same(compared, npz, tmp_path):
    words = (*COMPARE.replace("NPZ", str(npz)).split(), "--processes", 1, "--out", tmp_path)

    def eighth_is_training():
        training = [*tmp_path.glob("work/*/trained/*/checkpoint/state.json")]
        return training and len(trained(tmp_path)) == 7

    killed_when(eighth_is_training, *words)
    first = ["random", SHORTER, ANEW]
    assert [line.row for line in trained(tmp_path)] == [*first, *first, "everything"]
    code, _, said = dualprune(*words)
    assert code == 0, said
    assert "recording" not in said
    assert "random" not in said
    assert "seed 0: dual+beta" in said
    assert "seed 1: dual+beta" in said
    found, whole = by_key(trained(tmp_path)), by_key(trained(compared[0]))
    assert found.keys() == whole.keys()
    for key, values in found.items():
        for name in ("accuracy", "ids_sha256"):
            assert values.get(name) == whole[key].get(name)


def test_functions_of_ones_own_are_compared_from_python(tmp_path):
    def doubt(target_prob: np.ndarray, *, power: float = 1.0) -> np.ndarray:
        return (1 - target_prob.mean(axis=0)) ** power

    def every_other(labels: np.ndarray, *, k: int) -> np.ndarray:
        return 2 * np.arange(k)

    methods = [Method(doubt, "top", score_knobs={"power": 2.0}), Method(None, every_other), "dual"]
    found = compare(IMAGES, out=tmp_path, methods=methods, keep=[20], seeds=1, recipe="digits")
    names = ["doubt+top", "every_other", "dual"]
    assert list(found.tables[0].rows) == [*names, SHORTER, ANEW]
    assert "| every_other | " in str(found)
    assert {line.row for line in found.lines} == {"everything", *names, SHORTER, ANEW}
    assert {line.values.get("kept") for line in found.lines} == {None, 20}
    assert (tmp_path / "results.jsonl").exists()
    assert all(path.exists() for path in found.figures)
    again = compare(IMAGES, out=tmp_path, methods=methods, keep=[20], seeds=1, recipe="digits")
    assert again.lines == found.lines


def test_two_methods_of_one_name_are_refused(tmp_path):
    methods = [Method("dual", "beta", select_knobs={"c_d": c_d}) for c_d in (1.0, 3.0)]
    with pytest.raises(InputError, match=r"two different methods are called 'dual\+beta'; give"):
        compare(IMAGES, out=tmp_path, methods=methods, keep=[20], seeds=1, recipe="digits")


def test_more_methods_seeds_and_shares_add_to_a_comparison(tmp_path):
    """A share that is said twice counts once, and what all seeds and methods make is made anew."""
    how = {"out": tmp_path, "recipe": "digits"}
    first = compare(IMAGES, methods=["dual", "random"], keep=[0.2, "20%"], seeds=1, **how)
    assert len(first.lines) == len({line.key for line in first.lines}) == 5
    methods = ["dual", "random", "el2n"]
    more = compare(IMAGES, methods=methods, keep=[0.2], prune=[0.8], seeds=2, **how)
    whole = compare(IMAGES, methods=methods, keep=[0.2], seeds=2, **how | {"out": tmp_path / "2"})
    assert [table.rows for table in more.tables[::2]] == [table.rows for table in whole.tables[::2]]
    assert "in common: dual & el2n" in more.tables[-1].rows


def test_an_edited_function_of_ones_own_is_no_longer_the_same_method(tmp_path):
    def by_loss(loss: np.ndarray) -> np.ndarray:
        return loss.mean(axis=0)

    def edited(loss: np.ndarray) -> np.ndarray:
        return -loss.mean(axis=0)

    how = {"out": tmp_path, "keep": [20], "seeds": 1, "recipe": "digits"}
    compare(IMAGES, methods=[Method(by_loss)], **how)
    edited.__name__ = by_loss.__name__
    with pytest.raises(InputError, match="results that other settings made"):
        compare(IMAGES, methods=[Method(edited)], **how)


def test_trainings_side_by_side_give_the_numbers_of_one_after_the_other(compared, npz, tmp_path):
    lines = []
    how = {"keep": [0.2], "seeds": 2, "recipe": "digits", "tell": lines.append}
    found = compare(npz, out=tmp_path, **how)  # in this process; the command starts others
    whole = by_key(trained(compared[0]))
    reached = {line.key: line.values["accuracy"] for line in found.lines}
    assert reached == {key: values["accuracy"] for key, values in whole.items()}
    assert "of 10: dual+beta, 80% pruned, seed 0" in " ".join(lines)


def test_the_page_shows_a_comparison(compared, tmp_path):
    out = compared[0]
    (run, *_) = sorted((out / "work").glob("*/recordings/*"))
    page = tmp_path / "page.html"
    words = ("report", run, "--results", out / "results.jsonl", "--out", page)
    code, printed, said = dualprune(*words)
    assert (code, printed) == (0, f"{page}\n"), said
    shown = page.read_text("utf-8").partition("Compared</h2>")[2]
    for each in summarise(read(out / "results.jsonl")):
        assert f"<bdi>{each.method}</bdi>" in shown
        assert f"{each.accuracy:.1%}" in shown
    assert "<bdi>all the data</bdi>" in shown


WITHOUT_FIGURES = """
import sys
sys.modules |= {"matplotlib": None, "bokeh": None}
sys.argv = ["dualprune", "demo", "--seeds", "1", "--out", sys.argv[1]]
from dualprune.cli.__main__ import main
main()
"""


def test_the_demo_shows_that_wrong_labels_are_removed(tmp_path):
    code, printed, said = dualprune("demo", "--seeds", 1, "--out", tmp_path)
    assert code == 0, said
    accuracy, removed, cost = printed.split("└")[:3]
    assert "training on all the data reaches" in " ".join(accuracy.split())
    assert "wrong labels that were pruned" in " ".join(removed.split())
    assert "time of recording and training" in " ".join(cost.split())
    rows = [line.split("│")[1:-1] for line in removed.splitlines() if line.startswith("│")]
    shares = {name.strip(): [float(cell) for cell in cells] for name, *cells in rows}
    assert shares.keys() == {"dual+beta", "random"}
    assert shares["dual+beta"][1] > shares["random"][1]  # 70 % pruned
    Image.open(tmp_path / "moon.png").verify()
    assert "Compared</h2>" in (tmp_path / "report.html").read_text("utf-8")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_FIGURES, tmp_path],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "wrong labels that were pruned" in " ".join(done.stdout.split())
    assert ".png" not in done.stdout


@pytest.mark.parametrize(
    ("what", "given", "said"),
    [
        (compare, {"keep": 0.3}, "keep must be a list"),
        (compare, {"methods": "random"}, "methods must be a list"),
        (compare, {"out": None}, "out must be a path"),
        (prune, {"ignore": "id"}, "ignore must be a list"),
        (prune, {"materialize": "move"}, "materialize must be 'link' or 'copy'"),
        (prune, {"model": 3}, "model must be text or a Module"),
    ],
)
def test_what_is_of_another_type_is_refused_by_its_name(what, given, said, tmp_path):
    with pytest.raises(InputError, match=said):
        what("digits", **{"out": tmp_path, **given})
