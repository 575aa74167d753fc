"""What a Recorder takes and what it refuses: shapes, labels and ids."""

import numpy as np
import pytest
import torch

from dualprune import Run
from dualprune.errors import DualpruneError, InputError
from dualprune.record.batch import as_batch, check_ids
from tests.batches import DEFAULT, batch, counts, new, record, reference


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


def test_logits_must_be_floats(tmp_path):
    recorder = new(tmp_path)
    for logits, told in [
        (torch.zeros(4, 3, dtype=torch.int64), "floats, got torch.int64"),
        (torch.zeros(4, 3, dtype=torch.complex64), "floats, got torch.complex64"),
        (np.zeros((4, 3), int), "floats, got torch.int64"),
        (None, "an array of real numbers, got object"),
        ([[1.0], [1.0, 2.0]], "an array of real numbers: "),
        (np.zeros((4, 3), np.ulonglong), "of a type that torch has, got uint64"),
        (2**63, "of a type that torch has, got uint64"),
    ]:
        with pytest.raises(InputError, match=f"logits must be {told}"):
            recorder.update(logits, [0, 0, 0, 0], [0, 1, 2, 3])


@pytest.mark.parametrize("convert", [np.asarray, lambda tensor: tensor.tolist()])
def test_arrays_and_lists_are_recorded_as_tensors_are(tmp_path, convert):
    logits, labels, ids = batch(5, 3)
    arrays = [convert(logits), convert(labels), convert(ids)]
    if convert is np.asarray:
        for array in arrays:
            array.flags.writeable = False
    a = record(tmp_path / "a", [arrays], samples=5, classes=3)
    b = record(tmp_path / "b", [(logits, labels, ids)], samples=5, classes=3)
    for name in ("labels", *DEFAULT):
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


def test_arrays_of_one_logit_and_labels_of_0_and_1_are_recorded(tmp_path):
    given = np.array([[1.0], [-2.0]]), np.array([1.0, 0.0]), np.arange(2)
    run = record(tmp_path, [given], samples=2, classes=2)
    np.testing.assert_allclose(run["margin"], [[1, 2]])


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


@pytest.mark.parametrize(
    ("knobs", "told"),
    [
        ({"samples": "4"}, "samples must be a whole number"),
        ({"samples": 2**63}, "9,223,372,036,854,775,808 samples, .*would not fit"),
        ({"classes": np.arange(3)}, "classes must be a whole number"),
        ({"signals": 3}, r"signals must be a list \(each text or a function\)"),
        ({"signals": [3]}, "signals must be a list"),
        ({"signals": "loss"}, "signals must be a list"),
        ({"mode": np.arange(3)}, "mode must be 'train' or 'eval'"),
        ({"class_names": 3.0}, r"class_names must be a list \(each text\) or None"),
        ({"class_names": [1, 2, 3]}, "class_names must be a list"),
        ({"names": -1}, r"names must be a list \(each text\)"),
        ({"names": [None] * 4}, "names must be a list"),
        ({"source": [0.5] * 4}, "source must be an array of integers"),
        ({"source": np.arange(3)}, r"source has shape \(3,\), it needs one entry per sample"),
        ({"source": np.full(4, 2**63, np.uint64)}, "source holds 9223372036854775808 to"),
        ({"notes": torch.zeros(2)}, "notes must be text"),
        ({"data": b"x"}, "data must be text"),
        ({"strict": 1}, "strict must be a bool"),
    ],
)
def test_what_describes_a_run_is_refused_by_name_before_anything_is_written(tmp_path, knobs, told):
    with pytest.raises(InputError, match=told):
        new(tmp_path, **knobs)
    assert not (tmp_path / "run").exists()


def test_class_names_may_be_an_array_and_names_a_tuple(tmp_path):
    new(tmp_path, class_names=np.array(["a", "b", "c"]), names=("w", "x", "y", "z"))
    run = Run(tmp_path / "run")
    assert run.description.class_names == ["a", "b", "c"]
    assert run.names["name"].tolist() == ["w", "x", "y", "z"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"features": 3}, r"features of \(\) for a run of 4 samples"),
        ({"features": np.ones((3, 2))}, r"features of \(3, 2\) for a run of 4 samples"),
        ({"features": "x"}, "features must be an array"),
        ({"step": torch.arange(4)}, "step must be a whole number"),
    ],
)
def test_what_an_epoch_ends_with_is_refused_by_name_and_can_be_corrected(tmp_path, given, told):
    recorder = new(tmp_path)
    recorder.update(*batch(4, 3))
    with pytest.raises(InputError, match=told):
        recorder.end_epoch(**given)
    recorder.end_epoch(features=torch.ones(4, 2), step=np.int64(3))
    run = Run(tmp_path / "run")
    assert run.features().tolist() == [[1, 1]] * 4
    assert run.steps == [3]
