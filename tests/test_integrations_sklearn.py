"""CoresetSampler: scikit-learn's own checks, and the same choices as from a recorded run."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from dualprune import InputError, Method, Run, choose, score, select
from dualprune.integrations.sklearn import CoresetSampler, _beliefs, _choose, _signals
from dualprune.method import find_method, for_classes
from dualprune.run.signals import DEFAULT
from tests.run_by_hand import NOTHING_ODD, start, write_part


@parametrize_with_checks(
    [
        CoresetSampler(keep=0.5),
        CoresetSampler(HistGradientBoostingClassifier(min_samples_leaf=2), keep=0.5),
    ]
)
def test_the_checks_of_scikit_learn_pass(estimator, check):
    check(estimator)


def table(samples=300, wrong=0.2, seed=0):
    """Numbers, labels of which some are wrong, and which."""
    x, y = make_classification(
        samples, 8, n_informative=6, n_redundant=0, class_sep=2.0, flip_y=0, random_state=seed
    )
    is_wrong = np.random.default_rng(seed).permutation(samples) < wrong * samples
    return x, np.where(is_wrong, 1 - y, y), is_wrong


def test_the_choice_is_that_of_the_scores_and_selectors_on_what_the_model_believed():
    x, y, _ = table()
    model = MLPClassifier(random_state=7)
    sampler = CoresetSampler(model, keep=90, floor=0, random_state=np.random.RandomState(3))
    sampler.fit(x, y)
    beliefs = []
    for _ in range(30):
        model.partial_fit(x, y, classes=[0, 1])
        beliefs.append(model.predict_proba(x)[np.arange(300), y])
    scores, seed = score.dual(np.stack(beliefs)), np.random.RandomState(3).randint(2**31)
    kept = select.beta(scores, np.mean(beliefs, axis=0), k=90, seed=seed)
    np.testing.assert_allclose(sampler.scores_, scores, rtol=1e-6)
    assert sampler.sample_indices_.tolist() == kept.tolist()


def record(path, rounds, labels):
    """Write the signals of every round as a run."""
    attempt = start(path, len(labels), 3, DEFAULT)
    for epoch, signals in enumerate(rounds, 1):
        rows = {"id": np.arange(len(labels)), "label": labels.astype(np.int32)}
        rows |= {name: signals[name].astype(np.float32) for name in DEFAULT if name != "rival"}
        rows["rival"] = signals["rival"].astype(np.int32)
        write_part(attempt, epoch, 0, rows, NOTHING_ODD)
    return Run(path)


def doubt(target_prob: np.ndarray, labels: np.ndarray, *, power: float = 1.0) -> np.ndarray:
    return (1 - target_prob.mean(axis=0)) ** power + labels


METHODS = ["dual+beta", "dyn_unc", "el2n", "forgetting", "aum", "aum_prob+stratified", "ccs"]
METHODS += ["entropy", "confidence", "variability", "beta", "random"]
METHODS += [Method(doubt, "beta", score_knobs={"power": 2.0})]


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_every_method_chooses_as_it_does_from_a_recorded_run(tmp_path, method):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 200)
    beliefs = rng.dirichlet(np.ones(3), (12, 200)).astype(np.float32)
    rounds = [_signals(round_, labels) for round_ in beliefs]
    expected = choose(record(tmp_path / "run", rounds, labels), method, keep=50, seed=4)
    watched = {name: np.stack([r[name] for r in rounds]) for name in DEFAULT}
    found = method if isinstance(method, Method) else find_method(method, 0.75)
    scores, ids = _choose(for_classes(found), {"labels": labels, **watched}, 50, 4)
    assert ids.tolist() == expected.ids.tolist()
    if scores is not None:
        np.testing.assert_allclose(scores, expected.columns["score"], rtol=1e-4, atol=1e-6)


def test_signals_are_those_of_the_recorder():
    torch = pytest.importorskip("torch")
    from dualprune.record import signals as recorded  # noqa: PLC0415 - it needs torch
    from dualprune.record.signals import Outputs  # noqa: PLC0415

    logits = torch.tensor(np.random.default_rng(0).normal(size=(50, 4)) * 3)
    labels = torch.arange(50) % 4
    ours = _signals(logits.softmax(1).numpy(), labels.numpy())
    for name in DEFAULT:
        theirs = getattr(recorded, name)(Outputs(logits, labels)).numpy()
        np.testing.assert_allclose(ours[name], theirs, rtol=1e-6, err_msg=name)


def gradient():
    return GradientBoostingClassifier(random_state=0)


def xgboost():
    return pytest.importorskip("xgboost").XGBClassifier(random_state=0)


def lightgbm():
    return pytest.importorskip("lightgbm").LGBMClassifier(verbosity=-1, random_state=0)


BOOSTED = [gradient, HistGradientBoostingClassifier, xgboost, lightgbm]
WATCHED = [MLPClassifier, AdaBoostClassifier, *BOOSTED]
WATCHED += [lambda: SGDClassifier(loss="log_loss", alpha=0.01)]


@pytest.mark.parametrize("make", WATCHED)
def test_each_kind_of_classifier_can_be_watched_and_doubts_wrong_labels(make):
    x, y, is_wrong = table()
    sampler = CoresetSampler(make(), keep=0.3, method="confidence", random_state=0).fit(x, y)
    assert is_wrong[sampler.sample_indices_].mean() < 0.1  # of all 0.2


@pytest.mark.parametrize("make", BOOSTED)
def test_what_boosting_believes_after_a_round_is_what_so_many_rounds_give(make):
    x, y, _ = table()
    beliefs = list(_beliefs(make(), x, y, 7))
    assert len(beliefs) == 7
    counted = "max_iter" if make is HistGradientBoostingClassifier else "n_estimators"
    for rounds in (1, 4, 7):
        alone = make().set_params(**{counted: rounds}).fit(x, y).predict_proba(x)
        np.testing.assert_allclose(beliefs[rounds - 1], alone, rtol=1e-5)


def test_a_frame_keeps_its_index_types_and_order():
    x, y = load_iris(return_X_y=True, as_frame=True)
    x = x.astype({"petal width (cm)": "float32"}).assign(count=np.arange(150, dtype=np.int16))
    x.index = y.index = pd.Index([f"row {i}" for i in range(150)])[::-1]
    kinds = pd.Categorical.from_codes(y, ["setosa", "versicolor", "virginica"])
    names = pd.Series(kinds, x.index, name="kind")
    sampler = CoresetSampler(keep=0.3, random_state=0)
    small, labels = sampler.fit_resample(x, names)
    pd.testing.assert_frame_equal(small, x.iloc[sampler.sample_indices_])
    pd.testing.assert_series_equal(labels, names.iloc[sampler.sample_indices_])
    assert sampler.feature_names_in_.tolist() == x.columns.tolist()
    assert (np.diff(sampler.sample_indices_) > 0).all()


KINDS = [list, pl.DataFrame, *(getattr(sparse, f"{kind}_array") for kind in ("csr", "csc", "coo"))]


@pytest.mark.parametrize("kind", [np.asarray, *KINDS])
def test_rows_come_back_as_they_came(kind):
    x, y, _ = table()
    x[x < 0] = 0
    sampler = CoresetSampler(keep=0.3, random_state=0)
    small, labels = sampler.fit_resample(kind(x), y.tolist())
    assert sparse.issparse(small) or type(small) is type(kind(x))
    dense = small.toarray() if sparse.issparse(small) else np.asarray(small)
    np.testing.assert_array_equal(dense, x[sampler.sample_indices_])
    assert labels == y[sampler.sample_indices_].tolist()


def test_missing_values_go_to_an_estimator_that_takes_them():
    x, y, _ = table()
    x[::7, 2] = np.nan
    small, _ = CoresetSampler(HistGradientBoostingClassifier(), keep=90).fit_resample(x, y)
    assert np.isnan(small).any()
    with pytest.raises(ValueError, match="Input X contains NaN"):
        CoresetSampler(keep=90).fit(x, y)


def test_the_seed_decides_and_an_estimator_keeps_its_own():
    x, y, _ = table()

    def kept(random_state, estimator=None):
        sampler = CoresetSampler(estimator, keep=0.3, rounds=10, random_state=random_state)
        return sampler.fit(x, y).sample_indices_.tolist()

    assert kept(1) == kept(1) != kept(2)
    watched = MLPClassifier(random_state=5)
    assert kept(1, watched) == kept(1, clone(watched)) != kept(1, MLPClassifier(random_state=6))
    assert not hasattr(watched, "coefs_"), "what was given is not trained"


class NeverFitted(BaseEstimator):
    def partial_fit(self, X, y, classes):  # noqa: N803
        raise AssertionError("random needs no training")

    predict_proba = partial_fit


def test_random_trains_nothing():
    x, y, _ = table()
    sampler = CoresetSampler(NeverFitted(), keep=0.3, method="random", rounds=1, random_state=0)
    assert len(sampler.fit(x, y).sample_indices_) == 90
    assert sampler.scores_ is None


def test_every_class_keeps_half_of_its_fair_share_or_as_told():
    x, y, _ = table(wrong=0)
    y[:12] = 2
    kept = [
        np.bincount(CoresetSampler(keep=60, random_state=0, **how).fit_resample(x, y)[1])
        for how in ({}, {"balance": "uniform"}, {"floor": 9})
    ]
    assert kept[0].min() >= 1
    assert kept[1].tolist() == [24, 24, 12]
    assert kept[2].min() >= 9


def test_a_class_that_falls_short_is_named():
    x, y, _ = table(wrong=0)
    names = np.where(np.arange(300) < 9, "rare", np.array(["no", "yes"])[y])
    with pytest.warns(UserWarning, match="class rare: kept 0 of 9"):
        CoresetSampler(keep=60, method="confidence", floor=0, random_state=0).fit(x, names)


def test_units_of_the_columns_do_not_matter_by_default():
    x, y, _ = table()
    scores = [CoresetSampler(keep=60, random_state=0).fit(x * unit, y).scores_ for unit in (1, 1e6)]
    np.testing.assert_allclose(*scores, rtol=1e-3)


def test_a_method_that_says_how_many_epochs_watches_so_many_rounds():
    x, y, _ = table()
    twelve = CoresetSampler(keep=60, rounds=12, random_state=0).fit(x, y)
    method = Method("dual", "beta", epochs=12)
    assert (
        CoresetSampler(keep=60, method=method, random_state=0).fit(x, y).scores_ == twelve.scores_
    ).all()


def test_it_is_a_step_of_a_pipeline_that_can_be_searched():
    pipeline = pytest.importorskip("imblearn.pipeline")
    from sklearn.model_selection import GridSearchCV  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    x, y, _ = table()
    sampler = CoresetSampler(GaussianNB(), keep=0.5, rounds=10, random_state=0)
    steps = pipeline.make_pipeline(StandardScaler(), sampler, LogisticRegression())
    assert steps.fit(x, y).predict(x).shape == y.shape
    assert len(steps[1].sample_indices_) == 150
    search = GridSearchCV(steps, {"coresetsampler__keep": [0.3, 0.6]}, cv=2).fit(x, y)
    assert len(search.best_estimator_[1].sample_indices_) in (90, 180)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"keep": 1}, "ambiguous"),
        ({"keep": 301}, "more than the 300 samples"),
        ({"method": "duel+beta"}, "Did you mean dual"),
        ({"method": None}, "method must be text or a Method, got None"),
        ({"method": "ssp"}, "ssp reads features, which CoresetSampler does not have; choose"),
        ({"method": "el2n-5"}, "averages 5 recordings"),
        ({"rounds": 9}, r"dual\+beta needs at least 10 rounds, got 9"),
        ({"rounds": 9, "method": "beta"}, "beta needs at least 10 rounds, got 9"),
        ({"rounds": 9.5}, "rounds must be a whole number"),
        ({"floor": 2, "balance": "uniform"}, "not both"),
        ({"estimator": LogisticRegression()}, "LogisticRegression cannot be watched; give"),
        ({"estimator": SGDClassifier()}, "SGDClassifier cannot be watched; give"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(knobs, message):
    x, y, _ = table()
    with pytest.raises(InputError, match=message):
        CoresetSampler(**{"keep": 0.3, **knobs}).fit(x, y)


def test_targets_that_are_no_classes_are_refused():
    x, _, _ = table()
    with pytest.raises(ValueError, match="continuous"):
        CoresetSampler(keep=0.3).fit(x, x[:, 0])
    with pytest.raises(InputError, match="y has one class, a; give"):
        CoresetSampler(keep=0.3).fit(x, ["a"] * 300)


def test_it_needs_no_torch():
    code = """
import sys
from sklearn.datasets import load_iris
from dualprune.integrations.sklearn import CoresetSampler
print(len(CoresetSampler(keep=0.3).fit_resample(*load_iris(return_X_y=True))[1]))
assert "torch" not in sys.modules
"""
    command = [sys.executable, "-W", "error", "-c", code]
    assert subprocess.run(command, check=True, capture_output=True).stdout == b"45\n"
