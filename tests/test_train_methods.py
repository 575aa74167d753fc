"""What methods ask of a training: features, gradients, dynamic plans, weights; and its identity."""

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from torch import nn

from dualprune import Recorder, Run
from dualprune.dynamic import IES, InfoBatch, Plan, RandomEveryEpoch
from dualprune.errors import DamagedError, InputError, MissingError
from dualprune.method import Arrays
from dualprune.train import record, train
from dualprune.train.evaluate import features_of
from tests.run_by_hand import trajectories, write_run
from tests.test_train import DIGITS, DIGITS_TEST, equal, setup, stop_after, weights

SAMPLES = len(DIGITS)


def test_features_of_the_last_epoch_are_those_of_the_model_in_the_checkpoint(tmp_path):
    this = setup()
    run = record(this, tmp_path, epochs=2, features=[2])
    model, stored = this.fresh_model(7), weights(tmp_path)
    model.load_state_dict({name: stored[f"model.{name}"] for name in model.state_dict()})
    np.testing.assert_array_equal(run["features"], features_of(model, this.batches))
    assert (run["features"].dtype, run["features"].shape) == (np.float32, (SAMPLES, 64))


def test_features_are_of_their_epoch_and_cannot_be_asked_for_later(tmp_path):
    both = record(setup(), tmp_path / "both", epochs=2, features=[1, 2])
    assert not np.array_equal(both.features(1), both.features(2))
    second = record(setup(), tmp_path / "second", epochs=2, features=[2])
    np.testing.assert_array_equal(second["features"], both["features"])
    with pytest.raises(InputError, match="no features of epoch 1: they were not asked for"):
        record(setup(), tmp_path / "second", epochs=2, features=[1, 2])
    with pytest.raises(MissingError, match=r"no features of epoch 1; it has those of \[2\]"):
        second.features(1)


def test_a_model_without_features_says_so(tmp_path):
    plain = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    with pytest.raises(InputError, match="Sequential has no method `features`"):
        record(setup(model=plain), tmp_path, epochs=1, features=[1])


def test_damaged_features_are_an_error_and_never_other_features(tmp_path):
    features = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    run = write_run(tmp_path / "run", trajectories(epochs=2), features={2: features})
    np.testing.assert_array_equal(run.features(), features)
    path = tmp_path / "run/attempts/0001/000002/features.parquet"
    whole = path.read_bytes()
    for position in range(0, len(whole), 7):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 4]) + whole[position + 1 :])
        with pytest.raises(DamagedError, match=r"features\.parquet"):
            run.features()
    with pytest.raises(InputError, match="finite"):
        write_run(tmp_path / "other", trajectories(epochs=1), features={1: features * np.nan})


def test_grand_is_the_gradient_of_the_last_layer(tmp_path):
    torch.manual_seed(0)
    head, features = nn.Linear(6, 4), torch.randn(5, 6)
    labels = torch.arange(5) % 4
    expected = []
    for row, label in zip(features, labels, strict=True):
        head.zero_grad()
        nn.functional.cross_entropy(head(row)[None], label[None]).backward()
        expected.append(torch.cat([head.weight.grad.flatten(), head.bias.grad]).norm().item())
    signals = ("error_norm", "feature_norm")
    with Recorder(tmp_path / "run", samples=5, classes=4, signals=signals) as recorder:
        with pytest.raises(InputError, match=r"features of shape \(5, width\).*got None"):
            recorder.update(head(features), labels, torch.arange(5))
        recorder.update(head(features), labels, torch.arange(5), features)
        recorder.end_epoch()
    scores = Arrays([Run(tmp_path / "run")])["grand"]
    np.testing.assert_allclose(scores, expected, rtol=1e-5)


def test_our_models_hand_their_features_to_the_recorder(tmp_path):
    run = record(setup(), tmp_path, epochs=1, signals=("loss", "error_norm", "feature_norm"))
    assert (run["feature_norm"] > 0).all()
    assert np.isfinite(run["grand_norm"]).all()


def dynamics(samples, epochs):
    return {
        "random": RandomEveryEpoch(samples, keep=0.25, seed=3),
        "infobatch": InfoBatch(samples, epochs=epochs, prune=0.5, seed=3),
        "ies": IES(samples, threshold=1.0),
    }


@pytest.mark.parametrize("name", ["random", "infobatch", "ies"])
def test_dynamic_trainings_count_what_they_do_and_resume_to_the_same(tmp_path, name):
    def make(samples, epochs):
        return dynamics(samples, epochs)[name]

    whole = train(setup(), tmp_path / "whole", epochs=9, dynamic=make)
    with pytest.raises(KeyboardInterrupt):
        train(setup(), tmp_path / "part", epochs=9, dynamic=make, tell=stop_after(7))
    again = train(setup(), tmp_path / "part", epochs=9, dynamic=make)
    assert replace(again, seconds=0) == replace(whole, seconds=0)
    assert equal(weights(tmp_path / "whole"), weights(tmp_path / "part"))
    uses = pq.read_table(tmp_path / "part/uses.parquet")["uses"].to_numpy()
    assert uses.sum() == whole.backward < 9 * SAMPLES
    assert whole.forward == (9 * SAMPLES if name == "ies" else whole.backward)
    if name == "random":
        assert whole.backward == 9 * 30


