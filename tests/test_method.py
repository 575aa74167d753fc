"""From the name of a method, or functions of one's own, to a coreset."""

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import dualprune
from dualprune import Coreset, Method, Run, choose, score, select
from dualprune.coreset import ShortClass
from dualprune.errors import InputError, MissingError
from dualprune.method import (
    Arrays,
    choose_among,
    choose_from,
    find_method,
    named_methods,
    needs,
    signals_for,
)
from dualprune.signatures import Array
from tests.beliefs import between_two, write_beliefs

RUNS = Path(__file__).parent / "runs"
few_are_kept = pytest.mark.filterwarnings("ignore:.*fair share")


@pytest.fixture(scope="module")
def run():
    return Run(RUNS / "digits")


@few_are_kept
def test_a_name_chooses_what_score_and_selector_choose_by_hand(run):
    p = run["target_prob"]
    k, by_hand = 431, select.beta(score.dual(p), score.confidence(p), k=431, seed=4)
    coreset = choose(RUNS / "digits", "dual+beta", keep=k, floor=0, seed=4)
    np.testing.assert_array_equal(coreset.ids, by_hand)
    notes = select.Notes()
    select.beta(score.dual(p), score.confidence(p), k=431, seed=4, notes=notes)
    assert coreset.card.select_knobs["c_d"] is None
    assert coreset.card.values == notes.values
    assert notes.values.keys() == {"mu", "c_d"}
    assert coreset.card.runs == [run.fingerprint]
    assert coreset.mask.sum() == k
    np.testing.assert_array_equal(np.flatnonzero(coreset.mask), by_hand)


@few_are_kept
def test_functions_of_ones_own_are_a_method(run):
    def doubt(target_prob: np.ndarray, *, power: float = 1.0) -> np.ndarray:
        return (1 - target_prob.mean(axis=0)) ** power

    def highest(scores: np.ndarray, *, k: int) -> np.ndarray:
        return np.argsort(-scores)[:k]

    coreset = choose(run, Method(doubt, highest, score_knobs={"power": 2.0}), keep=100)
    expected = np.argsort(-((1 - run["target_prob"].mean(0)) ** 2))[:100]
    np.testing.assert_array_equal(coreset.ids, np.sort(expected))
    assert coreset.card.method == "doubt+highest"
    assert coreset.card.score_knobs == {"power": 2.0}


def test_only_the_epochs_asked_for_go_in(run):
    scores = score.dual(run["target_prob"][:12])
    coreset = choose(run, "dual", keep=50, epochs=12)
    by_hand = select.top(scores, run["labels"], k=50, seed=0, floor=0.5)
    np.testing.assert_array_equal(coreset.ids, by_hand)
    assert coreset.card.epochs == 12


def test_numbers_of_numpy_choose_and_save_like_those_of_python(run, tmp_path):
    plain = choose(run, Method("dual", "beta", select_knobs={"c_d": 4.0}), keep=50, seed=3)
    method = Method("dual", "beta", select_knobs={"c_d": np.float64(4), "anchor": np.int64(10)})
    coreset = choose(run, method, keep=np.int64(50), seed=np.int64(3))
    coreset.save(tmp_path / "coreset")
    assert Coreset.load(tmp_path / "coreset").card.ids_sha256 == plain.card.ids_sha256
    for seed in (3.0, True, -1, "3"):
        with pytest.raises(InputError, match="seed"):
            choose(run, "random", keep=50, seed=seed)


def test_scores_of_ones_own_must_be_numbers(run):
    def words(loss: Array) -> Array:
        return np.full(loss.shape[1], "high")

    def endless(loss: Array) -> Array:
        return np.where(loss[0] > 0, np.inf, 0)

    with pytest.raises(InputError, match="scores of words must be an array of real numbers"):
        choose(run, Method(words), keep=3)
    with pytest.raises(InputError, match=r"scores of .* samples are infinite"):
        choose(run, Method(endless), keep=3)


# One resolver for scores and selectors: a signal, a derived one, labels, features, another score.


def by_class(target_prob: Array, labels: Array) -> Array:
    return target_prob.mean(axis=0) + labels


def of_another_score(confidence: Array, dual: Array) -> Array:
    return confidence * dual


def of_features(features: Array, confidence: Array) -> Array:
    return features.sum(axis=1) * confidence


