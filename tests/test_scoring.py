"""Scores of many samples: a folder of parts, written by any workers, resumed after a kill."""

import importlib
import multiprocessing
import os
import shutil
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from dualprune import Coreset, Run
from dualprune.errors import DamagedError, InputError, MissingError
from dualprune.method import Arrays
from dualprune.method.scoring import save_scores
from dualprune.score import dual, el2n, ssp
from dualprune.score.scored import Scored

from .commands import dualprune
from .mapping import killing

SAMPLES, PARTS = 300_000, 3
FORK = multiprocessing.get_context("fork")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    draw = np.random.default_rng(0)
    loss = draw.gamma(1, 1, (11, SAMPLES)).astype(np.float32)
    loss[3, ::7] = np.nan
    path = tmp_path_factory.mktemp("scoring") / "run"
    return Run.from_arrays(path, loss=loss, error_norm=loss, labels=draw.integers(0, 5, SAMPLES))


@pytest.fixture(autouse=True)
def many(monkeypatch):
    """Let a coreset of fewer samples count as large."""
    for name in ("score.scored", "method.scoring", "method.choose"):
        monkeypatch.setattr(importlib.import_module(f"dualprune.{name}"), "PART", 2**17)


def content(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_parts_hold_what_is_scored_in_memory(run, tmp_path):
    expected = Arrays([run]).score(dual)
    path = save_scores(Arrays([run]), dual, {}, tmp_path / "scores")
    assert len(list(path.iterdir())) == PARTS
    np.testing.assert_array_equal(Scored.load(path).values, expected)
    frame = pd.read_parquet(path).sort_values("id")
    np.testing.assert_array_equal(frame["score"], expected)
    np.testing.assert_array_equal(frame["id"], np.arange(SAMPLES))
    table = pl.read_parquet(path / "*.parquet").sort("id")
    np.testing.assert_array_equal(table["score"], expected)
    rows = duckdb.sql(f"SELECT count(*), max(id) FROM '{path}/*.parquet'").fetchall()
    assert rows == [(SAMPLES, SAMPLES - 1)]


def test_any_workers_write_the_same_bytes(run, tmp_path):
    threads = save_scores(Arrays([run]), dual, {}, tmp_path / "threads")
    with ProcessPoolExecutor(2, FORK) as pool:
        processes = save_scores(Arrays([run], map=pool.map), dual, {}, tmp_path / "processes")
    Scored.load(threads).save(tmp_path / "again")
    assert content(threads) == content(processes) == content(tmp_path / "again")


def test_a_worker_that_is_killed_costs_its_range(run, tmp_path):
    with ProcessPoolExecutor(1, FORK) as pool:
        arrays = Arrays([run], map=killing(pool.map, tmp_path))
        with pytest.raises(BrokenProcessPool):
            save_scores(arrays, dual, {}, tmp_path / "scores")
    save_scores(Arrays([run]), dual, {}, tmp_path / "scores")
    whole = save_scores(Arrays([run]), dual, {}, tmp_path / "whole")
    assert content(tmp_path / "scores") == content(whole)


def _die_after(count, run, path):
    """Score in this process, which is killed when so many ranges are written."""

    def each(fn, items):
        for number, item in enumerate(items):
            if number == count:
                os.kill(os.getpid(), signal.SIGKILL)
            yield fn(item)

    save_scores(Arrays([run], map=each), dual, {}, path)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_driver_that_is_killed_goes_on_and_leaves_finished_ranges_untouched(run, tmp_path, count):
    path = tmp_path / "scores"
    driver = FORK.Process(target=_die_after, args=(count, run, path))
    driver.start()
    driver.join(60)
    assert driver.exitcode == -signal.SIGKILL
    finished = {p: p.stat().st_ino for p in path.iterdir()}
    assert len(finished) == count
    if count:
        with pytest.raises(MissingError, match=r"of 300,000; score again"):
            Scored.load(path)
    save_scores(Arrays([run]), dual, {}, path)
    assert {p: p.stat().st_ino for p in finished} == finished
    assert content(path) == content(save_scores(Arrays([run]), dual, {}, tmp_path / "whole"))


def test_a_flipped_bit_is_found_by_whoever_reads_the_part(run, tmp_path):
    path = save_scores(Arrays([run]), dual, {}, tmp_path / "scores")
    part = sorted(path.iterdir())[1]
    data = bytearray(part.read_bytes())
    data[len(data) * 3 // 4] ^= 16
    part.write_bytes(data)
    for reads in (lambda: Scored.load(path), lambda: save_scores(Arrays([run]), dual, {}, path)):
        with pytest.raises(DamagedError, match=part.name):
            reads()
    select = ("select", "top", run.path, "--keep", 9, "--score", path, "--out", tmp_path / "x")
    code, _, said = dualprune(*select)
    assert code == 2
    assert part.name in said


def test_what_is_there_and_something_else_is_refused(run, tmp_path):
    path = save_scores(Arrays([run]), dual, {}, tmp_path / "scores")
    with pytest.raises(InputError, match="holds other scores"):
        save_scores(Arrays([run]), el2n, {}, path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds notes\.txt"):
        save_scores(Arrays([run]), dual, {}, tmp_path / "mine")


def test_scores_that_compare_samples_work_on_one_machine(run, tmp_path):
    with pytest.raises(InputError, match=r"compares the features .* works on one machine"):
        save_scores(Arrays([run], map=map), ssp, {}, tmp_path / "scores")


def test_an_audit_of_many_says_what_memory_it_takes(run, monkeypatch):
    monkeypatch.setattr(importlib.import_module("dualprune.cli.audit"), "PART", 2**17)
    _, _, said = dualprune("audit", run.path)
    assert "all 300,000 labels are ranked in this process, which takes about 0.0 GB" in said


def test_commands_write_parts_and_choose_from_them(run, tmp_path):
    code, printed, said = dualprune("score", "dual", run.path)
    assert code == 0, said
    path = tmp_path / printed.strip()
    assert path.is_dir()
    assert dualprune("doctor", run.path)[0] == 0
    knobs = ("--keep", 0.1, "--unscored", "drop")
    for out, score in (("named", "dual"), ("file", path)):
        more = ("--out", tmp_path / out, "--score", score)
        assert dualprune("select", "beta", run.path, *knobs, *more)[0] == 0
    one, other = Coreset.load(tmp_path / "named"), Coreset.load(tmp_path / "file")
    assert one.card == other.card
    assert content(tmp_path / "named/coreset.parquet") == content(tmp_path / "file/coreset.parquet")
    shutil.rmtree(path.parent)
