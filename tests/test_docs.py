"""Every method documents itself, and its page is what its docstring says."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from dualprune.cli.__main__ import main
from dualprune.cli.methods import NOT_IMPLEMENTABLE, TABLES
from dualprune.experiments.experiment import find_experiment
from dualprune.experiments.results import NUMBERS, read
from dualprune.method.named import named_methods
from dualprune.signatures import keyword_only, read_docstring

DOCS = Path(__file__).parents[1] / "docs"
METHODS = {name: fn for table in TABLES.values() for name, fn in table.items()}
WITHOUT_PAPER = {"top", "random"}

every_method = pytest.mark.parametrize(("name", "fn"), METHODS.items(), ids=METHODS)


@pytest.fixture
def dualprune(monkeypatch, capsys):
    def call(*words):
        monkeypatch.setattr(sys, "argv", ["dualprune", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return stop.value.code or 0, " ".join(printed.out.split()), printed.err

    return call


def test_no_two_methods_share_a_page():
    assert len(METHODS) == sum(map(len, TABLES.values()))


def test_committed_pages_are_what_the_docstrings_give(tmp_path):
    runpy.run_path(str(DOCS / "pages.py"))["write_pages"](tmp_path)
    written = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    committed = {path.name: path.read_text("utf-8") for path in (DOCS / "methods").iterdir()}
    assert written == committed, "run `python docs/pages.py`"


def test_the_page_of_commands_is_what_the_commands_say():
    page = runpy.run_path(str(DOCS / "commands.py"))["page"]
    assert page() == (DOCS / "commands.md").read_text("utf-8"), "run `python docs/commands.py`"


def test_tables_of_results_are_what_was_measured():
    fill = runpy.run_path(str(DOCS / "results_page.py"))["fill"]
    text = (DOCS / "results.md").read_text("utf-8")
    assert "± " in text
    assert fill(text, DOCS / "results") == text, "run `make docs`"
    lines = (DOCS / "results" / "results.jsonl").read_text("utf-8").splitlines()
    assert all('"seal": "' in line for line in lines)


def test_results_were_measured_with_the_settings_that_the_tables_have_now():
    lines = read(DOCS / "results" / "results.jsonl")
    grids = [find_experiment(name).at(scale) for name, scale in {line.key[:2] for line in lines}]
    cells = {cell.key: cell.settings for grid in grids for cell in grid.cells()}
    outdated = [line.key for line in lines if line.settings != cells.get(line.key)]
    assert not outdated, "measure them again: `dualprune reproduce NAME --out docs/results`"
    assert {line.numbers for line in lines} == {NUMBERS}


@every_method
def test_docstring_says_cost_variants_paper_and_example(name, fn):
    about = read_docstring(fn)
    assert about.cost.startswith("Time ")
    assert "memory" in about.cost
    assert about.variants
    assert bool(about.paper) == (name not in WITHOUT_PAPER)
    assert re.search(rf">>> .*\b{fn.__name__}\(", about.example)
    assert keyword_only(fn).keys() <= about.parameters.keys()


@every_method
def test_page_has_a_formula_or_steps_and_no_other_markup(name, fn):
    text = (DOCS / "methods" / f"{name}.md").read_text("utf-8")
    formula = re.search(r"^## (?:Formula|Steps)\n\n(.+?)^## ", text, re.MULTILINE | re.DOTALL)
    assert formula
    assert re.search(r"```math\n.+\n```|^1\. ", formula[1], re.MULTILINE | re.DOTALL)
    assert "math::" not in text
    assert ":math:" not in text
    assert text.count("```") % 2 == 0
    for head in ("What it does", "Inputs", "Example", "Cost", "Public implementations"):
        assert re.search(rf"^## {head}\n\n\S", text, re.MULTILINE)
    assert all(f"| `{knob}` |" in text for knob in keyword_only(fn))


def test_links_between_pages_resolve():
    for path in (DOCS / "methods").iterdir():
        for link in re.findall(r"\]\(((?!https:)[^)#]+)", path.read_text("utf-8")):
            assert (path.parent / link).is_file(), f"{path.name}: {link}"


def test_index_names_every_method_the_named_ones_and_what_cannot_be_had():
    text = (DOCS / "methods" / "README.md").read_text("utf-8")
    assert all(f"[`{name}`]({name}.md)" in text for name in METHODS)
    assert all(f"| `{name}` | {row['about']} |" in text for name, row in named_methods().items())
    assert all(f"| {name} |" in text for name in NOT_IMPLEMENTABLE)
    assert "cut_off = 0.0, from 70% pruned 0.1, from 90% pruned 0.3" in text


def test_list_shows_dynamic_and_named_methods(dualprune):
    code, out, _ = dualprune("methods")
    assert code == 0
    assert "infobatch skips a random share of the samples" in out
    assert "knobs epochs, prune=0.5, until=0.875, form=unbiased" in out
    assert "ignores the losses, whatever they are." in out
    for name, row in named_methods().items():
        assert f"{name} is {row['method']} about {row['about']}" in out


def test_show_prints_every_setting_of_a_named_method(dualprune):
    code, out, _ = dualprune("methods", "--show", "ccs")
    assert code == 0
    assert "reads aum=aum_prob strata 50 cut_off 0.0, from 70% pruned 0.1, from 90%" in out
    assert "dual" not in out
    _, out, _ = dualprune("methods", "--show", "tdds-weighted")
    assert "method tdds+top epochs 70, from 50% pruned 90" in out
    assert "weighted True" in out


def test_show_of_an_unknown_name_says_which_there_are(dualprune):
    code, _, err = dualprune("methods", "--show", "css")
    assert code == 2
    assert "no named method 'css'" in err
    assert "ccs-imagenet" in err
