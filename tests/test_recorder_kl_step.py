"""How far predictions moved between epochs."""

import math

import numpy as np
import pytest
import torch

from dualprune import Recorder, Run
from dualprune.errors import InputError
from dualprune.score import tdds
from tests.batches import NAN, new, record


def binary(p, samples=1):
    """Logits whose softmax is (p, 1 - p)."""
    return torch.tensor([[p, 1 - p]]).log().repeat(samples, 1)


def kl(before, after):
    pairs = [(before, after), (1 - before, 1 - after)]
    return sum(abs(p * (math.log(p + 1e-8) - math.log(q + 1e-8))) for q, p in pairs)


def record_kl(path, *epochs, samples=1, start_epoch=None):
    """Record epochs of {id: p} or lists of (id, p)."""
    batches = [
        [(binary(p), torch.tensor([0]), [each]) for each, p in dict(epoch).items()]
        if isinstance(epoch, dict)
        else [(binary(p), torch.tensor([0]), [each]) for each, p in epoch]
        for epoch in epochs
    ]
    signals = ("loss", "kl_step")
    return record(
        path, *batches, samples=samples, classes=2, signals=signals, start_epoch=start_epoch
    )


def test_kl_step_gives_the_published_tdds_score(tmp_path):
    run = record_kl(tmp_path / "run", {0: 0.5}, {0: 0.6}, {0: 0.9}, {0: 0.8})
    steps = run["kl_step"][:, 0]
    np.testing.assert_allclose(steps, [NAN, 0.198650, 0.503548, 0.232856], atol=6e-7)
    np.testing.assert_allclose(tdds(run["kl_step"], window=3), [0.191671], atol=6e-7)


def test_kl_step_is_missing_in_the_first_epoch_of_each_attempt(tmp_path):
    record_kl(tmp_path / "run", {0: 0.5}, {0: 0.6})
    run = record_kl(tmp_path / "run", {0: 0.7}, {0: 0.8}, start_epoch=3)
    expected = [[NAN], [kl(0.5, 0.6)], [NAN], [kl(0.7, 0.8)]]
    np.testing.assert_allclose(run["kl_step"], expected, rtol=1e-5)


def test_kl_step_compares_with_the_last_epoch_that_saw_the_sample(tmp_path):
    run = record_kl(tmp_path / "run", {0: 0.5, 1: 0.5}, {1: 0.7}, {0: 0.9, 1: 0.8}, samples=2)
    expected = [[NAN, NAN], [NAN, kl(0.5, 0.7)], [kl(0.5, 0.9), kl(0.7, 0.8)]]
    np.testing.assert_allclose(run["kl_step"], expected, rtol=1e-5)


@pytest.mark.parametrize("p", [NAN, 0.0])  # the logit of 0 is -inf, yet its softmax is finite
def test_kl_step_passes_over_an_epoch_whose_logits_were_not_finite(tmp_path, p):
    with pytest.warns(RuntimeWarning, match="epoch 2"):
        run = record_kl(tmp_path / "run", {0: 0.5}, {0: p}, {0: 0.9})
    np.testing.assert_allclose(run["kl_step"], [[NAN], [NAN], [kl(0.5, 0.9)]], rtol=1e-5)


def test_kl_step_compares_the_first_occurrences_of_two_epochs(tmp_path):
    epochs = [(0, 0.5), (0, 0.9)], [(0, 0.6), (0, 0.7)], [(0, 0.8)]
    run = record_kl(tmp_path / "run", *epochs)
    np.testing.assert_allclose(run["loss"][:, 0], -np.log([0.5, 0.6, 0.8]), rtol=1e-5)
    np.testing.assert_allclose(run["kl_step"], [[NAN], [kl(0.5, 0.6)], [kl(0.6, 0.8)]], rtol=1e-5)


def test_kl_step_compares_the_first_occurrences_inside_one_batch(tmp_path):
    twice = torch.cat([binary(0.5), binary(0.9), binary(0.9)])
    labels, ids = torch.zeros(3, dtype=torch.int64), [0, 0, 0]
    once = (binary(0.6), labels[:1], ids[:1])
    run = record(
        tmp_path / "run", [(twice, labels, ids)], [once], samples=1, classes=2, signals=("kl_step",)
    )
    np.testing.assert_allclose(run["kl_step"], [[NAN], [kl(0.5, 0.6)]], rtol=1e-5)


def test_kl_step_compares_the_first_occurrences_inside_large_batches(tmp_path):
    # Torch writes large batches from several threads, in no order; five of them show it.
    ids = torch.arange(100_000)
    first = [
        (torch.cat([binary(0.5, 20_000), binary(0.9, 20_000)]), torch.zeros(40_000).long(), twice)
        for twice in (some.repeat(2) for some in ids.split(20_000))
    ]
    second = [(binary(0.6, 100_000), torch.zeros(100_000).long(), ids)]
    run = record(tmp_path / "run", first, second, samples=100_000, classes=2, signals=("kl_step",))
    np.testing.assert_allclose(run["kl_step"][1], kl(0.5, 0.6), rtol=1e-5)


def test_kl_step_may_begin_in_inference_mode_and_go_on_outside(tmp_path):
    with new(tmp_path, samples=1, classes=2, signals=("kl_step",)) as recorder:
        for p, inference in [(0.5, True), (0.6, False), (0.8, True)]:
            with torch.inference_mode(inference):
                recorder.update(binary(p), torch.tensor([0]), [0])
            recorder.end_epoch()
    expected = [[NAN], [kl(0.5, 0.6)], [kl(0.6, 0.8)]]
    np.testing.assert_allclose(Run(tmp_path / "run")["kl_step"], expected, rtol=1e-5)


def test_kl_step_in_several_processes_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("dualprune.record.recorder.processes", lambda: (0, 2))
    with pytest.raises(InputError, match="another of the 2 processes"):
        new(tmp_path, signals=("loss", "kl_step"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("kl_step", "state must be a dictionary from text to a Tensor"),
        ({"kl_step.previous": 3}, "state must be a dictionary"),
        ({"kl_step.previous": torch.zeros(4, 3)}, "state of kl_step must be .* another recording"),
        (
            {"kl_step.previous": torch.zeros(5, 3), "kl_step.stored_in": torch.zeros(5)},
            r"previous \(4, 3\) and stored_in \(4,\), got",
        ),
    ],
)
def test_the_state_of_another_recording_is_refused(tmp_path, state, told):
    recorder = Recorder(tmp_path / "run", samples=4, classes=3, signals=["kl_step"])
    with pytest.raises(InputError, match=told):
        recorder.load_state_dict(state)
