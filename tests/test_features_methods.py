"""Methods that read features: formulas by hand, laws, worlds with a known answer, hard inputs."""

import sys
from itertools import pairwise

import numpy as np
import pytest

from dualprune.errors import InputError
from dualprune.score.el2n import el2n
from dualprune.score.grand import grand
from dualprune.score.ssp import centroids, ssp
from dualprune.select.bws import bws
from dualprune.select.moderate import moderate
from dualprune.signatures import inputs, knobs
from tests.by_hand import el2n_by_hand
from tests.by_hand_features import (
    bws_by_hand,
    distances_by_hand,
    grand_by_hand,
    mean,
    moderate_by_hand,
    ssp_by_hand,
)

SAMPLES, NUMBERS = 60, 5

both_selectors = pytest.mark.parametrize("fn", [moderate, bws])
all_methods = pytest.mark.parametrize("fn", [moderate, bws, ssp])


def data_for(fn, seed=0, samples=SAMPLES, **changed):
    """Three classes of unequal sizes whose labels are not 0, 1, 2, in overlapping clusters."""
    draw = np.random.default_rng(seed)
    kinds = draw.choice(3, samples, p=[0.5, 0.3, 0.2])
    data = {
        "features": draw.normal(size=(3, NUMBERS))[kinds] + draw.normal(size=(samples, NUMBERS)),
        "labels": np.array([7, -2, 30])[kinds],
        "scores": draw.random(samples),
    }
    return {name: changed.get(name, data[name]) for name in inputs(fn)}


def budget_of(fn):
    return {} if fn is ssp else {"k": 20, "seed": 3}


def blobs(per_blob=100, spread=0.05, seed=0):
    """Two narrow clusters along two axes; after them, one outlier of each at a right angle."""
    draw = np.random.default_rng(seed)
    centres = np.repeat([[5.0, 0, 0], [0, 5.0, 0]], per_blob, axis=0)
    outliers = np.array([[1.0, 0, 8.0], [0, 1.0, 8.0]])
    features = np.concatenate([centres + draw.normal(0, spread, centres.shape), outliers])
    return features, np.concatenate([np.repeat([0, 1], per_blob), [0, 1]])


# Formulas by hand.


@pytest.mark.parametrize("centre", ["median", "mean"])
@pytest.mark.parametrize("k", [1, 2, 19, 20, SAMPLES - 1, SAMPLES])
def test_moderate_by_hand(k, centre):
    for seed in range(4):
        data = data_for(moderate, seed, samples=SAMPLES - seed % 2)
        k = min(k, len(data["labels"]))
        ids = moderate(**data, k=k, seed=seed, centre=centre)
        assert ids.tolist() == moderate_by_hand(**data, k=k, centre=centre)


def test_moderate_keeps_the_middle_and_not_the_complement():
    data = data_for(moderate)
    kept = moderate(**data, k=20, seed=0)
    distances = np.array(distances_by_hand(**data, centre=mean))
    dropped = np.setdiff1d(np.arange(SAMPLES), kept)
    assert np.ptp(distances[kept]) < np.ptp(distances[dropped]) / 2
    assert {int(distances.argmin()), int(distances.argmax())} <= set(dropped.tolist())


def test_ssp_by_hand():
    data = data_for(ssp)
    for labels in (data["labels"], np.zeros(SAMPLES)):
        scores = ssp(data["features"], labels, prototypes="class")
        np.testing.assert_allclose(scores, ssp_by_hand(data["features"], labels=labels), rtol=1e-12)
    for clusters in (1, 3, 8):
        found = centroids(data["features"], clusters)
        scores = ssp(data["features"], clusters=clusters)
        np.testing.assert_allclose(scores, ssp_by_hand(data["features"], found), atol=1e-14)
    np.testing.assert_array_equal(ssp(**data), ssp(data["features"], clusters=3))


def test_a_centroid_is_the_direction_of_the_samples_nearest_to_it():
    features = data_for(ssp, samples=500)["features"]
    found = centroids(features, 6)
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    nearest = (unit @ found.T).argmax(1)
    for cluster, centroid in enumerate(found):
        own = unit[nearest == cluster].sum(0)
        np.testing.assert_allclose(centroid, own / np.linalg.norm(own), atol=1e-12)


@pytest.mark.parametrize("judged", ["1", "0.5", "0.3"])
@pytest.mark.parametrize(("k", "step"), [(4, "0.1"), (20, "0.05"), (31, "0.15"), (60, "0.05")])
def test_bws_by_hand(k, step, judged):
    chosen, different = set(), 0
    for seed in range(12):
        data = data_for(bws, seed)
        ridge = (0.1, 1.0, 30.0)[seed % 3]
        ids, right = bws_by_hand(**data, k=k, step=step, ridge=ridge, judged=judged)
        settings = {"step": float(step), "ridge": ridge, "judged": float(judged)}
        assert bws(**data, k=k, seed=seed, **settings).tolist() == ids
        chosen.add(right.index(max(right)))
        different += len(set(right)) > 1
    assert k == SAMPLES or (len(chosen) > 2 and different > 6)  # else the oracle decided nothing


