"""What test_torchrun starts under torchrun: a loop whose logits are a function of id and epoch."""

import json
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

import torch
from torch import distributed
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from dualprune import Indexed, Recorder, Run
from dualprune.dynamic import IES, InfoBatch, RandomEveryEpoch
from dualprune.errors import DualpruneError
from dualprune.integrations.torch import PrunedSampler

CLASSES = 3


def logits_of(ids, epoch):
    """Small multiples of 1/16, so that margins are exact, and never equal in two classes."""
    columns = [
        (ids * (7 + 2 * c) + epoch * (11 + 3 * c)) % (31 + c) / 4 + c / 16 for c in range(CLASSES)
    ]
    return torch.stack(columns, 1)


def labels_of(ids):
    return ids % CLASSES


def epochs_done(path):
    """How many epochs to pass over; process 0 looks and tells the others."""
    done = torch.zeros(1, dtype=torch.int64)
    if rank() == 0 and (path / "run.json").exists():
        done += Run(path).epochs
    if distributed.is_initialized():
        distributed.broadcast(done, src=0)
    return int(done)


def rank():
    return distributed.get_rank() if distributed.is_initialized() else 0


def train(path, samples, epochs, kill=None, wait=None, limit=60):
    """Record up to `epochs`, going on where the run is.

    `kill` is a rank, an epoch and a batch; `wait` the same, where a process waits to be killed. The
    others wait for it as long as `limit` says.
    """
    path, together = Path(path), distributed.is_initialized()
    group = distributed.new_group(timeout=timedelta(seconds=limit)) if together else None
    data = TensorDataset(labels_of(torch.arange(samples)))
    world = distributed.get_world_size() if together else 1
    sampler = DistributedSampler(data, num_replicas=world, rank=rank())
    loader = DataLoader(Indexed(data), batch_size=128, sampler=sampler)
    start = epochs_done(path) + 1
    with Recorder(path, samples=samples, classes=CLASSES, start_epoch=start) as recorder:
        for epoch in range(start, epochs + 1):
            sampler.set_epoch(epoch)
            for number, (labels, ids) in enumerate(loader):
                if kill == [rank(), epoch, number] and is_first_start():
                    os.kill(os.getpid(), signal.SIGKILL)
                if wait == [rank(), epoch, number]:
                    wait_to_be_killed(path)
                if together:
                    distributed.all_reduce(torch.zeros(1), group=group)  # as gradients are
                recorder.update(logits_of(ids, epoch), labels, ids)
            recorder.end_epoch()


def is_first_start():
    return os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"


def wait_to_be_killed(path):
    path.with_name("waits").touch()
    signal.pause()


def start(path, wait=None, limit=60):
    """Make a Recorder, while another process may wait to be killed."""
    if rank() == wait:
        wait_to_be_killed(Path(path))
    Recorder(path, samples=2, classes=CLASSES, timeout=limit)
    distributed.barrier()


def refuse(path):
    """Record an epoch that only process 0 sees, then begin again without saying from where."""
    with Recorder(path, samples=2, classes=CLASSES) as recorder:
        if rank() == 0:
            ids = torch.arange(2)
            recorder.update(logits_of(ids, 1), labels_of(ids), ids)
        recorder.end_epoch()
    distributed.barrier()
    try:
        Recorder(path, samples=2, classes=CLASSES)
    except DualpruneError as error:
        Path(f"{path}-refused-{rank()}").write_text(str(error))


def wait_for_stopped(path, stopped):
    """Stop one process, or torchrun; the others say what they waited for, and let it go on."""
    own, pids = torch.tensor(os.getpid()), [torch.zeros((), dtype=torch.int64) for _ in range(2)]
    distributed.all_gather(pids, own)
    pid = os.getppid() if stopped == "torchrun" else int(pids[stopped])
    if pid == os.getpid() or (stopped == "torchrun" and rank() == 0):
        os.kill(pid, signal.SIGSTOP)
    if pid == os.getpid():
        return
    while not is_stopped(pid):  # until the first of its threads runs, the others go on
        os.sched_yield()
    try:
        Recorder(path, samples=2, classes=CLASSES, timeout=0.5)
    except DualpruneError as error:
        Path(f"{path}-waited-{rank()}").write_text(str(error))
    if stopped == "torchrun":
        distributed.barrier()  # both have waited
    os.kill(pid, signal.SIGCONT)


def is_stopped(pid):
    """Whether every thread of a process is stopped."""
    states = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/stat")]
    return all(state.rpartition(")")[2].split()[0] == "T" for state in states)


def prune_all(path, samples, names):
    for name in names:
        prune(f"{path}-{name}", samples, name)


def prune(path, samples, name):
    """Train with a dynamic method; store what this process saw, and the state after each epoch."""
    data, method = [(float(i),) for i in range(samples)], METHODS[name](samples)
    sampler = PrunedSampler(data, method, seed=3)
    loader = DataLoader(Indexed(data), batch_size=8, sampler=sampler)
    epochs = []
    for epoch in range(1, 9):
        ids = torch.cat([_losses_shown(sampler, ids, epoch) for _, ids in loader])
        assert len(ids) == len(sampler)
        state = {n: v.tolist() for n, v in sampler.state_dict()["method"].items()}
        epochs.append({"ids": ids.tolist(), "state": state, "weights": sampler.weights.tolist()})
    Path(f"{path}-{rank()}.json").write_text(json.dumps(epochs))


METHODS = {
    "random": lambda samples: RandomEveryEpoch(samples, keep=0.3, seed=1),
    "infobatch": lambda samples: InfoBatch(samples, epochs=8, seed=1),
    "ies": IES,
}


def _losses_shown(sampler, ids, epoch):
    """Even samples are steady from the start, the others jump."""
    sampler.weigh(loss_of(ids, epoch), ids)
    return ids


def loss_of(ids, epoch):
    return torch.where(ids % 2 == 0, 10.0 - epoch, 1 + (ids + 7 * epoch) % 5 / 4)


if __name__ == "__main__":
    distributed.init_process_group("gloo", timeout=timedelta(seconds=60))
    jobs = (train, start, refuse, wait_for_stopped, prune_all)
    job = {job.__name__: job for job in jobs}[sys.argv[1]]
    job(**json.loads(sys.argv[2]))
    distributed.destroy_process_group()