def test_a_score_may_read_labels_without_features(run):
    values = Arrays([run]).score(by_class)
    np.testing.assert_array_equal(values, score.confidence(run["target_prob"]) + run["labels"])


def test_a_score_may_read_other_scores_over_the_same_epochs(run):
    p = run["target_prob"][:12]
    values = Arrays([run], epochs=12).score(of_another_score)
    np.testing.assert_allclose(values, score.confidence(p) * score.dual(p), rtol=1e-12)


def test_a_score_may_read_features_and_another_score(run):
    values = Arrays([run], epochs=12).score(of_features)
    expected = run.features(10).sum(axis=1) * score.confidence(run["target_prob"][:12])
    np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_a_score_may_read_a_score_that_reads_features(run):
    def far(ssp: Array, confidence: Array) -> Array:
        return ssp * confidence

    arrays = Arrays([run])
    expected = score.ssp(run.features(), run["labels"]) * arrays["confidence"]
    np.testing.assert_array_equal(arrays.score(far), expected)


def test_a_score_that_is_asked_for_twice_comes_back_twice(run):
    one, other = Arrays([run]).scores([(score.dual, {}), (score.dual, {"window": 10})])
    assert one is other


@few_are_kept
def test_a_selector_may_read_a_signal_a_derived_signal_features_and_a_score(run):
    seen = {}

    def look(
        loss: Array, target_prob: Array, features: Array, aum: Array, labels: Array, *, k: int
    ) -> Array:
        seen.update(loss=loss, target_prob=target_prob, features=features, aum=aum, labels=labels)
        return np.arange(k)

    choose(run, Method(None, look), keep=3, epochs=12)
    np.testing.assert_array_equal(seen["loss"], run["loss"][:12])
    np.testing.assert_array_equal(seen["target_prob"], run["target_prob"][:12])
    np.testing.assert_array_equal(seen["features"], run.features(12))
    np.testing.assert_array_equal(seen["aum"], score.aum(run["margin"][:12]))
    np.testing.assert_array_equal(seen["labels"], run["labels"])


def colder(temperature: Array) -> Array:
    return temperature


def coldest(temperature: Array, *, k: int) -> Array:
    return temperature[:k]


@pytest.mark.parametrize("method", [Method(colder), Method(None, coldest)], ids=repr)
def test_what_cannot_be_found_is_refused_with_what_can(run, method):
    with pytest.raises(MissingError, match=r"no 'temperature'.* loss, .*scores are dual"):
        choose(run, method, keep=3)


@few_are_kept
def test_an_optional_array_that_is_not_there_is_none(run):
    def either(labels: Array, temperature: Array | None, *, k: int) -> Array:
        assert temperature is None
        return np.arange(k)

    assert len(choose(run, Method(None, either), keep=3)) == 3


@pytest.mark.parametrize(
    ("ids", "wrong"),
    [
        ([0, 1], "got 2"),
        ([0, 0, 1], "got 2"),
        ([0, 1, 5000], "to 5000"),
        ([0.0, 1.0, 2.0], "float64"),
    ],
)
def test_a_selector_of_ones_own_must_give_k_different_ids(run, ids, wrong):
    def bad(labels: Array, *, k: int) -> Array:
        return np.array(ids)

    with pytest.raises(InputError, match=f"bad must give 3 different ids.*{wrong}"):
        choose(run, Method(None, bad), keep=3)


def test_of_some_samples_is_chosen_whatever_a_parameter_is_called(run):
    seen = {}

    def far(embedding: np.ndarray, losses: np.ndarray, *, k: int) -> np.ndarray:
        seen.update(embedding=embedding, losses=losses)
        return np.arange(k)

    method = Method(None, far, reads={"embedding": "features", "losses": "loss"})
    arrays, among = Arrays([run]), np.array([3, 5, 8])
    choose_among(arrays, method, among, k=2, seed=0)
    np.testing.assert_array_equal(seen["embedding"], arrays["features"][among])
    np.testing.assert_array_equal(seen["losses"], run["loss"][:, among])


@few_are_kept
def test_a_selector_may_read_a_signal_before_anything_of_one_value_per_sample(run):
    def last(loss: Array, *, k: int) -> Array:
        return np.arange(loss.shape[1])[-k:]

    assert choose(run, Method(None, last), keep=3).ids.tolist() == [1435, 1436, 1437]


