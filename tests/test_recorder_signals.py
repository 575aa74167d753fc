"""The values of signals, also of one-logit models and of logits that are not finite."""

import math

import numpy as np
import pytest
import torch

from dualprune import Run
from dualprune.errors import InputError
from tests.batches import DEFAULT, INF, NAN, batch, counts, new, record, reference


def test_signals_have_their_hand_checked_values(tmp_path):
    logits, labels = torch.tensor([[2.0, 1.0, 0.0], [0.0, 1.0, 3.0]]), torch.tensor([0, 0])
    run = record(tmp_path / "run", [(logits, labels, torch.arange(2))], samples=2, classes=3)
    expected = {
        "margin": [1.0, -3.0],
        "prob_margin": [0.420512, -0.801785],
        "error_norm": [0.424336, 1.281708],
        "entropy": [0.832396, 0.524267],
        "rival": [1, 2],
        "prediction": [0, 2],
        "correct": [1, 0],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(run[name], [values], atol=6e-7, err_msg=name)
    assert run["labels"].tolist() == [0, 0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("classes", [2, 3, 100])
def test_signals_agree_with_float64_for_logits_of_every_type(tmp_path, dtype, classes):
    logits, labels, ids = batch(200, classes)
    logits = logits.to(dtype)
    run = record(tmp_path / "run", [(logits, labels, ids)], samples=200, classes=classes)
    for name, values in reference(logits, labels).items():
        # A lead between logits of up to 16 is known to 2^-19 in float32.
        np.testing.assert_allclose(run[name][0], values, rtol=1e-5, atol=2e-6, err_msg=name)


def test_logits_may_be_strided_and_may_require_grad(tmp_path):
    logits, labels, ids = batch(50, 7)
    strided = logits.T.contiguous().T
    every_second = torch.stack([logits, -logits], 2).reshape(50, 14)[:, ::2]
    assert not strided.is_contiguous()
    assert not every_second.is_contiguous()
    given = [logits, strided, every_second, logits.clone().requires_grad_()]
    epochs = [[(each, labels, ids)] for each in given]
    run = record(tmp_path / "run", *epochs, samples=50, classes=7)
    for name in DEFAULT:
        for epoch in range(1, 4):
            np.testing.assert_array_equal(run[name][epoch], run[name][0], err_msg=name)


def test_the_loss_of_a_confident_sample_is_exact_where_log_softmax_rounds_it_to_zero(tmp_path):
    leads = torch.arange(10.0, 81.0)
    logits = torch.zeros(len(leads), 10)
    logits[:, 3] = leads
    labels = torch.full((len(leads),), 3)
    run = record(
        tmp_path / "run",
        [(logits, labels, torch.arange(len(leads)))],
        samples=len(leads),
        classes=10,
    )
    assert (logits.log_softmax(1)[:, 3] == 0).any()
    exact = np.log1p(9 * np.exp(-leads.double().numpy()))
    assert (run["loss"] > 0).all()
    # ulp(80) in float32 is 2^-17, and an error of the lead is a relative error of the loss.
    np.testing.assert_allclose(run["loss"][0], exact, rtol=1e-5)


def test_a_confident_sample_keeps_a_non_zero_error_norm(tmp_path):
    logits, labels = torch.tensor([[20.0, 0.0, 0.0]]), torch.tensor([0])
    run = record(tmp_path / "run", [(logits, labels, [0])], samples=1, classes=3)
    other = math.exp(-20) / (1 + 2 * math.exp(-20))
    exact = math.sqrt((2 * other) ** 2 + 2 * other**2)
    np.testing.assert_allclose(run["error_norm"], exact, rtol=1e-5)


@pytest.mark.parametrize("top", [3e38, -3e38])
def test_huge_finite_logits_give_finite_signals(tmp_path, top):
    logits = torch.tensor([[top, -top, 0.0], [top, top, top], [-top, -top, top]])
    labels = torch.tensor([0, 1, 2])
    run = record(tmp_path / "run", [(logits, labels, [0, 1, 2])], samples=3, classes=3)
    for name in DEFAULT:
        assert np.isfinite(run[name]).all(), name
    assert counts(tmp_path / "run") == [(0, 0)]
    assert run["correct"].tolist() == [[float(top > 0), 0.0, float(top > 0)]]


@pytest.mark.parametrize("shift", [0.0, 4096.0, -65536.0])
def test_adding_a_constant_to_all_logits_of_a_sample_changes_nothing(tmp_path, shift):
    # Multiples of 1/64 this small stay exact in float32 after the shift.
    logits, labels, ids = batch(100, 5)
    logits = (logits * 64).round() / 64
    run = record(tmp_path / "run", [(logits + shift, labels, ids)], samples=100, classes=5)
    for name, values in reference(logits, labels).items():
        np.testing.assert_allclose(run[name][0], values, rtol=1e-5, atol=2e-6, err_msg=name)


def test_equal_logits_are_not_correct_and_predict_another_class(tmp_path):
    labels = torch.tensor([0, 1, 2])
    run = record(tmp_path / "run", [(torch.ones(3, 3), labels, [0, 1, 2])], samples=3, classes=3)
    assert (run["margin"] == 0).all()
    assert (run["correct"] == 0).all()
    assert (run["prediction"] == run["rival"]).all()
    assert (run["rival"][0] != labels.numpy()).all()
    np.testing.assert_allclose(run["loss"], math.log(3), rtol=1e-6)
    np.testing.assert_allclose(run["entropy"], math.log(3), rtol=1e-6)


def test_autocast_and_inference_mode_around_update_change_nothing(tmp_path):
    logits, labels, ids = batch(40, 5)
    with new(tmp_path, samples=40, classes=5) as recorder:
        recorder.update(logits, labels, ids)
        recorder.end_epoch()
        with torch.autocast("cpu", torch.bfloat16):
            recorder.update(logits, labels, ids)
        recorder.end_epoch()
        with torch.inference_mode():
            recorder.update(logits, labels, ids)
        recorder.end_epoch()
    run = Run(tmp_path / "run")
    for name in DEFAULT:
        np.testing.assert_array_equal(run[name][1:], run[name][[0, 0]], err_msg=name)


def test_only_the_signals_asked_for_are_recorded(tmp_path):
    run = record(tmp_path / "run", [batch(4, 3)], samples=4, classes=3, signals=("margin",))
    assert run.description.signals == {"margin": "<f4"}
    assert run.has("correct")
    assert not run.has("loss")


def test_a_signal_that_does_not_exist_is_refused_by_name(tmp_path):
    with pytest.raises(InputError, match="no signal 'gradient'; known are loss"):
        new(tmp_path, signals=("loss", "gradient"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("column", [False, True])
@pytest.mark.parametrize("floats", [False, True])
def test_a_one_logit_model_equals_its_two_logit_version(tmp_path, column, floats):
    logits = torch.cat([torch.randn(60) * 5, torch.tensor([40.0, -40.0])])
    labels = (torch.arange(62) % 2).to(torch.float32 if floats else torch.int64)
    two = torch.stack([torch.zeros(62), logits], 1)
    one = logits[:, None] if column else logits
    given = labels[:, None] if column and floats else labels
    ids = torch.arange(62)
    a = record(tmp_path / "one", [(one, given, ids)], samples=62, classes=2)
    b = record(tmp_path / "two", [(two, labels.long(), ids)], samples=62, classes=2)
    for name in (*DEFAULT, "prediction"):
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)
    np.testing.assert_array_equal(a["labels"], labels)
    np.testing.assert_array_equal(a["prediction"][0], logits > 0)


@pytest.mark.parametrize("wrong", [0.5, NAN, -0.25])
def test_a_float_label_between_the_classes_is_refused_by_its_value(tmp_path, wrong):
    with pytest.raises(InputError, match=f"label {wrong} is neither 0 nor 1"):
        new(tmp_path, classes=2).update(torch.zeros(3), torch.tensor([0.0, wrong, 1.0]), [0, 1, 2])


@pytest.mark.parametrize("wrong", [2.0, -1.0, INF])
def test_a_float_label_beyond_the_classes_is_refused(tmp_path, wrong):
    with pytest.raises(InputError, match="label"):
        new(tmp_path, classes=2).update(torch.zeros(2), torch.tensor([0.0, wrong]), [0, 1])


def test_one_logit_with_three_classes_is_refused(tmp_path):
    recorder = new(tmp_path)
    for shape in [(2,), (2, 1)]:
        with pytest.raises(InputError, match=r"they must be \(batch, 3\)"):
            recorder.update(torch.zeros(shape), torch.tensor([0, 1]), [0, 1])


@pytest.mark.parametrize("wrong", [NAN, INF, -INF])
@pytest.mark.parametrize("rows", [[2], [0, 1, 2, 3]])
def test_logits_that_are_not_finite_are_missing_counted_and_told_once(tmp_path, wrong, rows):
    logits, labels, ids = batch(4, 3)
    logits[rows, 1] = wrong
    with new(tmp_path) as recorder:
        for half in (slice(2, 4), slice(0, 2)):
            recorder.update(logits[half], labels[half], ids[half])
        told = f"epoch 1: {len(rows)} samples .* not finite, the first is id {rows[0]};"
        with pytest.warns(RuntimeWarning, match=told) as caught:
            recorder.end_epoch()
    assert len(caught) == 1
    assert caught[0].filename == __file__
    run, expected = Run(tmp_path / "run"), reference(logits, labels)
    seen = np.setdiff1d(np.arange(4), rows)
    for name in ("loss", "margin", "entropy", "error_norm", "correct", "target_prob"):
        assert np.isnan(run[name][0, rows]).all(), name
        np.testing.assert_allclose(run[name][0, seen], expected[name][seen], rtol=1e-5, atol=2e-6)
    for name in ("rival", "prediction"):
        assert (run[name][0, rows] == -1).all(), name
        assert (run[name][0, seen] >= 0).all(), name
    assert counts(tmp_path / "run") == [(0, len(rows))]
    assert (run["labels"] == labels.numpy()).all()


def test_every_epoch_with_non_finite_logits_warns_again(tmp_path):
    logits, labels, ids = batch(4, 3)
    logits[1] = NAN
    with new(tmp_path) as recorder:
        for epoch in (1, 2):
            recorder.update(logits, labels, ids)
            with pytest.warns(RuntimeWarning, match=f"epoch {epoch}: 1 samples") as caught:
                recorder.end_epoch()
            assert len(caught) == 1


def test_strict_refuses_logits_that_are_not_finite(tmp_path):
    logits, labels, ids = batch(4, 3)
    logits[2, 0] = NAN
    with (
        new(tmp_path, strict=True) as recorder,
        pytest.raises(InputError, match=r"epoch 1: 1 samples .* the first is id 2;"),
    ):
        recorder.update(logits, labels, ids)
    assert Run(tmp_path / "run").epochs == 0


def test_float16_logits_that_overflowed_are_missing(tmp_path):
    logits = torch.tensor([[7e4, 0.0], [6e4, 0.0]]).half()
    with pytest.warns(RuntimeWarning, match="1 samples"):
        run = record(
            tmp_path / "run", [(logits, torch.tensor([0, 0]), [0, 1])], samples=2, classes=2
        )
    np.testing.assert_array_equal(run["margin"], [[NAN, 60_000]])  # 6e4 is a float16


def test_only_the_first_occurrence_decides_whether_a_sample_was_finite(tmp_path):
    logits = torch.tensor([[1.0, 0.0], [NAN, 0.0], [NAN, 0.0], [1.0, 0.0]])
    labels, ids = torch.zeros(4, dtype=torch.int64), torch.tensor([0, 0, 1, 1])
    with pytest.warns(RuntimeWarning, match="1 samples .* id 1;"):
        run = record(tmp_path / "run", [(logits, labels, ids)], samples=2, classes=2)
    np.testing.assert_array_equal(run["margin"], [[1.0, NAN]])
    assert counts(tmp_path / "run") == [(2, 1)]