def test_blocks_do_not_show(monkeypatch):
    data, few = data_for(bws, samples=300), data_for(ssp, samples=300)
    whole, scores = bws(**data, k=90, seed=0, step=0.01), ssp(**few)
    monkeypatch.setattr(sys.modules["dualprune.select.bws"], "_BLOCK", 7)
    monkeypatch.setattr(sys.modules["dualprune.score.ssp"], "_BLOCK", 7)
    np.testing.assert_array_equal(bws(**data, k=90, seed=0, step=0.01), whole)
    np.testing.assert_allclose(ssp(**few), scores, atol=1e-12)
    assert whole.tolist() == bws_by_hand(**data, k=90, step="0.01")[0]


def test_the_easiest_window_of_bws_ends_with_the_class():
    labels, ranks = np.repeat([0, 1, 2], 5), np.tile(np.arange(5), 3)
    features = np.eye(3)[(labels + (ranks < 3)) % 3]
    kept = bws(-ranks, features, labels, k=4, seed=0, step=0.7, judged=0.4)
    assert kept.tolist() == [3, 4, 9, 14]


@pytest.mark.parametrize("over", ["last", "mean", "sum"])
def test_grand_folds_epochs_as_el2n_does(over):
    norms = np.random.default_rng(0).random((4, 9)) + 1
    norms[2:, 3], norms[:, 4] = np.nan, np.nan
    np.testing.assert_array_equal(grand(norms, over=over), el2n(norms, over=over))
    np.testing.assert_allclose(grand(norms, over=over), el2n_by_hand(norms, over), rtol=1e-12)
    assert {name: knob.default for name, knob in knobs(grand).items()} == {"over": "last"}


def test_the_closed_form_is_the_length_of_the_last_layers_gradient():
    torch = pytest.importorskip("torch")
    row = torch.tensor(np.random.default_rng(1).normal(size=6))
    layer = torch.nn.Linear(6, 4, dtype=torch.float64)
    logits = layer(row)
    torch.nn.functional.cross_entropy(logits, torch.tensor(2)).backward()
    gradient = torch.cat([parameter.grad.flatten() for parameter in layer.parameters()])
    error = (logits.softmax(0) - torch.eye(4)[2]).norm()
    closed = error * (1 + row.square().sum()).sqrt()
    by_hand = grand_by_hand(logits.tolist(), 2, row.tolist())
    assert gradient.norm().item() == pytest.approx(by_hand, rel=1e-12)
    assert closed.item() == pytest.approx(by_hand, rel=1e-12)


# Laws.


@both_selectors
@pytest.mark.parametrize("k", [1, 2, 29, SAMPLES - 1, SAMPLES])
def test_exactly_k_distinct_ids_come_back_sorted(fn, k):
    for seed in range(5):
        ids = fn(**data_for(fn, seed), k=k, seed=seed)
        assert ids.dtype == np.int64
        assert ids.shape == (k,)
        assert all(before < after for before, after in pairwise([-1, *ids.tolist(), SAMPLES]))


@all_methods
def test_the_same_data_gives_the_same_and_is_left_as_it_was(fn):
    data = data_for(fn)
    for values in data.values():
        values.flags.writeable = False
    np.random.seed(1)
    first = fn(**data, **budget_of(fn))
    np.random.seed(2)
    np.testing.assert_array_equal(fn(**data, **budget_of(fn)), first)
    narrow = {name: values.astype(np.float32) for name, values in data.items()}
    np.testing.assert_allclose(fn(**narrow, **budget_of(fn)), first, atol=1e-6)


@both_selectors
def test_samples_in_another_order_are_the_same_samples(fn):
    data = data_for(fn)
    order = np.random.default_rng(9).permutation(SAMPLES)
    moved = {name: values[order] for name, values in data.items()}
    ids = np.sort(order[fn(**moved, **budget_of(fn))])
    np.testing.assert_array_equal(ids, fn(**data, **budget_of(fn)))


@both_selectors
def test_ties_are_broken_at_random_and_the_same_for_the_same_seed(fn):
    equal = {"features": np.ones((SAMPLES, 2)), "scores": np.ones(SAMPLES)}
    data = data_for(fn, **equal)
    subsets = [tuple(fn(**data, k=9, seed=seed)) for seed in (*range(10), *range(10))]
    assert subsets[:10] == subsets[10:]
    assert len(set(subsets)) == 10
    assert len(set().union(*subsets)) > SAMPLES / 2