@few_are_kept
def test_an_optional_score_that_cannot_be_had_is_left_out(tmp_path):
    def either(loss: Array, tdds: Array | None = None) -> Array:
        assert tdds is None
        return loss.mean(axis=0)

    run = Run.from_arrays(tmp_path / "run", loss=np.ones((3, 9)))
    assert len(choose(run, Method(either), keep=3)) == 3
    with pytest.raises(MissingError, match="no 'entropy'"):
        choose(run, "entropy", keep=3)


def test_a_score_of_ones_own_must_look_at_each_sample_by_itself(run):
    def ranked(target_prob: Array) -> Array:
        return np.argsort(np.argsort(target_prob.mean(axis=0))) / target_prob.shape[1]

    def one_for_all(target_prob: Array) -> Array:
        return target_prob.mean()

    with pytest.raises(InputError, match="ranked gives a sample another score when other samples"):
        choose(run, Method(ranked), keep=3)
    with pytest.raises(InputError, match=r"one_for_all must give one number per sample.*\(\)"):
        choose(run, Method(one_for_all), keep=3)


def test_several_scores_are_computed_in_one_reading(run, monkeypatch):
    readings = []
    monkeypatch.setattr(Run, "map", _counting(Run.map, readings))
    arrays = Arrays([run])
    arrays.scores([(score.dual, {}), (score.confidence, {}), (score.aum, {"keep": "easy"})])
    assert len(readings) == 1
    _ = arrays["dual"], arrays["confidence"], arrays.score(score.dual, {"window": 10})
    assert len(readings) == 1


def _counting(fn, calls):
    def counted(*arguments, **keywords):
        calls.append(arguments)
        return fn(*arguments, **keywords)

    return counted


# Named methods


def test_a_share_that_was_rounded_is_still_that_share(run):
    knobs = [choose(run, "ccs", keep=keep).card.select_knobs for keep in (0.1, 145)]
    assert run.samples * 0.1 < 144, "a tenth is rounded up, so that less than 0.9 is pruned"
    assert [each["cut_off"] for each in knobs] == [0.3, 0.1]


@pytest.mark.parametrize("name", ["ccs", "ccs-cifar100", "ccs-imagenet"])
def test_strata_and_cut_off_of_ccs_read_the_same_margin(run, name):
    method, k = find_method(name, 0.9), run.samples // 10
    margin = score.aum_prob(run["prob_margin"])
    by_hand = select.stratified(margin, margin, k=k, seed=0, **method.select_knobs)
    coreset = choose(run, name, keep=k)
    np.testing.assert_array_equal(coreset.ids, by_hand)
    assert coreset.card.reads == {"aum": "aum_prob"}
    cut = np.argsort(-margin)[: coreset.card.reasons["cut_off"]]
    assert not set(cut) & set(coreset.ids)


def test_beta_alone_takes_mu_from_the_ten_best_by_dual(run):
    p = run["target_prob"]
    best = np.argsort(-score.dual(p))[:10]
    mu = choose(run, "beta", keep=100).card.values["mu"]
    assert mu == pytest.approx(score.confidence(p)[best].mean())


def test_every_named_method_can_be_found_at_every_share():
    for name in named_methods():
        for pruned in (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.99):
            assert find_method(name, pruned).name == name


def test_a_method_that_averages_runs_wants_them(run):
    with pytest.raises(InputError, match="el2n-5 averages 5 runs, got 1"):
        choose(run, "el2n-5", keep=10)
    assert len(choose([run] * 5, "el2n-5", keep=10)) == 10


def test_knobs_of_a_recipe_go_to_selectors_that_have_them():
    method = find_method("ccs", 0.9).with_defaults({"c_d": 5.5, "strata": 9})
    assert method.select_knobs == {"strata": 50, "cut_off": 0.3}
    assert find_method("dual+beta", 0.5).with_defaults({"c_d": 4}).select_knobs == {"c_d": 4}


