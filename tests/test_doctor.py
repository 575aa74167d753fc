"""`dualprune doctor` reads all of a run, also its names and features."""

from itertools import product

import numpy as np
import pytest

from dualprune.errors import DamagedError
from dualprune.run.features import read_features, write_features
from dualprune.run.health import examine
from dualprune.run.names import read_names, write_names
from tests.run_by_hand import trajectories, write_run

SAMPLES = 40


@pytest.fixture
def root(tmp_path):
    path = tmp_path / "run"
    write_run(path, trajectories())
    write_names(path, tuple(f"{i}.png" for i in range(SAMPLES)), np.arange(SAMPLES))
    for epoch in (5, 12):
        write_features(path, epoch, np.random.default_rng(epoch).normal(size=(SAMPLES, 3)))
    return path


def flip(path, position, bit=4):
    data = bytearray(path.read_bytes())
    data[position] ^= bit
    path.write_bytes(data)


def test_doctor_says_after_which_epochs_there_are_features(dualprune, root):
    code, out, _ = dualprune("doctor", root)
    assert code == 0
    assert "\nfeatures    after epochs 5, 12\n" in out
    assert "leftovers" not in out


@pytest.mark.parametrize("name", ["names.parquet", "features/000005.parquet"])
@pytest.mark.parametrize("position", [60, -5, -1])
def test_doctor_names_a_damaged_file_beside_the_epochs(dualprune, root, name, position):
    flip(root / name, position)
    code, out, _ = dualprune("doctor", root)
    assert code == 1
    assert f"{root / name} is damaged" in out
    assert "damage      1 found" in out
    assert "epochs      12 complete" in out
    assert "after epochs 12" in out or name == "names.parquet"


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("names.parquet", lambda root: read_names(root, SAMPLES)),
        ("features/000005.parquet", lambda root: {"": read_features(root, 5, SAMPLES)}),
    ],
)
def test_a_bit_flipped_in_the_footer_is_damage_or_changes_nothing(root, name, read):
    path, expected, damaged = root / name, read(root), 0
    whole = path.read_bytes()
    footer = 8 + int.from_bytes(whole[-8:-4], "little")
    for position, bit in product(range(-footer, 0), (1, 4, 128)):
        path.write_bytes(whole)
        flip(path, position, bit)
        try:
            values = read(root)
        except DamagedError:
            damaged += 1
        else:
            assert values.keys() == expected.keys()
            assert all((values[key] == expected[key]).all() for key in values)
    assert damaged > footer


@pytest.mark.parametrize("name", ["names.parquet", "features/000012.parquet"])
def test_doctor_names_a_file_that_is_something_else(dualprune, root, name):
    (root / name).write_bytes(b"not ours")
    code, out, _ = dualprune("doctor", root)
    assert code == 1
    assert f"{root / name} is damaged" in out


def test_names_and_features_of_another_number_of_samples_are_damage(dualprune, root):
    write_names(root, (), np.arange(SAMPLES + 1))
    write_features(root, 5, np.ones((SAMPLES - 1, 3)))
    code, out, _ = dualprune("doctor", root)
    assert code == 1
    assert "names.parquet names 41 samples, the run has 40" in out
    assert "000005.parquet is damaged" in out


def test_files_that_nobody_reads_are_leftovers_also_among_the_features(root):
    strange = [root / "features" / name for name in (".0.tmp", "7.parquet", "notes.txt")]
    for path in strange:
        path.write_bytes(b"not ours")
    health = examine(root)
    assert health.leftovers == strange
    assert (health.damage, health.features) == ([], [5, 12])
