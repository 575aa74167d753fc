"""A Recorder that is given values where there are no logits, with and without classes."""

import numpy as np
import pytest
import torch

from dualprune import InputError, Recorder, Run, choose
from tests.batches import DEFAULT, batch, counts, reference
from tests.run_by_hand import trajectories


def test_losses_alone_are_recorded_and_chosen_from(tmp_path):
    loss = trajectories().astype(np.float32)
    with Recorder(tmp_path / "run", samples=40) as recorder:
        for row in loss:
            for ids in np.array_split(np.random.default_rng(0).permutation(40), 3):
                recorder.update_values(ids, loss=row[ids])
            recorder.end_epoch()
    run = Run(tmp_path / "run")
    assert (run.classes, run.signals) == (None, ("loss",))
    np.testing.assert_array_equal(run["loss"], loss)
    written = Run.from_arrays(tmp_path / "written", loss=loss)
    assert choose(run, keep=9).ids.tolist() == choose(written, keep=9).ids.tolist()


def test_a_recording_without_classes_goes_on(tmp_path):
    for epoch in (1, 2):
        with Recorder(tmp_path, samples=3, start_epoch=epoch) as recorder:
            recorder.update_values([0, 1, 2], loss=[epoch, 2, 3])
            recorder.end_epoch()
    assert Run(tmp_path)["loss"].tolist() == [[1, 2, 3], [2, 2, 3]]


@pytest.mark.parametrize("convert", [torch.clone, np.asarray, lambda tensor: tensor.tolist()])
def test_values_of_all_signals_are_those_of_the_logits(tmp_path, convert):
    logits, labels, ids = batch(7, 3)
    given = reference(logits.requires_grad_(), labels)
    given = {name: convert(given[name].detach()) for name in DEFAULT}
    with Recorder(tmp_path, samples=7, classes=3) as recorder:
        recorder.update_values(convert(ids), convert(labels), **given)
        recorder.end_epoch()
        recorder.update(logits, labels, ids)
        recorder.end_epoch()
    for name in DEFAULT:
        first, second = Run(tmp_path)[name]
        np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-6, err_msg=name)


def test_a_batch_of_logits_before_values_comes_first(tmp_path):
    with Recorder(tmp_path, samples=2, classes=2, signals=["loss"]) as recorder:
        recorder.update([[0.0, 0.0]], [0], [1])
        recorder.update_values([1, 0], [0, 1], loss=[5.0, 6.0])
        recorder.end_epoch()
    np.testing.assert_allclose(Run(tmp_path)["loss"], [[6, np.log(2)]])
    assert counts(tmp_path) == [(1, 0)]


def test_values_that_are_missing_are_stored_as_missing_and_an_infinite_loss_is_not(tmp_path):
    with Recorder(tmp_path, samples=3) as recorder:
        recorder.update_values([0, 1, 2], loss=[np.nan, np.inf, -1e-7])
        with pytest.warns(RuntimeWarning, match="1 samples had values that are not finite.* id 0"):
            recorder.end_epoch()
    np.testing.assert_allclose(Run(tmp_path)["target_prob"], [[np.nan, 0, 1]], atol=1e-6)
    strict = Recorder(tmp_path, samples=3, strict=True, start_epoch=2)
    with pytest.raises(InputError, match="values that are not finite, the first is id 2"):
        strict.update_values([1, 2], loss=[1.0, np.nan])


@pytest.mark.parametrize(
    ("made", "given", "said"),
    [
        ({}, {}, "has the signals loss; update_values was given none"),
        ({}, {"loss": [1.0, 2.0], "margin": [1.0, 2.0]}, "was given loss, margin"),
        ({}, {"loss": [1.0]}, r"loss has shape \(1,\), ids \(2,\)"),
        ({}, {"loss": [[1.0], [2.0]]}, r"loss has shape \(2, 1\)"),
        ({}, {"loss": ["a", "b"]}, "loss must be an array of real numbers"),
        ({}, {"loss": [0.1, -0.1]}, "epoch 1: the loss of id 3 is -0.1"),
        ({}, {"loss": [1.0, 2.0], "labels": [0, 0]}, "no classes, so pass no labels"),
        ({}, {"loss": [1.0, 2.0], "ids": [0, 4]}, "id 4 is outside 0 to 3"),
        ({"classes": 2}, {"loss": [1.0, 2.0]}, "has 2 classes; pass labels"),
        ({"classes": 2}, {"loss": [1.0, 2.0], "labels": [0, 2]}, "the label of id 3 is 2"),
    ],
)
def test_values_that_do_not_fit_are_refused_and_may_come_again(tmp_path, made, given, said):
    given = {"ids": [2, 3], **given}
    with Recorder(tmp_path, samples=4, signals=["loss"], **made) as recorder:
        with pytest.raises(InputError, match=said):
            recorder.update_values(**given)
        labels = [0, 1] if made else None
        recorder.update_values([2, 3], labels, loss=[1.0, 2.0])
        recorder.end_epoch()
    np.testing.assert_array_equal(Run(tmp_path)["loss"], [[np.nan, np.nan, 1, 2]])


def test_logits_without_classes_are_refused_with_what_to_do(tmp_path):
    recorder = Recorder(tmp_path, samples=4)
    with pytest.raises(InputError, match=r"has no classes.*make it with classes=, or use"):
        recorder.update(torch.zeros(4, 2), [0, 0, 0, 0], [0, 1, 2, 3])
