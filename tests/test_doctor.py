"""`dualprune doctor` reads all of a run, also its names and features."""

from itertools import product

import numpy as np
import pytest

from dualprune import Run
from dualprune.errors import DamagedError
from dualprune.run.health import examine
from tests.run_by_hand import trajectories, write_run

SAMPLES = 40


@pytest.fixture
def root(tmp_path):
    path, names = tmp_path / "run", [f"{i}.png" for i in range(SAMPLES)]
    features = {n: np.random.default_rng(n).normal(size=(SAMPLES, 3)) for n in (5, 12)}
    write_run(path, trajectories(), names=names, features=features)
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


@pytest.mark.parametrize("name", ["names.parquet", "attempts/0001/000005/features.parquet"])
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
        ("names.parquet", lambda root: Run(root).names),
        ("attempts/0001/000005/features.parquet", lambda root: {"": Run(root).features(5)}),
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


@pytest.mark.parametrize("name", ["names.parquet", "attempts/0001/000012/features.parquet"])
def test_doctor_names_a_file_that_is_something_else(dualprune, root, name):
    (root / name).write_bytes(b"not ours")
    code, out, _ = dualprune("doctor", root)
    assert code == 1
    assert f"{root / name} is damaged" in out


def test_names_and_features_that_are_gone_are_damage_and_no_older_ones_are_read(root, dualprune):
    (root / "names.parquet").unlink()
    (root / "attempts/0001/000012/features.parquet").unlink()
    run = Run(root)
    with pytest.raises(DamagedError, match=r"names\.parquet"):
        _ = run.names
    with pytest.raises(DamagedError, match=r"000012/features\.parquet"):
        run.features()
    code, out, _ = dualprune("doctor", root)
    assert (code, "damage      2 found" in out) == (1, True)


def test_names_and_features_of_another_run_or_epoch_are_damage(root, tmp_path):
    other = tmp_path / "other"
    features = {5: np.ones((SAMPLES, 3))}
    write_run(other, trajectories(), names=[f"{i}.jpg" for i in range(SAMPLES)], features=features)
    for name in ("names.parquet", "attempts/0001/000005/features.parquet"):
        (root / name).write_bytes((other / name).read_bytes())
    assert len(examine(root).damage) == 2
    twelve = (root / "attempts/0001/000012/features.parquet").read_bytes()
    (root / "attempts/0001/000005/features.parquet").write_bytes(twelve)
    with pytest.raises(DamagedError, match=r"000005/features\.parquet"):
        Run(root).features(5)


def test_names_and_features_are_part_of_the_fingerprint(tmp_path):
    names, features = [f"{i}.png" for i in range(SAMPLES)], {3: np.ones((SAMPLES, 2))}
    kinds = [{}, {"names": names}, {"names": names[::-1]}, {"features": features}]
    runs = [write_run(tmp_path / str(n), trajectories(), **kind) for n, kind in enumerate(kinds)]
    assert len({run.fingerprint for run in runs}) == 4


def test_files_that_nobody_reads_are_leftovers_also_among_the_features(root):
    folder = root / "attempts/0001/000005"
    strange = [folder / name for name in (".0.tmp", "7.parquet", "notes.txt")]
    for path in strange:
        path.write_bytes(b"not ours")
    health = examine(root)
    assert health.leftovers == strange
    assert (health.damage, health.features) == ([], [5, 12])
