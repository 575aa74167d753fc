"""From a run on disk to an applied coreset where there is no torch."""

import subprocess
import sys

import pytest

import dualprune
from dualprune import choose
from tests.run_by_hand import trajectories, write_run


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run", trajectories())


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
import numpy as np
from dualprune import Coreset, Run, choose, score, select

run = Run(sys.argv[1])
p = run["target_prob"]
by_hand = select.beta(score.dual(p), score.confidence(p), k=9, seed=4)
coreset = choose(run, "dual+beta", keep=9, seed=4)
coreset.save(sys.argv[2])
again = Coreset.load(sys.argv[2])
assert again.ids.tolist() == coreset.ids.tolist() == by_hand.tolist()
assert again.apply(np.arange(40)).tolist() == by_hand.tolist()
try:
    from dualprune import Recorder
except ImportError:
    print(*by_hand)
"""


def python(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_from_a_run_on_disk_to_an_applied_coreset_without_torch(tmp_path, run):
    printed = python(WITHOUT_TORCH, run.path, tmp_path / "coreset")
    expected = choose(run, "dual+beta", keep=9, seed=4)
    assert [int(word) for word in printed.split()] == expected.ids.tolist()


def test_importing_and_using_small_arrays_loads_neither_torch_nor_numba():
    python("""
import sys
import dualprune
assert not {"torch", "numba", "numpy", "pyarrow"} & set(sys.modules), "the package is lazy"
import numpy as np
from dualprune import Coreset, Run, score, select
p = np.random.default_rng(0).random((12, 30))
select.beta(score.dual(p), score.confidence(p), k=9, seed=4)
assert not {"torch", "numba"} & set(sys.modules)
assert set(dualprune.__all__) >= {"Coreset", "Indexed", "Recorder", "Run", "score", "select"}
""")


def test_an_unknown_name_of_the_package_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'prun'"):
        _ = dualprune.prun
