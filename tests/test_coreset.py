"""Coresets: their ids, their card, why each sample is in them; and what they are applied to."""

import hashlib
from dataclasses import replace
from importlib.metadata import version

import numpy as np
import pyarrow.parquet as pq
import pytest

import dualprune
from dualprune import Method, choose
from dualprune.coreset import Arm, Check, Coreset
from dualprune.coreset.worth import ALL, ANEW, CORESET, SHORTER, pays
from dualprune.errors import DamagedError, InputError, MissingError
from dualprune.files import read_json, write_json
from dualprune.method import find_method
from dualprune.report.page.summary import repeat
from dualprune.run import Run
from dualprune.run.attempts import Attempt
from dualprune.run.writer import write_part
from dualprune.score import SCORES
from tests.by_hand import dual_by_hand, mean
from tests.run_by_hand import trajectories, write_run

WITH_KNOBS = Method("dual", "beta", score_knobs={"window": 4}, select_knobs={"c_d": 4.0})


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run", trajectories())


def test_a_coreset_has_the_ids_of_its_method(run):
    p = run["target_prob"][:11]
    scores, confidence = SCORES["dual"](p, window=4), SCORES["confidence"](p)
    coreset = choose(run, WITH_KNOBS, keep=13, seed=5, epochs=11)
    expected = dualprune.select.beta(scores, confidence, k=13, seed=5, c_d=4.0)
    np.testing.assert_array_equal(coreset.ids, expected)
    np.testing.assert_array_equal(coreset.columns["score"], scores)
    np.testing.assert_array_equal(coreset.columns["confidence"], confidence)
    np.testing.assert_array_equal(coreset.columns["label"], run["labels"])
    assert len(coreset) == 13


def test_the_card_says_where_the_ids_come_from(run):
    coreset = choose(run, WITH_KNOBS, keep=13, seed=5, epochs=11)
    card = coreset.card
    little_endian = b"".join(int(i).to_bytes(8, "little", signed=True) for i in coreset.ids)
    assert card.ids_sha256 == hashlib.sha256(little_endian).hexdigest()
    assert (card.method, card.score, card.selector) == ("dual+beta", "dual", "beta")
    assert card.score_knobs == {"window": 4}
    assert card.select_knobs["c_d"] == 4.0
    assert card.select_knobs["concentration"] == 15.0
    assert (card.seed, card.k, card.samples, card.epochs) == (5, 13, 40, 11)
    assert card.runs == [run.fingerprint]
    assert card.versions["dualprune"] == version("dualprune")
    assert card.versions["numpy"] == np.__version__


def test_the_fingerprint_stays_until_more_is_recorded(run):
    before = run.fingerprint
    assert Run(run.path).fingerprint == before
    part = {"id": np.arange(40), "label": np.arange(40, dtype=np.int32) % 2}
    part |= {name: np.ones(40, np.float32) for name in ("loss", "margin")}
    attempt = Attempt.load(run.path / "attempts" / "0001")
    write_part(attempt, 13, 0, part, {"duplicates": 0, "non_finite": 0})
    assert run.fingerprint == before, "an open run is what it was when it was opened"
    assert Run(run.path).fingerprint != before


def test_without_scores_beta_takes_mu_from_the_best_of_dual(run):
    coreset = choose(run, "beta", keep=7, seed=2)
    p = run["target_prob"]
    best = sorted(range(40), key=lambda i: -dual_by_hand(p.tolist())[i])[:10]
    mu = coreset.card.values["mu"]
    assert mu == pytest.approx(mean([mean(p[:, i].tolist()) for i in best]), rel=1e-12)
    assert coreset.card.method == "beta"
    expected = dualprune.select.beta(None, SCORES["confidence"](p), k=7, seed=2, mu=mu)
    np.testing.assert_array_equal(coreset.ids, expected)


def test_beta_with_a_mu_needs_no_epochs_for_what_would_anchor_it(run):
    method = replace(find_method("beta", 0.5), select_knobs={"mu": 0.4})
    coreset = choose(run, method, keep=7, epochs=3)
    assert coreset.card.values["mu"] == 0.4
    with pytest.raises(InputError, match="needs mu, or anchors such as the DUAL scores"):
        choose(run, "beta", keep=7, epochs=3)


