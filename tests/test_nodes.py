"""One run written by two nodes: networks of their own, which only a switch joins."""

import json
import os
import subprocess

import pytest

from .recording import run_script
from .test_torchrun import SAMPLES, check_run, parts, starts
from .torchrun_job import train

NAMESPACES = ("unshare", "-rmn")


@pytest.fixture(scope="module", autouse=True)
def _networks_are_possible():
    command = [*NAMESPACES, "ip", "link", "add", "switch", "type", "bridge"]
    try:
        possible = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        possible = False
    if not possible:
        told = pytest.fail if os.environ.get("CI") else pytest.skip
        told(
            "cannot make networks in a namespace: this needs unshare, ip and the right to use them"
        )


def on_two_nodes(tmp_path, job, **config):
    """Run a job of torchrun_job; gives the exit codes and what each node said."""
    words = ("nodes", tmp_path, json.dumps({"job": job, "path": str(tmp_path / "run"), **config}))
    codes = json.loads(run_script(*words, before=NAMESPACES))
    return codes, [(tmp_path / f"node-{rank}.log").read_text() for rank in (0, 1)]


def test_two_nodes_go_on_with_what_one_process_began(tmp_path):
    path = tmp_path / "run"
    train(path, SAMPLES, epochs=1)
    codes, said = on_two_nodes(tmp_path, "train", processes=2, samples=SAMPLES, epochs=3)
    assert codes == [0, 0], said
    assert starts(path) == [(1, 1), (2, 4)]
    ranks = {(2, epoch, rank) for epoch in (2, 3) for rank in range(4)}
    assert set(parts(path)) == {(1, 1, 0)} | ranks
    check_run(path, SAMPLES, epochs=3)


# A node whose cable is cut before it dies sends nothing any more, not even that connections end.
KILLS = [(1, True, 2), (0, False, 1)]
SLOWER = [(0, True, 1), (1, False, 2)]


@pytest.mark.parametrize(
    ("victim", "cut", "nodes_left"),
    KILLS + [pytest.param(*k, marks=pytest.mark.slow) for k in SLOWER],
)
def test_a_node_that_dies_ends_the_other_and_costs_only_its_epoch(
    tmp_path, victim, cut, nodes_left
):
    path, other = tmp_path / "run", 1 - victim
    died = {"victim": victim, "cut": cut, "wait": [victim, 3, 1], "limit": 2}
    codes, said = on_two_nodes(tmp_path, "train", samples=SAMPLES, epochs=4, **died)
    assert (codes[victim], codes[other]) == (-9, 1), said
    assert ("Timed out" if cut else "Connection closed by peer") in said[other]
    check_run(path, SAMPLES, epochs=2)
    if nodes_left == 2:
        assert on_two_nodes(tmp_path, "train", samples=SAMPLES, epochs=4)[0] == [0, 0]
    else:
        train(path, SAMPLES, epochs=4)
    assert starts(path) == [(1, 2), (3, nodes_left)]
    check_run(path, SAMPLES, epochs=4)


@pytest.mark.parametrize(
    ("victim", "cut", "message"),
    [
        (0, False, "process 0, or the torchrun that started it, ended before all processes began"),
        pytest.param(0, True, "there is no answer of process 0,", marks=pytest.mark.slow),
        pytest.param(1, True, "there is no answer of process 1,", marks=pytest.mark.slow),
    ],
)
def test_a_node_that_dies_before_recording_begins_is_named(tmp_path, victim, cut, message):
    died = {"victim": victim, "cut": cut, "wait": victim, "limit": 2}
    codes, said = on_two_nodes(tmp_path, "start", **died)
    assert (codes[victim], codes[1 - victim]) == (-9, 1), said
    assert message in said[1 - victim]
    assert "Exception in thread" not in said[1 - victim]
    assert not (tmp_path / "run").exists()


def test_nodes_that_share_no_disk_are_told_so(tmp_path):
    path = tmp_path / "disk" / "run"
    codes, said = on_two_nodes(tmp_path, "start", path=str(path))
    assert codes == [1, 1]
    assert f"does not find {path / 'attempts' / '0001'}, which process 0 has just made" in said[1]
