"""What only a GPU can show. Where there is none, these are counted as not run.

Each is written against a promise: nothing waits for the device in `update`, what lies on the device
is checked at `end_epoch`, a checkpoint goes from the device and back, and NCCL is a backend.
"""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.optim import SGD, AdamW

from dualprune import Recorder, Run
from dualprune.data import decode, list_training, load
from dualprune.errors import InputError
from dualprune.train import Setup, recipes, record
from dualprune.train import batches as batches_module
from dualprune.train.batches import ImageBatches
from dualprune.train.checkpoint import restore, store

from .batches import DEFAULT, NAN, batch, new, reference
from .photos import save

pytestmark = pytest.mark.gpu

GPU = "cuda"
KL = (*DEFAULT, "kl_step")


def on(device, *tensors):
    return tuple(tensor.to(device) for tensor in tensors)


# ------------------------------------------------------------------------------------ recording


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_logits_of_every_precision_are_recorded_as_they_are(tmp_path, dtype):
    logits, labels, ids = batch(300, 7)
    logits = logits.to(dtype)
    with Recorder(tmp_path / "run", samples=300, classes=7) as recorder:
        recorder.update(*on(GPU, logits, labels, ids))
        recorder.end_epoch()
    run = Run(tmp_path / "run")
    for name, expected in reference(logits.float(), labels).items():
        np.testing.assert_allclose(run[name][0], expected.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("labels_on", ["cpu", GPU])
@pytest.mark.parametrize("ids_on", ["cpu", GPU])
def test_labels_and_ids_may_lie_anywhere(tmp_path, labels_on, ids_on):
    logits, labels, ids = batch(300, 7)
    for name, device in (("host", "cpu"), ("device", GPU)):
        with Recorder(tmp_path / name, samples=300, classes=7, signals=KL) as recorder:
            for epoch in (1, 2):
                for part in torch.arange(300).split(64):
                    recorder.update(
                        (logits[part] / epoch).to(device),
                        labels[part].to(device if name == "host" else labels_on),
                        ids[part].to(device if name == "host" else ids_on),
                    )
                recorder.end_epoch()
    one, other = Run(tmp_path / "host"), Run(tmp_path / "device")
    for signal in KL:
        np.testing.assert_allclose(one[signal], other[signal], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("signals", [DEFAULT, KL], ids=["default", "kl_step"])
def test_update_does_not_wait_for_the_device(tmp_path, signals):
    logits, labels, ids = on(GPU, *batch(4096, 100))
    with Recorder(tmp_path / "run", samples=4096, classes=100, signals=signals) as recorder:
        try:
            torch.cuda.set_sync_debug_mode("error")
            for part in range(0, 4096, 256):  # enough logits to be computed several times
                rows = slice(part, part + 256)
                recorder.update(logits[rows], labels[rows], ids[rows])
        finally:
            torch.cuda.set_sync_debug_mode("default")
        recorder.end_epoch()
    assert np.isfinite(Run(tmp_path / "run")["loss"]).all()


def test_update_keeps_neither_the_graph_nor_the_users_memory(tmp_path):
    weight = torch.zeros(5, 3, device=GPU, requires_grad=True)
    logits = torch.ones(4, 5, device=GPU) @ weight
    with new(tmp_path) as recorder:
        recorder.update(logits, torch.zeros(4, dtype=torch.int64, device=GPU), torch.arange(4))
        logits.data.fill_(NAN)  # as a loop does that writes into the same memory
        recorder.end_epoch()
    assert np.isfinite(Run(tmp_path / "run")["loss"]).all()


@pytest.mark.parametrize("signals", [DEFAULT, KL], ids=["default", "kl_step"])
@pytest.mark.parametrize(
    ("labels", "ids", "message"),
    [
        ([0, 1, 9, 2], [0, 1, 2, 3], "epoch 1: the label of id 2 is 9, outside 0 to 2"),
        ([0, 1, -1, 2], [0, 1, 2, 3], "epoch 1: the label of id 2 is -1, outside 0 to 2"),
        ([0, 1, 2, 2], [0, 1, 2, 99], "epoch 1: id 99 is outside 0 to 3"),
        ([0, 1, 2, 2], [0, 1, 2, -5], "epoch 1: id -5 is outside 0 to 3"),
    ],
)
def test_what_lies_on_the_device_is_checked_at_the_end_of_the_epoch(
    tmp_path, labels, ids, message, signals
):
    recorder = new(tmp_path, signals=signals)
    recorder.update(torch.zeros(4, 3, device=GPU), *on(GPU, *map(torch.tensor, (labels, ids))))
    with pytest.raises(InputError, match=message):
        recorder.end_epoch()
    torch.cuda.synchronize()  # an index out of range would have ended the device's work for good
    assert Run(tmp_path / "run").epochs == 0


def test_a_label_between_the_two_of_a_one_logit_model_is_refused(tmp_path):
    labels = torch.tensor([0.0, 1.0, 0.5, 1.0], device=GPU)
    recorder = new(tmp_path, classes=2)
    recorder.update(torch.zeros(4, 1, device=GPU), labels, torch.arange(4))
    with pytest.raises(InputError, match="the label of id 2 is -1"):
        recorder.end_epoch()


def test_logits_that_are_not_finite_are_missing_or_refused(tmp_path):
    logits = torch.zeros(4, 3, device=GPU)
    logits[2, 1] = NAN
    labels, ids = on(GPU, torch.tensor([0, 1, 2, 0]), torch.arange(4))
    with new(tmp_path / "lenient") as recorder:
        recorder.update(logits, labels, ids)
        with pytest.warns(RuntimeWarning, match="id 2"):
            recorder.end_epoch()
    missing = np.isnan(Run(tmp_path / "lenient" / "run")["loss"])
    assert missing.tolist() == [[False, False, True, False]]
    recorder = new(tmp_path / "strict", strict=True)
    recorder.update(logits, labels, ids)
    with pytest.raises(InputError, match="id 2"):
        recorder.end_epoch()


@pytest.mark.parametrize("ids_on", ["cpu", GPU])
def test_values_on_the_device(tmp_path, ids_on):
    losses = torch.tensor([0.5, NAN, 2.0, 0.0], device=GPU)
    with Recorder(tmp_path / "run", samples=4) as recorder:
        recorder.update_values(torch.arange(4).to(ids_on), loss=losses)
        with pytest.warns(RuntimeWarning, match="id 1"):
            recorder.end_epoch()
    np.testing.assert_array_equal(Run(tmp_path / "run")["loss"], [[0.5, NAN, 2.0, 0.0]])


def test_kl_step_resumes_from_a_state_that_was_on_the_host(tmp_path):
    epochs = [on(GPU, *batch(50, 4, seed)) for seed in range(3)]
    labels, ids = epochs[0][1:]
    with Recorder(tmp_path / "whole", samples=50, classes=4, signals=KL) as recorder:
        for logits, *_ in epochs:
            recorder.update(logits, labels, ids)
            recorder.end_epoch()
    with Recorder(tmp_path / "run", samples=50, classes=4, signals=KL) as recorder:
        for logits, *_ in epochs[:2]:
            recorder.update(logits, labels, ids)
            recorder.end_epoch()
        state = {name: tensor.cpu() for name, tensor in recorder.state_dict().items()}
    with Recorder(tmp_path / "run", samples=50, classes=4, signals=KL, start_epoch=3) as recorder:
        recorder.load_state_dict(state)
        recorder.update(epochs[2][0], labels, ids)
        recorder.end_epoch()
    one, other = Run(tmp_path / "whole"), Run(tmp_path / "run")
    np.testing.assert_array_equal(one["kl_step"], other["kl_step"])


def test_features_in_bfloat16_give_their_norm(tmp_path):
    features = torch.tensor([[3.0, 4.0], [0.0, 0.0], [6.0, 8.0], [1.0, 0.0]], device=GPU)
    with new(tmp_path, signals=["feature_norm"]) as recorder:
        recorder.update(
            torch.zeros(4, 3, device=GPU), torch.tensor([0, 1, 2, 0]), range(4), features.bfloat16()
        )
        recorder.end_epoch()
    np.testing.assert_array_equal(Run(tmp_path / "run")["feature_norm"], [[5, 0, 10, 1]])


# ------------------------------------------------------------------------------------- training


def setup(**changed):
    digits = [part.take(np.arange(350)) for part in load("digits")]
    small = replace(recipes()["digits"], epochs=4, record=4, batch=100, **changed)
    return Setup.of(*digits, recipe=small, model="auto")


def test_a_training_is_recorded_in_bfloat16_with_logits_in_float32(tmp_path):
    this = setup()
    run = record(this, tmp_path / "run")
    assert this.batches.device.type == GPU
    assert "passes in bfloat16, logits in float32" in run.description.notes
    margin = torch.from_numpy(run["margin"][-1])
    assert (margin.bfloat16().float() != margin).double().mean() > 0.9
    assert run["loss"][-1].mean() < run["loss"][0].mean()


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_a_training_resumes_on_the_device(tmp_path, optimizer):
    this = setup(optimizer=optimizer, lr=0.01)
    record(this, tmp_path / "whole", signals=KL)
    record(this, tmp_path / "run", epochs=2, signals=KL)
    run = record(this, tmp_path / "run", epochs=4, signals=KL)
    whole = Run(tmp_path / "whole")
    for signal in ("loss", "kl_step"):
        np.testing.assert_allclose(run[signal][:2], whole[signal][:2], rtol=0.1, atol=0.05)
        gap = np.nanmean(np.abs(run[signal][2:] - whole[signal][2:]))
        assert gap < 0.05  # sums on a device are not the same bits every time


def stepped(model, optimizer, times):
    inputs = torch.linspace(-1, 1, 40).reshape(10, 4).to(next(model.parameters()).device)
    for _ in range(times):
        optimizer.zero_grad()
        cross_entropy(model(inputs), torch.arange(10).to(inputs.device) % 3).backward()
        optimizer.step()
    return [parameter.detach().cpu() for parameter in model.parameters()]


def made(kind, device, seed):
    torch.manual_seed(seed)
    model = nn.Linear(4, 3).to(device)
    if kind == "adamw":
        return model, AdamW(model.parameters(), lr=0.1, fused=True)
    return model, SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)


@pytest.mark.parametrize("kind", ["sgd", "adamw"])
@pytest.mark.parametrize(("before", "after"), [(GPU, GPU), (GPU, "cpu"), ("cpu", GPU)])
def test_a_checkpoint_goes_from_device_to_device(tmp_path, kind, before, after):
    model, optimizer = made(kind, before, 0)
    stepped(model, optimizer, 3)
    store(tmp_path, model, optimizer, {"epoch": 3, "settings": {}}, {"uses": np.arange(3)})
    again, other = made(kind, after, 1)
    state, arrays = restore(tmp_path, again, other, {})
    assert (state["epoch"], arrays["uses"].tolist()) == (3, [0, 1, 2])
    for one, two in zip(stepped(model, optimizer, 2), stepped(again, other, 2), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)


def test_files_reach_the_device_through_pinned_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(batches_module, "IN_MEMORY", 0)  # so that a DataLoader decodes them
    for number in range(30):
        save(tmp_path / f"class{number % 2}" / f"{number:02}.png", size=(24, 20), seed=number)
    images = list_training(tmp_path)
    made_of = ImageBatches(images, size=16, device=torch.device(GPU))
    order = list(torch.randperm(30).split(7))
    for ids, raw in zip(order, made_of.raw(order), strict=True):
        assert raw.device.type == GPU
        expected = np.stack([decode(images.files[i], 16) for i in ids])
        np.testing.assert_array_equal(raw.cpu().numpy(), expected)


# ------------------------------------------------------------------------------- several devices


@pytest.mark.gpu(2)
def test_two_processes_record_over_nccl(tmp_path):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    words = ["-m", "dualprune", "record", "digits", "--epochs", "2", "--out", tmp_path / "run"]
    subprocess.run([*command, *words], check=True, timeout=600)
    run = Run(tmp_path / "run")
    assert run.epochs == 2
    assert np.isfinite(run["loss"]).all()
    assert len(list(Path(run.path).glob("attempts/0001/000001/part-*-of-2-*.parquet"))) == 2


_WEIGHED = """
import torch
from torch import distributed
from dualprune.dynamic import InfoBatch
from dualprune.integrations.torch import PrunedSampler
from dualprune.train.place import device, together

with together():
    rank = distributed.get_rank()
    assert distributed.get_backend() == "nccl"
    assert torch.cuda.current_device() == device().index == rank
    method = InfoBatch(8, epochs=4, seed=0)
    sampler = PrunedSampler(range(8), method)
    for epoch in range(2):
        ids = torch.tensor(list(sampler))
        sampler.weigh(ids.float().to(device()), ids)
    sampler.state_dict()
    print("scores", method.state())
"""


@pytest.mark.gpu(2)
def test_two_processes_share_the_losses_of_a_dynamic_method_over_nccl(tmp_path):
    (tmp_path / "job.py").write_text(_WEIGHED)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    ended = subprocess.run(
        [*command, tmp_path / "job.py"], check=True, timeout=600, capture_output=True, text=True
    )
    one, other = [line for line in ended.stdout.splitlines() if line.startswith("scores")]
    assert one == other