def test_a_coreset_comes_back_as_it_was_saved(tmp_path, run):
    coreset = choose(run, "dual+beta", keep=13)
    folder = coreset.save(tmp_path / "deep" / "coreset")
    back = Coreset.load(folder)
    assert back.ids.dtype == np.int64
    np.testing.assert_array_equal(back.ids, coreset.ids)
    assert back.card == coreset.card
    assert list(back.columns) == list(coreset.columns)
    for name, values in coreset.columns.items():
        np.testing.assert_array_equal(back.columns[name], values)
    table = pq.read_table(folder / "coreset.parquet")
    assert table.column("id").to_pylist() == list(range(40))
    assert np.flatnonzero(table.column("kept")).tolist() == coreset.ids.tolist()


def test_saving_over_a_coreset_is_refused_and_changes_nothing(tmp_path, run):
    first, second = (choose(run, "random", keep=9, seed=seed) for seed in (0, 1))
    folder = first.save(tmp_path / "coreset")
    with pytest.raises(InputError, match="already holds a coreset"):
        second.save(folder)
    np.testing.assert_array_equal(Coreset.load(folder).ids, first.ids)


def test_a_coreset_that_is_not_there_or_not_what_was_written_is_an_error(tmp_path, run):
    with pytest.raises(MissingError, match=r"no card\.json"):
        Coreset.load(tmp_path / "nothing")
    one, other = (choose(run, "random", keep=9, seed=seed) for seed in (0, 1))
    folder = one.save(tmp_path / "one")
    elsewhere = other.save(tmp_path / "other")
    (folder / "coreset.parquet").write_bytes((elsewhere / "coreset.parquet").read_bytes())
    with pytest.raises(DamagedError, match="bytes are not what was written"):
        Coreset.load(folder)
    (folder / "coreset.parquet").write_bytes(b"PAR1")
    with pytest.raises(DamagedError, match="is damaged"):
        Coreset.load(folder)


def test_an_edited_coreset_has_the_ids_that_were_given_and_says_so(tmp_path, run):
    coreset = choose(run, "dual+beta", keep=9, seed=3)
    gone, new = coreset.ids[2], np.setdiff1d(np.arange(40), coreset.ids)[[0, 4]]
    ids = [*np.setdiff1d(coreset.ids, [gone]), *new, new[0]]
    edited = replace(coreset, card=replace(coreset.card, check=CHECK)).with_ids(ids)
    assert edited.card.check is None  # which was of other ids
    assert edited.ids.dtype == np.int64
    assert edited.ids.tolist() == sorted(set(ids))
    assert edited.card.method == "dual+beta, edited by hand"
    assert (edited.card.k, edited.card.runs) == (10, coreset.card.runs)
    assert edited.card.reasons == {"added": 2, "dropped": 1}
    assert reasons(edited)["added"] == new.tolist()
    assert reasons(edited)["dropped"] == [gone]
    assert coreset.columns["why"][gone] == "sampled"
    back = Coreset.load(edited.save(tmp_path / "edited"))
    assert back.ids.tolist() == edited.ids.tolist()
    assert back.with_ids([3]).card.method == "dual+beta, edited by hand"
    assert repeat(edited) is None  # no command chooses these


def test_coresets_of_the_same_ids_are_equal(run):
    one, same = (choose(run, "dual+beta", keep=9, seed=3) for _ in range(2))
    other = choose(run, "random", keep=9, seed=4)
    assert one == same != other
    assert {one, same, other} == {one, other}
    assert one != one.ids.tolist()


@pytest.mark.parametrize(
    ("ids", "said"),
    [([], "at least one id"), ([40], "no sample 40"), ([-1], "no sample -1"), ([0.5], "whole")],
)
def test_ids_that_cannot_be_kept_are_refused(run, ids, said):
    with pytest.raises(InputError, match=said):
        choose(run, "random", keep=9).with_ids(ids)


def reasons(coreset):
    return {
        reason: np.flatnonzero(coreset.columns["why"] == reason).tolist()
        for reason in np.unique(coreset.columns["why"])
        if reason
    }


