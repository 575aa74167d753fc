"""The whole path: what a Recorder wrote, through scores and selectors, to an applied Coreset."""

import hashlib
import json
import subprocess
import sys
import threading
from decimal import Decimal
from importlib.metadata import version

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

import dualprune
from dualprune.coreset import Coreset
from dualprune.errors import DamagedError, InputError, MissingError
from dualprune.method import score_runs, select_from
from dualprune.run import Run, exponential, reader
from dualprune.run import part as parts
from dualprune.run.attempts import Attempt, Description
from dualprune.run.part import CHUNK
from dualprune.run.writer import begin, write_part
from dualprune.score import SCORES, from_runs
from tests.by_hand import dual_by_hand, mean

WINDOW = 3


def write_run(path, losses, margins=None, *, labels=None, mode="train", signals=("loss", "margin")):
    """Write a run by hand, one part per epoch; what is NaN was not seen."""
    losses = np.asarray(losses, np.float32)
    columns = {"loss": losses, "margin": np.asarray(-losses if margins is None else margins)}
    labels = np.arange(losses.shape[1]) % 2 if labels is None else np.asarray(labels)
    number = begin(path, Description(losses.shape[1], 2, signals, mode), None, 1)
    attempt = Attempt.load(path / "attempts" / f"{number:04d}")
    for epoch in range(len(losses)):
        ids = np.flatnonzero(~np.isnan(losses[epoch]))
        rows = {name: columns[name][epoch, ids].astype(np.float32) for name in signals}
        rows = {"id": ids, "label": labels[ids].astype(np.int32), **rows}
        write_part(attempt, epoch + 1, 0, rows, {"duplicates": 0, "non_finite": 0})
    return Run(path)


def trajectories(epochs=12, samples=40, seed=0):
    return np.random.default_rng(seed).gamma(1.0, 1.0, (epochs, samples))


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run", trajectories())


