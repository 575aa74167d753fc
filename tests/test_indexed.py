"""Indexed: each sample carries the position it has in the dataset that was wrapped."""

import pickle
from collections import namedtuple
from itertools import islice

import numpy as np
import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Subset,
    TensorDataset,
)

from dualprune import Indexed, Recorder, Run
from dualprune.errors import InputError

SAMPLES, CLASSES = 101, 4


class Pairs:
    """No torch base class, only a length and positions; the label is computed from the id."""

    classes = ("a", "b", "c", "d")

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        return torch.tensor(float(index)), index**2 % CLASSES

    @property
    def targets(self):
        return [index**2 % CLASSES for index in range(SAMPLES)]


class Dicts(Pairs):
    def __getitem__(self, index):
        return dict(zip(("x", "y"), super().__getitem__(index), strict=True))


class Batched(Dataset):
    """Refuses to be read one by one, as slow stores with a bulk read may."""

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        raise AssertionError("must be read in batches")

    def __getitems__(self, indices):
        return [(float(index), index**2 % CLASSES) for index in indices]


def test_a_tuple_or_list_gets_its_id_as_the_last_item():
    assert Indexed([("x", 0), ("y", 1)])[1] == ("y", 1, 1)
    assert Indexed([["x", 0], ["y", 1]])[1] == ("y", 1, 1)
    assert Indexed([("x",), ("y",)])[0] == ("x", 0)
    assert Indexed([("x", 0, {"more": 1})])[0] == ("x", 0, {"more": 1}, 0)


Pair = namedtuple("Pair", "x y")


class Named(Pairs):
    def __getitem__(self, index):
        return Pair(*super().__getitem__(index))


def test_a_named_tuple_gets_its_id_under_the_key():
    sample = Indexed([Pair("x", 3)])[0]
    assert (sample, sample.x, sample.sample_id) == (("x", 3, 0), "x", 0)
    assert pickle.loads(pickle.dumps(sample)).sample_id == 0
    with pytest.raises(InputError, match="sample 0 already has the key 'y'"):
        Indexed([Pair("x", 3)], key="y")[0]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_keeps_the_fields_of_a_named_tuple(workers):
    loader = DataLoader(Indexed(Named()), batch_size=8, shuffle=True, num_workers=workers)
    for batch in loader:
        assert torch.equal(batch.y, batch.sample_id**2 % CLASSES)


class Table(Dicts):
    """Gives columns of several rows at once, as `datasets` does."""

    def __getitem__(self, index):
        rows = [super(Table, self).__getitem__(one) for one in index]
        return {name: torch.tensor([row[name] for row in rows]) for name in rows[0]}


TENSORS = TensorDataset(torch.arange(float(SAMPLES)), torch.arange(SAMPLES) ** 2 % CLASSES)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("data", [TENSORS, Table()], ids=lambda d: type(d).__name__)
def test_a_sampler_of_batches_gives_each_batch_its_ids(data, workers):
    sampler = BatchSampler(RandomSampler(data), batch_size=8, drop_last=False)
    loader = DataLoader(Indexed(data), sampler=sampler, batch_size=None, num_workers=workers)
    batches = [each.values() if isinstance(each, dict) else each for each in loader]
    x, y, ids = map(torch.cat, zip(*batches, strict=True))
    assert sorted(ids.tolist()) == list(range(SAMPLES))
    assert torch.equal(x, ids.float())
    assert torch.equal(y, ids**2 % CLASSES)


@pytest.mark.parametrize("indices", [[-1, 0], np.array([-1, 0]), torch.tensor([-1, 0])])
def test_several_indices_may_be_negative_too(indices):
    assert Indexed(TENSORS)[indices][2].tolist() == [SAMPLES - 1, 0]


def test_a_dataset_that_takes_no_several_indices_says_what_to_do():
    with pytest.raises(InputError, match=r"Pairs does not take several.*batch_sampler="):
        Indexed(Pairs())[[0, 1]]


def test_a_dict_gets_its_id_under_the_key_and_is_not_changed():
    sample = {"text": "a", "label": 1}
    assert Indexed([sample])[0] == {"text": "a", "label": 1, "sample_id": 0}
    assert Indexed([sample], key="row")[0] == {"text": "a", "label": 1, "row": 0}
    assert sample == {"text": "a", "label": 1}


def test_a_key_that_the_sample_already_has_is_refused():
    data = [{"sample_id": "file-7"}]
    with pytest.raises(InputError, match=r"sample 0 already has the key 'sample_id'.*key="):
        Indexed(data)[0]
    assert Indexed(data, key="row")[0] == {"sample_id": "file-7", "row": 0}


@pytest.mark.parametrize("sample", [torch.zeros(3), np.zeros(3), "text", 5, None])
def test_a_bare_sample_is_refused_by_its_type(sample):
    with pytest.raises(InputError, match=f"sample 0 is a {type(sample).__name__}"):
        Indexed([sample])[0]
    with pytest.raises(InputError, match=f"sample 0 is a {type(sample).__name__}"):
        Indexed([sample]).__getitems__([0])


def test_an_iterable_dataset_is_refused_with_what_to_do_instead():
    class Stream(IterableDataset):
        def __iter__(self):
            yield torch.zeros(2), 0

    with pytest.raises(InputError, match=r"got Stream; .* pass it to Recorder.update"):
        Indexed(Stream())
    with pytest.raises(InputError, match="got generator"):
        Indexed(each for each in [(0, 1)])


