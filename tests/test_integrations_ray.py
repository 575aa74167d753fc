"""A real cluster of Ray, of two CPUs on this machine: the same coresets, also when workers die."""

import time

import fsspec
import numpy as np
import pytest
import ray

from dualprune import Coreset, Method, Run, audit, choose, push
from dualprune.errors import InputError, WorkerError
from dualprune.integrations.ray import ray_map
from dualprune.method import Arrays, scoring
from dualprune.method.scoring import save_scores
from dualprune.score import dual
from dualprune.signatures import Array

from .commands import dualprune
from .mapping import METHODS, assert_same, in_memory, in_parts, killing, record
from .store import s3_server, use


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return record(tmp_path_factory.mktemp("ray") / "run")


@pytest.fixture(scope="module")
def each():
    """Give what maps over a cluster that lives as long as these tests."""
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray_map(patience=120)
    ray.shutdown()


@pytest.mark.parametrize(("name", "knobs"), METHODS, ids=str)
def test_ray_chooses_the_same(run, each, tmp_path, name, knobs):
    in_parts(run, name, knobs, tmp_path / "out", map=each)
    assert_same(in_memory(run, name, knobs), tmp_path / "out")


@pytest.mark.parametrize(
    ("waves", "least"), [({1}, 1), pytest.param(None, 6, marks=pytest.mark.slow)]
)
def test_workers_that_are_killed_are_replaced(run, each, tmp_path, waves, least):
    name, knobs = METHODS[4]
    in_parts(run, name, knobs, tmp_path / "out", map=killing(each, tmp_path, waves))
    assert len(list(tmp_path.glob("killed-*"))) >= least
    assert_same(in_memory(run, name, knobs), tmp_path / "out")


def test_scores_and_audits_are_the_same(run, each):
    np.testing.assert_array_equal(Arrays([run], map=each).score(dual), Arrays([run]).score(dual))
    one, other = audit(run, map=each), audit(run)
    for name, column in other.columns.items():
        np.testing.assert_array_equal(one.columns[name], column)


def test_a_run_on_s3_is_scored_and_chosen_from_there(run, each, monkeypatch):
    with s3_server() as address:
        use(monkeypatch, address)
        fsspec.filesystem("s3").mkdir("bucket")
        push(run.path, "s3://bucket/run")
        (name, knobs), out = METHODS[4], "s3://bucket/small"
        in_parts(Run("s3://bucket/run"), name, knobs, out, count=2, map=each)
        assert_same(in_memory(run, name, knobs), out)


def test_scores_in_parts_are_the_same_bytes_also_if_a_worker_is_killed(
    run, each, tmp_path, monkeypatch
):
    monkeypatch.setattr(scoring, "PART", 1)
    one = save_scores(Arrays([run]), dual, {}, tmp_path / "threads")
    arrays = Arrays([run], map=killing(each, tmp_path))
    other = save_scores(arrays, dual, {}, tmp_path / "ray")
    assert list(tmp_path.glob("killed-*"))
    (part,) = one.iterdir()
    assert part.read_bytes() == (other / part.name).read_bytes()


def test_an_error_of_a_worker_is_the_one_that_it_raised(run, each):
    def one_for_all(loss: Array) -> Array:
        return loss.mean()

    with pytest.raises(InputError, match="one_for_all must give one number") as error:
        choose(run, Method(one_for_all), keep=9, map=each)
    assert "Traceback" not in str(error.value)


def test_a_worker_that_does_not_answer_is_not_waited_for(each):
    with pytest.raises(WorkerError, match=r"finished a range within 0\.5 s"):
        list(ray_map(patience=0.5)(time.sleep, [60]))


def test_a_cluster_that_is_not_there_is_not_waited_for():
    for address in ("127.0.0.1:1", "ray://127.0.0.1:1"):
        with pytest.raises(WorkerError, match=r"no Ray cluster answers at .*127\.0\.0\.1:1"):
            ray_map(address)


def test_commands_work_on_ray(run, each, tmp_path):
    keep = ("--keep", 30, "--unscored", "drop")
    for engine in ("threads", "ray"):
        out = tmp_path / engine
        code, printed, said = dualprune(
            "select", "beta", run.path, *keep, "--out", out, "--engine", engine
        )
        assert (code, printed.strip()) == (0, str(out)), said
        file = tmp_path / f"{engine}.parquet"
        assert dualprune("score", "dual", run.path, "--out", file, "--engine", engine)[0] == 0
    assert Coreset.load(tmp_path / "ray").card == Coreset.load(tmp_path / "threads").card
    assert (tmp_path / "ray.parquet").read_bytes() == (tmp_path / "threads.parquet").read_bytes()
    assert dualprune("audit", run.path, "--engine", "ray")[0] == 0


def test_a_command_that_compares_samples_says_that_it_works_on_one_machine(run, each, tmp_path):
    code, _, said = dualprune(
        "select", "moderate", run.path, "--keep", 9, "--out", tmp_path / "x", "--engine", "ray"
    )
    assert code == 2
    assert "works on one machine" in said
