"""Scores of several runs."""

import numpy as np
import pytest

from dualprune import Method, choose
from dualprune.errors import InputError
from dualprune.method import Arrays
from dualprune.score import SCORES
from tests.by_hand import mean
from tests.run_by_hand import trajectories, write_run

WINDOW = 3


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run", trajectories())


def test_scores_of_several_runs_are_the_mean_of_their_scores(tmp_path):
    runs = [write_run(tmp_path / str(seed), trajectories(seed=seed)) for seed in range(3)]
    each = [SCORES["dual"](run["target_prob"], window=WINDOW) for run in runs]
    together = Arrays(runs).score(SCORES["dual"], {"window": WINDOW})
    expected = [mean([scores[i] for scores in each]) for i in range(40)]
    np.testing.assert_allclose(together, expected, rtol=1e-12)
    coreset = choose(runs, Method("dual", score_knobs={"window": WINDOW}), keep=9)
    np.testing.assert_array_equal(coreset.columns["score"], together)
    assert coreset.card.runs == [run.fingerprint for run in runs]


def test_a_sample_that_one_run_could_not_score_has_the_score_of_the_others(tmp_path):
    gappy = trajectories(seed=1)
    gappy[2:, 5] = np.nan
    one, other = write_run(tmp_path / "a", trajectories()), write_run(tmp_path / "b", gappy)
    scores = Arrays([one, other]).score(SCORES["dual"], {"window": WINDOW})
    assert scores[5] == SCORES["dual"](one["target_prob"], window=WINDOW)[5]


def test_a_sample_that_one_run_never_saw_does_not_make_it_a_run_of_other_data(tmp_path):
    unseen = trajectories(seed=1)
    unseen[:, 5] = np.nan
    one, other = write_run(tmp_path / "a", trajectories()), write_run(tmp_path / "b", unseen)
    scores = Arrays([one, other])["confidence"]
    assert scores[5] == SCORES["confidence"](one["target_prob"])[5]


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"samples": 39}, "samples is 40 in one and 39"),
        ({"mode": "eval"}, "mode is train in one and eval"),
        ({"labels": np.zeros(40, int)}, "labels differ"),
    ],
    ids=["samples", "mode", "labels"],
)
def test_runs_of_different_data_do_not_go_together(changed, what, tmp_path, run):
    losses = trajectories(samples=changed.pop("samples", 40))
    other = write_run(tmp_path / "other", losses, **changed)
    with pytest.raises(InputError, match=what):
        Arrays([run, other])


def test_runs_of_different_length_need_a_number_of_epochs(tmp_path, run):
    longer = write_run(tmp_path / "longer", trajectories(epochs=15, seed=4))
    with pytest.raises(InputError, match=r"\[12, 15\] epochs; say how many"):
        Arrays([run, longer])
    values = Arrays([run, longer], epochs=12)["confidence"]
    expected = (run["target_prob"].mean(0) + longer["target_prob"][:12].mean(0)) / 2
    np.testing.assert_allclose(values, expected, rtol=1e-12)
