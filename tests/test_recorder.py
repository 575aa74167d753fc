"""What a Recorder is given, and what a Run reads back."""

import gc
import json
import math
import os
import signal
import tracemalloc
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch import Tensor
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
)

from dualprune import Indexed, Recorder, Run
from dualprune.errors import DualpruneError, InputError, WriteError
from dualprune.record.batch import as_batch, check_ids
from dualprune.score import tdds

DEFAULT = ("loss", "margin", "rival", "entropy", "error_norm")
NAN, INF = math.nan, math.inf


def record(path, *epochs, samples, classes, **knobs):
    """Record epochs, each a list of (logits, labels, ids)."""
    with Recorder(path, samples=samples, classes=classes, **knobs) as recorder:
        for batches in epochs:
            for batch in batches:
                recorder.update(*batch)
            recorder.end_epoch()
    return Run(path)


def facts(path):
    """What each part states about itself, oldest first, read without dualprune."""
    parts = sorted(path.glob("attempts/*/*/part-*.parquet"))
    return [json.loads(pq.read_metadata(part).metadata[b"dualprune"]) for part in parts]


def counts(path):
    return [(fact["duplicates"], fact["non_finite"]) for fact in facts(path)]


def reference(logits, labels):
    """The same signals straight from their definitions, in float64."""
    logits = logits.detach().double()
    log_p, rows = logits.log_softmax(1), torch.arange(len(logits))
    p, truth = log_p.exp(), torch.zeros_like(log_p)
    truth[rows, labels] = 1
    others = logits.masked_fill(truth.bool(), -INF)
    best, rival = others.max(1)
    margin = logits[rows, labels] - best
    return {
        "loss": -log_p[rows, labels],
        "margin": margin,
        "rival": rival,
        "entropy": -(p * log_p).sum(1),
        "error_norm": (p - truth).norm(dim=1),
        "target_prob": p[rows, labels],
        "correct": (margin > 0).double(),
        "prediction": logits.argmax(1),
        "prob_margin": p[rows, labels] - p[rows, rival],
    }


def batch(samples, classes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(samples, classes, generator=generator) * 4
    labels = torch.randint(classes, (samples,), generator=generator)
    return logits, labels, torch.arange(samples)


def new(tmp_path, **knobs):
    return Recorder(tmp_path / "run", **{"samples": 4, "classes": 3} | knobs)


def live_tensors():
    gc.collect()
    return [each for each in gc.get_objects() if issubclass(type(each), Tensor)]


# ---------------------------------------------------------------------------- values of signals


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
    assert run.description.signals == ("margin",)
    assert run.has("correct")
    assert not run.has("loss")


def test_a_signal_that_does_not_exist_is_refused_by_name(tmp_path):
    with pytest.raises(InputError, match="no signal 'gradient'; known are loss"):
        new(tmp_path, signals=("loss", "gradient"))
    assert not (tmp_path / "run").exists()


# ---------------------------------------------------------------------------- one-logit models


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


# ---------------------------------------------------------------------------- non-finite logits


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


# ---------------------------------------------------------------------------- what is kept


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
    monkeypatch.setattr(Recorder, "_check_values", lambda *_: None)
    recorder = new(tmp_path)
    recorder.update(torch.zeros(2, 3), torch.tensor(labels), torch.tensor(ids))
    with pytest.raises(InputError, match=told):
        recorder.end_epoch()
    assert Run(tmp_path / "run").epochs == 0


# ---------------------------------------------------------------------------- shapes


@pytest.mark.parametrize("shape", [(), (4,), (4, 0), (4, 1), (4, 2), (4, 4), (4, 3, 1), (1, 4, 3)])
def test_logits_of_another_shape_are_refused_by_their_shape(tmp_path, shape):
    labels = ids = torch.zeros(4, dtype=torch.int64)
    told = rf"logits have shape \({', '.join(map(str, shape))},?\); they must be \(batch, 3\)"
    with pytest.raises(InputError, match=told):
        new(tmp_path).update(torch.zeros(shape), labels, ids)


@pytest.mark.parametrize("name", ["labels", "ids"])
@pytest.mark.parametrize("shape", [(), (3,), (5,), (0,), (4, 1), (4, 3)])
def test_labels_and_ids_need_one_entry_per_row(tmp_path, name, shape):
    given = {"labels": torch.zeros(4, dtype=torch.int64), "ids": torch.arange(4)}
    given[name] = torch.zeros(shape, dtype=torch.int64)
    with pytest.raises(InputError, match=rf"{name} have shape \(.*logits \(4, 3\)"):
        new(tmp_path).update(torch.zeros(4, 3), **given)


def test_logits_must_be_a_tensor_of_floats(tmp_path):
    recorder = new(tmp_path)
    for logits, told in [
        (torch.zeros(4, 3, dtype=torch.int64), "torch.int64"),
        (torch.zeros(4, 3, dtype=torch.complex64), "torch.complex64"),
        (np.zeros((4, 3)), "ndarray"),
        (None, "NoneType"),
    ]:
        with pytest.raises(InputError, match=f"tensor of floats, got {told}"):
            recorder.update(logits, [0, 0, 0, 0], [0, 1, 2, 3])


def test_an_empty_batch_adds_nothing(tmp_path):
    empty = (torch.empty(0, 3), torch.empty(0, dtype=torch.int64), torch.empty(0).long())
    whole = batch(4, 3)
    a = record(tmp_path / "a", [empty, whole, empty], samples=4, classes=3)
    b = record(tmp_path / "b", [whole], samples=4, classes=3)
    for name in DEFAULT:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)
    assert counts(tmp_path / "a") == [(0, 0)]


