"""Samples seen twice, and samples not seen."""

from itertools import islice

import numpy as np
import torch
from torch.utils.data import ConcatDataset, DataLoader, Subset, TensorDataset, WeightedRandomSampler

from dualprune import Indexed, Recorder, Run
from tests.batches import NAN, batch, counts, record


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


def test_a_recorder_that_is_open_while_workers_fork_writes_once(tmp_path):
    loader = DataLoader(
        Indexed(digits_like(64)), 8, shuffle=True, num_workers=2, persistent_workers=True
    )
    drawn = record_loader(tmp_path / "run", loader, 64, epochs=2)
    run = Run(tmp_path / "run")
    np.testing.assert_array_equal(positions(run), expected_positions(drawn, 64))
    assert len(list(islice(tmp_path.rglob("part-*"), 3))) == 2
