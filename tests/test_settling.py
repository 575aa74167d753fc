"""Recordings that stop by themselves: worlds that settle or never do, laws, kills, processes."""

import numpy as np
import pytest
import torch

import dualprune
from dualprune import Coreset, Method, Recorder, Run, prune, score, select, settled
from dualprune.errors import InputError
from dualprune.method import Settling, at_shares, settling
from dualprune.train import Setup, overlaps_recorded, record

from .commands import contents, killed_when, process
from .commands import dualprune as command
from .photos import striped
from .test_prune import TORCHRUN

DIGITS = "tests/runs/digits"
SOON = Method("dual", "beta", score_knobs={"window": 3})
EARLIEST = 1 + settling.PATIENCE  # of a method that never changes its mind


def stops_after(run, method="dual+beta", seed=0):
    """Give the epoch after which a recording would have stopped, None if it would not."""
    run = Run(run) if isinstance(run, str) else run
    watcher = Settling(run.path, at_shares(method, labels=run.has("labels")), seed)
    return next((t for t in range(1, run.epochs + 1) if watcher.settled(t)), None)


def walks(epochs, samples, seed=0):
    """Beliefs that wander."""
    chance = np.random.default_rng(seed)
    steps = chance.normal(0, 0.5, (epochs, samples)) + chance.normal(0, 1, samples) / epochs
    return 1 / (1 + np.exp(-steps.cumsum(axis=0)))


def freezing(epochs, samples, at):
    """Beliefs that wander and stay what they are after this epoch."""
    beliefs = walks(epochs, samples)
    beliefs[at:] = beliefs[at - 1]
    return beliefs


def waking(epochs, samples):
    """Beliefs that rest until their sample's turn, and then swing more than all before."""
    turn = np.arange(samples) * epochs // samples
    swing = 0.45 * 2.0 ** (turn - epochs)
    time = np.arange(epochs)[:, None]
    return 0.5 + np.where(time >= turn, swing * (-1.0) ** time, 0.0)


def run_of(path, beliefs):
    return Run.from_arrays(path, loss=-np.log(beliefs))


# ------------------------------------------------------------------------------------ worlds


def test_beliefs_that_freeze_let_the_recording_stop_soon(tmp_path):
    """When the last window that saw a change is one of many."""
    window = 10
    stop = stops_after(run_of(tmp_path / "run", freezing(40, 400, at=12)))
    assert window + settling.PATIENCE <= stop <= 12 + window


def test_what_wakes_up_anew_in_every_epoch_never_settles(tmp_path):
    run = run_of(tmp_path / "run", waking(30, 600))
    assert stops_after(run) is None
    assert not settled(run)


@pytest.mark.parametrize("seed", [0, 7])
def test_an_overlap_is_what_two_choices_share(tmp_path, seed):
    """By hand: score, draw and compare."""
    beliefs, watched = walks(16, 300), at_shares("dual+beta", labels=False)
    run = run_of(tmp_path / "run", beliefs)
    shared = Settling(run.path, watched, seed).overlaps(14)
    p = run["target_prob"]
    for share, k in (("10%", 30), ("30%", 90), ("50%", 150)):
        after, before = (
            select.beta(score.dual(p[:t]), score.confidence(p[:t]), k=k, seed=seed)
            for t in (14, 13)
        )
        assert shared[share] == len({*after.tolist()} & {*before.tolist()}) / k


def test_before_there_are_two_choices_there_is_nothing_to_compare():
    watcher = Settling(DIGITS, at_shares("dual+beta"), 0)
    assert [bool(watcher.overlaps(epoch)) for epoch in (0, 1, 10, 11)] == [False] * 3 + [True]


def test_a_method_is_watched_once_all_scores_that_it_reads_have_their_window(tmp_path):
    """beta has no score of its own; DUAL, whose window is 10, anchors it."""
    run = run_of(tmp_path / "run", freezing(24, 200, at=12))
    watcher = Settling(run.path, at_shares("beta", labels=False), 0)
    assert [bool(watcher.overlaps(epoch)) for epoch in (2, 10, 11)] == [False, False, True]
    assert stops_after(run, "beta") > 10
    early = run_of(tmp_path / "early", walks(5, 200))
    assert not settled(early, "beta")


# -------------------------------------------------------------------------------------- laws


@pytest.mark.parametrize("world", ["digits", "walks"])
def test_more_patience_and_more_overlap_never_stop_earlier(tmp_path, world, monkeypatch):
    run = Run(DIGITS) if world == "digits" else run_of(tmp_path / "run", walks(24, 200))

    def stop():
        return stops_after(run) or run.epochs + 1

    by_patience, by_overlap = [], []
    for patience in range(1, 5):
        monkeypatch.setattr(settling, "PATIENCE", patience)
        by_patience.append(stop())
    monkeypatch.undo()
    for enough in (0.8, 0.9, 0.95, 1.0):
        monkeypatch.setattr(settling, "ENOUGH", enough)
        by_overlap.append(stop())
    assert by_patience == sorted(by_patience)
    assert by_overlap == sorted(by_overlap)
    assert by_patience[0] < by_patience[-1]