def test_an_empty_batch_may_come_as_lists(tmp_path):
    new(tmp_path).update(torch.empty(0, 3), [], [])


def test_batches_of_one_sample_make_the_same_epoch_as_one_batch(tmp_path):
    logits, labels, ids = batch(5, 3)
    ones = [(logits[i : i + 1], labels[i : i + 1], ids[i : i + 1]) for i in (3, 0, 4, 1, 2)]
    a = record(tmp_path / "a", ones, samples=5, classes=3)
    b = record(tmp_path / "b", [(logits, labels, ids)], samples=5, classes=3)
    np.testing.assert_array_equal(a["labels"], b["labels"])
    np.testing.assert_array_equal(a["margin"], b["margin"])
    np.testing.assert_allclose(a["loss"], b["loss"], rtol=1e-6)


# ---------------------------------------------------------------------------- labels


@pytest.mark.parametrize("wrong", [-1, 3, 8, -100, 2**31, 2**32])
def test_a_label_outside_the_classes_is_refused_with_its_id(tmp_path, wrong):
    labels = torch.tensor([0, 1, wrong, wrong])
    with pytest.raises(InputError, match=f"epoch 1: the label of id 1 is {wrong}, outside 0 to 2"):
        new(tmp_path).update(torch.zeros(4, 3), labels, torch.tensor([3, 0, 1, 2]))


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (torch.tensor([0.0, 1.0, 2.0, 0.0]), "float32"),
        (torch.eye(4)[:, :3], "float32"),
        (torch.eye(4, dtype=torch.int64)[:, :3], r"\(4, 3\)"),
        (torch.tensor([True, False, True, True]), "bool"),
        (np.array([0.0, 1.0, 2.0, 0.0]), "float64"),
        (["cat", "dog", "cat", "dog"], "<U3"),
        (None, "object"),
    ],
)
def test_labels_that_are_not_one_class_per_sample_are_refused(tmp_path, labels, told):
    with pytest.raises(InputError, match=told):
        new(tmp_path).update(torch.zeros(4, 3), labels, torch.arange(4))


def test_one_hot_labels_of_a_two_class_model_are_refused(tmp_path):
    with pytest.raises(InputError, match="labels"):
        new(tmp_path, classes=2).update(torch.zeros(2, 2), torch.eye(2), [0, 1])


