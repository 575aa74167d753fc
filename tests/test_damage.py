"""Damaged, lost and foreign files give a clear error or change nothing, and never run code."""

import ast
import shutil
from pathlib import Path

import numpy as np
import pytest

import dualprune
from dualprune import Run
from dualprune.errors import DamagedError, DualpruneError, InputError, MissingError
from dualprune.run.writer import write_part
from tests.damaging import KINDS
from tests.recording import (
    CLASSES,
    COUNTS,
    SAMPLES,
    SIGNALS,
    check_run,
    columns_of,
    record,
    recorder,
    run_script,
    seen_ids,
    without_fsync,
)
from tests.run_by_hand import start

RUNS = Path(__file__).parent / "runs"
UNSAFE_CALLS = {"eval", "exec", "torch.load"}
NUMPY_LOAD = {"np.load", "numpy.load"}
UNSAFE_MODULES = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}


@pytest.fixture(autouse=True)
def _no_waiting():
    with without_fsync():
        yield


@pytest.mark.parametrize("kind", KINDS)
def test_every_cut_every_bit_and_a_pickle(tmp_path, kind):
    run_script("damaging", kind, tmp_path)


def record_with_two(path, epochs):
    """What two processes leave: each has every other sample."""
    attempt = start(path, SAMPLES, CLASSES, SIGNALS, writers=2)
    for epoch in range(1, epochs + 1):
        ids = np.sort(seen_ids(epoch))
        for writer in (0, 1):
            write_part(attempt, epoch, writer, columns_of(ids[ids % 2 == writer], epoch), COUNTS)
    return path


def part(path, epoch, writer, attempt=1):
    (found,) = path.glob(f"attempts/{attempt:04d}/{epoch:06d}/part-{writer}-of-*.parquet")
    return found


def swap(one, other):
    """Let each lie where the other was, under its own name."""
    one_folder, other_folder = one.parent, other.parent
    other.rename(one_folder / other.name)
    one.rename(other_folder / one.name)


def test_two_processes_are_read_as_one(tmp_path):
    assert check_run(record_with_two(tmp_path / "run", 3), 3) == 3


@pytest.mark.parametrize("lost", [1, 2])
def test_a_part_lost_from_the_middle_is_named_and_can_be_recorded_again(tmp_path, lost):
    path = record_with_two(tmp_path / "run", 4)
    part(path, lost, 1).unlink()
    with pytest.raises(DamagedError, match=rf"epoch {lost} has lost.*start_epoch={lost}\b"):
        Run(path)
    record(path, 4, start_epoch=lost)
    assert check_run(path, 4) == 4


def test_a_lost_part_does_not_make_a_run_look_empty_to_a_recorder(tmp_path):
    path = record_with_two(tmp_path / "run", 4)
    part(path, 1, 0).unlink()
    with pytest.raises(DualpruneError):
        recorder(path)
    assert len(list(path.glob("attempts/*"))) == 1, "epochs 2 to 4 were hidden without being asked"


def test_an_epoch_that_lacks_its_last_part_is_not_there_yet(tmp_path):
    path = record_with_two(tmp_path / "run", 3)
    part(path, 3, 1).unlink()
    assert check_run(path, 2) == 2


@pytest.mark.parametrize("lost", [1, 2])
def test_a_lost_start_is_noticed(tmp_path, lost):
    path = tmp_path / "run"
    record(path, 3)
    record(path, 2, start_epoch=2, version=1)
    (path / f"attempts/{lost:04d}/start.json").unlink()
    with pytest.raises(DamagedError):
        Run(path)


def test_the_start_of_another_attempt_is_refused(tmp_path):
    path = tmp_path / "run"
    record(path, 3)
    record(path, 2, start_epoch=2, version=1)
    shutil.copy(path / "attempts/0001/start.json", path / "attempts/0002/start.json")
    with pytest.raises(DamagedError, match=r"0002/start\.json is damaged: it is that of 0001"):
        Run(path)


def test_a_lost_description_is_missing(tmp_path):
    record(tmp_path / "run", 1)
    (tmp_path / "run/run.json").unlink()
    with pytest.raises(MissingError, match=r"run\.json"):
        Run(tmp_path / "run")


def test_foreign_files_are_passed_over(tmp_path):
    path = record_with_two(tmp_path / "run", 3)
    real = part(path, 2, 0)
    (path / "attempts/0002").mkdir()
    (path / "attempts/backup").mkdir()
    (path / "attempts/0001/logs").mkdir()
    for name in (".DS_Store", "notes.txt", "attempts/README", "attempts/0001/000002/.nfs0001"):
        (path / name).write_bytes(b"not ours")
    shutil.copy(real, real.with_name("part-0-of-2-copy.parquet"))
    shutil.copy(real, real.with_name(real.name + ".bak"))
    shutil.copy(real, real.with_name(real.name.replace("of-2", "of-3")))
    assert check_run(path, 3) == 3
    record(path, 4, start_epoch=4)
    assert check_run(path, 4) == 4