def test_the_order_in_which_samples_are_seen_is_all_the_same(tmp_path):
    losses, chance, stops = -np.log(freezing(24, 200, at=12)), np.random.default_rng(1), []
    for name in ("sorted", "shuffled"):
        with Recorder(tmp_path / name, samples=200, signals=["loss"]) as recorder:
            for row in losses:
                ids = np.arange(200) if name == "sorted" else chance.permutation(200)
                for part in np.array_split(ids, 7):
                    recorder.update_values(part, loss=row[part])
                recorder.end_epoch()
        stops.append(stops_after(Run(tmp_path / name)))
    assert stops[0] == stops[1] is not None


def test_what_was_asked_before_does_not_change_the_answer():
    fresh = [Settling(DIGITS, at_shares(SOON), 0).overlaps(t) for t in range(5, 21)]
    one = Settling(DIGITS, at_shares(SOON), 0)
    assert [one.overlaps(t) for t in range(5, 21)] == fresh
    assert [one.overlaps(t) for t in range(20, 4, -1)] == fresh[::-1]


def test_a_sample_that_an_epoch_missed_is_no_reason_to_fail(tmp_path):
    losses = -np.log(freezing(24, 200, at=12))
    losses[4, :20] = np.nan
    assert stops_after(Run.from_arrays(tmp_path / "run", loss=losses)) is not None


KEEPS = Method("dual", "top", select_knobs={"unscored": "keep"})


@pytest.mark.parametrize("method", ["dual+beta", "dual", "beta", "ccs", KEEPS])
def test_where_too_few_samples_have_a_score_nothing_has_settled_yet(tmp_path, method):
    """A loop that asks after every epoch goes on: they may have one after the next."""
    losses = -np.log(freezing(24, 200, at=2))
    losses[:12, 20:] = np.nan
    run = Run.from_arrays(tmp_path / "run", loss=losses, margin=losses)
    watcher = Settling(run.path, at_shares(method, labels=False), 0)
    assert not any(watcher.settled(epoch) for epoch in range(1, 13))
    assert not watcher.overlaps(12)
    assert watcher.settled(24)


@pytest.mark.parametrize("scored", range(100, 201, 6))
@pytest.mark.parametrize("method", ["ccs-cifar100", "ccs-imagenet"])
def test_a_cut_off_never_leaves_too_few(tmp_path, method, scored):
    """It is a share of all samples, and all that are cut off may have a score."""
    losses = -np.log(freezing(24, 200, at=2))
    losses[:, scored:] = np.nan
    run = Run.from_arrays(tmp_path / "run", loss=losses, margin=losses)
    methods = at_shares(method, labels=False)
    cuts = {share: int(200 * one.select_knobs["cut_off"]) for share, one in methods.items()}
    needed = max(200 * share + cut for share, cut in cuts.items())
    assert bool(Settling(run.path, methods, 0).overlaps(24)) == (scored >= needed)


# ------------------------------------------------------------------------ a loop of one's own


def test_a_loop_breaks_when_it_has_settled(tmp_path):
    beliefs = torch.from_numpy(freezing(40, 200, at=12))
    with Recorder(tmp_path / "run", samples=200, signals=["loss"]) as recorder:
        for row in beliefs:
            recorder.update_values(torch.arange(200), loss=-row.log())
            recorder.end_epoch()
            if dualprune.settled(tmp_path / "run"):
                break
    assert Run(tmp_path / "run").epochs == stops_after(Run(tmp_path / "run")) < 40


# ------------------------------------------------------------------------------ our own loop


@pytest.fixture(scope="module")
def npz(tmp_path_factory):
    images = striped(200, 3)
    path = tmp_path_factory.mktemp("data") / "tiny.npz"
    np.savez(path, x=images.pixels, y=images.labels)
    return path


@pytest.fixture(scope="module")
def stopped(npz, tmp_path_factory):
    """What the command writes and says where nothing can change: random keeps what it keeps."""
    out = tmp_path_factory.mktemp("stopped") / "out"
    words = ("prune", npz, "--keep", "0.3", "--method", "random", "--epochs", "auto", "--out", out)
    return words, out, command(*words)


def test_run_card_page_and_terminal_say_that_it_stopped_by_itself(stopped):
    _, out, (code, _, said) = stopped
    assert code == 0, said
    card = Coreset.load(out).card
    assert Run(out).epochs == card.epochs == card.training.epochs == EARLIEST
    assert card.training.overlaps == overlaps_recorded(out / "run")
    assert card.training.overlaps == {"10%": 1.0, "30%": 1.0, "50%": 1.0}
    assert card.recording_passes == EARLIEST
    line = f"stopped by itself after {EARLIEST} epochs"
    assert said.count(line) == 1
    assert line in (out / "report.html").read_text()
    history = contents(out / "run/checkpoint/state.json")["history"]
    assert [row["settled"] for row in history] == [False] * (EARLIEST - 1) + [True]


