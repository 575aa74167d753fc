"""Coresets written range by range: the same as in memory, by whatever workers, also killed ones."""

import importlib
import multiprocessing
import pickle
import shutil
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from dualprune import Method, Run, choose
from dualprune.cli import engine, progress
from dualprune.errors import DamagedError, InputError
from dualprune.signatures import Array

from .commands import dualprune
from .mapping import (
    METHODS,
    SAMPLES,
    assert_same,
    in_memory,
    in_parts,
    killing,
    killing_driver,
    record,
)

every_method = pytest.mark.parametrize(("name", "knobs"), METHODS, ids=str)
few_are_kept = pytest.mark.filterwarnings("ignore:.*fair share")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return record(tmp_path_factory.mktemp("parts") / "run")


def pool(workers=2):
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("fork"))


@pytest.mark.parametrize("count", [1, 2, 7, 100])
@every_method
def test_parts_are_what_is_chosen_in_memory(run, tmp_path, name, knobs, count):
    expected = in_memory(run, name, knobs)
    coreset = in_parts(run, name, knobs, tmp_path / "out", count=count)
    assert_same(expected, tmp_path / "out")
    assert coreset.card == expected.card
    files = list(coreset.parts())
    assert len(files) == min(count, SAMPLES)
    np.testing.assert_array_equal(np.concatenate(files), expected.ids)
    np.testing.assert_array_equal(coreset.ids, expected.ids)
    for column, values in expected.columns.items():
        np.testing.assert_array_equal(coreset.columns[column], values)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["card.json", "coreset.parquet"]


@every_method
def test_processes_choose_the_same(run, tmp_path, name, knobs):
    with pool() as workers:
        in_parts(run, name, knobs, tmp_path / "out", map=workers.map)
    assert_same(in_memory(run, name, knobs), tmp_path / "out")


def test_a_process_that_is_killed_in_any_wave_costs_only_its_wave(run, tmp_path):
    name, knobs = METHODS[4]
    killed, out, scored = 0, tmp_path / "out", {}
    while not (out / "card.json").exists():
        with pool(1) as workers:
            each = killing(workers.map, tmp_path, waves={killed})
            if not _choose_or_break(run, name, knobs, out, each):
                break
        before, scored = scored, {p: p.stat().st_ino for p in out.glob("scoring-*/*.parquet")}
        assert killed < 2 or before == scored  # what is there is not computed again
        assert len(scored) == (7 if killed else 0)
        killed += 1
    assert killed > 5
    assert_same(in_memory(run, name, knobs), out)


def _choose_or_break(run, name, knobs, out, each):
    """Say whether a worker was killed."""
    try:
        in_parts(run, name, knobs, out, map=each)
    except BrokenProcessPool:
        return True
    return False


def test_a_driver_that_is_killed_in_any_wave_goes_on_where_it_was(run, tmp_path):
    name, knobs = METHODS[4]
    out, before, wave = tmp_path / "out", {}, 0
    while True:
        each = killing_driver(wave, 3)
        driver = multiprocessing.get_context("fork").Process(
            target=in_parts, args=(run, name, knobs, out), kwargs={"map": each}
        )
        driver.start()
        driver.join(60)
        if driver.exitcode == 0:
            break
        assert driver.exitcode == -signal.SIGKILL
        finished = {p: p.stat().st_ino for p in out.rglob("*.parquet") if p.is_file()}
        assert len(finished) >= 3
        assert {p: finished[p] for p in before} == before  # what was finished is untouched
        before, wave = finished, wave + 1
    assert wave > 4
    parts = [p for p in before if p.parent.name == "coreset.parquet"]
    assert len(parts) == 3
    assert {p: p.stat().st_ino for p in parts} == {p: before[p] for p in parts}
    assert_same(in_memory(run, name, knobs), out)
    assert sorted(p.name for p in out.iterdir()) == ["card.json", "coreset.parquet"]


def test_a_finished_part_that_is_damaged_is_written_again(run, tmp_path):
    name, knobs = METHODS[4]
    in_parts(run, name, knobs, tmp_path / "out")
    (tmp_path / "out/card.json").unlink()
    part = sorted((tmp_path / "out/coreset.parquet").iterdir())[2]
    content = part.read_bytes()
    part.write_bytes(content[:50] + bytes([content[50] ^ 4]) + content[51:])
    in_parts(run, name, knobs, tmp_path / "out")
    assert part.read_bytes() == content
    assert_same(in_memory(run, name, knobs), tmp_path / "out")


def test_who_works_on_a_range_starts_no_threads(tmp_path, monkeypatch):
    loss = np.random.default_rng(0).gamma(1, 1, (11, 70_000))  # more samples than fit one task
    run = Run.from_arrays(tmp_path / "run", loss=loss, labels=np.arange(70_000) % 3)
    expected = in_memory(run, "dual+beta", {})
    choose_all = partial(in_parts, run, "dual+beta", {}, map=map, count=1)
    choose_all(tmp_path / "warm")  # loads what is loaded once
    before = len(list(Path("/proc/self/task").iterdir()))
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", lambda _: pytest.fail("a thread was started"))
        choose_all(tmp_path / "out")
    assert len(list(Path("/proc/self/task").iterdir())) <= before  # pools of Arrow, numba, BLAS
    assert_same(expected, tmp_path / "out")