def test_parts_swapped_between_epochs_are_refused(tmp_path):
    path = record_with_two(tmp_path / "run", 3)
    swap(part(path, 1, 0), part(path, 3, 0))
    with pytest.raises(DamagedError, match="belongs elsewhere: its epoch is 3, not 1"):
        Run(path)


def test_a_part_of_one_process_too_many_is_refused_by_name(tmp_path):
    path = record_with_two(tmp_path / "run", 2)
    real = part(path, 2, 0)
    shutil.copy(real, real.with_name(real.name.replace("part-0", "part-2")))
    with pytest.raises(DamagedError, match=r"part-2-of-2-.* belongs elsewhere: 2 processes"):
        Run(path)


def test_parts_swapped_between_processes_are_refused(tmp_path):
    path = record_with_two(tmp_path / "run", 1)
    one, other = part(path, 1, 0), part(path, 1, 1)
    one.rename(one.with_name(one.name.replace("part-0", "part-1")))
    other.rename(other.with_name(other.name.replace("part-1", "part-0")))
    with pytest.raises(DamagedError, match="belongs elsewhere: its writer is 1, not 0"):
        Run(path)


def test_parts_under_each_other_s_names_are_refused(tmp_path):
    path = record_with_two(tmp_path / "run", 1)
    one, other = part(path, 1, 0), part(path, 1, 1)
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    with pytest.raises(DamagedError, match="footer does not match its name"):
        Run(path)


def test_a_part_of_another_run_is_refused(tmp_path):
    path, other = (record_with_two(tmp_path / name, 2) for name in ("run", "other"))
    part(path, 2, 0).unlink()
    shutil.copy(part(other, 2, 0), part(path, 2, 1).parent)
    with pytest.raises(DamagedError, match="belongs elsewhere: its attempt is"):
        Run(path)


def test_a_part_of_an_earlier_attempt_is_refused(tmp_path):
    path = tmp_path / "run"
    record(path, 2)
    record(path, 2, start_epoch=2)
    part(path, 2, 0, attempt=2).unlink()
    shutil.copy(part(path, 2, 0, attempt=1), path / "attempts/0002/000002")
    with pytest.raises(DamagedError, match="belongs elsewhere: its attempt is"):
        Run(path)


def test_an_attempt_of_another_run_is_refused(tmp_path):
    path = tmp_path / "run"
    record(path, 2)
    record(tmp_path / "other", 2, samples=SAMPLES + 1)
    shutil.rmtree(path / "attempts")
    shutil.copytree(tmp_path / "other/attempts", path / "attempts")
    with pytest.raises(DamagedError, match=r"0001 was recorded for another run\.json"):
        Run(path)


def test_two_parts_of_one_process_are_refused(tmp_path):
    path, other = (record_with_two(tmp_path / name, 2) for name in ("run", "other"))
    shutil.copy(part(other, 1, 1), part(path, 1, 1).parent)
    with pytest.raises(DamagedError, match="two parts of process 1"):
        Run(path)


@pytest.mark.parametrize("file", ["run.json", "attempts", "scores.parquet"])
def test_nothing_is_recorded_into_what_is_not_a_run(tmp_path, file):
    (tmp_path / file).write_bytes(b"something else")
    with pytest.raises(DualpruneError):
        recorder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [file]
    with pytest.raises(InputError, match="not a run"):
        recorder(tmp_path / file)


def test_opening_a_run_starts_no_program_asks_no_network_and_unpickles_nothing(tmp_path):
    assert run_script("opening", RUNS / "digits", tmp_path).split() == []


def test_the_source_cannot_run_what_it_reads():
    files = Path(dualprune.__file__).parent.rglob("*.py")
    found = [
        f"{file}:{node.lineno}: {ast.unparse(node)}"
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if imported(node) & UNSAFE_MODULES or unsafe_call(node)
    ]
    assert not found


def imported(node):
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    return {name.split(".")[0] for name in names}


def unsafe_call(node):
    """Numpy's `load` is safe only as long as it says so."""
    if not isinstance(node, ast.Call):
        return False
    called = ast.unparse(node.func)
    safe = any(ast.unparse(keyword) == "allow_pickle=False" for keyword in node.keywords)
    return called in UNSAFE_CALLS or (called in NUMPY_LOAD and not safe)