class Spy:
    """Train on two samples, the first with weight 3, and look at a third one."""

    def __init__(self):
        self.seen = []

    def plan(self, _):
        return Plan(np.array([4, 9]), np.array([3.0, 1.0]), np.array([20]))

    def observe(self, ids, losses):
        self.seen.append(dict(zip(ids.tolist(), losses.tolist(), strict=True)))

    def state(self):
        return {}

    def restore(self, state):
        pass


def test_a_dynamic_plan_sees_the_loss_of_all_that_went_forward_by_position(tmp_path):
    spy, ids = Spy(), np.arange(0, SAMPLES, 2)
    result = train(setup(), tmp_path, ids=ids, epochs=2, dynamic=lambda *_: spy)
    assert [sorted(each) for each in spy.seen] == [[4, 9, 20]] * 2
    assert (result.forward, result.backward) == (6, 4)
    uses = pq.read_table(tmp_path / "uses.parquet")["uses"].to_numpy()
    assert np.flatnonzero(uses).tolist() == [8, 18]


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_weights_multiply_the_loss_of_a_batch_by_their_mean(tmp_path, scale):
    """Equal weights of one half are a learning rate of one half, without momentum and decay."""
    plain = {"momentum": 0.0, "nesterov": False, "weight_decay": 0.0, "lr_end": 0.0}
    given = np.full(SAMPLES, scale)
    train(setup(**plain), tmp_path / "weighted", epochs=2, weights=given)
    train(setup(**plain, lr=0.05 * scale), tmp_path / "slower", epochs=2)
    weighted, slower = weights(tmp_path / "weighted"), weights(tmp_path / "slower")
    for name, value in weighted.items():
        torch.testing.assert_close(value, slower[name], rtol=1e-3, atol=1e-4)


def test_dropout_depends_on_the_seed_and_survives_an_interruption(tmp_path):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(64, 10))
    train(setup(model=model), tmp_path / "whole", epochs=4)
    with pytest.raises(KeyboardInterrupt):
        train(setup(model=model), tmp_path / "part", epochs=4, tell=stop_after(2))
    torch.manual_seed(2)
    before = torch.get_rng_state()
    train(setup(model=model), tmp_path / "part", epochs=4)
    assert torch.equal(before, torch.get_rng_state())
    assert equal(weights(tmp_path / "whole"), weights(tmp_path / "part"))


def test_tied_weights_can_be_stored(tmp_path):
    layer = nn.Linear(64, 64)
    model = nn.Sequential(nn.Flatten(), layer, nn.ReLU(), layer, nn.Linear(64, 10))
    assert train(setup(model=model), tmp_path, epochs=1).epochs == 1


def test_a_module_with_batch_normalisation_can_be_trained(tmp_path):
    """Its counter of batches is a tensor without dimensions."""
    model = nn.Sequential(nn.BatchNorm2d(1), nn.Flatten(), nn.Linear(64, 10))
    assert train(setup(model=model), tmp_path, epochs=1).epochs == 1


def test_a_folder_is_never_taken_for_a_training_that_it_is_not(tmp_path):
    torch.manual_seed(0)
    one, other = (nn.Sequential(nn.Flatten(), nn.Linear(64, 10)) for _ in range(2))
    given, fewer = np.linspace(0, 1, SAMPLES), DIGITS_TEST.take(np.arange(50))
    train(setup(model=one), tmp_path, epochs=1, weights=given)
    for what, words, changed in (
        ("model", {"weights": given}, {"model": other}),
        ("weights", {"weights": given[::-1].copy()}, {"model": one}),
        ("judged", {"weights": given}, {"model": one, "test": fewer}),
        ("dynamic", {"weights": given, "dynamic": lambda n, _: IES(n)}, {"model": one}),
    ):
        with pytest.raises(InputError, match=f"another training: its {what} is"):
            train(setup(**changed), tmp_path, epochs=1, **words)


@pytest.mark.parametrize(
    ("ids", "wrong"),
    [
        ([-1, 3], "from 0 to 119"),
        ([3, 120], "from 0 to 119"),
        ([0.5], "integers"),
        ([[1]], "one-dimensional"),
    ],
)
def test_ids_that_are_no_positions_are_refused(tmp_path, ids, wrong):
    with pytest.raises(InputError, match=wrong):
        train(setup(), tmp_path, ids=np.array(ids))
    assert not any(tmp_path.iterdir())
