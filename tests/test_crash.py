"""A run survives kills, failing disks and second writers: nothing acknowledged is ever lost."""

import contextlib
import os
import shutil
import subprocess
from errno import EACCES, EDQUOT, EIO, ENOSPC
from functools import partial
from itertools import count

import pytest
from torture.calls import between
from torture.faults import failing

from dualprune import Coreset, Run, choose
from dualprune.data import load
from dualprune.errors import DualpruneError, InputError, MissingError, WriteError
from dualprune.experiments import results
from tests.recording import (
    CLASSES,
    SAMPLES,
    SYSTEM_CALLS,
    check_goes_on,
    check_run,
    fault,
    record,
    recorder,
    run_script,
    see,
    system_calls,
    watch_syncs,
    without_fsync,
)

FAULTS = pytest.mark.parametrize(
    ("code", "lasting", "late"),
    [(ENOSPC, False, False), (EIO, True, False), (EDQUOT, False, True), (ENOSPC, True, True)],
)


@pytest.fixture(autouse=True)
def _no_waiting():
    with without_fsync():
        yield


def test_kills_at_200_random_instants(tmp_path):
    run_script("killing", "at_random_instants", tmp_path)


def test_a_kill_at_every_system_call(tmp_path):
    run_script("killing", "at_every_call", tmp_path)


def fails(n, work, code, **how):
    """Whether there was an n-th call to fail: then, and only then, `work` must say so."""
    told = ""
    with fault(n, code, **how) as hits:
        try:
            work()
        except WriteError as error:
            told = str(error)
    assert bool(hits) == (os.strerror(code) in told), (hits, told)
    return bool(hits)


@FAULTS
def test_end_epoch_says_what_failed_and_can_be_repeated(tmp_path, code, lasting, late):
    record(tmp_path / "two", 2)
    for n in count(1):
        path = shutil.copytree(tmp_path / "two", tmp_path / str(n))
        recording = recorder(path, 3)
        see(recording)
        failed = fails(n, recording.end_epoch, code, lasting=lasting, late=late)
        assert check_run(path, 2 if failed else 3) <= 3
        check_goes_on(shutil.copytree(path, tmp_path / f"{n}-reopened"))
        if not failed:
            break
        recording.end_epoch()
        assert check_run(path, 3) == 3
        check_goes_on(path)
    assert n > len(SYSTEM_CALLS)


@FAULTS
def test_a_first_start_that_fails_can_be_repeated(tmp_path, code, lasting, late):
    for n in count(1):
        path = tmp_path / str(n)
        failed = fails(n, partial(recorder, path), code, lasting=lasting, late=late)
        with contextlib.suppress(MissingError):
            assert check_run(path, 0) == 0
        record(path, 1)
        check_goes_on(path)
        if not failed:
            break
    assert n > len(SYSTEM_CALLS)


@FAULTS
@pytest.mark.parametrize("start_epoch", [4, 2])
def test_a_resume_that_fails_can_be_repeated(tmp_path, start_epoch, code, lasting, late):
    record(tmp_path / "three", 3)
    for n in count(1):
        path = shutil.copytree(tmp_path / "three", tmp_path / str(n))
        failed = fails(n, partial(recorder, path, start_epoch), code, lasting=lasting, late=late)
        assert check_run(path, 3) == 3
        check_goes_on(path)
        if not failed:
            break
    assert n > len(SYSTEM_CALLS)


def looked_at(home):
    yield partial(recorder, home / "new")
    yield partial(recorder, home / "two", 3)
    yield partial(Run, home / "two")
    yield partial(Coreset.load, home / "coreset")
    yield partial(results.read, home / "results.jsonl")
    yield partial(load, home / "nothing.npz")