def test_the_reason_of_top_is_top(run):
    coreset = choose(run, "dual", keep=5)
    assert reasons(coreset) == {"top": coreset.ids.tolist()}


def test_the_reason_of_a_draw_is_sampled(run):
    for name in ("random", "dual+beta"):
        coreset = choose(run, name, keep=5)
        assert reasons(coreset) == {"sampled": coreset.ids.tolist()}


def test_what_has_no_weight_is_filled_in_and_counted(tmp_path):
    losses = trajectories()
    losses[:, 10:] = 0.3  # a belief that never moves scores zero
    run = write_run(tmp_path / "run", losses)
    coreset = choose(run, "dual+beta", keep=14)
    why = reasons(coreset)
    assert why["sampled"] == list(range(10))
    assert len(why["filled"]) == coreset.card.reasons["filled"] == 4
    assert sorted(why["sampled"] + why["filled"]) == coreset.ids.tolist()


def test_what_was_cut_off_says_so(run):
    method = Method("aum", "stratified", select_knobs={"cut_off": 0.2})
    coreset = choose(run, method, keep=12)
    why = reasons(coreset)
    assert why["cut_off"] == sorted(np.argsort(-coreset.columns["score"])[:8].tolist())
    assert why["sampled"] == coreset.ids.tolist()
    assert coreset.card.reasons["cut_off"] == 8


@pytest.mark.parametrize("unscored", ["keep", "drop"])
def test_what_has_no_score_says_so_whether_kept_or_not(unscored, tmp_path):
    losses = trajectories()
    losses[5:, [3, 30]] = np.nan
    run = write_run(tmp_path / "run", losses)
    for name in ("top", "beta", "stratified"):
        coreset = choose(run, Method("dual", name, select_knobs={"unscored": unscored}), keep=9)
        assert reasons(coreset)["unscored"] == [3, 30]
        assert coreset.card.reasons["unscored"] == 2
        assert len({3, 30} & set(coreset.ids.tolist())) == (2 if unscored == "keep" else 0)


@pytest.fixture
def coreset(run):
    return choose(run, "random", keep=9, seed=3)


def test_an_array_is_indexed(coreset):
    data = np.random.default_rng(0).random((40, 3))
    np.testing.assert_array_equal(coreset.apply(data), data[coreset.ids])


def test_a_tensor_is_indexed(coreset):
    torch = pytest.importorskip("torch")
    data = torch.arange(120.0).reshape(40, 3)
    assert torch.equal(coreset.apply(data), data[coreset.ids.tolist()])


class Pictures:
    """Looks like a torchvision dataset."""

    classes = ("cat", "dog")

    def __init__(self, targets):
        self.targets = targets

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        assert type(index) is int
        return float(index), int(self.targets[index])


@pytest.mark.parametrize("kind", ["list", "array", "tensor"])
def test_a_dataset_keeps_its_targets_and_classes(kind, coreset):
    labels = [i % 2 for i in range(40)]
    if kind == "tensor":
        targets = pytest.importorskip("torch").tensor(labels)
    else:
        targets = np.array(labels) if kind == "array" else labels
    small = coreset.apply(Pictures(targets))
    assert len(small) == 9
    assert type(small.targets) is type(targets)
    assert list(map(int, small.targets)) == [labels[i] for i in coreset.ids]
    assert small.classes == ("cat", "dog")
    assert [small[i] for i in range(9)] == [(float(i), labels[i]) for i in coreset.ids]


def test_what_a_dataset_lacks_its_part_lacks(coreset):
    small = coreset.apply(range(100, 140))
    assert list(small) == [100 + i for i in coreset.ids]
    with pytest.raises(AttributeError):
        _ = small.targets


def test_an_applied_dataset_feeds_a_loader(coreset):
    data = pytest.importorskip("torch.utils.data")
    torch = pytest.importorskip("torch")
    whole = data.TensorDataset(torch.arange(40.0), torch.arange(40) % 2)
    loader = data.DataLoader(coreset.apply(whole), batch_size=4)
    batches = list(loader)
    assert [len(x) for x, _ in batches] == [4, 4, 1]
    assert torch.cat([x for x, _ in batches]).tolist() == coreset.ids.tolist()
    indexed = data.DataLoader(dualprune.Indexed(coreset.apply(whole)), batch_size=9)
    ((x, _, ids),) = indexed
    assert (x.tolist(), ids.tolist()) == (coreset.ids.tolist(), list(range(9)))