def test_the_same_request_again_is_the_same_and_another_is_refused(stopped):
    words, out, _ = stopped
    before = (out / "card.json").read_bytes()
    code, _, said = command(*words)
    assert code == 0, said
    assert (out / "card.json").read_bytes() == before
    assert Run(out).epochs == EARLIEST
    code, _, said = command(*words[:6], "--epochs", "30", "--out", out)
    assert code == 2
    assert "with another number of epochs" in said


def test_its_page_repeats_it_with_the_number_of_epochs(stopped, npz, tmp_path):
    """The schedule of the learning rate is the recipe's either way."""
    _, out, _ = stopped
    again = prune(npz, keep=0.3, method="random", epochs=EARLIEST, out=tmp_path / "again")
    np.testing.assert_array_equal(Run(tmp_path / "again")["loss"], Run(out)["loss"])
    assert again.card.ids_sha256 == Coreset.load(out).card.ids_sha256
    assert again.card.training.stopped == ""


def test_what_never_settles_is_recorded_as_long_as_the_recipe_says(npz, tmp_path, monkeypatch):
    monkeypatch.setattr(settling, "ENOUGH", 1.01)
    setup = Setup.load(npz)
    run = record(setup, tmp_path / "run", epochs="auto", method=SOON)
    assert run.epochs == setup.recipe.record
    assert overlaps_recorded(run.path) == {}


RECORD = ("--epochs", "auto", "--method", "dyn_unc+top", "--out")


@pytest.fixture(scope="module")
def whole(npz, tmp_path_factory):
    """A recording that stopped by itself and was never interrupted."""
    out = tmp_path_factory.mktemp("whole") / "run"
    code, _, said = command("record", npz, *RECORD, out)
    assert code == 0, said
    assert overlaps_recorded(out)
    return out


@pytest.mark.parametrize("sign", ["checkpoint/{:06d}.safetensors", "attempts/*/{:06d}/*.parquet"])
def test_a_recording_that_was_killed_stops_at_the_same_epoch(npz, whole, tmp_path, sign):
    """Killed with an epoch in the checkpoint, or recorded and perhaps not in the checkpoint."""
    run, stop = tmp_path / "run", Run(whole).epochs
    killed_when(lambda: [*run.glob(sign.format(stop - 1))], "record", npz, *RECORD, run)
    code, _, said = command("record", npz, *RECORD, run)
    assert code == 0, said
    assert Run(run).epochs == stop
    np.testing.assert_array_equal(Run(run)["loss"], Run(whole)["loss"])
    histories = [contents(path / "checkpoint/state.json")["history"] for path in (whole, run)]
    assert [row["overlaps"] for row in histories[0]] == [row["overlaps"] for row in histories[1]]


def test_processes_agree_when_to_stop(npz, tmp_path):
    words = ("record", npz, "--epochs", "auto", "--method", "random", "--out", tmp_path / "run")
    code, _, said = process(*TORCHRUN, *words)
    assert code == 0, said
    assert Run(tmp_path / "run").epochs == EARLIEST
    assert len(overlaps_recorded(tmp_path / "run")) == len(settling.SHARES)


# ---------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("method", "why"),
    [
        ("boss-10", "says itself how many epochs it uses"),
        ("forgetting+bws", "needs features"),
        ("forgetting-5", "needs several recordings"),
    ],
)
def test_methods_that_cannot_be_watched_are_refused_at_once(tmp_path, method, why):
    for words in (["prune", "nowhere.npz", "--keep", "0.3"], ["record", "nowhere.npz"]):
        more = ["--method", method, "--epochs", "auto", "--out", tmp_path / "out"]
        code, _, said = command(*words, *more)
        assert code == 2
        assert why in said
    assert not (tmp_path / "out").exists()


def test_what_makes_no_sense_is_refused(npz, stopped, tmp_path):
    new = tmp_path / "out"
    with pytest.raises(InputError, match="epochs must be a whole number"):
        prune(npz, keep=0.3, epochs="soon", out=new)
    with pytest.raises(InputError, match="is recorded already; leave out epochs"):
        prune(npz, keep=0.3, epochs="auto", run=stopped[1], out=new)
    with pytest.raises(InputError, match="features need a number of epochs"):
        record(Setup.load(npz), new, epochs="auto", features=[3])
    both = ("--method", "dual+beta", "--method", "tdds")
    code, _, said = command("record", npz, *both, "--epochs", "auto", "--out", new)
    assert code == 2
    assert "watches one method" in said
    assert not new.exists()
