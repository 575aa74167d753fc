"""What a Recorder keeps of what it is given, and what it looks at when."""

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
import torch

from dualprune import Recorder, Run
from dualprune.errors import InputError
from tests.batches import DEFAULT, batch, live_tensors, new, reference


def test_no_autograd_graph_is_kept(tmp_path):
    before = {id(each) for each in live_tensors()}
    weight = torch.randn(5, 3, requires_grad=True)
    recorder = new(tmp_path, signals=(*DEFAULT, "kl_step"))
    logits = torch.randn(4, 5) @ weight
    recorder.update(logits, torch.tensor([0, 1, 2, 0]), torch.arange(4))
    del logits
    held = [each for each in live_tensors() if id(each) not in before and each is not weight]
    assert held
    assert not any(each.requires_grad or each.grad_fn is not None for each in held)
    assert not any(each.shape == (4, 5) for each in held)
    recorder.end_epoch()


def test_memory_does_not_grow_with_the_number_of_epochs(tmp_path):
    samples, row = 2_000, 8 + 4 + 1 + 5 * 4
    logits, labels, ids = batch(samples, 3)
    recorder = new(tmp_path, samples=samples)

    def after(epochs):
        for _ in range(epochs):
            recorder.update(logits, labels, ids)
            recorder.end_epoch()
        tensors = live_tensors()
        size = sum(each.untyped_storage().nbytes() for each in tensors)
        return len(tensors), size, pa.total_allocated_bytes(), tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        *first, python_first = after(3)
        *last, python_last = after(30)
    finally:
        tracemalloc.stop()
    assert last == first
    assert python_last - python_first < samples * row  # one epoch's rows, of thirty


@pytest.mark.parametrize("numpy_ids", [False, True])
def test_tensors_may_be_overwritten_after_update(tmp_path, numpy_ids):
    logits, labels, ids = batch(4, 3)
    expected = reference(logits, labels)
    given = ids.numpy().copy() if numpy_ids else ids.clone()
    mine = [logits.clone(), labels.clone(), given]
    with new(tmp_path) as recorder:
        recorder.update(*mine)
        for tensor in mine:
            tensor[:] = 0
        recorder.end_epoch()
    run = Run(tmp_path / "run")
    assert (run["labels"] == labels.numpy()).all()
    for name in DEFAULT:
        np.testing.assert_allclose(run[name][0], expected[name], rtol=1e-5, atol=2e-6)


def test_update_never_looks_at_values_on_a_device(tmp_path):
    # A tensor on the meta device has no values, so reading one raises instead of waiting.
    every = (*DEFAULT, "kl_step")
    logits, labels, ids = (each.to("meta") for each in batch(4, 3))
    with pytest.raises(RuntimeError):
        logits.isfinite().all().item()
    recorder = new(tmp_path, signals=every, strict=True)
    recorder.update(logits, labels, ids)
    recorder.update(logits, labels, torch.arange(4))
    recorder.update(logits, torch.tensor([0, 1, 2, 0]), torch.arange(4))
    binary = Recorder(tmp_path / "binary", samples=4, classes=2, signals=every)
    binary.update(logits[:, 0], labels.float(), ids)


@pytest.mark.parametrize(
    ("labels", "ids", "told"),
    [
        ([0, 1], [0, 4], "epoch 1: id 4 is outside 0 to 3"),
        ([0, 1], [-1, 0], "epoch 1: id -1 is outside 0 to 3"),
        ([0, 3], [0, 2], "epoch 1: the label of id 2 is 3, outside 0 to 2"),
        ([-100, 0], [3, 2], "epoch 1: the label of id 3 is -100"),
        ([0, 2**32], [0, 2], "epoch 1: the label of id 2"),
    ],
)
def test_what_update_could_not_check_is_refused_by_end_epoch(
    tmp_path, monkeypatch, labels, ids, told
):
    # Stands for tensors on a device, whose values update() does not look at.
    monkeypatch.setattr(Recorder, "_check_on_host", lambda *_: None)
    recorder = new(tmp_path)
    recorder.update(torch.zeros(2, 3), torch.tensor(labels), torch.tensor(ids))
    with pytest.raises(InputError, match=told):
        recorder.end_epoch()
    assert Run(tmp_path / "run").epochs == 0