@pytest.mark.parametrize("size", [0, 39, 41])
def test_data_of_another_size_is_refused(size, coreset):
    for data in (np.zeros(size), list(range(size))):
        with pytest.raises(InputError, match=f"of 40 samples, the data has {size}"):
            coreset.apply(data)


@pytest.mark.parametrize("data", [3, float("nan"), None, np.float32(1), np.array(3)])
def test_a_coreset_is_applied_only_to_what_has_a_length(run, data):
    with pytest.raises(InputError, match="of 40 samples, the data has no length"):
        choose(run, "random", keep=9).apply(data)


@pytest.mark.parametrize("path", ["a\0b", "\ud800", 3])
def test_a_coreset_is_not_saved_to_what_is_no_path(run, path):
    with pytest.raises(InputError, match="path must be a path that the system allows, got"):
        choose(run, "random", keep=9).save(path)


CHECK = Check(
    50_000,
    [
        Arm(CORESET, 900, [0.90, 0.92, 0.91]),
        Arm(ALL, 1800, [0.95, 0.97, 0.96]),
        Arm(SHORTER, 900, [0.90, 0.90, 0.94]),
        Arm(ANEW, 900, [0.80, 0.82, 0.82]),
    ],
)


def test_a_check_is_added_to_a_card_that_is_read_without_it_too(run, tmp_path):
    coreset = choose(run, "dual+beta", keep=13)
    coreset.save(tmp_path / "new")
    content = read_json(tmp_path / "new/card.json")
    del content["check"]  # as it was before there were checks
    write_json(tmp_path / "new/card.json", content)
    assert Coreset.load(tmp_path / "new").card == coreset.card
    checked = coreset.save_check(tmp_path / "new", CHECK)
    assert Coreset.load(tmp_path / "new").card == checked.card == replace(coreset.card, check=CHECK)


def test_a_difference_is_that_of_the_same_seeds_and_may_be_chance():
    beside = {name: text for name, _, _, text in CHECK.rows()}
    assert beside == {
        CORESET: "",
        ALL: "worse by 5.0 ± 0.0",
        SHORTER: "-0.3 ± 2.5, may be chance",
        ANEW: "better by 9.7 ± 0.6",
    }


def test_a_difference_on_few_images_may_be_chance():
    few = replace(CHECK, held_out=50)
    beside = {name: text for name, _, _, text in few.rows()}
    assert beside[ALL] == "-5.0 ± 0.0, may be chance"


def test_advice_is_about_the_better_of_what_costs_the_same():
    coreset, _, shorter, anew = CHECK.arms
    once = "to save time, train on all the data, shorter: it costs as much as training on the "
    once += "coreset, needs no recording, and was "
    assert CHECK.advice() == once + "as good, as far as these seeds and samples tell"
    better = replace(shorter, accuracies=[0.95, 0.97, 0.96])
    assert Check(50_000, [coreset, better, anew]).advice() == once + "better"
    worse = replace(shorter, accuracies=[0.7, 0.7, 0.7])
    expected = "at the same cost, the coreset was better than a new random part every epoch"
    assert Check(50_000, [coreset, worse, anew]).advice() == expected


@pytest.mark.parametrize(
    ("recording", "small", "full", "text"),
    [
        (30, 15, 30, "pays from the third training on"),  # 30 + 2 x 15 is as much as 2 x 30
        (29, 15, 30, "pays from the second training on"),
        (120, 15, 30, "pays from the ninth training on"),
        (150, 15, 30, "pays from training 11 on"),
        (30, 28.5, 30, "pays from training 21 on"),
        (30, 60, 60, "saves no time: training on it takes as long as on all the data"),
    ],
)
def test_recording_pays_once_it_is_earned_back(recording, small, full, text):
    assert pays(recording, small, full) == text