@pytest.mark.parametrize("kind", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_labels_may_be_any_integers(tmp_path, kind):
    labels = torch.tensor([2, 0, 1, 2]).to(kind)
    run = record(
        tmp_path / "run", [(torch.zeros(4, 3), labels, torch.arange(4))], samples=4, classes=3
    )
    assert run["labels"].tolist() == [2, 0, 1, 2]
    assert run["labels"].dtype == np.int32


def test_a_label_that_changes_between_epochs_is_refused_with_both(tmp_path):
    logits, labels, ids = torch.zeros(4, 3), torch.tensor([0, 1, 2, 0]), torch.arange(4)
    with new(tmp_path) as recorder:
        recorder.update(logits, labels, ids)
        recorder.end_epoch()
        recorder.update(logits, torch.tensor([0, 2, 2, 1]), ids)
        with pytest.raises(InputError) as refused:
            recorder.end_epoch()
        with pytest.warns(UserWarning, match="epoch 2 was not ended"):
            recorder.close()
    text = str(refused.value)
    assert "epoch 2: 2 labels changed; id 1 had label 1 before and has 2 now" in text
    run = Run(tmp_path / "run")
    assert run.epochs == 1
    assert run["labels"].tolist() == [0, 1, 2, 0]


def test_a_label_that_changes_after_resuming_is_refused(tmp_path):
    logits, ids = torch.zeros(2, 3), torch.arange(2)
    record(tmp_path / "run", [(logits, torch.tensor([0, 1]), ids)], samples=4, classes=3)
    changed = [(logits, torch.tensor([0, 0]), ids)]
    with pytest.raises(InputError, match="id 1 had label 1 before and has 0 now"):
        record(tmp_path / "run", changed, samples=4, classes=3, start_epoch=2)
    assert Run(tmp_path / "run").epochs == 1


def test_labels_of_epochs_that_a_restart_hides_bind_nobody(tmp_path):
    logits, ids = torch.zeros(2, 3), torch.arange(2)
    record(tmp_path / "run", [(logits, torch.tensor([0, 1]), ids)], samples=4, classes=3)
    again = [(logits, torch.tensor([1, 0]), ids)]
    run = record(tmp_path / "run", again, samples=4, classes=3, start_epoch=1)
    assert run["labels"].tolist() == [1, 0, -1, -1]


# ---------------------------------------------------------------------------- ids


@pytest.mark.parametrize("wrong", [-1, -(2**63), 4, 2**31, 2**53 + 1, 2**63 - 1])
def test_an_id_that_is_no_position_is_refused_by_its_value(tmp_path, wrong):
    with pytest.raises(InputError, match=f"epoch 1: id {wrong} is outside 0 to 3"):
        new(tmp_path).update(torch.zeros(2, 3), torch.tensor([0, 1]), torch.tensor([3, wrong]))


@pytest.mark.parametrize(
    "ids",
    [
        [0, 2**64],
        [0, 2**63],
        [2**64 - 1, 0],
        np.array([0, 2**64 - 1], np.uint64),
        torch.tensor([0, 2**64 - 1], dtype=torch.uint64),
        [True, False],
        torch.tensor([True, False]),
        [0.0, 3.0],
        torch.tensor([0.0, 3.0]),
        ["0", "3"],
        [None, None],
        None,
        [[0], [1, 2]],
    ],
    ids=repr,
)
def test_ids_that_are_not_64_bit_integers_are_refused(tmp_path, ids):
    with pytest.raises(DualpruneError, match="id"):
        new(tmp_path).update(torch.zeros(2, 3), torch.tensor([0, 1]), ids)


def test_a_refused_batch_leaves_nothing_behind(tmp_path):
    logits, labels, ids = batch(4, 3)
    with new(tmp_path) as recorder:
        recorder.update(logits[:2], labels[:2], ids[:2])
        with pytest.raises(InputError):
            recorder.update(logits[2:], labels[2:], [2, 4])
        with pytest.raises(InputError):
            recorder.update(logits[2:], [0, 3], [2, 3])
        recorder.end_epoch()
    assert np.isnan(Run(tmp_path / "run")["loss"]).tolist() == [[False, False, True, True]]


@pytest.mark.parametrize(
    "kind", [list, tuple, np.array, torch.tensor, lambda values: np.array(values, np.uint8)]
)
def test_ids_and_labels_may_be_any_sequence_of_integers(tmp_path, kind):
    logits = torch.arange(12.0).reshape(4, 3) ** 2
    given = [(logits, kind([0, 1, 2, 0]), kind([0, 1, 2, 3]))]
    run = record(tmp_path / "run", given, samples=4, classes=3)
    assert run["labels"].tolist() == [0, 1, 2, 0]
    np.testing.assert_array_equal(
        run["margin"][0], reference(logits, torch.tensor([0, 1, 2, 0]))["margin"]
    )


@pytest.mark.parametrize(
    "view",
    [
        lambda ids: np.frombuffer(ids.tobytes(), ids.dtype),
        lambda ids: ids[::-1].copy()[::-1],
        lambda ids: ids.astype(">i8"),
        lambda ids: np.repeat(ids, 2)[::2],
    ],
    ids=["read-only", "reversed view", "big-endian", "strided"],
)
def test_numpy_ids_may_be_laid_out_in_any_way(tmp_path, view):
    logits, labels, ids = batch(4, 3)
    run = record(
        tmp_path / "run", [(logits, labels, view(ids.numpy()[[2, 0, 3, 1]]))], samples=4, classes=3
    )
    np.testing.assert_array_equal(run["labels"][[2, 0, 3, 1]], labels)


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_an_id_beyond_2_to_the_53_is_not_rounded(kind):
    big = [2**53 + 1, 2**53 - 1, 2**63 - 1]
    *_, ids = as_batch(torch.zeros(3, 3), torch.zeros(3, dtype=torch.int64), kind(big), 3)
    assert ids.tolist() == big
    check_ids(ids.numpy()[:2], 2**53 + 2, epoch=1)
    with pytest.raises(InputError, match=f"id {2**53 + 1} is outside 0 to {2**53}"):
        check_ids(ids.numpy()[:2], 2**53 + 1, epoch=1)


def test_numbers_of_numpy_are_numbers_of_samples_and_classes(tmp_path):
    labels = np.array([0, 1, 2, 0])
    given = [(torch.zeros(4, 3), labels, np.arange(4))]
    run = record(tmp_path / "run", given, samples=np.int64(4), classes=labels.max() + 1)
    assert (run.samples, run.description.classes) == (4, 3)


@pytest.mark.parametrize("knob", ["samples", "classes"])
@pytest.mark.parametrize("wrong", [0, -1, 4.5, "4"])
def test_numbers_of_samples_and_classes_are_checked_before_anything_is_made(tmp_path, knob, wrong):
    with pytest.raises(DualpruneError, match=knob):
        new(tmp_path, **{knob: wrong})
    assert not (tmp_path / "run").exists()


# ---------------------------------------------------------------------------- seen twice, unseen


def test_the_first_occurrence_of_an_id_is_kept_and_the_others_counted(tmp_path):
    def batch_of(ids, values):
        logits = torch.tensor([[value, 0.0] for value in values])
        return logits, torch.zeros(len(ids), dtype=torch.int64), ids

    epoch = [batch_of([2, 0, 2], [1.0, 2.0, 3.0]), batch_of([0, 1, 2, 1], [4.0, 5.0, 6.0, 7.0])]
    run = record(tmp_path / "run", epoch, samples=4, classes=2)
    np.testing.assert_array_equal(run["margin"], [[2.0, 5.0, 1.0, NAN]])
    assert counts(tmp_path / "run") == [(4, 0)]


def test_what_was_not_seen_is_missing_in_every_signal(tmp_path):
    logits, labels, _ = batch(2, 3)
    epochs = [[(logits, labels, [5, 1])], [(logits, labels.flip(0), [1, 3])]]
    run = record(tmp_path / "run", *epochs, samples=7, classes=3)
    unseen = [[True, False, True, True, True, False, True]]
    unseen += [[True, False, True, False, True, True, True]]
    for name in ("loss", "margin", "entropy", "error_norm", "correct", "target_prob"):
        np.testing.assert_array_equal(np.isnan(run[name]), unseen, err_msg=name)
    for name in ("rival", "prediction"):
        np.testing.assert_array_equal(run[name] == -1, unseen, err_msg=name)
    assert (run["labels"] >= 0).tolist() == [False, True, False, True, False, True, False]


def digits_like(samples=1797, classes=10):
    return TensorDataset(torch.arange(samples), torch.arange(samples) % classes)


def logits_at(draws, classes=10):
    """Logits that tell the how-manieth sample of the run it was, exactly."""
    logits = torch.zeros(len(draws), classes)
    logits[:, 0] = draws + 1.0
    return logits


def record_loader(path, loader, samples, epochs=1, classes=10):
    """Record a loader; the margin says when a sample was drawn. Gives the ids of every epoch."""
    drawn = []
    with Recorder(path, samples=samples, classes=classes) as recorder:
        for _ in range(epochs):
            drawn.append([])
            for x, y, ids in loader:
                position = torch.arange(len(drawn[-1]), len(drawn[-1]) + len(ids))
                recorder.update(logits_at(position, classes), y, ids)
                drawn[-1] += ids.tolist()
                assert torch.equal(x, ids), "the dataset's x is the id"
            recorder.end_epoch()
    return drawn


def positions(run):
    """Undo `logits_at` on the recorded margins."""
    return np.where(run["labels"] == 0, run["margin"], -run["margin"]) - 1


def expected_positions(drawn, samples):
    expected = np.full((len(drawn), samples), NAN)
    for row, ids in zip(expected, drawn, strict=True):
        for position, each in reversed(list(enumerate(ids))):
            row[each] = position
    return expected


def test_drop_last_leaves_exactly_the_dropped_samples_missing(tmp_path):
    loader = DataLoader(Indexed(digits_like()), 128, shuffle=True, drop_last=True)
    drawn = record_loader(tmp_path / "run", loader, 1797, epochs=3)
    run = Run(tmp_path / "run")
    np.testing.assert_array_equal(positions(run), expected_positions(drawn, 1797))
    assert np.isnan(run["loss"]).sum(1).tolist() == [5, 5, 5]
    assert counts(tmp_path / "run") == [(0, 0)] * 3


def test_sampling_with_replacement_keeps_first_draws_with_exact_counts(tmp_path):
    sampler = WeightedRandomSampler(torch.rand(300), 400, replacement=True)
    loader = DataLoader(Indexed(digits_like(300)), 64, sampler=sampler)
    drawn = record_loader(tmp_path / "run", loader, 300, epochs=2)
    run = Run(tmp_path / "run")
    np.testing.assert_array_equal(positions(run), expected_positions(drawn, 300))
    unique = [len(set(ids)) for ids in drawn]
    assert counts(tmp_path / "run") == [(400 - each, 0) for each in unique]
    assert np.isnan(run["loss"]).sum(1).tolist() == [300 - each for each in unique]


def test_a_subset_of_indexed_keeps_original_ids_and_indexed_of_a_subset_counts(tmp_path):
    data, chosen = digits_like(20), [13, 2, 7]
    original = DataLoader(Subset(Indexed(data), chosen), 2)
    (drawn,) = record_loader(tmp_path / "original", original, 20)
    assert drawn == chosen
    labels = Run(tmp_path / "original")["labels"]
    assert np.flatnonzero(labels >= 0).tolist() == [2, 7, 13]
    assert labels[[13, 2, 7]].tolist() == [3, 2, 7]

    counted = [ids.tolist() for _, _, ids in DataLoader(Indexed(Subset(data, chosen)), 2)]
    assert counted == [[0, 1], [2]]


def test_ids_of_a_concatenation_go_on_where_its_first_part_ends(tmp_path):
    first = TensorDataset(torch.arange(5), torch.zeros(5, dtype=torch.int64))
    second = TensorDataset(torch.arange(5, 12), torch.ones(7, dtype=torch.int64))
    loader = DataLoader(Indexed(ConcatDataset([first, second])), 4, shuffle=True)
    drawn = record_loader(tmp_path / "run", loader, 12, classes=2)
    run = Run(tmp_path / "run")
    assert run["labels"].tolist() == [0] * 5 + [1] * 7
    np.testing.assert_array_equal(positions(run), expected_positions(drawn, 12))
    assert counts(tmp_path / "run") == [(0, 0)]


# ---------------------------------------------------------------------------- the life of a run


def test_an_epoch_without_any_batch_is_refused(tmp_path):
    with new(tmp_path) as recorder, pytest.raises(InputError, match=r"without any update\(\)"):
        recorder.end_epoch()
    assert Run(tmp_path / "run").epochs == 0


def test_epochs_are_counted_from_one(tmp_path):
    recorder = new(tmp_path)
    assert recorder.epoch == 1
    recorder.update(*batch(4, 3))
    recorder.end_epoch()
    assert recorder.epoch == 2
    assert new(tmp_path, start_epoch=2).epoch == 2
    assert new(tmp_path, start_epoch=1).epoch == 1


def test_a_closed_recorder_takes_nothing_more(tmp_path):
    recorder = new(tmp_path)
    recorder.update(*batch(4, 3))
    recorder.end_epoch()
    recorder.close()
    recorder.close()
    with pytest.raises(InputError, match=r"update\(\) after close\(\)"):
        recorder.update(*batch(4, 3))
    with pytest.raises(InputError, match=r"end_epoch\(\) after close\(\)"):
        recorder.end_epoch()
    assert Run(tmp_path / "run").epochs == 1


def test_closing_in_the_middle_of_an_epoch_warns_once_and_records_nothing_of_it(tmp_path):
    recorder = new(tmp_path)
    recorder.update(*batch(4, 3))
    with pytest.warns(UserWarning, match="epoch 1 was not ended"):
        recorder.close()
    recorder.close()  # a second warning would be an error here
    assert Run(tmp_path / "run").epochs == 0


@pytest.mark.parametrize("kind", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_an_exception_in_the_loop_loses_nothing_that_was_ended(tmp_path, kind):
    def batches(epoch):
        yield batch(4, 3, seed=epoch)[0], [0, 1, 2, 0], range(4)
        if epoch == 3:
            raise kind

    with pytest.raises(kind):
        record(tmp_path / "run", *map(batches, range(5)), samples=4, classes=3)
    run = Run(tmp_path / "run")
    assert run.epochs == 3
    for epoch in range(3):
        expected = reference(batch(4, 3, seed=epoch)[0], torch.tensor([0, 1, 2, 0]))
        np.testing.assert_allclose(run["loss"][epoch], expected["loss"], rtol=1e-5, atol=2e-6)


def test_an_epoch_is_there_for_readers_as_soon_as_end_epoch_returns(tmp_path):
    recorder = new(tmp_path)
    for epochs in (1, 2, 3):
        recorder.update(*batch(4, 3))
        assert Run(tmp_path / "run").epochs == epochs - 1
        recorder.end_epoch()
        assert Run(tmp_path / "run").epochs == epochs


def break_replace(monkeypatch):
    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("dualprune.files.os.replace", full)


def test_an_epoch_that_could_not_be_written_can_be_ended_again(tmp_path, monkeypatch):
    first, second = batch(4, 3), (batch(4, 3, seed=1)[0], *batch(4, 3)[1:])
    with new(tmp_path) as recorder:
        recorder.update(*first)
        recorder.end_epoch()
        recorder.update(*second)
        with monkeypatch.context() as broken:
            break_replace(broken)
            for _ in range(2):
                with pytest.raises(WriteError, match="No space left"):
                    recorder.end_epoch()
        assert recorder.epoch == 2
        assert Run(tmp_path / "run").epochs == 1
        with pytest.raises(InputError, match=r"call end_epoch\(\) again before update\(\)"):
            recorder.update(*first)
        recorder.end_epoch()
        recorder.update(*first)
        recorder.end_epoch()
    run = Run(tmp_path / "run")
    expected = [reference(*each[:2])["margin"].numpy() for each in (first, second, first)]
    np.testing.assert_allclose(run["margin"], expected, rtol=1e-6)
    assert not list(tmp_path.rglob("*.tmp"))


def test_closing_with_an_epoch_that_could_not_be_written_warns(tmp_path, monkeypatch):
    recorder = new(tmp_path)
    recorder.update(*batch(4, 3))
    with monkeypatch.context() as broken:
        break_replace(broken)
        with pytest.raises(WriteError):
            recorder.end_epoch()
    with pytest.warns(UserWarning, match="epoch 1 .* not recorded"):
        recorder.close()


def test_mode_class_names_and_notes_are_stored(tmp_path):
    names = ["ä", "b", "c d"]
    new(tmp_path, mode="eval", class_names=names, notes="lr 0.1\nµ")
    description = Run(tmp_path / "run").description
    assert description.mode == "eval"
    assert description.class_names == ("ä", "b", "c d")
    assert description.notes == "lr 0.1\nµ"
    stored = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (stored["mode"], stored["class_names"], stored["notes"]) == ("eval", names, "lr 0.1\nµ")
    assert (stored["samples"], stored["classes"], stored["signals"]) == (4, 3, list(DEFAULT))


@pytest.mark.parametrize(
    ("knobs", "told"),
    [
        ({"mode": "test"}, "mode must be 'train' or 'eval', got 'test'"),
        ({"class_names": ["a", "b"]}, "2 class names for 3 classes"),
        ({"classes": 1}, "classes must be at least 2, got 1; a model with one logit has 2"),
        ({"samples": 0}, "samples must be at least 1, got 0"),
    ],
)
def test_a_description_that_makes_no_sense_is_refused(tmp_path, knobs, told):
    with pytest.raises(InputError, match=told):
        new(tmp_path, **knobs)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "knobs", [{"classes": 4}, {"samples": 5}, {"mode": "eval"}, {"signals": ("loss",)}]
)
def test_going_on_with_another_description_is_refused_by_name(tmp_path, knobs):
    record(tmp_path / "run", [batch(4, 3)], samples=4, classes=3)
    with pytest.raises(InputError, match=f"holds another run: {next(iter(knobs))} is"):
        new(tmp_path, start_epoch=2, **knobs)
    assert Run(tmp_path / "run").epochs == 1


# ---------------------------------------------------------------------------- kl_step


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
        tmp_path / "run",
        [(twice, labels, ids)],
        [once],
        samples=1,
        classes=2,
        signals=("kl_step",),
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


# ---------------------------------------------------------------------------- other processes


def test_a_recorder_that_is_open_while_workers_fork_writes_once(tmp_path):
    loader = DataLoader(
        Indexed(digits_like(64)), 8, shuffle=True, num_workers=2, persistent_workers=True
    )
    drawn = record_loader(tmp_path / "run", loader, 64, epochs=2)
    run = Run(tmp_path / "run")
    np.testing.assert_array_equal(positions(run), expected_positions(drawn, 64))
    assert len(list(islice(tmp_path.rglob("part-*"), 3))) == 2


def is_refused(call, *args):
    try:
        call(*args)
    except InputError:
        return True
    return False


def test_a_recorder_that_a_forked_process_inherited_is_refused_there(tmp_path):
    recorder = new(tmp_path)
    recorder.update(*batch(4, 3))
    if (child := os.fork()) == 0:
        signal.alarm(20)  # a forked process may find locked what a thread of its parent held
        code = 1
        try:
            refused = is_refused(recorder.update, *batch(4, 3)), is_refused(recorder.end_epoch)
            code = 0 if all(refused) else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    recorder.end_epoch()
    assert os.waitstatus_to_exitcode(status) == 0
    assert Run(tmp_path / "run").epochs == 1