# An independent oracle: SQL on the files themselves.


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Record as a training loop does; a few samples miss epochs, and one has no finite logits."""
    torch = pytest.importorskip("torch")
    path, draw = tmp_path_factory.mktemp("recorded") / "run", torch.Generator().manual_seed(0)
    labels = torch.randint(0, 4, (50,), generator=draw)
    with dualprune.Recorder(path, samples=50, classes=4) as recorder:
        for epoch in range(9):
            logits = torch.randn(50, 4, generator=draw) * 3
            seen = torch.randperm(50, generator=draw)
            seen = seen[(seen % 10 != 0) | (epoch not in (1, 5, 6))]
            seen = seen[(seen != 7) | (epoch < WINDOW - 1)]
            if epoch == 4:
                logits[3] = float("nan")
            for ids in seen.split(16):
                recorder.update(logits[ids], labels[ids], ids)
            if epoch == 4:
                with pytest.warns(RuntimeWarning, match="1 samples had logits that are not finite"):
                    recorder.end_epoch()
            else:
                recorder.end_epoch()
    return path


SQL = {
    "confidence": "SELECT id, avg(p) AS score FROM seen GROUP BY id",
    "aum": "SELECT id, -avg(margin) AS score FROM seen GROUP BY id",
    "dual": f"""
        WITH rolled AS (
            SELECT id, avg(p) OVER w AS mean, stddev_samp(p) OVER w AS spread, count(*) OVER w AS n
            FROM seen
            WINDOW w AS (
                PARTITION BY id ORDER BY epoch ROWS BETWEEN {WINDOW - 1} PRECEDING AND CURRENT ROW
            )
        )
        SELECT id, avg((1 - mean) * spread) AS score FROM rolled WHERE n = {WINDOW} GROUP BY id""",
    "forgetting": """
        WITH turns AS (
            SELECT id, margin > 0 AS now, lag(margin > 0) OVER (PARTITION BY id ORDER BY epoch) AS b
            FROM seen
        )
        SELECT id, CASE WHEN bool_or(now) THEN count(*) FILTER (b AND NOT now)
               ELSE (SELECT max(epoch) FROM seen) END AS score
        FROM turns GROUP BY id""",
}


def scores_by_sql(path, name):
    parts = path / "attempts" / "*" / "*" / "part-*.parquet"
    scores = np.full(50, np.nan)
    with duckdb.connect() as database:
        database.execute(f"""
            CREATE VIEW seen AS
            SELECT id, margin::DOUBLE AS margin, exp(-loss::DOUBLE) AS p,
                   regexp_extract(filename, '/([0-9]+)/part-', 1)::INT AS epoch
            FROM read_parquet('{parts}', filename = true)
            WHERE NOT isnan(loss)""")
        for sample, score in database.execute(SQL[name]).fetchall():
            scores[sample] = score
    return scores


@pytest.mark.parametrize("name", SQL)
def test_scores_from_disk_are_those_that_sql_finds_in_the_files(name, recorded):
    run, knobs = Run(recorded), {"window": WINDOW} if name == "dual" else {}
    scores = from_runs(SCORES[name], run, knobs=knobs)
    np.testing.assert_allclose(scores, scores_by_sql(recorded, name), rtol=0, atol=1e-9)
    assert np.isfinite(scores).sum() == (49 if name == "dual" else 50)


def test_what_was_recorded_has_the_gaps_it_should_have(recorded):
    unseen = np.isnan(Run(recorded)["loss"])
    assert unseen.sum() == 5 * 3 + (9 - WINDOW + 1) + 1
    assert unseen[[1, 5, 6]][:, ::10].all()
    assert unseen[4, 3]


def test_sql_and_scores_agree_on_the_first_epochs_alone(recorded, tmp_path):
    first = tmp_path / "first"
    (first / "attempts" / "0001").mkdir(parents=True)
    for epoch in range(1, 6):
        name = f"attempts/0001/{epoch:06d}"
        (first / name).symlink_to(recorded / name)
    scores = from_runs(SCORES["dual"], Run(recorded), epochs=5, knobs={"window": WINDOW})
    np.testing.assert_allclose(scores, scores_by_sql(first, "dual"), rtol=0, atol=1e-9)


# From disk to signals.


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """More samples than a chunk holds, two processes, gaps of every kind."""
    path, samples = tmp_path_factory.mktemp("large") / "run", CHUNK + 1000
    begin(path, Description(samples, 3, ("loss", "margin", "rival")), None, 2)
    attempt = Attempt.load(path / "attempts" / "0001")
    ids = np.arange(samples)
    seen = {
        (1, 0): ids[::2],  # all of it, by halves
        (1, 1): ids[1::2],
        (2, 0): ids,  # one process saw all of it, the other a little of it too
        (2, 1): ids[500:600],
        (3, 0): ids[: CHUNK - 5],  # nothing of the second chunk
        (3, 1): ids[:0],
        (4, 0): ids[ids % 7 != 0],  # gaps in both
        (4, 1): ids[CHUNK - 50 : CHUNK + 50],
    }
    for (epoch, writer), part in seen.items():
        write_part(
            attempt,
            epoch,
            writer,
            {"id": part, "label": (part % 3).astype(np.int32), **rows_of(part, epoch, writer)},
            {"duplicates": 0, "non_finite": 0},
        )
    return path, {epoch: (seen[epoch, 0], seen[epoch, 1]) for epoch in range(1, 5)}


def rows_of(ids, epoch, writer):
    """Give values that tell where they come from."""
    loss = (ids * 7 + epoch * 13 + writer) % 1009 / np.float32(100)
    return {
        "loss": loss.astype(np.float32),
        "margin": (5 - loss).astype(np.float32),
        "rival": ((ids + 1 + epoch) % 3).astype(np.int32),
    }


def expected_of(name, seen, samples):
    whole = np.full((len(seen), samples), -1 if name == "rival" else np.nan)
    for epoch, (first, second) in seen.items():
        whole[epoch - 1, second] = rows_of(second, epoch, 1)[name]
        whole[epoch - 1, first] = rows_of(first, epoch, 0)[name]  # the lower process wins
    return whole


@pytest.mark.parametrize("name", ["loss", "margin", "rival"])
def test_signals_of_many_chunks_and_processes_are_what_was_written(name, large):
    path, seen = large
    run = Run(path)
    signal = run[name]
    assert signal.shape == (4, CHUNK + 1000)
    assert signal.dtype == (np.int32 if name == "rival" else np.float32)
    np.testing.assert_array_equal(signal, expected_of(name, seen, run.samples))
    np.testing.assert_array_equal(run["labels"], np.arange(run.samples) % 3)


def test_streamed_blocks_are_the_whole_in_order(large):
    run = Run(large[0])
    names, stop = ["target_prob", "margin", "prediction"], 0
    whole = {name: run[name] for name in names}
    sizes = []
    for ids, block in run.blocks(names):
        assert ids.start == stop
        stop = ids.stop
        sizes.append(len(ids))
        assert list(block) == names
        for name in names:
            np.testing.assert_array_equal(block[name], whole[name][:, ids.start : ids.stop])
    assert sizes == [CHUNK, 1000]


@pytest.mark.parametrize(
    ("name", "signal", "knobs"),
    [
        ("dual", "target_prob", {"window": 2}),
        ("forgetting", "correct", {}),
        ("aum_prob", "prob_margin", {}),
    ],
)
def test_scores_block_by_block_are_the_scores_of_the_whole(name, signal, knobs, large):
    run, fn = Run(large[0]), SCORES[name]
    scores = from_runs(fn, run, knobs=knobs)
    np.testing.assert_array_equal(scores, fn(run[signal], **knobs))
    assert np.isfinite(scores).all()


def test_results_are_right_though_their_memory_is_used_again(tmp_path, monkeypatch):
    """Many chunks on few threads, and a result that is a view of the memory of its chunk."""
    for module in (parts, reader):
        monkeypatch.setattr(module, "CHUNK", 64)
    monkeypatch.setattr(reader, "_VALUES", 100)
    losses = np.random.default_rng(0).random((5, 64 * 40 + 7), np.float32)
    run = write_run(tmp_path / "run", losses)
    last, stop = np.empty(run.samples), 0
    for ids, view in run.map(lambda loss: loss[-1], ["loss"]):
        assert (ids.start, len(ids) < 64) == (stop, True)
        last[ids.start : ids.stop], stop = view, ids.stop
    np.testing.assert_array_equal(last, losses[-1])
    np.testing.assert_array_equal(run["loss"], losses)
    held = list(run.blocks(["loss"]))
    together = np.concatenate([block["loss"] for _, block in held], axis=1)
    np.testing.assert_array_equal(together, losses)


def test_memory_is_not_used_again_while_a_result_is_held(tmp_path, monkeypatch):
    """With two blocks of memory, the third chunk may be read only after the first was handed on."""
    for module in (parts, reader):
        monkeypatch.setattr(module, "CHUNK", 64)
    monkeypatch.setattr(reader.os, "cpu_count", lambda: 1)
    losses = np.random.default_rng(0).random((3, 64 * 5), np.float32)
    run, third = write_run(tmp_path / "run", losses), threading.Event()

    def last(loss):
        if (loss[-1] == losses[-1, 128:192]).all():
            third.set()
        return loss[-1]

    results = run.map(last, ["loss"])
    ids, view = next(results)
    assert not third.wait(0.3)
    np.testing.assert_array_equal(view, losses[-1, ids.start : ids.stop])
    assert len(list(results)) == 4


def test_no_run_at_all_is_an_error():
    with pytest.raises(InputError, match="at least one run"):
        score_runs("dual", [])


def test_the_first_epochs_are_a_slice(run):
    blocks = list(run.blocks(["loss"], epochs=5))
    assert len(blocks) == 1
    np.testing.assert_array_equal(blocks[0][1]["loss"], run["loss"][:5])
    scores = from_runs(SCORES["dual"], run, epochs=5, knobs={"window": WINDOW})
    np.testing.assert_array_equal(scores, SCORES["dual"](run["target_prob"][:5], window=WINDOW))


@pytest.mark.parametrize("epochs", [-1, 0, 13])
def test_epochs_that_are_not_there_are_refused(epochs, run):
    with pytest.raises(InputError, match=f"from 1 to 12, got {epochs}"):
        list(run.blocks(["loss"], epochs=epochs))
    with pytest.raises(InputError, match=f"from 1 to 12, got {epochs}"):
        score_runs("dual", [run], epochs=epochs)


def test_a_missing_signal_is_an_error_that_lists_what_is_there(tmp_path):
    run = write_run(tmp_path / "run", trajectories(), signals=("loss",))
    for ask in (lambda: run["margin"], lambda: list(run.blocks(["loss", "margin"]))):
        with pytest.raises(MissingError, match=r"no 'margin'; it has loss, target_prob\. .*margin"):
            ask()
    assert run.has("target_prob")
    assert not run.has("correct")


def test_a_run_without_a_complete_epoch_cannot_be_scored(tmp_path):
    begin(tmp_path / "run", Description(5, 2, ("loss",)), None, 1)
    run = Run(tmp_path / "run")
    assert run.epochs == 0
    assert run["loss"].shape == (0, 5)
    with pytest.raises(MissingError, match="no complete epoch"):
        from_runs(SCORES["dual"], run)


def test_derived_signals_follow_from_the_recorded_ones(tmp_path):
    target, rival, _ = np.random.default_rng(1).dirichlet([1, 1, 1], (12, 40)).T
    target[7, 2], rival[3, 3] = np.nan, target[3, 3]
    run = write_run(tmp_path / "run", -np.log(target.T), np.log(target / rival).T)
    tolerance = {"rtol": 1e-5, "atol": 1e-6}  # recorded in single precision
    np.testing.assert_allclose(run["target_prob"], target.T, **tolerance)
    np.testing.assert_allclose(run["prob_margin"], (target - rival).T, **tolerance)
    right = np.where(np.isnan(target), np.nan, target > rival)
    np.testing.assert_array_equal(run["correct"], right.T)
    assert run["correct"][3, 3] == 0, "a tie is not right"


def test_a_prediction_is_the_label_or_its_rival(large):
    run = Run(large[0])
    label, margin, rival = run["label"], run["margin"], run["rival"]
    np.testing.assert_array_equal(label[:, ::100], np.where(rival < 0, -1, run["labels"])[:, ::100])
    expected = np.where(rival < 0, -1, np.where(margin > 0, label, rival))
    np.testing.assert_array_equal(run["prediction"], expected)


def test_probabilities_are_right_within_two_units_in_the_last_place():
    draw = np.random.default_rng(0)
    losses = np.concatenate(
        [draw.uniform(0, 700, 500), draw.gamma(1, 1, 500), 10.0 ** -draw.uniform(0, 20, 500)]
    )
    losses = np.concatenate([losses, np.arange(0, 1000) * np.log(2) / 2])
    exact = [Decimal(-float(loss)).exp() for loss in losses]
    for given_as in (losses, losses[:, None], losses[::-1][::-1]):
        found = exponential.exp_minus(given_as).reshape(-1)
        error = [abs(Decimal(float(p)) - e) for p, e in zip(found, exact, strict=True)]
        unit = np.spacing(np.array(exact, float))
        assert max(float(e) / u for e, u in zip(error, unit, strict=True)) <= 2


def test_probabilities_at_the_ends_are_one_almost_zero_and_missing():
    found = exponential.exp_minus(np.array([0.0, 1e-300, 708.0, 1e4, 3e38, np.inf, np.nan]))
    assert found[:2].tolist() == [1.0, 1.0]
    assert ((found[2:6] > 0) & (found[2:6] < 1e-307)).all()
    assert np.isnan(found[6])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_have_the_same_bits_with_numba_and_without(dtype, monkeypatch):
    pytest.importorskip("numba")
    losses = np.random.default_rng(0).gamma(1.0, 30.0, (7, 3001)).astype(dtype)
    losses[0, :5] = [0, np.nan, 1e4, 708, np.inf]
    for given_as in (losses, losses[:, ::3], np.asfortranarray(losses)):
        found = []
        for size in (0, 10**18):
            monkeypatch.setattr(exponential, "JIT_FROM", size)
            found.append(exponential.exp_minus(given_as))
        np.testing.assert_array_equal(found[0], found[1])


# Several runs.


def test_scores_of_several_runs_are_the_mean_of_their_scores(tmp_path):
    runs = [write_run(tmp_path / str(seed), trajectories(seed=seed)) for seed in range(3)]
    each = [SCORES["dual"](run["target_prob"], window=WINDOW) for run in runs]
    together = from_runs(SCORES["dual"], *runs, knobs={"window": WINDOW})
    expected = [mean([scores[i] for scores in each]) for i in range(40)]
    np.testing.assert_allclose(together, expected, rtol=1e-12)
    scored = score_runs("dual", runs, given={"window": WINDOW})
    np.testing.assert_array_equal(scored.values, together)
    assert scored.runs == [run.fingerprint for run in runs]


def test_a_sample_that_one_run_could_not_score_has_the_score_of_the_others(tmp_path):
    gappy = trajectories(seed=1)
    gappy[2:, 5] = np.nan
    one, other = write_run(tmp_path / "a", trajectories()), write_run(tmp_path / "b", gappy)
    scores = from_runs(SCORES["dual"], one, other, knobs={"window": WINDOW})
    assert scores[5] == SCORES["dual"](one["target_prob"], window=WINDOW)[5]


def test_a_sample_that_one_run_never_saw_does_not_make_it_a_run_of_other_data(tmp_path):
    unseen = trajectories(seed=1)
    unseen[:, 5] = np.nan
    one, other = write_run(tmp_path / "a", trajectories()), write_run(tmp_path / "b", unseen)
    scores = from_runs(SCORES["confidence"], one, other)
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
        from_runs(SCORES["confidence"], run, other)


def test_runs_of_different_length_need_a_number_of_epochs(tmp_path, run):
    longer = write_run(tmp_path / "longer", trajectories(epochs=15, seed=4))
    with pytest.raises(InputError, match=r"\[12, 15\] epochs; say how many"):
        score_runs("confidence", [run, longer])
    scored = score_runs("confidence", [run, longer], epochs=12)
    expected = (run["target_prob"].mean(0) + longer["target_prob"][:12].mean(0)) / 2
    np.testing.assert_allclose(scored.values, expected, rtol=1e-12)


def test_unknown_names_and_knobs_are_refused_with_what_there_is(run):
    with pytest.raises(InputError, match="no score 'dul'; choose one of dual"):
        score_runs("dul", [run])
    with pytest.raises(InputError, match="dual has no knob 'windw'; it has window"):
        score_runs("dual", [run], given={"windw": 3})
    with pytest.raises(InputError, match="no selector 'best'; choose one of top"):
        select_from("best", [run], None, k=3)
    with pytest.raises(InputError, match="top needs a score"):
        select_from("top", [run], None, k=3)


def test_scores_of_other_runs_or_other_epochs_are_refused(tmp_path, run):
    scored = score_runs("dual", [run])
    other = write_run(tmp_path / "other", trajectories(seed=9))
    with pytest.raises(InputError, match="other runs"):
        select_from("top", [other], scored, k=3)
    with pytest.raises(InputError, match="over 12 epochs, not 5"):
        select_from("top", [run], scored, k=3, epochs=5)


# Coresets.


def test_a_coreset_has_the_ids_of_its_method(run):
    p = run["target_prob"][:11]
    scores, confidence = SCORES["dual"](p, window=4), SCORES["confidence"](p)
    scored = score_runs("dual", [run], epochs=11, given={"window": 4})
    coreset = select_from("beta", [run], scored, k=13, seed=5, given={"c_d": 4.0})
    expected = dualprune.select.beta(scores, confidence, k=13, seed=5, c_d=4.0)
    np.testing.assert_array_equal(coreset.ids, expected)
    np.testing.assert_array_equal(coreset.columns["score"], scores)
    np.testing.assert_array_equal(coreset.columns["confidence"], confidence)
    np.testing.assert_array_equal(coreset.columns["label"], run["labels"])
    assert len(coreset) == 13


def test_the_card_says_where_the_ids_come_from(run):
    scored = score_runs("dual", [run], epochs=11, given={"window": 4})
    coreset = select_from("beta", [run], scored, k=13, seed=5, given={"c_d": 4.0})
    card = coreset.card
    little_endian = b"".join(int(i).to_bytes(8, "little", signed=True) for i in coreset.ids)
    assert card["ids_sha256"] == hashlib.sha256(little_endian).hexdigest()
    assert card["method"] == "dual+beta"
    assert card["knobs"]["score"] == {"window": 4}
    assert card["knobs"]["select"]["c_d"] == 4.0
    assert card["knobs"]["select"]["concentration"] == 15.0
    assert (card["seed"], card["k"], card["samples"], card["epochs"]) == (5, 13, 40, 11)
    assert card["runs"] == [run.fingerprint]
    assert card["versions"]["dualprune"] == version("dualprune")
    assert card["versions"]["numpy"] == np.__version__


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
    coreset = select_from("beta", [run], None, k=7, seed=2)
    p = run["target_prob"]
    best = sorted(range(40), key=lambda i: -dual_by_hand(p.tolist())[i])[:10]
    mu = coreset.card["knobs"]["select"]["mu"]
    assert mu == pytest.approx(mean([mean(p[:, i].tolist()) for i in best]), rel=1e-12)
    assert coreset.card["method"] == "beta"
    expected = dualprune.select.beta(None, SCORES["confidence"](p), k=7, seed=2, mu=mu)
    np.testing.assert_array_equal(coreset.ids, expected)


def test_a_coreset_comes_back_as_it_was_saved(tmp_path, run):
    coreset = select_from("beta", [run], score_runs("dual", [run]), k=13)
    folder = coreset.save(tmp_path / "deep" / "coreset")
    back = Coreset.load(folder)
    assert back.ids.dtype == np.int64
    np.testing.assert_array_equal(back.ids, coreset.ids)
    assert back.card == json.loads(json.dumps(coreset.card))
    assert list(back.columns) == list(coreset.columns)
    for name, values in coreset.columns.items():
        np.testing.assert_array_equal(back.columns[name], values)
    table = pq.read_table(folder / "coreset.parquet")
    assert table.column("id").to_pylist() == list(range(40))
    assert np.flatnonzero(table.column("kept")).tolist() == coreset.ids.tolist()


def test_saving_over_a_coreset_is_refused_and_changes_nothing(tmp_path, run):
    first, second = (select_from("random", [run], None, k=9, seed=seed) for seed in (0, 1))
    folder = first.save(tmp_path / "coreset")
    with pytest.raises(InputError, match="already holds a coreset"):
        second.save(folder)
    np.testing.assert_array_equal(Coreset.load(folder).ids, first.ids)


def test_a_coreset_that_is_not_there_or_not_what_was_written_is_an_error(tmp_path, run):
    with pytest.raises(MissingError, match=r"no card\.json"):
        Coreset.load(tmp_path / "nothing")
    one, other = (select_from("random", [run], None, k=9, seed=seed) for seed in (0, 1))
    folder = one.save(tmp_path / "one")
    elsewhere = other.save(tmp_path / "other")
    (folder / "coreset.parquet").write_bytes((elsewhere / "coreset.parquet").read_bytes())
    with pytest.raises(DamagedError, match="do not match the card"):
        Coreset.load(folder)
    (folder / "coreset.parquet").write_bytes(b"PAR1")
    with pytest.raises(DamagedError, match="is damaged"):
        Coreset.load(folder)


def reasons(coreset):
    return {
        reason: np.flatnonzero(coreset.columns["why"] == reason).tolist()
        for reason in np.unique(coreset.columns["why"])
        if reason
    }


def test_the_reason_of_top_is_top(run):
    coreset = select_from("top", [run], score_runs("dual", [run]), k=5)
    assert reasons(coreset) == {"top": coreset.ids.tolist()}


def test_the_reason_of_a_draw_is_sampled(run):
    for name, scored in (("random", None), ("beta", score_runs("dual", [run]))):
        coreset = select_from(name, [run], scored, k=5)
        assert reasons(coreset) == {"sampled": coreset.ids.tolist()}


def test_what_has_no_weight_is_filled_in_and_counted(tmp_path):
    losses = trajectories()
    losses[:, 10:] = 0.3  # a belief that never moves scores zero
    run = write_run(tmp_path / "run", losses)
    coreset = select_from("beta", [run], score_runs("dual", [run]), k=14)
    why = reasons(coreset)
    assert why["sampled"] == list(range(10))
    assert len(why["filled"]) == coreset.card["filled"] == 4
    assert sorted(why["sampled"] + why["filled"]) == coreset.ids.tolist()


def test_what_was_cut_off_says_so(run):
    scored = score_runs("aum", [run])
    coreset = select_from("stratified", [run], scored, k=12, given={"cut_off": 0.2})
    why = reasons(coreset)
    assert why["cut_off"] == sorted(np.argsort(-scored.values)[:8].tolist())
    assert why["sampled"] == coreset.ids.tolist()
    assert coreset.card["cut_off"] == 8


@pytest.mark.parametrize("unscored", ["keep", "drop"])
def test_what_has_no_score_says_so_whether_kept_or_not(unscored, tmp_path):
    losses = trajectories()
    losses[5:, [3, 30]] = np.nan
    run = write_run(tmp_path / "run", losses)
    scored = score_runs("dual", [run])
    for name in ("top", "beta", "stratified"):
        coreset = select_from(name, [run], scored, k=9, given={"unscored": unscored})
        assert reasons(coreset)["unscored"] == [3, 30]
        assert coreset.card["unscored"] == 2
        assert len({3, 30} & set(coreset.ids.tolist())) == (2 if unscored == "keep" else 0)


# Applying a coreset.


@pytest.fixture
def coreset(run):
    return select_from("random", [run], None, k=9, seed=3)


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


def test_a_list_is_a_dataset_without_targets(coreset):
    small = coreset.apply([f"sentence {i}" for i in range(40)])
    assert list(small) == [f"sentence {i}" for i in coreset.ids]
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


# Without torch.

WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
import numpy as np
from dualprune import Coreset, Run, score, select
from dualprune.method import score_runs, select_from

run = Run(sys.argv[1])
p = run["target_prob"]
by_hand = select.beta(score.dual(p), score.confidence(p), k=9, seed=4)
coreset = select_from("beta", [run], score_runs("dual", [run]), k=9, seed=4)
coreset.save(sys.argv[2])
again = Coreset.load(sys.argv[2])
assert again.ids.tolist() == coreset.ids.tolist() == by_hand.tolist()
assert again.apply(np.arange(40)).tolist() == by_hand.tolist()
try:
    from dualprune import Recorder
except ImportError:
    print(*by_hand)
"""


def python(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_from_a_run_on_disk_to_an_applied_coreset_without_torch(tmp_path, run):
    printed = python(WITHOUT_TORCH, run.path, tmp_path / "coreset")
    expected = select_from("beta", [run], score_runs("dual", [run]), k=9, seed=4)
    assert [int(word) for word in printed.split()] == expected.ids.tolist()


def test_importing_and_using_small_arrays_loads_neither_torch_nor_numba():
    python("""
import sys
import dualprune
assert not {"torch", "numba", "numpy", "pyarrow"} & set(sys.modules), "the package is lazy"
import numpy as np
from dualprune import Coreset, Run, score, select
p = np.random.default_rng(0).random((12, 30))
select.beta(score.dual(p), score.confidence(p), k=9, seed=4)
assert not {"torch", "numba"} & set(sys.modules)
assert set(dualprune.__all__) >= {"Coreset", "Indexed", "Recorder", "Run", "score", "select"}
""")


def test_an_unknown_name_of_the_package_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'prun'"):
        _ = dualprune.prun