def test_what_a_method_needs_follows_from_its_signatures():
    def own(tdds: Array, labels: Array) -> Array:
        return tdds

    assert needs([Method(own)]) == {"kl_step", "labels"}
    assert needs([find_method("random", 0.5)]) == {"labels"}
    assert signals_for([find_method("grand", 0.5)])[-1] == "feature_norm"
    assert "features" in needs([find_method("dual+d2", 0.5)])


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (lambda: Method("dul"), "no score 'dul'; choose one of dual"),
        (lambda: Method("dual", "best"), "no selector 'best'; choose one of top"),
        (lambda: Method(None, "top"), "top needs a score"),
        (lambda: Method("dual", "random"), "random takes no score"),
        (lambda: Method("dual", score_knobs={"windw": 3}), "dual has no knob 'windw'"),
        (lambda: Method("dual", reads={"aun": "aum"}), "top reads no 'aun'; it reads scores"),
        (lambda: find_method("dual+bta", 0.5), "no method 'dual\\+bta'"),
    ],
)
def test_what_is_no_method_is_refused_with_what_is(make, wrong):
    with pytest.raises(InputError, match=wrong):
        make()


# What a person sees


def test_things_say_what_they_are(run):
    coreset = choose(run, "dual+beta", keep=0.3, seed=7)
    assert repr(coreset) == "Coreset(431 of 1,438: dual+beta, seed 7)"
    assert "1,438 samples of 10 classes, 20 epochs" in repr(run)
    method = Method("dual", "beta", select_knobs={"c_d": 4.0})
    assert repr(method) == "Method('dual+beta', select_knobs={'c_d': 4.0})"


def test_a_coreset_is_a_table(run):
    coreset = choose(run, "dual+beta", keep=0.3)
    table, frame = coreset.to_arrow(), coreset.to_pandas()
    assert table.column_names == ["id", "source", "label", "score", "confidence", "why", "kept"]
    assert frame["kept"].sum() == 431
    np.testing.assert_array_equal(frame.index[frame["kept"]], coreset.ids)


USE_EACH_NAME_TWICE = """
import importlib, pkgutil, warnings
import dualprune

for module in pkgutil.walk_packages(dualprune.__path__, "dualprune."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
for name in dualprune.__all__:
    one, other = getattr(dualprune, name), getattr(dualprune, name)
    assert one == other, name
    if name in ("audit", "choose", "compare", "prune"):
        assert callable(one), name
assert set(dualprune.__all__) <= set(dir(dualprune))
print(dualprune.__version__)
"""


def test_each_public_name_is_what_it_says_whatever_was_imported_before():
    import subprocess  # noqa: PLC0415
    import sys  # noqa: PLC0415

    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", USE_EACH_NAME_TWICE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == dualprune.__version__


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"score": 3}, "score must be text or a function or None, got 3"),
        ({"selector": b"top"}, "selector must be text or a function, got"),
        ({"score_knobs": (1, 2)}, "score_knobs must be a dictionary"),
        ({"select_knobs": np.ones(3)}, "select_knobs must be a dictionary"),
        ({"select_knobs": {3: 4}}, "select_knobs must be a dictionary"),
        ({"reads": ["confidence"]}, "reads must be a dictionary"),
        ({"epochs": "3"}, "epochs must be a whole number"),
        ({"runs": np.ones(3)}, "runs must be a whole number"),
        ({"runs": 0}, "runs must be at least 1, got 0"),
        ({"weighted": 1}, "weighted must be a bool"),
        ({"name": 7}, "name must be text"),
    ],
)
def test_a_field_of_another_type_is_refused_by_name(fields, told):
    with pytest.raises(InputError, match=told):
        Method(**{"score": "dual", "selector": "beta"} | fields)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"runs": 1}, "runs must be a Run or a path .* or a list"),
        ({"runs": np.zeros(2)}, "runs must be a Run"),
        ({"method": ["dual"]}, "method must be text or a Method"),
        ({"keep": [9]}, "keep must be a number"),
        ({"seed": b"x"}, "seed must be a whole number"),
        ({"epochs": {1}}, "epochs must be a whole number"),
    ],
)
def test_what_cannot_be_chosen_with_is_refused_by_name(run, given, told):
    with pytest.raises(InputError, match=told):
        choose(**{"runs": run, "method": "dual", "keep": 9} | given)


def test_a_count_may_be_of_numpy_and_a_share_a_decimal(run):
    one = choose(run, "random", keep=Decimal("0.5"))
    assert len(one) == len(choose(run, "random", keep=np.uint16(719))) == 719


