"""PrunedSampler: dynamic pruning in a loop of somebody else, in one process and in two."""

import json

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from dualprune import Indexed
from dualprune.dynamic import IES, InfoBatch, RandomEveryEpoch
from dualprune.errors import InputError
from dualprune.integrations.torch import PrunedSampler

from .test_torchrun import torchrun
from .torchrun_job import METHODS, loss_of, prune

SAMPLES = 101


def by_hand(name):
    """The plans of 8 epochs, from a method that observes all losses at once."""
    method, plans = METHODS[name](SAMPLES), []
    for epoch in range(1, 9):
        plans.append(method.plan(epoch))
        ids = np.concatenate([plans[-1].train, plans[-1].look])
        method.observe(ids, loss_of(torch.from_numpy(ids), epoch).numpy())
    return plans, method.state()


@pytest.mark.parametrize("name", METHODS)
def test_one_process_trains_on_the_plan_and_observes_the_losses(tmp_path, name):
    prune(tmp_path / "one", SAMPLES, name)
    epochs = json.loads((tmp_path / "one-0.json").read_text())
    plans, state = by_hand(name)
    for epoch, plan in zip(epochs, plans, strict=True):
        trained, looked_at = np.split(np.array(epoch["ids"]), [len(plan.train)])
        np.testing.assert_array_equal(np.sort(trained), plan.train)
        np.testing.assert_array_equal(np.sort(looked_at), plan.look)
        assert len(trained) < 10 or not np.array_equal(trained, plan.train)  # another order
        weights = np.zeros(SAMPLES)
        weights[plan.train] = plan.weights
        np.testing.assert_allclose(epoch["weights"], weights, rtol=1e-6)
    for key, array in state.items():
        np.testing.assert_allclose(epochs[-1]["state"][key], array, rtol=1e-6)
    assert any(len(plan.train) < SAMPLES for plan in plans)


def test_two_processes_share_one_plan(tmp_path):
    names = ["infobatch", "ies"]
    torchrun(tmp_path, "prune_all", path=str(tmp_path / "two"), samples=SAMPLES, names=names)
    for name in names:
        both = [json.loads((tmp_path / f"two-{name}-{r}.json").read_text()) for r in range(2)]
        for first, second, plan in zip(*both, by_hand(name)[0], strict=True):
            halves = -(-len(plan.train) // 2), -(-len(plan.look) // 2)
            assert len(first["ids"]) == len(second["ids"]) == sum(halves)
            for part, whole in (
                (slice(halves[0]), plan.train),
                (slice(halves[0], None), plan.look),
            ):
                assert sorted({*first["ids"][part], *second["ids"][part]}) == whole.tolist()
            assert first["state"] == second["state"]
            assert first["weights"] == second["weights"]


def test_the_weighted_loss_is_the_mean_over_what_is_trained_on():
    method = IES(4)
    for epoch in range(6):
        method.observe([0, 1, 2, 3], [6 - epoch, 6 - epoch, epoch % 2, epoch % 2])
    sampler = PrunedSampler(range(4), method)
    ids, losses = torch.tensor(list(sampler)), torch.tensor([1.0, 3.0, 50.0, 70.0])
    losses.requires_grad_()
    assert sorted(ids[:2].tolist()) == [2, 3]
    loss = sampler.weigh(losses, ids)
    loss.backward()
    assert loss.item() == 2.0
    assert losses.grad.tolist() == [0.5, 0.5, 0.0, 0.0]
    assert sampler.weigh(losses[2:], ids[2:]).item() == 0.0


@pytest.mark.parametrize("name", METHODS)
def test_resumed_from_a_state_that_torch_stored(tmp_path, name):
    def epoch_of(sampler):
        loader = DataLoader(Indexed([(0,)] * SAMPLES), 16, sampler=sampler)
        seen = []
        for _, ids in loader:
            sampler.weigh(ids % 7 / 3.0, ids)
            seen += ids.tolist()
        return seen

    one, two = (PrunedSampler(range(SAMPLES), METHODS[name](SAMPLES), seed=5) for _ in range(2))
    for _ in range(4):
        epoch_of(one)
    torch.save(one.state_dict(), tmp_path / "state.pt")
    two.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert [epoch_of(two) for _ in range(3)] == [epoch_of(one) for _ in range(3)]


def test_epochs_count_themselves_or_are_set():
    counted, given = (
        PrunedSampler(range(50), RandomEveryEpoch(50, keep=0.4, seed=0)) for _ in range(2)
    )
    passes = [list(counted) for _ in range(3)]
    assert len({tuple(ids) for ids in passes}) == 3
    for epoch in (2, 0, 1):
        given.set_epoch(epoch)
        assert len(given) == 20
        running = iter(given)
        first = next(running)
        given.set_epoch(epoch)  # as Lightning says it once more, when the epoch has begun
        assert [first, *running] == passes[epoch]


def test_mistakes_are_named():
    with pytest.raises(InputError, match="method"):
        PrunedSampler(range(3), "infobatch")
    with pytest.raises(InputError, match="chose sample 4 of a dataset of 3"):
        list(PrunedSampler(range(3), InfoBatch(5, epochs=3, seed=0)))
    sampler = PrunedSampler(range(3), InfoBatch(3, epochs=3, seed=0))
    with pytest.raises(InputError, match="reduction='none'"):
        sampler.weigh(torch.tensor(0.5), torch.arange(3))
