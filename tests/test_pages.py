"""Every Python block and every `dualprune` command of README and site runs, in its smallest form.

A page runs from top to bottom in a folder that holds what its words suppose: a folder of photos,
files of texts, a table and losses, a run. What cannot run here is marked on the page.
"""

import shutil
import sys
from contextlib import chdir
from pathlib import Path

import numpy as np
import pandas
import pytest
import torch
import typer.main
from PIL import Image
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

import dualprune
from dualprune.cli.__main__ import app, main
from dualprune.experiments.experiment import find_experiment
from tests.pages import OTHER_PROGRAMS, PAGES, STUDIES, blocks, smallest

ELSEWHERE = {
    "others.md": "test_docs_others.py",
    "transformers.md": "test_integrations_transformers.py",
}
SUPPOSED = {page: {"pruned"} for page in ("README.md", "index.md", "start.md", "labels.md")}
SUPPOSED["scale.md"] = {"run"}
SAMPLES, EPOCHS = 60, 30


def call(*words):
    """Run a command in this process, as a user would in a shell; gives its exit code."""
    before, sys.argv = sys.argv, ["dualprune", *words]
    try:
        main()
    except SystemExit as stop:
        return stop.code or 0
    finally:
        sys.argv = before
    return 0


def write_photos(folder, rng):
    for label, name in enumerate(("cats", "dogs", "owls")):
        (folder / name).mkdir(parents=True)
        for number in range(SAMPLES // 3):
            pixels = rng.integers(0, 90, (8, 8), np.uint8)
            pixels[:, label * 3] += 120
            Image.fromarray(pixels).save(folder / name / f"{number:02d}.png")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """What the pages suppose that a user has."""
    folder, rng = tmp_path_factory.mktemp("world"), np.random.default_rng(0)
    write_photos(folder / "photos", rng)
    y = np.arange(SAMPLES) % 3
    margin = rng.normal(2, 1, (EPOCHS, SAMPLES))
    loss = np.log1p(np.exp(-margin))
    dualprune.Run.from_arrays(
        folder / "run", loss=loss, margin=margin, rival=np.tile((y + 1) % 3, (EPOCHS, 1)), labels=y
    )
    np.save(folder / "probabilities.npy", np.exp(-loss))
    pixels = rng.integers(0, 90, (SAMPLES, 8, 8, 1), np.uint8)
    pixels[np.arange(SAMPLES), :, y * 3] += 120
    np.savez(folder / "tiny.npz", x=pixels, y=y)
    words = [["dull", "fine", "great"][label] for label in y]
    texts = {"review": [f"a {word} film, {i}" for i, word in enumerate(words)], "sentiment": words}
    pandas.DataFrame(texts).to_csv(folder / "reviews.csv", index=False)
    table = {"width": y + rng.random(SAMPLES), "code": np.arange(SAMPLES), "target": words}
    pandas.DataFrame(table).to_parquet(folder / "table.parquet")
    epochs, ids = np.indices(loss.shape)
    rows = {"id": ids.ravel(), "epoch": epochs.ravel() + 1, "loss": loss.ravel()}
    pandas.DataFrame(rows).to_csv(folder / "losses.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def pruned(world):
    """The same, after the first command of the README."""
    with chdir(world):
        assert call(*smallest(["prune", "photos/", "--keep", "0.5", "--out", "pruned"])) == 0
        kept = dualprune.Coreset.load("pruned").ids
        pandas.DataFrame({"id": kept[:3]}).to_csv("ids.csv", index=False)
    return world


@pytest.fixture
def around():
    """What README and home page say of the names that they use."""
    rng = np.random.default_rng(0)
    y = torch.arange(SAMPLES) % 10
    x = torch.eye(10)[y] + torch.from_numpy(rng.normal(0, 0.1, (SAMPLES, 10))).float()
    model = torch.nn.Linear(10, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

    def step(inputs, labels):
        logits = model(inputs)
        cross_entropy(logits, labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        return logits

    names = {"train": TensorDataset(x, y), "step": step, "DataLoader": DataLoader}
    public = {name: getattr(dualprune, name) for name in ("Indexed", "Recorder")}
    return {**names, **public, "dualprune": dualprune}


def run_commands(block):
    for words in block.commands:
        if words[0] == "dualprune":
            assert call(*smallest(words[1:])) == 0, f"{block}: {' '.join(words)}"
        else:
            assert words[0] in OTHER_PROGRAMS, f"{block}: {' '.join(words)}"


def run_block(block, names):
    if block.language == "python":
        exec(compile(block.code, str(block), "exec"), names)
    run_commands(block)


@pytest.fixture
def here(pruned, tmp_path, monkeypatch):
    """A copy of the world, to work in."""
    shutil.copytree(pruned, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("default")  # those of other libraries are theirs
@pytest.mark.parametrize(
    "page", [p for p in PAGES if p not in (*ELSEWHERE, *STUDIES, "commands.md")]
)
def test_page_runs_from_top_to_bottom(page, here, request):
    names = {}
    if page in ("README.md", "index.md"):
        names = request.getfixturevalue("around")
    for name in {"run", "pruned"} - SUPPOSED.get(page, set()):
        shutil.rmtree(name)
    for block in blocks(page):
        if not block.reason:
            run_block(block, names)


@pytest.mark.parametrize(
    "block", [b for b in blocks("commands.md") if b.language == "sh" and not b.reason], ids=str
)
def test_example_of_a_command_runs(block, here):
    for words in block.commands:
        if "--out" in words:
            shutil.rmtree(words[words.index("--out") + 1], ignore_errors=True)
    run_commands(block)


def understood(words):
    """Read the words of a command as it would, and do nothing; a mistake is an error."""
    group = typer.main.get_command(app)
    group.make_context("dualprune", words[:1])
    command = group.commands[words[0]]
    while words[1:] and hasattr(command, "commands"):
        command, words = command.commands[words[1]], words[1:]
    return command.make_context(words[0], words[1:]).params


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_are_not_run_are_understood(page):
    for block in blocks(page):
        for words in block.commands if block.reason or page in STUDIES else []:
            if words[0] == "dualprune":
                given = understood(words[1:])
                if words[1] == "reproduce" and given["name"]:
                    assert find_experiment(given["name"]).at(given["scale"])


def test_pages_that_other_tests_run_are_there():
    tests = Path(__file__).parent
    for page, file in ELSEWHERE.items():
        assert page in (tests / file).read_text("utf-8")
        commands = [words for block in blocks(page) for words in block.commands]
        assert "dualprune" not in {words[0] for words in commands}, "no test runs it there"
