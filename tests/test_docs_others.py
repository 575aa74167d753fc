"""The examples with other libraries run as they stand, where their library is installed."""

import ast
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.data import TensorDataset

from dualprune import Coreset, Run

DOCS = Path(__file__).parents[1] / "docs"
SECTION = re.compile(r"^## (.+?)$.*?```python\n(.+?)```", re.MULTILINE | re.DOTALL)
EXAMPLES = dict(SECTION.findall((DOCS / "others.md").read_text("utf-8")))
SAMPLES = 90


def imported(code):
    """Names of the packages that a block imports."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]


@pytest.fixture
def around():
    """What the page says of the names that an example uses."""
    rng = np.random.default_rng(0)
    y = np.arange(SAMPLES) % 3
    x = (np.eye(3)[y] + rng.normal(0, 0.1, (SAMPLES, 3))).astype(np.float32)
    model = torch.nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    train = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    margin = rng.normal(2, 1, (12, SAMPLES))
    signals = {"loss": np.log1p(np.exp(-margin)), "margin": margin}
    Run.from_arrays("recorded", **signals, rival=np.tile((y + 1) % 3, (12, 1)), labels=y)
    return {"x": x, "y": y, "train": train, "model": model, "optimizer": optimizer}


def learned(_):
    loss = Run("run")["loss"]
    assert loss.shape == (12, SAMPLES)
    assert np.isfinite(loss).all()
    assert loss[-1].mean() < loss[0].mean()


def trained_without_suspects(names):
    assert names["cleaned"].predict(names["x"]).shape == (SAMPLES,)
    assert names["issues"].index.tolist() == list(range(SAMPLES))


def named(names):
    run = Run("run")
    assert run.names["name"].tolist() == [f"photo{i:03d}" for i in range(SAMPLES)]
    np.testing.assert_array_equal(run["loss"], np.full((3, SAMPLES), 0.5, np.float32))


def counted(names):
    kept = Coreset.load("small").mask
    shares = [kept[names["y"] == label].mean() for label in range(3)]
    np.testing.assert_allclose([row[1] for row in names["shares"]], shares)


CHECKS = {
    "accelerate": learned,
    "Keras 3": learned,
    "skorch": learned,
    "cleanlab": trained_without_suspects,
    "WebDataset": named,
    "DuckDB": counted,
}


@pytest.mark.filterwarnings("default")  # those of other libraries are theirs
@pytest.mark.parametrize("library", CHECKS)
def test_example_runs(library, tmp_path, monkeypatch, request):
    code = EXAMPLES[library]
    if missing := {name for name in imported(code) if find_spec(name) is None}:
        pytest.skip(f"{', '.join(missing)} not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    names = request.getfixturevalue("around")
    exec(compile(code, f"others.md: {library}", "exec"), names)
    CHECKS[library](names)


def test_every_example_is_checked_and_short():
    assert EXAMPLES.keys() == CHECKS.keys()
    assert all(len(code.splitlines()) <= 20 for code in EXAMPLES.values())
