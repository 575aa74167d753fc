"""Start a job of `torchrun_job` on two nodes: networks of their own on this machine.

    unshare -rmn python -m tests.nodes FOLDER '{"job": "train", "processes": 1, ...}'

A switch joins the nodes, and killing a node kills all its processes at once. A script, because only
a process in its own namespaces may make networks; nothing of them is left when it has ended.
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

BEGIN = """
echo ready && read plugged_in && mount -t tmpfs tmpfs "$1" && ip link set lo up &&
ip address add "$2" dev cable && ip link set cable up && shift 2 && exec "$@"
"""
NODE = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", BEGIN, "node")


def start_node(folder, rank, command):
    """Start a command in a network of its own, where `disk` is a folder that no other node sees."""
    port = f"port{rank}"
    call("ip", "link", "add", port, "type", "veth", "peer", "name", f"cable{rank}")
    call("ip", "link", "set", port, "master", "switch", "up")
    words = [*NODE, folder / "disk", f"10.0.0.{rank + 1}/24", *command]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    network = {"GLOO_SOCKET_IFNAME": "cable", "OMP_NUM_THREADS": "1"}
    with (folder / f"node-{rank}.log").open("w") as log:
        node = subprocess.Popen(
            list(map(str, words)), stderr=log, env=os.environ | network, **pipes
        )
    assert node.stdout.readline() == "ready\n"
    call("ip", "link", "set", f"cable{rank}", "netns", node.pid, "name", "cable")
    return node


def call(*words):
    subprocess.run(list(map(str, words)), check=True)


def torchrun(rank, processes, job, config):
    """Words of a command for one of two nodes."""
    python = (sys.executable, "-m", "torch.distributed.run", "--nnodes=2", f"--node-rank={rank}")
    place = ("--master-addr=10.0.0.1", "--master-port=29500", f"--nproc-per-node={processes}")
    script = Path(__file__).with_name("torchrun_job.py")
    return [*python, *place, script, job, json.dumps(config)]


def kill(nodes, victim, waits, cut):
    """Kill a node that waits for it; without a cable, the other one hears nothing of its end."""
    until = time.monotonic() + 120
    while not waits.exists():
        assert all(node.poll() is None for node in nodes), "a node ended by itself"
        assert time.monotonic() < until, "no process waits to be killed"
        time.sleep(0.01)
    if cut:
        call("ip", "link", "set", f"port{victim}", "down")
    nodes[victim].kill()


def main(folder, job, processes=1, victim=None, cut=False, **config):
    """Print the exit code of each node."""
    (folder / "disk").mkdir(exist_ok=True)
    call("ip", "link", "add", "switch", "up", "type", "bridge")
    with contextlib.ExitStack() as at_end:
        nodes = []
        for rank in (0, 1):
            node = start_node(folder, rank, torchrun(rank, processes, job, config))
            nodes.append(at_end.enter_context(node))
            at_end.callback(node.kill)
        for node in nodes:
            node.stdin.write("plugged in\n")
            node.stdin.flush()
        if victim is not None:
            kill(nodes, victim, folder / "waits", cut)
        print(json.dumps([node.wait(timeout=120) for node in nodes]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), **json.loads(sys.argv[2]))