@pytest.mark.parametrize("code", [EIO, EACCES])
@pytest.mark.parametrize("number", range(6))
def test_what_cannot_be_looked_at_is_an_error_that_names_it(tmp_path, code, number):
    record(tmp_path / "home/two", 2)
    choose(tmp_path / "home/two", "random", keep=9).save(tmp_path / "home/coreset")
    for n in count(1):
        home, hits, told = shutil.copytree(tmp_path / "home", tmp_path / str(n)), [], ""
        work = [*looked_at(home)][number]
        with between(failing(n, code, lasting=True, hits=hits), home):
            try:
                work()
            except DualpruneError as error:
                told = str(error)
        if not hits:
            break
        assert f"(errno {code}" in told, (hits, told)
        assert str(home) in told


def test_faults_while_recovering_from_faults(tmp_path):
    record(tmp_path / "two", 2)
    for n in count(1):
        broken = shutil.copytree(tmp_path / "two", tmp_path / str(n))
        recording = recorder(broken, 3)
        see(recording)
        if not fails(n, recording.end_epoch, EIO, lasting=True):
            break
        epochs = Run(broken).epochs
        for m in count(1):
            path = shutil.copytree(broken, tmp_path / f"{n}-{m}")
            failed = fails(m, partial(recorder, path, epochs + 1), ENOSPC, lasting=True)
            assert check_run(path, 2) == epochs
            check_goes_on(path)
            if not failed:
                break


