"""Signals of the user's own, and what is left when a signal fails."""

from functools import partial

import numpy as np
import pytest
import torch

from dualprune import Recorder, Run
from dualprune.errors import InputError
from dualprune.record import signals
from dualprune.record.signals import DEFERRED, Outputs
from dualprune.run.health import examine
from tests.batches import DEFAULT, NAN, batch, new, record

OOM = torch.OutOfMemoryError


def top_two(outputs):
    best = outputs.logits.topk(2, dim=1).values
    return best[:, 0] - best[:, 1]


def epochs_of(count, samples=4, classes=3):
    """Batches of some epochs, in halves; the labels stay the same."""
    labels = batch(samples, classes)[1]
    for epoch in range(count):
        logits, _, ids = batch(samples, classes, seed=epoch)
        yield [(logits[half], labels[half], ids[half]) for half in (ids[::2], ids[1::2])]


def test_a_function_is_recorded_under_its_name(tmp_path):
    chosen = ["margin", top_two, "loss"]
    run = record(tmp_path / "run", *epochs_of(3), samples=4, classes=3, signals=chosen)
    expected = [top_two(Outputs(*batch(4, 3, seed=epoch)[:2])) for epoch in range(3)]
    assert run.signals == tuple(run.description.signals) == ("margin", "top_two", "loss")
    assert run["top_two"].dtype == np.float32
    np.testing.assert_array_equal(run["top_two"], torch.stack(expected))
    right = run["margin"] > 0
    np.testing.assert_array_equal(run["top_two"][right], run["margin"][right])
    assert run.has("top_two")
    assert "top_two" in repr(run)
    assert examine(tmp_path / "run").damage == []


def test_recording_a_function_changes_no_other_signal(tmp_path):
    with_own = record(
        tmp_path / "a", *epochs_of(2), samples=4, classes=3, signals=(*DEFAULT, "kl_step", top_two)
    )
    without = record(
        tmp_path / "b", *epochs_of(2), samples=4, classes=3, signals=(*DEFAULT, "kl_step")
    )
    for name in without.signals:
        np.testing.assert_array_equal(with_own[name], without[name])


def test_a_function_sees_the_batch_as_update_got_it(tmp_path):
    seen = []

    def watch(outputs):
        seen.append(outputs)
        return outputs.features[:, 0]

    logits, labels, ids = batch(4, 3)
    features = torch.arange(12.0).reshape(4, 3).bfloat16()
    with new(tmp_path, signals=("loss", watch)) as recorder:
        for _ in range(2):
            recorder.update(logits.half(), labels, ids.flip(0), features)
            recorder.end_epoch()
    assert [outputs.epoch for outputs in seen] == [1, 2]
    assert torch.equal(seen[0].logits, logits.half().float())
    assert torch.equal(seen[0].labels, labels)
    assert torch.equal(seen[0].ids, ids.flip(0))
    assert seen[0].finite.all()
    np.testing.assert_array_equal(Run(tmp_path / "run")["watch"], [[9, 6, 3, 0]] * 2)


def test_what_a_function_returns_may_be_overwritten_later(tmp_path):
    def first_logit(outputs):
        return outputs.logits[:, 0]

    def kept(outputs, store=torch.zeros(4)):  # noqa: B008
        return store.copy_(outputs.logits[:, 1])

    logits, labels, ids = batch(4, 3)
    expected = logits.clone()
    with new(tmp_path, signals=(first_logit, kept)) as recorder:
        recorder.update(logits, labels, ids)
        logits[:] = 0
        kept(Outputs(logits, labels))
        recorder.end_epoch()
    run = Run(tmp_path / "run")
    np.testing.assert_array_equal(run["first_logit"][0], expected[:, 0])
    np.testing.assert_array_equal(run["kept"][0], expected[:, 1])


def test_no_graph_is_kept_by_a_function(tmp_path):
    logits, labels, ids = batch(4, 3)
    recorder = new(tmp_path, signals=(top_two,))
    recorder.update(logits.requires_grad_(), labels, ids)
    assert not any(values.requires_grad for values in recorder._waiting[0].values())
    recorder.end_epoch()


def test_missing_values_of_a_function_are_nan_and_leave_the_others_alone(tmp_path):
    def log_lead(outputs):
        return top_two(outputs).sub(1).log()

    logits = torch.tensor([[3.0, 0.0], [1.5, 1.0], [NAN, 0.0]])
    ids = torch.tensor([0, 1, 3])
    with pytest.warns(RuntimeWarning, match="1 samples"):
        run = record(
            tmp_path / "run",
            [(logits, torch.zeros(3).long(), ids)],
            samples=4,
            classes=2,
            signals=("margin", log_lead),
        )
    np.testing.assert_allclose(run["log_lead"], [[np.log(2), NAN, NAN, NAN]], rtol=1e-6)
    np.testing.assert_array_equal(run["margin"], [[3.0, 0.5, NAN, NAN]])


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (torch.zeros(4, 1), r"\(4, 1\)"),
        (torch.zeros(3), r"\(3,\)"),
        (torch.zeros(()), r"\(\)"),
        (np.zeros(4), "ndarray"),
        (None, "NoneType"),
    ],
)
def test_another_shape_is_refused_with_the_name_of_the_function(tmp_path, values, told):
    def odd(_):
        return values

    recorder = new(tmp_path, signals=(odd,))
    with pytest.raises(InputError, match=rf"signal odd gave {told}; .* shape \(4,\)"):
        recorder.update(*batch(4, 3))
    recorder.close()  # it would warn if the batch had been taken


