"""One run written by several processes: real ones under torchrun, and simulated ones."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from torch.utils.data import DistributedSampler

from dualprune import Recorder, Run
from dualprune.errors import InputError

from .torchrun_job import labels_of, logits_of, train

SAMPLES = 1797


# ---------------------------------------------------------------------------- under torchrun


def torchrun(tmp_path, job, *options, **config):
    """Run a job in two processes; that it does not end is a failure like any other."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc_per_node=2", *options]
    command += [str(Path(__file__).with_name("torchrun_job.py")), job, json.dumps(config)]
    own = {"OMP_NUM_THREADS": "1"}
    log = tmp_path / "log"
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=os.environ | own)
        try:
            code = process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            process.terminate()  # torchrun passes it on to the processes it started,
            process.send_signal(signal.SIGCONT)  # also when a job has stopped it
            process.wait(timeout=60)
            pytest.fail(f"the job hangs:\n{log.read_text()}")
    assert code == 0, log.read_text()
    return log.read_text()


def check_run(path, samples, epochs):
    """Compare with what one process that was never interrupted would have recorded."""
    run, ids = Run(path), torch.arange(samples)
    rows, labels = torch.arange(samples), labels_of(ids)
    assert run.epochs == epochs
    assert torch.equal(torch.from_numpy(run["labels"]).long(), labels)
    for epoch in range(1, epochs + 1):
        logits = logits_of(ids, epoch)
        others = logits.clone()
        others[rows, labels] = -torch.inf
        margin = logits[rows, labels] - others.amax(1)
        loss = -logits.double().log_softmax(1)[rows, labels]
        # Equal means equal bits: these differences are exact in float32.
        np.testing.assert_array_equal(run["margin"][epoch - 1], margin)
        np.testing.assert_array_equal(run["rival"][epoch - 1], others.argmax(1))
        np.testing.assert_allclose(run["loss"][epoch - 1], loss, rtol=1e-5, atol=2e-6)


def parts(path):
    """Number of rows and duplicates of each part, by attempt, epoch and rank."""
    found = {}
    for part in path.glob("attempts/*/*/part-*.parquet"):
        metadata = pq.read_metadata(part)
        key = (int(part.parts[-3]), int(part.parts[-2]), int(part.name.split("-")[1]))
        facts = json.loads(metadata.metadata[b"dualprune"])
        found[key] = metadata.num_rows, facts["duplicates"]
    return found


def starts(path):
    """First epoch and number of writers of every attempt."""
    files = sorted(path.glob("attempts/*/start.json"))
    contents = [json.loads(file.read_text()) for file in files]
    return [(content["first_epoch"], content["writers"]) for content in contents]


def test_two_processes_record_what_one_would(tmp_path):
    torchrun(tmp_path, "train", path=str(tmp_path / "run"), samples=SAMPLES, epochs=2)
    check_run(tmp_path / "run", SAMPLES, epochs=2)
    half = (SAMPLES + 1) // 2
    expected = {(1, epoch, rank): (half, 0) for epoch in (1, 2) for rank in (0, 1)}
    assert parts(tmp_path / "run") == expected, "one sample of 1797 is seen by both"


@pytest.mark.parametrize("victim", [0, 1])
def test_a_job_that_lost_a_process_goes_on_as_if_nothing_had_happened(
    tmp_path, monkeypatch, victim
):
    # Restarted processes find the addresses of dead ones in a shared store: pytorch issue 135712.
    monkeypatch.setenv("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1")
    # From batch 1 on, every process has passed the all_reduce of batch 0 and so ended epoch 2.
    batch = int(np.random.default_rng(victim).integers(1, 8))
    kill = [victim, 3, batch]
    path = tmp_path / "run"
    log = torchrun(
        tmp_path,
        *("train", "--max-restarts=1"),
        **{"path": str(path), "samples": SAMPLES, "epochs": 4, "kill": kill},
    )
    assert "SIGKILL" in log or "exitcode: -9" in log
    assert starts(path) == [(1, 2), (3, 2)]
    check_run(path, SAMPLES, epochs=4)
    written = [(attempt, epoch) for attempt, epoch, _ in parts(path)]
    assert sorted(set(written)) == [(1, 1), (1, 2), (2, 3), (2, 4)]