@pytest.mark.parametrize("then_full", [False, True])
def test_a_disk_that_takes_only_half_of_what_it_is_given(tmp_path, then_full):
    writes = count(1)

    def around(call, name, given):
        if name != "write":
            return call(*given)
        if then_full and next(writes) > 1:
            raise OSError(ENOSPC, os.strerror(ENOSPC))
        descriptor, data = given
        return call(descriptor, data[: (len(data) + 1) // 2])

    record(tmp_path, 2)
    recording = recorder(tmp_path, 3)
    see(recording)
    with system_calls(around), pytest.raises(WriteError) if then_full else contextlib.nullcontext():
        recording.end_epoch()
    if then_full:
        assert check_run(tmp_path, 2) == 2
        recording.end_epoch()
    assert check_run(tmp_path, 3) == 3
    check_goes_on(tmp_path)


def test_what_is_acknowledged_survives_a_power_cut_also_after_a_fault(tmp_path):
    def at_second_try(work):
        try:
            return work()
        except WriteError:
            return work()

    for n in count(1):
        path = tmp_path / str(n)
        with watch_syncs() as unsynced, fault(n, EIO) as hits:
            recording = at_second_try(partial(recorder, path))
            see(recording)
            at_second_try(recording.end_epoch)
        assert check_run(path, 1) == 1
        *_, part = sorted(path.glob("attempts/*/000001/*.parquet"))
        at_risk = unsynced & {part, *part.parents}
        assert not at_risk, f"never synced after {hits} failed at call {n}: {at_risk}"
        if not hits:
            break


def run_in_namespace(scenario, folder):
    """Run where mounting is allowed; the checks of every change must not skip this."""
    possible = (
        shutil.which("unshare")
        and not subprocess.run(
            ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", folder],
            capture_output=True,
            check=False,
        ).returncode
    )
    if not possible:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("cannot mount in a user namespace")
    run_script("mounting", scenario, folder, before=("unshare", "-rm"))


@pytest.mark.parametrize("scenario", ["full_disk", "read_only", "read_only_parents"])
def test_real_file_systems(tmp_path, scenario):
    run_in_namespace(scenario, tmp_path)


@pytest.mark.parametrize("lost", ["run", "run/attempts", "run/attempts/0001"])
def test_a_folder_removed_while_recording(tmp_path, lost):
    recording = recorder(tmp_path / "run")
    see(recording)
    shutil.rmtree(tmp_path / lost)
    with pytest.raises(DualpruneError, match="cannot"):
        recording.end_epoch()


def test_a_file_where_the_folder_of_an_epoch_goes(tmp_path):
    recording = recorder(tmp_path / "run")
    see(recording)
    in_the_way = tmp_path / "run/attempts/0001/000001"
    in_the_way.touch()
    with pytest.raises(DualpruneError, match="000001"):
        recording.end_epoch()
    in_the_way.unlink()
    recording.end_epoch()
    assert check_run(tmp_path / "run", 1) == 1


def test_eight_processes_race_to_record_into_one_folder(tmp_path):
    run_script("racing", tmp_path)


@pytest.mark.parametrize(("epochs", "start_epoch"), [(0, None), (2, 3)])
def test_an_attempt_that_was_taken_over_is_told_and_stays_hidden(tmp_path, epochs, start_epoch):
    if epochs:
        record(tmp_path, epochs)
    older, newer = recorder(tmp_path, start_epoch), recorder(tmp_path, start_epoch)
    see(older, version=1)
    with pytest.raises(InputError, match="taken over"):
        older.end_epoch()
    assert check_run(tmp_path, epochs) == epochs
    see(newer)
    newer.end_epoch()
    assert check_run(tmp_path, epochs + 1) == epochs + 1


def interrupted(work, n, interruption):
    """Do `work`, with the interruption before its n-th system call; gives whether there was one."""
    calls, met = count(1), []

    def around(call, _, given):
        if next(calls) == n:
            met.append(n)
            interruption()
        return call(*given)

    with system_calls(around):
        work()
    return bool(met)


@pytest.mark.parametrize("inner", ["an epoch ends during a start", "a start during the end"])
def test_a_start_never_hides_an_epoch_that_another_process_ends_meanwhile(tmp_path, inner):
    for n in count(1):
        path = tmp_path / str(n)
        older = recorder(path)
        see(older)
        works = [partial(unless_refused, older.end_epoch), partial(unless_refused, recorder, path)]
        inside, outside = works if "epoch ends" in inner else reversed(works)
        if not interrupted(outside, n, inside):
            break
        acknowledged = older.epoch - 1
        assert check_run(path, 0) >= acknowledged, f"hidden when {inner}, at call {n}"


def unless_refused(work, *arguments):
    with contextlib.suppress(InputError):
        work(*arguments)


def test_going_back_hides_what_comes_later(tmp_path):
    record(tmp_path, 6)
    recording = recorder(tmp_path, 3)
    assert check_run(tmp_path, 6) == 6, "hidden before there is anything instead"
    for epochs in (3, 4):
        see(recording, version=1)
        recording.end_epoch()
        assert check_run(tmp_path, epochs, versions={3: 1, 4: 1}) == epochs


def test_attempt_10000_comes_after_attempt_9999(tmp_path):
    record(tmp_path, 3)
    (tmp_path / "attempts/0001").rename(tmp_path / "attempts/9999")
    record(tmp_path, 2, start_epoch=2, version=1)
    assert check_run(tmp_path, 2, versions={2: 1}) == 2


def test_a_run_with_epochs_is_not_overwritten_by_accident(tmp_path):
    record(tmp_path, 2)
    with pytest.raises(InputError) as told:
        recorder(tmp_path)
    choices = ("epochs 1 to 2", "start_epoch=3", "a smaller one", "start_epoch=1", "another folder")
    assert all(choice in str(told.value) for choice in choices)
    for start_epoch in (-1, 0, 4):
        with pytest.raises(InputError, match="from 1 to 3"):
            recorder(tmp_path, start_epoch)
    assert check_run(tmp_path, 2) == 2


@pytest.mark.parametrize(
    "other",
    [
        {"samples": SAMPLES + 1},
        {"classes": CLASSES + 1},
        {"signals": ("margin",)},
        {"mode": "eval"},
        {"class_names": tuple("abcde")},
        {"notes": "another"},
    ],
)
def test_another_dataset_or_recipe_is_refused(tmp_path, other):
    record(tmp_path, 2)
    with pytest.raises(InputError, match=f"another run: {next(iter(other))} is"):
        recorder(tmp_path, 3, **other)
    assert check_run(tmp_path, 2) == 2


def test_other_labels_are_refused(tmp_path, monkeypatch):
    record(tmp_path, 2)
    recording = recorder(tmp_path, 3)
    monkeypatch.setattr("tests.recording.labels_of", lambda ids: (ids % CLASSES).astype("int32"))
    see(recording)
    monkeypatch.undo()
    with pytest.raises(InputError, match="labels changed"):
        recording.end_epoch()
    assert check_run(tmp_path, 2) == 2
