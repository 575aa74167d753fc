"""Every example runs as a user starts it, at its smallest size, and makes a picture."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dualprune import Run

EXAMPLES = Path(__file__).parents[1] / "examples"
PICTURES = "../docs/images/gallery"
SMALLEST = {
    "beta_moves": 300,
    "from_losses": 12,
    "language_model": 20,
    "lightning_callback": 12,
    "own_loop": 12,
    "own_score": 300,
    "ray_train": 12,
    "tables": 1,
    "texts": 12,
    "transformers_classifier": 12,
    "while_training": 4,
    "wrong_labels": 12,
}
THEIRS = {  # warnings of other libraries about themselves
    "lightning_callback": ["ignore:`isinstance(treespec, LeafSpec)`"],
    "ray_train": ["ignore::DeprecationWarning:ray.data.context"],
}


@pytest.mark.parametrize("name", SMALLEST)
def test_example_runs_without_warnings_and_draws(tmp_path, name):
    filters = [word for each in ["error", *THEIRS.get(name, [])] for word in ("-W", each)]
    command = [sys.executable, *filters, EXAMPLES / f"{name}.py", str(SMALLEST[name])]
    own = {"OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | own,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    picture = np.asarray(Image.open(tmp_path / f"{name}.png").convert("L"))
    assert min(picture.shape) >= 300
    assert picture.std() > 5, "the picture is blank"
    if name == "ray_train":
        assert_two_workers_recorded(tmp_path / name, SMALLEST[name])


def assert_two_workers_recorded(path, epochs):
    parts = list(path.glob("attempts/0001/*/part-?-of-2-*.parquet"))
    assert len(parts) == 2 * epochs
    assert np.isfinite(Run(path)["loss"]).all()
    assert Run(path).epochs == epochs


def test_every_example_is_run_short_and_listed_with_what_it_says_of_itself():
    scripts = {path.stem: path.read_text("utf-8") for path in EXAMPLES.glob("*.py")}
    del scripts["dask_ranges"]  # has no picture; tests/test_example_dask.py runs it
    listed = (EXAMPLES / "README.md").read_text("utf-8")
    assert scripts.keys() == SMALLEST.keys()
    for name, code in scripts.items():
        first, usage = ast.get_docstring(ast.parse(code)).splitlines()[:3:2]
        assert code.count("\n") < 60
        assert usage.strip().startswith(f"python examples/{name}.py [")
        assert f"[`{name}.py`]({name}.py): {first}\n" in listed
        assert f"![]({PICTURES}/{name}.png)" in listed
        assert (EXAMPLES / PICTURES / f"{name}.png").is_file()