# Classes


@pytest.fixture
def tail(tmp_path):
    """Class 2 has 12 of 912 samples, all of them learned at once: DUAL and AUM want none."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat([0, 1, 2], [600, 300, 12]))
    probability = rng.uniform(0.3, 0.9, (12, 912))
    probability[:, labels == 2] = 0.999
    beliefs = between_two(probability, labels, (labels + 1) % 3, 3)
    return write_beliefs(tmp_path / "tail", beliefs, labels, class_names=("car", "dog", "truck"))


def kept_of(coreset, run):
    return np.bincount(run["labels"][coreset.ids], minlength=3).tolist()


@pytest.mark.parametrize("method", ["dual", "dual+beta", "aum", "random"])
def test_half_of_the_fair_share_of_every_class_is_kept_unless_told_otherwise(tail, method):
    coreset = choose(tail, method, keep=0.5)
    assert all(2 * n >= m / 2 for n, m in zip(kept_of(coreset, tail), (600, 300, 12), strict=True))
    assert coreset.card.select_knobs["floor"] == 0.5
    assert coreset.card.short == []


def test_a_class_that_loses_too_much_is_told_in_a_warning_and_in_the_card(tail, tmp_path):
    with pytest.warns(UserWarning, match="^class truck: kept 0 of 12, fair share 6$"):
        coreset = choose(tail, "dual", keep=0.5, floor=0)
    assert coreset.card.short == [ShortClass("truck", 0, 12, 6.0)]
    assert Coreset.load(coreset.save(tmp_path / "small")).card == coreset.card
    with pytest.warns(UserWarning, match="^class truck: kept 0 of 12"):
        choose(tail, Method("dual", "stratified", select_knobs={"strata": 1}), keep=0.01)


def test_many_classes_that_lose_too_much_are_told_in_few_lines(tmp_path):
    labels = np.arange(100) % 50
    beliefs = between_two(np.full((12, 100), 0.5), labels, (labels + 1) % 50, 50)
    run = write_beliefs(tmp_path / "run", beliefs, labels)
    with pytest.warns(UserWarning, match="fair share") as warned:
        coreset = choose(run, "random", keep=5)
    assert len(coreset.card.short) == 45
    assert len(warned) == 11
    assert str(warned[-1].message).startswith("35 more classes keep less than half")


@pytest.mark.parametrize(
    ("knobs", "said", "kept"),
    [
        ({}, {"floor": 5}, 5),
        ({}, {"floor": 1.0}, 6),
        ({}, {"balance": "proportional"}, 6),
        ({}, {"balance": "uniform"}, 12),
        ({}, {"balance": "none"}, 3),
        ({"floor": 2}, {}, 2),
        ({"balance": "uniform"}, {}, 12),
        ({"floor": 2}, {"floor": 4}, 4),
    ],
)
@pytest.mark.filterwarnings("ignore:.*fair share")
def test_what_is_said_of_classes_wins_over_the_default(tail, knobs, said, kept):
    coreset = choose(tail, Method("dual", select_knobs=knobs), keep=0.5, **said)
    assert kept_of(coreset, tail)[2] == kept


@pytest.mark.parametrize(
    ("method", "said", "wrong"),
    [
        ("dual", {"floor": 3, "balance": "uniform"}, "balance='uniform' or floor=3, not both"),
        (Method("dual", select_knobs={"floor": 3}), {"balance": "uniform"}, "floor=3, not both"),
        ("dual", {"floor": 1.5}, "floor must be a number of samples per class"),
        ("dual", {"floor": "half"}, "floor must be a whole number"),
        ("dual", {"balance": "even"}, "balance must be 'none' or 'proportional' or 'uniform'"),
        ("dual+stratified", {"floor": 3}, "stratified has no knob 'floor'"),
    ],
)
def test_what_cannot_be_done_for_classes_is_refused_by_name(tail, method, said, wrong):
    with pytest.raises(InputError, match=wrong):
        choose(tail, method, keep=0.5, **said)


def test_choosing_as_published_knows_no_floor(tail):
    method = find_method("dual", 0.5)
    coreset = choose_from(Arrays([tail]), method, k=456, seed=0)
    assert kept_of(coreset, tail)[2] == 0
