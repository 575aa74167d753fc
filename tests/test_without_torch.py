"""From a run on disk to an applied coreset where there is no torch."""

import subprocess
import sys
from pathlib import Path

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


NEEDING_TORCH = ("Indexed", "Recorder", "compare", "prune", "record.Outputs", "train.recipes")


@pytest.mark.parametrize("name", NEEDING_TORCH)
def test_what_needs_torch_says_what_to_install(name):
    module, _, attribute = f"dualprune.{name}".rpartition(".")
    printed = python(f"""
import sys
sys.modules["torch"] = None
from dualprune import MissingError
try:
    from {module} import {attribute}
except MissingError as error:
    print(error)
""")
    assert printed == SAID


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("sklearn", "sklearn", "sklearn"),
        ("lightning", "lightning", "lightning"),
        ("lightning", "torch", "lightning"),
        ("transformers", "datasets", "hf"),
        ("transformers", "torch", "hf"),
        ("ray", "ray", "ray"),
    ],
)
def test_an_integration_says_what_to_install(name, module, extra):
    printed = python(f"""
import sys
sys.modules["{module}"] = None
from dualprune import MissingError
try:
    import dualprune.integrations.{name}
except MissingError as error:
    print(error)
""")
    said = f"this needs {module}, which is not installed: pip install 'dualprune[{extra}]'\n"
    assert printed == said


SAID = "this needs torch, which is not installed: pip install 'dualprune[torch]'\n"
COMMAND = """
import sys
sys.modules["torch"] = None
from dualprune.cli.__main__ import main
sys.argv = ["dualprune", *sys.argv[1:]]
main()
"""


def command(*words):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", COMMAND, *map(str, words)],
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "words",
    [
        "demo",
        "prune digits --keep 0.5 --out OUT",
        "record digits --out OUT",
        "train digits --out OUT",
        "compare digits --out OUT",
        "reproduce cifar10 --scale smoke --out OUT",
    ],
)
def test_a_command_that_needs_torch_says_what_to_install(tmp_path, words):
    done = command(*words.replace("OUT", str(tmp_path / "out")).split())
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"dualprune: {SAID}")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words",
    [
        *("--help", "--version", "prune --help", "methods", "reproduce"),
        *("doctor RUN", "audit RUN", "score dual RUN --out OUT", "report RUN --out OUT"),
        "select top RUN --keep 0.5 --out OUT",
    ],
)
def test_what_needs_no_torch_works_without_it(tmp_path, words):
    places = {"RUN": Path(__file__).parent / "runs/digits", "OUT": tmp_path / "out"}
    done = command(*(places.get(word, word) for word in words.split()))
    assert done.returncode == 0, done.stderr


def test_an_unknown_name_of_the_package_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'prun'"):
        _ = dualprune.prun