def test_moving_turning_and_scaling_features():
    data, features = data_for(ssp), data_for(ssp)["features"]
    draw = np.random.default_rng(4)
    turned = features @ np.linalg.qr(draw.normal(size=(NUMBERS, NUMBERS)))[0]
    for changed, factor in ((features + 3, 1), (features * 4, 4), (turned, 1)):
        scores = ssp(changed, data["labels"], prototypes="class")
        np.testing.assert_allclose(scores, factor * ssp(**data, prototypes="class"), rtol=1e-10)
    for changed, centre in ((features * 4 + 3, "median"), (turned, "mean")):
        first = moderate(**data, k=20, seed=0, centre=centre)
        kept = moderate(changed, data["labels"], k=20, seed=0, centre=centre)
        np.testing.assert_array_equal(kept, first)
    for changed in (turned, features * draw.uniform(0.1, 10, (SAMPLES, 1))):
        np.testing.assert_allclose(ssp(changed, data["labels"]), ssp(**data), atol=1e-12)


# Worlds with a known answer.


def test_moderate_keeps_neither_the_most_typical_nor_the_outliers():
    features, labels = blobs()
    typical = np.argsort(np.linalg.norm(features - 5 * np.eye(3)[labels], axis=1))[:20]
    kept = moderate(features, labels, k=100, seed=0)
    assert not {200, 201, *typical.tolist()} & set(kept.tolist())


@pytest.mark.parametrize("settings", [{"clusters": 2}, {"prototypes": "class"}, {}])
def test_ssp_ranks_the_outliers_highest_in_any_order(settings):
    features, labels = blobs()
    scores = ssp(features, labels, **settings)
    assert set(np.argsort(scores)[-2:].tolist()) == {200, 201}
    assert scores[200:].min() > 10 * scores[:200].max()
    order = np.random.default_rng(0).permutation(202)
    np.testing.assert_allclose(ssp(features[order], labels[order], **settings), scores[order], 1e-9)


def test_k_means_finds_every_one_of_many_clusters():
    draw = np.random.default_rng(0)
    for _ in range(20):
        kinds = np.arange(600) % 12
        features = draw.normal(size=(12, 20))[kinds] + draw.normal(0, 0.1, (600, 20))
        assert ssp(features, clusters=12).max() < 0.05


def test_bws_leaves_out_the_mislabelled_where_they_are_the_hardest():
    draw = np.random.default_rng(0)
    true, wrong = np.arange(400) % 2, np.arange(400) < 80
    features = draw.normal(0, 0.3, (400, 3)) + np.outer(2 * true - 1, [1, 0, 0])
    scores = draw.random(400) + 2 * wrong
    for judged in (1.0, 0.5):
        kept = bws(scores, features, true ^ wrong, k=80, seed=0, judged=judged)
        assert not wrong[kept].any()
    assert wrong[bws(scores, features, true, k=80, seed=0)].all()  # clean labels: the hardest


def test_bws_keeps_hard_samples_where_easy_ones_mislead():
    draw = np.random.default_rng(0)
    labels, hard = np.arange(400) % 2, np.arange(400) < 100
    signs = 2 * labels - 1
    shortcut = np.where(hard, draw.normal(0, 3, 400), 5 * signs)
    features = np.column_stack([0.2 * signs, shortcut])
    kept = bws(draw.random(400) + hard, features, labels, k=40, seed=0)
    assert hard[kept].all()


# Hard inputs.


def test_a_class_with_one_sample():
    features, labels = np.random.default_rng(0).normal(size=(31, 2)), np.arange(31) // 30
    assert ssp(features, labels, prototypes="class")[30] == 0
    assert 30 not in moderate(features, labels, k=29, seed=0)
    assert 30 in bws(np.ones(31), features, labels, k=30, seed=0)
    for fn in (moderate, bws):
        assert len(fn(**data_for(fn, samples=1), k=1, seed=0)) == 1


@pytest.mark.filterwarnings("error")
def test_samples_without_a_direction_and_fewer_different_samples_than_clusters():
    features, labels = np.repeat([[0.0, 0.0], [1.0, 2.0]], 5, axis=0), np.arange(10)
    np.testing.assert_allclose(ssp(features, clusters=4), np.repeat([1.0, 0.0], 5), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(centroids(features[5:], 4), axis=1), 1)
    np.testing.assert_array_equal(ssp(np.zeros((10, 2)), labels), np.ones(10))
    np.testing.assert_array_equal(ssp(np.zeros((10, 2)), labels, prototypes="class"), np.zeros(10))
    assert len(moderate(features, labels, k=3, seed=0)) == 3
    assert len(bws(np.zeros(10), np.zeros((10, 2)), labels, k=3, seed=0)) == 3