def test_an_iterable_dataset_that_knows_its_length_is_refused_too():
    class Stream(IterableDataset):
        def __iter__(self):
            yield torch.zeros(2), 0

        def __len__(self):
            return 1

    with pytest.raises(InputError, match="got Stream"):
        Indexed(Stream())


def test_targets_and_classes_are_those_of_the_dataset():
    assert Indexed(Pairs()).targets == Pairs().targets
    assert Indexed(Pairs()).classes == Pairs.classes


def test_a_dataset_without_targets_and_classes_gets_none():
    data = Indexed(TensorDataset(torch.zeros(3), torch.zeros(3)))
    assert not hasattr(data, "targets")
    assert not hasattr(data, "classes")


def test_the_length_is_that_of_the_dataset():
    assert len(Indexed(Pairs())) == SAMPLES
    assert len(Indexed([])) == 0


def test_a_negative_index_gives_the_id_counted_from_the_front():
    x, y, each = Indexed(Pairs())[-1]
    assert (x, y, each) == (SAMPLES - 1, (SAMPLES - 1) ** 2 % CLASSES, SAMPLES - 1)
    assert Indexed(Pairs())[-SAMPLES][2] == 0


def test_a_negative_index_in_a_batch_gives_the_same_id_as_alone():
    assert Indexed([("x", 0), ("y", 1)]).__getitems__([-1, 0]) == [("y", 1, 1), ("x", 0, 0)]
    last = DataLoader(Subset(Indexed(Pairs()), [-1, 0]), 2)
    assert [ids.tolist() for *_, ids in last] == [[SAMPLES - 1, 0]]


@pytest.mark.parametrize("beyond", [SAMPLES, -SAMPLES - 1, 2**31])
def test_an_index_beyond_the_end_raises_index_error(beyond):
    # Pairs itself would answer; without the error, `for sample in Indexed(...)` never ends.
    with pytest.raises(IndexError):
        Indexed(Pairs())[beyond]


def test_iterating_gives_every_sample_once_in_order():
    some = islice(Indexed(Pairs()), SAMPLES + 1)
    assert [each for *_, each in some] == list(range(SAMPLES))


@pytest.mark.parametrize("index", [np.int64(7), torch.tensor(7), 7])
def test_an_id_is_a_plain_int_whatever_the_index_was(index):
    for sample in (Indexed(Pairs())[index], Indexed(Pairs()).__getitems__([index])[0]):
        assert sample[2] == 7
        assert type(sample[2]) is int


def test_it_pickles():
    again = pickle.loads(pickle.dumps(Indexed(Dicts(), key="row")))
    assert again[5] == {"x": 5.0, "y": 1, "row": 5}
    assert again.targets == Pairs().targets


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("data", [Pairs(), Batched(), Dicts()], ids=lambda d: type(d).__name__)
def test_a_shuffled_loader_gives_each_id_with_its_own_sample(data, workers):
    loader = DataLoader(Indexed(data), batch_size=8, shuffle=True, num_workers=workers)
    batches = [each.values() if isinstance(each, dict) else each for each in loader]
    x, y, ids = map(torch.cat, zip(*batches, strict=True))
    assert sorted(ids.tolist()) == list(range(SAMPLES))
    assert ids.tolist() != list(range(SAMPLES)), "it was shuffled"
    assert ids.dtype == torch.int64
    assert torch.equal(x, ids.to(x.dtype))
    assert torch.equal(y, ids**2 % CLASSES)


def test_workers_that_are_spawned_read_it_too():
    data = Indexed(TensorDataset(torch.arange(SAMPLES)))
    loader = DataLoader(data, 64, num_workers=1, multiprocessing_context="spawn")
    assert torch.cat([ids for _, ids in loader]).tolist() == list(range(SAMPLES))


def test_a_dataset_with_a_bulk_read_gives_as_many_samples_as_asked():
    class Short(Batched):
        def __getitems__(self, indices):
            return super().__getitems__(indices)[1:]

    with pytest.raises(ValueError, match="zip"):
        Indexed(Short()).__getitems__([1, 2, 3])


@pytest.mark.parametrize("workers", [0, 2])
def test_the_loop_of_the_readme_records_each_id_with_its_own_label(tmp_path, workers):
    train = Pairs()
    loader = DataLoader(Indexed(train), batch_size=16, shuffle=True, num_workers=workers)
    model = torch.nn.Linear(1, CLASSES)
    optimizer = torch.optim.SGD(model.parameters(), 1e-5)
    losses = np.zeros((2, SAMPLES))
    with Recorder(tmp_path / "run", samples=len(train), classes=CLASSES) as recorder:
        for epoch in range(2):
            for x, y, ids in loader:
                logits = model(x[:, None])
                loss = torch.nn.functional.cross_entropy(logits, y, reduction="none")
                losses[epoch, ids] = loss.detach()
                optimizer.zero_grad()
                loss.mean().backward()
                optimizer.step()
                recorder.update(logits, y, ids)
            recorder.end_epoch()
    run = Run(tmp_path / "run")
    assert run["labels"].tolist() == train.targets
    # Weights start below 1 and x is at most 100, so float32 knows each logit to 2^-18.
    np.testing.assert_allclose(run["loss"], losses, rtol=1e-5, atol=2e-5)