def test_a_run_may_go_on_with_another_number_of_processes(tmp_path):
    path = tmp_path / "run"
    torchrun(tmp_path, "train", path=str(path), samples=SAMPLES, epochs=2)
    train(path, SAMPLES, epochs=3)
    torchrun(tmp_path, "train", path=str(path), samples=SAMPLES, epochs=4)
    assert starts(path) == [(1, 2), (3, 1), (4, 2)]
    check_run(path, SAMPLES, epochs=4)


def test_a_process_may_see_nothing_and_all_are_refused_together(tmp_path):
    path = tmp_path / "run"
    torchrun(tmp_path, "refuse", path=str(path))
    assert parts(path) == {(1, 1, 0): (2, 0), (1, 1, 1): (0, 0)}
    check_run(path, 2, epochs=1)
    told = [Path(f"{path}-refused-{rank}").read_text() for rank in (0, 1)]
    assert "already holds epochs 1 to 1. Pass start_epoch=2" in told[0]
    assert "process 0 could not begin to record" in told[1]
    assert starts(path) == [(1, 2)]


@pytest.mark.parametrize(("stopped", "named"), [(0, 0), (1, 1), ("torchrun", 0)])
def test_a_process_that_is_stopped_is_named_after_a_limit(tmp_path, stopped, named):
    path = tmp_path / "run"
    torchrun(tmp_path, "wait_for_stopped", path=str(path), stopped=stopped)
    messages = [file.read_text() for file in tmp_path.glob("run-waited-*")]
    assert len(messages) == (2 if stopped == "torchrun" else 1)
    for message in messages:
        assert "waited 0.5 seconds for all processes" in message
        assert f"there is no answer of process {named}," in message
    assert not path.exists()


# ---------------------------------------------------------------------------- simulated


def test_several_processes_without_a_process_group_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match=r"WORLD_SIZE is 2 but .*\.init_process_group"):
        Recorder(tmp_path / "run", samples=2, classes=2)
    assert not (tmp_path / "run").exists()
    monkeypatch.setenv("WORLD_SIZE", "1")
    Recorder(tmp_path / "run", samples=2, classes=2)


def recorders(monkeypatch, path, world, samples, start_epoch=None):
    """One Recorder per process of a job, all in this process."""
    made = []
    for rank in range(world):
        with monkeypatch.context() as job:
            job.setattr("dualprune.record.recorder.processes", lambda rank=rank: (rank, world))
            job.setattr(
                "dualprune.record.recorder.start_together",
                lambda begin, root, rank, *_: begin() if rank == 0 else made[0]._attempt,
            )
            made.append(Recorder(path, samples=samples, classes=2, start_epoch=start_epoch))
    return made


def record_tagged(recorder, ids, tags):
    """Record one epoch whose margins are the tags."""
    logits = torch.stack([torch.as_tensor(tags).float(), torch.zeros(len(ids))], 1)
    for some in torch.arange(len(ids)).split(64):
        labels = torch.zeros(len(some), dtype=torch.int64)
        recorder.update(logits[some], labels, torch.as_tensor(ids)[some])
    recorder.end_epoch()


@pytest.mark.parametrize("world", [2, 3, 4, 5, 6, 7, 8])
@pytest.mark.parametrize("samples", [1, 3, 7, SAMPLES])
def test_padding_is_seen_twice_and_the_lowest_process_is_kept(
    tmp_path, monkeypatch, world, samples
):
    path = tmp_path / "run"
    job = recorders(monkeypatch, path, world, samples)
    expected = np.full((2, samples), np.nan)
    for epoch, shuffle in enumerate([False, True]):
        for rank in reversed(range(world)):  # the last to write is the one to keep
            sampler = DistributedSampler(
                range(samples), num_replicas=world, rank=rank, shuffle=shuffle
            )
            sampler.set_epoch(epoch)
            ids = list(sampler)
            tags = [10_000 * rank + position for position in range(len(ids))]
            record_tagged(job[rank], ids, tags)
            for each, tag in reversed(list(zip(ids, tags, strict=True))):
                expected[epoch, each] = tag
    margin = Run(path)["margin"]
    assert not np.isnan(margin).any()
    np.testing.assert_array_equal(margin, expected)
    padding = -samples % world
    for epoch in (1, 2):
        rows = [rows + twice for (_, e, _), (rows, twice) in parts(path).items() if e == epoch]
        assert len(rows) == world
        assert sum(rows) - samples == padding