@all_methods
def test_names_and_numbers_are_labels_alike(fn):
    data = data_for(fn)
    named = data | {"labels": np.array([f"class {label:03}" for label in data["labels"] + 9])}
    first, second = fn(**data, **budget_of(fn)), fn(**named, **budget_of(fn))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@all_methods
def test_features_that_are_not_finite_are_refused(fn, wrong):
    features = data_for(fn)["features"]
    features[[11, 40], 2] = wrong
    features[40, 1] = -wrong
    with pytest.raises(InputError, match=r"2 of 60 samples are not finite or .*first of sample 11"):
        fn(**data_for(fn, features=features), **budget_of(fn))


def test_features_of_any_type_score_alike():
    features = np.random.default_rng(0).integers(-9, 9, (SAMPLES, NUMBERS))
    for settings in ({"clusters": 3}, {"labels": np.arange(SAMPLES) % 3, "prototypes": "class"}):
        expected = ssp(features.astype(float), **settings)
        for kind in (np.int8, np.int64, np.float16, np.float32, np.longdouble):
            np.testing.assert_allclose(ssp(features.astype(kind), **settings), expected, atol=1e-9)
        np.testing.assert_array_equal(ssp(features.tolist(), **settings), expected)
    for wrong in (features > 0, features.astype(str), features.astype(object), None, [[1], [1, 2]]):
        with pytest.raises(InputError, match="features must be an array of real numbers"):
            ssp(wrong, clusters=3)
    with pytest.raises(InputError, match=r"not finite or beyond 1e\+140, first of sample 0"):
        ssp(features * 1e200, clusters=3)
    assert ssp(features, clusters=np.int64(3)).shape == (SAMPLES,)


def test_steps_of_bws_too_small_to_end_are_refused():
    with pytest.raises(InputError, match="step from 1e-4"):
        bws(**data_for(bws), k=5, seed=0, step=1e-9)


@all_methods
def test_shapes_that_do_not_fit_are_refused(fn):
    for changed in (
        {"features": np.ones(SAMPLES)},
        {"features": np.ones((SAMPLES, 2, 2))},
        {"labels": np.ones((SAMPLES, 1))},
        {"labels": np.ones(SAMPLES - 1)},
    ):
        with pytest.raises(InputError, match=r"shape|entries"):
            fn(**data_for(fn, **changed), **budget_of(fn))


def test_settings_that_cannot_be_are_refused():
    data = data_for(ssp)
    for settings, message in (
        ({"clusters": SAMPLES + 1}, "from 1 to 60"),
        ({"clusters": 0}, "from 1 to 60"),
        ({"labels": None}, "labels"),
        ({"labels": None, "prototypes": "class"}, "labels"),
        ({"clusters": 3, "prototypes": "class"}, "leave out clusters=3"),
        ({"prototypes": "mean"}, "'kmeans' or 'class'"),
    ):
        with pytest.raises(InputError, match=message):
            ssp(**data | settings)
    for name in ("step", "judged", "ridge"):
        for value in (0, -0.1, np.nan, np.inf):
            with pytest.raises(InputError, match=name):
                bws(**data_for(bws), k=5, seed=0, **{name: value})
    with pytest.raises(InputError, match="'median' or 'mean'"):
        moderate(**data_for(moderate), k=5, seed=0, centre="mode")
    with pytest.raises(InputError, match="larger ridge"):
        bws(**data_for(bws, features=np.full((SAMPLES, 40), 1e12)), k=40, seed=0)


def test_bws_without_all_scores():
    data = data_for(bws)
    missing = np.arange(SAMPLES) % 5 == 0
    holes = data | {"scores": np.where(missing, np.nan, data["scores"])}
    with pytest.raises(InputError, match="12 of 60 samples have no score"):
        bws(**holes, k=20, seed=0)
    seen = np.flatnonzero(~missing)
    alone = {name: values[seen] for name, values in data.items()}
    for unscored, k in (("drop", 20), ("keep", 32)):
        kept = bws(**holes, k=k, seed=0, unscored=unscored)
        np.testing.assert_array_equal(kept[~missing[kept]], seen[bws(**alone, k=20, seed=0)])
        assert missing[kept].sum() == (12 if unscored == "keep" else 0)
    assert bws(**holes, k=12, seed=0, unscored="keep").tolist() == np.flatnonzero(missing).tolist()
    with pytest.raises(InputError, match="cannot keep 49"):
        bws(**holes, k=49, seed=0, unscored="drop")