def test_a_range_that_is_damaged_is_refused(run, tmp_path):
    name, knobs = METHODS[4]
    with pool(1) as workers:
        assert _choose_or_break(
            run, name, knobs, tmp_path / "out", killing(workers.map, tmp_path, waves={1})
        )
    part = sorted((tmp_path / "out").glob("scoring-*/*.parquet"))[3]
    content = bytearray(part.read_bytes())
    content[200] ^= 1  # a score
    part.write_bytes(content)
    with pytest.raises(DamagedError, match="scoring"):
        in_parts(run, name, knobs, tmp_path / "out")


@few_are_kept
def test_choose_writes_many_samples_in_parts_and_few_in_one_file(run, tmp_path, monkeypatch):
    method = Method("dual", "beta", select_knobs={"unscored": "drop"})
    one = choose(run, method, keep=30, seed=2, out=tmp_path / "one")
    monkeypatch.setattr(importlib.import_module("dualprune.method.choose"), "PART", SAMPLES - 1)
    many = choose(run, method, keep=30, seed=2, out=tmp_path / "many")
    assert (tmp_path / "one/coreset.parquet").is_file()
    assert (tmp_path / "many/coreset.parquet").is_dir()
    assert_same(one, tmp_path / "one")
    assert_same(one, tmp_path / "many")
    assert many.card == one.card
    with pytest.raises(InputError, match="already holds a coreset"):
        choose(run, method, keep=30, out=tmp_path / "many")


def test_parts_are_one_table_to_others(run, tmp_path):
    expected = in_memory(run, *METHODS[4])
    in_parts(run, *METHODS[4], tmp_path / "out")
    folder, kept = tmp_path / "out/coreset.parquet", expected.ids.tolist()
    frame = pd.read_parquet(folder).sort_values("id")
    assert frame["id"][frame["kept"]].tolist() == kept
    assert frame["why"].astype(str).tolist() == list(expected.columns["why"])
    table = pl.read_parquet(folder / "*.parquet").sort("id")
    assert table.filter(pl.col("kept"))["id"].to_list() == kept
    rows = duckdb.sql(f"SELECT id FROM '{folder}/*.parquet' WHERE kept ORDER BY id").fetchall()
    assert [number for (number,) in rows] == kept


def test_a_run_without_labels_and_without_loss_is_drawn_from(tmp_path, monkeypatch):
    margin = np.random.default_rng(0).normal(size=(3, 20)).astype(np.float32)
    run = Run.from_arrays(tmp_path / "run", margin=margin)
    expected = choose(run, "random", keep=15, seed=1)
    monkeypatch.setattr(importlib.import_module("dualprune.method.choose"), "PART", 1)
    choose(run, "random", keep=15, seed=1, out=tmp_path / "out")
    assert_same(expected, tmp_path / "out")


@few_are_kept
def test_scores_of_ones_own_are_computed_by_range(run, tmp_path, monkeypatch):
    def doubt(target_prob: Array) -> Array:
        return 1 - target_prob[-1]

    method = Method(doubt, "top", select_knobs={"unscored": "drop"})
    expected = choose(run, method, keep=20)
    monkeypatch.setattr(importlib.import_module("dualprune.method.choose"), "PART", 1)
    coreset = choose(run, method, keep=20, out=tmp_path / "out")
    np.testing.assert_array_equal(coreset.ids, expected.ids)


def test_methods_that_compare_samples_work_on_one_machine(run):
    for method in ("dual+d2", "moderate", "ssp"):
        with pytest.raises(InputError, match=r"compares samples .* works on one machine"):
            choose(run, method, keep=20, map=map)


def test_a_run_is_opened_again_where_it_arrives(run, tmp_path):
    copy = Run(shutil.copytree(run.path, tmp_path / "run"))
    sent = pickle.dumps(copy)
    assert len(sent) < 1000
    assert pickle.loads(sent).fingerprint == copy.fingerprint
    shutil.rmtree(tmp_path / "run/attempts/0001/000012")
    shorter = pickle.dumps(Run(tmp_path / "run"))
    assert pickle.loads(shorter).epochs == 11


def test_a_run_that_was_recorded_anew_is_refused(tmp_path):
    loss = np.random.default_rng(0).random((4, 5))
    sent = pickle.dumps(Run.from_arrays(tmp_path / "run", loss=loss))
    shutil.rmtree(tmp_path / "run")
    Run.from_arrays(tmp_path / "run", loss=loss + 1)
    with pytest.raises(InputError, match="recorded anew while it was read"):
        pickle.loads(sent)


def test_passes_over_ranges_say_how_far_they_are(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_SECONDS", -1.0)
    each = engine._watched(map)
    assert list(each(abs, iter([-1, 2, -3]))) == [1, 2, 3]
    assert list(each(abs, [-4])) == [4]
    *_, third, last = lines = capsys.readouterr().err.splitlines()
    assert [line.partition(",")[0] for line in lines[:2]] == [
        "pass 1: range 1 of 3",
        "pass 1: range 2 of 3",
    ]
    assert third == "pass 1: range 3 of 3, 0.0 s left"
    assert last == "pass 2: range 1 of 1, 0.0 s left"


def test_an_address_is_of_ray(run, tmp_path):
    code, _, said = dualprune(
        "select", "random", run.path, "--keep", 9, "--out", tmp_path / "x", "--address", "auto"
    )
    assert code == 2
    assert "say --engine ray, too" in said