def called(name):
    def fn(outputs):
        return outputs.logits[:, 0]

    fn.__name__ = name
    return fn


@pytest.mark.parametrize(
    "name", ["loss", "kl_step", "id", "label", "labels", "features", "target_prob", "finite"]
)
def test_a_name_that_is_taken_is_refused(tmp_path, name):
    with pytest.raises(InputError, match=f"the name '{name}' is taken"):
        new(tmp_path, signals=("margin", called(name)))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "signal", [lambda outputs: outputs.labels, partial(top_two), called("a b"), called("class")]
)
def test_a_signal_without_a_usable_name_is_refused(tmp_path, signal):
    with pytest.raises(InputError, match=r"a signal is a known name or a function with a name"):
        new(tmp_path, signals=("margin", signal))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("chosen", [("loss", "loss"), (top_two, top_two)])
def test_a_signal_given_twice_is_refused(tmp_path, chosen):
    with pytest.raises(InputError, match="is listed twice"):
        new(tmp_path, signals=chosen)


def test_a_run_with_a_function_goes_on_only_with_a_function_of_that_name(tmp_path):
    first, second = epochs_of(2)
    record(tmp_path / "run", first, samples=4, classes=3, signals=(top_two,))
    with pytest.raises(InputError, match="holds another run: signals is"):
        new(tmp_path, signals=(called("other"),), start_epoch=2)
    run = record(tmp_path / "run", second, samples=4, classes=3, signals=(top_two,), start_epoch=2)
    assert np.isfinite(run["top_two"]).all()
    assert run.epochs == 2


# What is left when a signal fails.


def failing(fn, *, at):
    """Let the calls with these numbers, from 1, raise as if there were no memory left."""
    calls = []

    def fragile(*arguments):
        calls.append(arguments)
        if len(calls) in at:
            raise OOM
        return fn(*arguments)

    return fragile


def again(call, *arguments):
    """Call until it succeeds; gives how often it failed."""
    for failures in range(5):
        try:
            call(*arguments)
        except OOM:
            continue
        return failures
    return None


def record_stubbornly(path, epochs, chosen):
    failures = 0
    with Recorder(path, samples=4, classes=3, signals=chosen) as recorder:
        for batches in epochs:
            for one in batches:
                failures += again(recorder.update, *one)
            failures += again(recorder.end_epoch)
    return Run(path), failures


@pytest.mark.parametrize("enough", [1, 2**16])
def test_nothing_is_lost_when_a_function_fails_and_is_tried_again(tmp_path, monkeypatch, enough):
    monkeypatch.setattr("dualprune.record.recorder._ENOUGH", enough)
    chosen = (*DEFAULT, "kl_step", top_two)
    expected, _ = record_stubbornly(tmp_path / "expected", epochs_of(3), chosen)
    fragile = failing(top_two, at=(2, 4, 5))
    fragile.__name__ = "top_two"
    run, failures = record_stubbornly(tmp_path / "run", epochs_of(3), (*chosen[:-1], fragile))
    assert failures == 3
    assert [epoch.duplicates for epoch in examine(tmp_path / "run").epochs] == [0, 0, 0]
    for name in run.signals:
        np.testing.assert_array_equal(run[name], expected[name], err_msg=name)


@pytest.mark.parametrize("enough", [1, 2**16])
@pytest.mark.parametrize("name", ["loss", "error_norm", "kl_step"])
def test_nothing_is_lost_when_signals_of_several_batches_fail(tmp_path, monkeypatch, name, enough):
    monkeypatch.setattr("dualprune.record.recorder._ENOUGH", enough)
    chosen = (*DEFAULT, "kl_step")
    expected, _ = record_stubbornly(tmp_path / "expected", epochs_of(3), chosen)
    if name == "kl_step":
        monkeypatch.setattr(signals, "kl_step", failing(signals.kl_step, at=(1, 3)))
    else:
        monkeypatch.setitem(DEFERRED, name, failing(DEFERRED[name], at=(1, 3)))
    run, failures = record_stubbornly(tmp_path / "run", epochs_of(3), chosen)
    assert failures == 2
    assert [epoch.duplicates for epoch in examine(tmp_path / "run").epochs] == [0, 0, 0]
    for signal in chosen:
        np.testing.assert_array_equal(run[signal], expected[signal], err_msg=signal)


def test_features_that_are_not_finite_make_the_sample_missing(tmp_path):
    logits, labels, ids = batch(4, 3)
    features = torch.ones(4, 2)
    features[2, 0] = torch.inf
    with new(tmp_path, signals=("margin", "rival", "feature_norm")) as recorder:
        recorder.update(logits, labels, ids, features)
        with pytest.warns(RuntimeWarning, match="1 samples .* id 2;"):
            recorder.end_epoch()
    run = Run(tmp_path / "run")
    for name in ("margin", "feature_norm"):
        assert np.isnan(run[name]).tolist() == [[False, False, True, False]], name
    assert (run["rival"] == -1).tolist() == [[False, False, True, False]]


@pytest.mark.parametrize("shape", [(3, 2), (4,), (4, 2, 1)])
def test_features_of_another_shape_are_refused_and_leave_nothing_behind(tmp_path, shape):
    recorder = new(tmp_path, signals=("feature_norm",))
    with pytest.raises(InputError, match=r"features of shape \(4, width\) .* got \("):
        recorder.update(*batch(4, 3), torch.zeros(shape))
    recorder.close()  # it would warn if the batch had been taken
