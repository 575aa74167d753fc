"""What a Recorder wrote, read as signals and scored: by SQL on the same files, too."""

import threading
from decimal import Decimal

import duckdb
import numpy as np
import pytest

import dualprune
from dualprune.errors import InputError, MissingError
from dualprune.method import Arrays
from dualprune.run import Run, exponential, reader
from dualprune.run import part as parts
from dualprune.run.part import CHUNK
from dualprune.run.writer import write_part
from dualprune.score import SCORES
from tests.run_by_hand import start, trajectories, write_run

WINDOW = 3


def copies(**block):
    """Give the arrays of a block in memory of their own: that of a reading is used again."""
    return {name: values.copy() for name, values in block.items()}


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run", trajectories())


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
    scores = Arrays([run]).score(SCORES[name], knobs)
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
    scores = Arrays([Run(recorded)], epochs=5).score(SCORES["dual"], {"window": WINDOW})
    np.testing.assert_allclose(scores, scores_by_sql(first, "dual"), rtol=0, atol=1e-9)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """More samples than a chunk holds, two processes, gaps of every kind."""
    path, samples = tmp_path_factory.mktemp("large") / "run", CHUNK + 1000
    attempt = start(path, samples, 3, ("loss", "margin", "rival"), writers=2)
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
    for ids, block in run.map(copies, names):
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
    scores = Arrays([run]).score(fn, knobs)
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
    held = list(run.map(copies, ["loss"]))
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
        dualprune.choose([], keep=3)
    with pytest.raises(InputError, match="at least one run"):
        Arrays([])


def test_the_first_epochs_are_a_slice(run):
    blocks = list(run.map(copies, ["loss"], epochs=5))
    assert len(blocks) == 1
    np.testing.assert_array_equal(blocks[0][1]["loss"], run["loss"][:5])
    scores = Arrays([run], epochs=5).score(SCORES["dual"], {"window": WINDOW})
    np.testing.assert_array_equal(scores, SCORES["dual"](run["target_prob"][:5], window=WINDOW))


@pytest.mark.parametrize("epochs", [-1, 0, 13])
def test_epochs_that_are_not_there_are_refused(epochs, run):
    with pytest.raises(InputError, match=f"from 1 to 12, got {epochs}"):
        list(run.map(copies, ["loss"], epochs=epochs))
    with pytest.raises(InputError, match=f"from 1 to 12, got {epochs}"):
        dualprune.choose(run, "dual", keep=3, epochs=epochs)


def test_a_missing_signal_is_an_error_that_lists_what_is_there(tmp_path):
    run = write_run(tmp_path / "run", trajectories(), signals=("loss",))
    for ask in (lambda: run["margin"], lambda: list(run.map(copies, ["loss", "margin"]))):
        with pytest.raises(MissingError, match=r"no 'margin'; it has loss, target_prob\. .*margin"):
            ask()
    assert run.has("target_prob")
    assert not run.has("correct")


def test_a_run_without_a_complete_epoch_cannot_be_scored(tmp_path):
    start(tmp_path / "run", 5, 2, ("loss",))
    run = Run(tmp_path / "run")
    assert run.epochs == 0
    assert run["loss"].shape == (0, 5)
    with pytest.raises(MissingError, match="no complete epoch"):
        dualprune.choose(run, "dual", keep=3)


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