def test_the_lowest_process_is_kept_whichever_writes_first(tmp_path, monkeypatch):
    for name, order in (("up", [0, 1, 2]), ("down", [2, 1, 0])):
        job = recorders(monkeypatch, tmp_path / name, 3, samples=4)
        ids = [[1], [0, 1], [0, 1, 2]]
        for rank in order:
            record_tagged(job[rank], ids[rank], [rank + 1] * len(ids[rank]))
        np.testing.assert_array_equal(Run(tmp_path / name)["margin"], [[2, 1, 3, np.nan]])


@pytest.mark.parametrize("world", [2, 5, 8])
def test_a_sampler_that_drops_the_tail_leaves_exactly_it_missing(tmp_path, monkeypatch, world):
    path = tmp_path / "run"
    for rank, recorder in enumerate(recorders(monkeypatch, path, world, SAMPLES)):
        sampler = DistributedSampler(range(SAMPLES), world, rank, shuffle=True, drop_last=True)
        ids = list(sampler)
        record_tagged(recorder, ids, ids)
    margin = Run(path)["margin"][0]
    assert np.isnan(margin).sum() == SAMPLES % world
    seen = ~np.isnan(margin)
    np.testing.assert_array_equal(margin[seen], np.flatnonzero(seen))


def test_an_epoch_is_there_when_the_slowest_process_has_ended_it(tmp_path, monkeypatch):
    path = tmp_path / "run"
    fast, slow = recorders(monkeypatch, path, 2, samples=2)
    for _ in range(3):
        record_tagged(fast, [0], [1])
    assert Run(path).epochs == 0
    for epochs in (1, 2, 3):
        record_tagged(slow, [1], [2])
        assert Run(path).epochs == epochs
    np.testing.assert_array_equal(Run(path)["margin"], [[1, 2]] * 3)


def test_a_process_left_over_from_before_a_restart_cannot_write(tmp_path, monkeypatch):
    path = tmp_path / "run"
    before = recorders(monkeypatch, path, 2, samples=2)
    record_tagged(before[0], [0], [1])
    after = recorders(monkeypatch, path, 2, samples=2, start_epoch=1)
    with pytest.raises(InputError, match="attempt 2 has taken over"):
        record_tagged(before[1], [1], [1])
    for rank in (0, 1):
        record_tagged(after[rank], [rank], [5])
    np.testing.assert_array_equal(Run(path)["margin"], [[5, 5]])
    assert (1, 1, 1) not in parts(path)


@pytest.mark.parametrize("world", [1, 2, 3])
def test_a_restart_hides_all_that_was_written_ahead_of_it(tmp_path, monkeypatch, world):
    path = tmp_path / "run"
    fast, slow = recorders(monkeypatch, path, 2, samples=3)
    for _ in range(3):
        record_tagged(fast, [0, 1], [1, 1])
    for _ in range(2):
        record_tagged(slow, [2], [1])
    assert Run(path).epochs == 2
    job = recorders(monkeypatch, path, world, samples=3, start_epoch=2)
    for epochs in (2, 3):
        assert Run(path).epochs == 2
        for rank, recorder in enumerate(job):
            record_tagged(recorder, [rank], [epochs])
    unseen = 3 - world  # by the restarted job; its first epoch keeps what was durable
    expected = [[1, 1, 1], [2] * world + [1] * unseen, [3] * world + [np.nan] * unseen]
    np.testing.assert_array_equal(Run(path)["margin"], expected)


def test_a_label_that_another_process_recorded_before_a_restart_still_binds(tmp_path, monkeypatch):
    path = tmp_path / "run"
    for rank, recorder in enumerate(recorders(monkeypatch, path, 2, samples=2)):
        record_tagged(recorder, [rank], [1])
    swapped = recorders(monkeypatch, path, 2, samples=2, start_epoch=2)[0]
    swapped.update(torch.zeros(1, 2), torch.tensor([1]), [1])
    with pytest.raises(InputError, match="id 1 had label 0 before and has 1 now"):
        swapped.end_epoch()
