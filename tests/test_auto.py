"""auto: methods and shares that are found by training on held-out parts of the data."""

import html
from dataclasses import asdict, replace
from math import sqrt
from statistics import mean, stdev

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from dualprune import Coreset, choose, compare, prune, score, select
from dualprune.coreset import Arm, Search, Share, Shares, digest
from dualprune.data import Columns, in_memory, load
from dualprune.errors import DamagedError, InputError
from dualprune.experiments.grid import CANDIDATES, ROUNDS, Row
from dualprune.experiments.results import Line, read
from dualprune.experiments.search import (
    PART,
    SHARE_SEEDS,
    SHARES,
    Ground,
    candidates,
    has_room,
    most_trainings,
    search_method,
    search_share,
)
from dualprune.experiments.setting import Setting, held_out_ids
from dualprune.files import read_json, write_json
from dualprune.method import FLOOR, Method, find_method
from dualprune.report.facts import gather
from dualprune.report.page.steps import another_share, places
from dualprune.report.page.summary import repeat
from dualprune.run import Run
from dualprune.train import Setup, recipes
from dualprune.train.setup import hold_out
from dualprune.workflows import checking
from dualprune.workflows.comparing import grid_of

from .commands import contents, dualprune, files, killed_when

SAMPLES = 240
DIGITS = "tests/runs/digits"
NAMES = [row.name for row in CANDIDATES]


def two_clouds(share_of_noise):
    """Two classes that are easy to tell apart; the labels of some samples are drawn by a coin."""
    rng = np.random.default_rng(3)
    labels = np.arange(SAMPLES) % 2
    x = rng.normal(size=(SAMPLES, 4)) + 3 * labels[:, None]
    noisy = rng.permutation(SAMPLES) < share_of_noise * SAMPLES
    labels = np.where(noisy, rng.integers(0, 2, SAMPLES), labels)
    return pd.DataFrame(x, columns=list("abcd")).assign(label=labels.astype(str)), noisy


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A file in which the hard samples are pure noise."""
    path = tmp_path_factory.mktemp("data") / "clouds.csv"
    two_clouds(0.35)[0].to_csv(path, index=False)
    return path


def words(table, out, *more):
    return ("prune", table, "--label", "label", "--epochs", 12, "--out", out, *more)


AUTO = ("--method", "auto", "--keep", 0.2, "--processes", 1)


@pytest.fixture(scope="module")
def found(table, tmp_path_factory):
    """The folder of a choice by auto, and what the command said."""
    out = tmp_path_factory.mktemp("found") / "out"
    code, printed, said = dualprune(*words(table, out, *AUTO))
    assert (code, printed) == (0, f"{out}\n"), said
    return out, said


def test_where_hard_samples_are_noise_auto_does_not_keep_by_score_alone(found):
    card = Coreset.load(found[0]).card
    reached = {arm.name: arm.accuracies[0] for arm in card.search.arms}
    assert min(reached, key=reached.get) in ("dual", "dyn_unc", "dual+beta, c_D 5.5")
    assert card.search.kept not in ("dual", "dyn_unc")
    noisy = two_clouds(0.35)[1]
    kept, by_score = (
        each.ids for each in (Coreset.load(found[0]), choose(found[0], "dual", keep=48))
    )
    assert noisy[kept].mean() < noisy[by_score].mean()


def test_where_inputs_say_nothing_of_the_labels_random_is_kept(tmp_path):
    frame, _ = two_clouds(1.0)
    coreset = prune(frame, label="label", method="auto", keep=0.2, epochs=12, out=tmp_path)
    assert coreset.card.search.kept == coreset.card.method == "random"
    expected = select.random(frame.label.astype(int), k=48, seed=0, floor=FLOOR)
    np.testing.assert_array_equal(coreset.ids, expected)
    assert str(coreset.card.search).startswith("random was kept: the best candidate was not")


def test_what_is_kept_is_chosen_from_all_data_and_the_same_recording(found):
    out, _ = found
    card = Coreset.load(out).card
    (method,) = (row for row in CANDIDATES if row.name == card.search.kept)
    knobs = {**method.select} | ({} if method.method == "ccs" else {"floor": FLOOR})
    assert knobs.items() <= card.select_knobs.items()
    named = Method(card.score, card.selector, select_knobs=card.select_knobs, reads=card.reads)
    assert choose(out, named, keep=48).card.ids_sha256 == card.ids_sha256
    assert card.runs == [Run(out / "run").fingerprint]


def test_candidates_choose_the_same_share_of_what_their_seed_does_not_hold_out(found, table):
    out, _ = found
    data, _ = load(table, columns=Columns(label="label"))
    run, card = Run(out / "run"), Coreset.load(out).card
    p = run["target_prob"]
    scores, confidence = score.dual(p), score.confidence(p)
    lines = {(line.row, line.seed): line.values for line in read(out / "auto/results.jsonl")}
    for seed in range(ROUNDS[-1]):
        others, judging = held_out_ids(data.labels, PART, seed)
        assert len(judging) == card.search.held_out == SAMPLES // 10
        assert not np.intersect1d(others, judging).size
        k = round(0.2 * len(others))
        expected = {"random": select.random(data.labels[others], k=k, seed=seed, floor=FLOOR)}
        for c_d in (1.0, 3.0, 5.5):
            expected[f"dual+beta, c_D {c_d:g}"] = select.beta(
                *(scores[others], confidence[others]),
                labels=data.labels[others],
                k=k,
                seed=seed,
                c_d=c_d,
                floor=FLOOR,
            )
        for name, ids in expected.items():
            if (name, seed) in lines:
                assert lines[name, seed]["ids_sha256"] == digest(ids)
    judged_by = [data.take(held_out_ids(data.labels, PART, s)[1]) for s in range(ROUNDS[-1])]
    trained = [contents(file) for file in out.glob("auto/**/trained/*/result.json")]
    assert len(trained) == len(lines) == card.search.trainings
    assert {one["settings"]["judged"] for one in trained} <= {d.fingerprint for d in judged_by}
    assert {one["epochs"] for one in trained} == {recipes()["table"].epochs}


def test_the_cost_is_said_first_and_told_in_the_card(found):
    out, said = found
    lines = said.splitlines()
    (first,) = (
        n for n, line in enumerate(lines) if "auto: at most 28 trainings, about 1 min" in line
    )
    assert all(f"{name}" in lines[first] for name in NAMES)
    assert not any("1 of 8: " in line for line in lines[:first])
    card = Coreset.load(out).card
    values = [line.values for line in read(out / "auto/results.jsonl")]
    assert card.search.images == sum(value["forward"] for value in values)
    assert card.trying_passes == card.search.images / SAMPLES
    assert f"trying {card.trying_passes:.3g}" in said


def test_what_was_tried_is_in_the_card_the_page_and_the_terminal(found):
    out, said = found
    search = Coreset.load(out).card.search
    lines = read(out / "auto/results.jsonl")
    assert [arm.name for arm in search.arms] == NAMES
    for arm in search.arms:
        own = [line for line in lines if line.row == arm.name]
        assert arm.accuracies == [line.values["accuracy"] for line in own]
        assert len(arm.accuracies) in ROUNDS
    for text in (said, html.unescape((out / "report.html").read_text("utf-8"))):
        assert str(search) in text
        for row in search.rows():
            assert all(cell in text for cell in row)


def test_commands_on_the_page_repeat_a_c_d_that_was_found(found):
    out, _ = found
    knobs = {"c_d": 1.0, "floor": FLOOR}
    chosen = choose(out, Method("dual", "beta", select_knobs=knobs), keep=48)
    before = Coreset.load(out).card
    card = replace(chosen.card, training=before.training, search=before.search)
    coreset = replace(chosen, card=card)
    assert "--method auto" in repeat(coreset)
    facts = gather(Run(out / "run"), coreset)
    another = str(another_share(facts, places(facts, out)))
    assert another.startswith("dualprune select beta out/run --score dual --c-d 1.0 ")
    plain = replace(coreset, card=replace(card, search=None))
    assert "--method dual+beta" in repeat(plain)


def test_a_second_start_tries_nothing_and_another_choice_is_refused(found, table):
    out, _ = found
    before = {name: file.read_bytes() for name, file in files(out).items()}
    code, printed, said = dualprune(*words(table, out, *AUTO))
    assert (code, printed) == (0, f"{out}\n"), said
    assert "at most" not in said
    kept = Coreset.load(out).card.method
    code, _, said = dualprune(*words(table, out, "--keep", 0.2, "--method", kept))
    assert (code, "another method" in said) == (2, True), said
    code, _, said = dualprune(*words(table, out, "--keep", "auto", "--lose", 1))
    assert (code, "another method and number kept and limit" in said) == (2, True), said
    assert {name: file.read_bytes() for name, file in files(out).items()} == before


def test_a_search_that_was_killed_resumes_to_the_same_choice(found, table, tmp_path):
    """From the recording of another folder, so that what was tried is all that is there."""
    out, results = tmp_path / "out", tmp_path / "out/auto/results.jsonl"
    command = ("prune", table, "--label", "label", "--run", found[0], "--out", out, *AUTO)
    killed_when(lambda: results.exists() and len(read(results)) >= 9, *command)
    before = len(read(results))
    assert before < most_trainings(len(NAMES))
    code, _, said = dualprune(*command)
    assert code == 0, said
    card, whole = Coreset.load(out).card, Coreset.load(found[0]).card
    assert (card.search, card.ids_sha256) == (whole.search, whole.ids_sha256)
    assert "pruned, seed 0" not in said, "it was there before"


@pytest.mark.slow
def test_side_by_side_the_same_is_found(found, table, tmp_path):
    command = ("prune", table, "--label", "label", "--run", found[0], "--out", tmp_path)
    code, _, said = dualprune(*command, *AUTO[:-1], 2)
    assert code == 0, said
    assert Coreset.load(tmp_path).card.search == Coreset.load(found[0]).card.search


def test_a_candidate_that_cannot_keep_to_a_floor_is_left_out(found, table, tmp_path):
    def stop(line):
        raise KeyboardInterrupt(line)

    words = {"label": "label", "run": found[0], "out": tmp_path, "keep": 0.2, "method": "auto"}
    for flags, expected in (({}, NAMES), ({"floor": 3}, [name for name in NAMES if name != "ccs"])):
        with pytest.raises(KeyboardInterrupt) as said:
            prune(table, **words, **flags, tell=stop)
        assert str(said.value).endswith(f"to find which of {'; '.join(expected)}")


REFUSED = {
    "--keep auto": "--keep auto and --lose go together",
    "--keep 0.3 --lose 1": "--keep auto and --lose go together",
    "--keep auto --lose -1": "lose must be from 0 to 100 points of accuracy, got -1.0",
    "--keep auto --lose nan": "lose must be a number from -1e100 to 1e100 or None, got nan",
    "--keep auto --lose 1 --method auto": "tries shares with one method, so name it",
    "--keep auto --lose 1 --prune 0.5": "leave out --prune",
    "--keep 0.3 --method auto --epochs 5": "needs at least 10 epochs, got 5",
    "--keep 0.3 --method Auto": "there is no method 'Auto'",
    "--keep 10 --floor 6": "a floor of 6 per class needs 12 samples, k is 10",
    "--keep auto --lose 1 --floor 90": "tries at most 70% of the 240 samples, which have no room",
}


@pytest.mark.parametrize(("flags", "wrong"), REFUSED.items())
def test_what_cannot_be_found_is_refused_at_once(table, tmp_path, flags, wrong):
    code, printed, said = dualprune(*words(table, tmp_path, *flags.split()))
    assert (code, printed) == (2, ""), said
    assert wrong in said
    assert not files(tmp_path)


def test_choose_trains_nothing_and_takes_the_c_d_that_it_finds():
    auto = choose(DIGITS, "auto", keep=0.3)
    assert auto.card == choose(DIGITS, "dual+beta", keep=0.3).card
    assert auto.card.values["c_d"] > 0


def test_a_method_cannot_be_called_auto_where_nothing_is_found():
    with pytest.raises(InputError, match=r"`dualprune prune DATA --method auto`.* name a method"):
        find_method("auto", 0.7)


def test_a_recipe_with_a_published_c_d_has_one_candidate_less(ground):
    published = replace(ground.setting, train={"select": {"c_d": 5.5}})
    assert list(candidates(published, 0.7)) == [name for name in NAMES if name != "dual+beta"]


# ------------------------------------------------------------- the rules, with accuracies by hand


@pytest.fixture(scope="module")
def ground():
    """A recording without the images; what they would reach is said by hand."""
    run = Run(DIGITS)
    images = in_memory(
        np.zeros((run.samples, 1, 1, 1), np.uint8), run.labels, tuple(map(str, range(10)))
    )
    setting = Setting.of("auto", recipes()["digits"], images, images, seeds=1)
    setting = replace(setting, record=run.epochs, epochs={"early": run.epochs})
    return Ground(setting, (run,), run.epochs, 0)


def telling(accuracy, grids):
    """Give a runner that trains nothing."""

    def run(grid):
        grids.append(grid)
        return [
            Line(*cell.key, {"accuracy": accuracy(cell), "forward": 100}, "", 0, "")
            for cell in grid.cells()
        ]

    return run


def search(ground, accuracy):
    grids = []
    methods = candidates(ground.setting, 0.7)
    return search_method(ground, methods, 0.7, telling(accuracy, grids), print), grids


def test_what_another_recording_or_other_epochs_chose_is_another_training(ground, tmp_path):
    """Else a folder would give the accuracies of one recording to the next."""
    losses = Run(DIGITS)["loss"][:, ::-1]
    other = Run.from_arrays(tmp_path / "run", loss=losses, labels=ground.runs[0].labels)
    grounds = [ground, replace(ground, runs=(other,)), replace(ground, epochs=ground.epochs - 1)]
    methods = {"dual": Method("dual")}
    cells = [next(iter(one.grid("auto", methods, 0.7, 1).cells())) for one in grounds]
    assert len({cell.settings for cell in cells}) == 3


def test_the_better_half_goes_on_with_more_seeds_until_one_is_left(ground):
    reached = {name: 0.5 + 0.01 * number for number, name in enumerate(NAMES)}
    result, grids = search(ground, lambda cell: reached[cell.row.name])
    assert [[row.name for row in grid.rows] for grid in grids] == [
        NAMES,
        ["random", *reversed(NAMES[-3:])],
        ["random", NAMES[-1]],
    ]
    assert [grid.seeds for grid in grids] == list(ROUNDS)
    assert result.kept == NAMES[-1]
    assert result.trainings == most_trainings(len(NAMES)) == 28


def test_random_is_kept_at_once_where_it_is_ahead_with_three_seeds(ground):
    lucky = lambda cell: 0.9 if (cell.row.name, cell.seed) == ("ccs", 0) else 0.5  # noqa: E731
    result, grids = search(ground, lambda cell: 0.8 if cell.row.name == "random" else lucky(cell))
    assert len(grids) == 2
    assert result.kept == "random"


def test_a_lead_that_may_be_chance_is_not_enough(ground):
    def accuracy(cell, wobble):
        gain = 0.01 + wobble * (-1) ** cell.seed
        return 0.5 + (gain if cell.row.name == "ccs" else 0)

    assert search(ground, lambda cell: accuracy(cell, 0.0))[0].kept == "ccs"
    assert search(ground, lambda cell: accuracy(cell, 0.009))[0].kept == "ccs"
    assert search(ground, lambda cell: accuracy(cell, 0.02))[0].kept == "random"


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False))
def test_whatever_is_measured_nothing_worse_than_random_is_kept(ground, chance):
    result, _ = search(ground, lambda cell: chance.choice([0.5, 0.51, 0.6, 0.7]))
    by_name = {arm.name: arm.accuracies for arm in result.arms}
    assert by_name.keys() == set(NAMES)
    assert result.trainings <= most_trainings(len(NAMES))
    assert len(by_name["random"]) == max(map(len, by_name.values()))
    if result.kept != "random":
        gains = np.subtract(by_name[result.kept], by_name["random"])
        assert len(gains) == ROUNDS[-1]
        error = gains.std(ddof=1) / sqrt(len(gains))
        assert gains.mean() > student.ppf(0.95, len(gains) - 1) * error
        most = max(mean(own) for own in by_name.values() if len(own) == len(gains))
        assert mean(by_name[result.kept]) == most


def test_another_seed_holds_out_other_parts(ground):
    grids = [search(replace(ground, seed=seed), lambda _: 0.5)[1][-1] for seed in (0, 1)]
    seeds = [{cell.seed for cell in grid.cells()} for grid in grids]
    assert not seeds[0] & seeds[1]


@pytest.mark.parametrize(
    ("needed", "keep", "tried"),
    [
        (0.02, 0.05, [1.0, 0.1, 0.05]),
        (0.08, 0.1, [1.0, 0.1, 0.05]),
        (0.35, 0.4, [1.0, 0.1, 0.2, 0.3, 0.5, 0.4]),
        (0.45, 0.5, [1.0, 0.1, 0.2, 0.3, 0.5, 0.4]),
        (0.9, 1.0, [1.0, *SHARES]),
    ],
)
def test_the_smallest_share_that_loses_little_is_kept(ground, needed, keep, tried):
    shares = search_share(
        ground,
        lambda pruned: Method("dual", "beta"),
        0.5,
        telling(lambda cell: 0.9 - max(0, needed - (1 - cell.pruned)), []),
        print,
    )
    assert shares.keep == keep
    assert [share.keep for share in shares.tried] == tried
    assert shares.trainings == SHARE_SEEDS * len(tried)
    assert ("everything was kept" in str(shares)) == (keep == 1)


@pytest.mark.parametrize(
    ("floor", "tried"), [(14, [1.0, 0.1]), (30, [1.0, 0.3, 0.25]), (40, [1.0, 0.3]), (120, [1.0])]
)
def test_shares_without_room_for_the_floor_are_left_out(ground, floor, tried):
    """Of 1,438 samples of ten classes, of which each keeps at least so many."""
    method = Method("dual", "beta", select_knobs={"floor": floor})
    shares = search_share(ground, lambda pruned: method, 50, telling(lambda cell: 0.9, []), print)
    assert [share.keep for share in shares.tried] == tried
    assert shares.keep == tried[-1]


@pytest.mark.parametrize(("floor", "least"), [(14, 12), (7, 6), (1, 0)])
def test_a_floor_is_scaled_to_the_part_that_is_chosen_from(ground, floor, least):
    """140 samples have just room for a floor of 14; a tenth of them is held out."""
    method = Method("dual", "top", select_knobs={"floor": floor})
    (row,) = ground.grid("auto", {"dual": method}, 1 - 140 / 1438, 3).rows
    for seed, ids in row.method.selector.ids.items():
        among, _ = held_out_ids(ground.labels, PART, seed)
        scores = score.dual(ground.runs[0]["target_prob"])[among]
        labels = ground.labels[among]
        expected = select.top(scores, labels=labels, k=126, seed=seed, floor=least)
        np.testing.assert_array_equal(ids, expected)


def test_shares_with_too_few_samples_to_train_on_are_left_out():
    """Of 30 samples 27 are chosen from: a twentieth of these is less than two."""
    labels = np.arange(30) % 2
    shares = (0.01, 0.05, 0.07, 0.1)
    has = {keep: has_room(labels, Method("dual"), keep) for keep in shares}
    assert has == {0.01: False, 0.05: False, 0.07: False, 0.1: True}


def test_a_method_that_cuts_off_more_than_a_share_leaves_is_refused_before_it_trains(tmp_path):
    frame, _ = two_clouds(0.0)
    cutting = Method(
        "aum_prob", "stratified", select_knobs={"cut_off": 0.4}, reads={"aum": "aum_prob"}
    )
    with pytest.raises(InputError, match=r"may keep all, but aum_prob\+stratified cuts off 40%"):
        prune(frame, label="label", method=cutting, keep="auto", lose=1.0, out=tmp_path)
    assert not [*tmp_path.iterdir()]


def test_a_recipe_that_was_changed_trains_what_is_tried_and_what_is_checked(ground):
    changed = replace(recipes()["digits"], lr=0.001, epochs=7)
    images = ground.setting.loaded[0]
    setting = Setting.of("auto", changed, images, images, seeds=1)
    assert (setting.trained.lr, setting.trained.epochs) == (0.001, 7)
    coreset = choose(DIGITS, "random", keep=0.3)
    checked = checking._grid(Setup.of(images, None, recipe=changed), coreset, 2).setting.trained
    assert (checked.lr, checked.epochs, checked.judge_every) == (0.001, 7, 7)


def test_no_seed_is_judged_by_the_samples_that_judge_the_check(ground):
    check_part = hold_out(ground.setting.loaded[0])
    for seed in range(ROUNDS[-1]):
        _, judging = held_out_ids(ground.labels, PART, seed)
        assert len(np.intersect1d(judging, check_part)) < len(check_part) / 2


def test_a_loss_counts_with_its_standard_error():
    whole = Share(1.0, 100, [0.9, 0.9, 0.9, 0.9])
    sure, unsure = Share(0.5, 50, [0.896] * 4), Share(0.3, 30, [0.886, 0.906, 0.886, 0.906])
    shares = Shares(0.5, 0.5, 100, [whole, sure, unsure])
    losses = [100 * (0.9 - own) for own in unsure.accuracies]
    error = stdev(losses) / sqrt(4)
    low, high = shares.interval(unsure)
    assert mean(losses) == pytest.approx(shares.loss(unsure).points) == pytest.approx(0.4)
    half = student.ppf(0.975, 3) * error
    assert (low, high) == pytest.approx((mean(losses) - half, mean(losses) + half))
    assert mean(losses) < 0.5 < mean(losses) + error
    assert (shares.is_within(sure), shares.is_within(unsure)) == (True, False)


def test_cards_of_what_was_tried_are_read_as_they_were_written(tmp_path):
    coreset = choose(DIGITS, keep=0.3)
    search = Search("ccs", 10, [Arm("random", 9, [0.5]), Arm("ccs", 9, [0.6])])
    shares = Shares(0.5, 1.0, 10, [Share(1.0, 9, [0.5, 0.6])])
    tried = replace(coreset, card=replace(coreset.card, search=search, shares=shares))
    tried.save(tmp_path)
    assert Coreset.load(tmp_path).card == tried.card
    content = read_json(tmp_path / "card.json")
    assert content["search"] == asdict(search)
    nothing = asdict(Search("random", 10, [Arm("random", 9, [0.5])]))
    nothing["arms"][0]["accuracies"] = []
    for damage in ({"shares": {"lose": "much"}}, {"search": nothing}, {"shares": {"tried": []}}):
        write_json(tmp_path / "card.json", content | damage)
        with pytest.raises(DamagedError, match="card"):
            Coreset.load(tmp_path)
    del content["search"], content["shares"]  # as it was before there was auto
    write_json(tmp_path / "card.json", content)
    assert Coreset.load(tmp_path).card == coreset.card


# ------------------------------------------------------------------------------ shares, and compare


def test_keep_auto_finds_a_share_and_shows_the_curve(found, table, tmp_path):
    lose = ("--keep", "auto", "--lose", 40, "--run", found[0], "--out", tmp_path)
    command = ("prune", table, "--label", "label", *lose, "--processes", 1)
    for _ in range(2):  # again: nothing to do
        code, _, said = dualprune(*command)
        assert code == 0, said
    card = Coreset.load(tmp_path).card
    whole, *tried = card.shares.tried
    lines = read(tmp_path / "auto/results.jsonl")
    assert len(lines) == card.shares.trainings
    assert whole.accuracies == [line.values["accuracy"] for line in lines if line.pruned == 0]
    within = [share.keep for share in tried if card.shares.is_within(share)]
    assert card.shares.keep == min(within)
    assert card.k == round(card.shares.keep * SAMPLES)
    for text in (said, html.unescape((tmp_path / "report.html").read_text("utf-8"))):
        assert str(card.shares) in text
        for row in card.shares.rows():
            assert all(cell in text for cell in row)


COMPARE = {"methods": ["auto", "random"], "keep": [0.2], "seeds": 1}


@pytest.fixture(scope="module")
def compared(table, tmp_path_factory):
    out, said = tmp_path_factory.mktemp("compared"), []
    comparison = compare(table, label="label", out=out, **COMPARE, tell=said.append)
    assert said[0] == "auto: at most 28 trainings for each of 1 shares and seeds"
    return comparison


def test_candidates_with_other_knobs_are_another_search(ground):
    """Else a recipe with another c_D would take over what one without was found to keep."""
    setting = ground.setting
    changed = [
        replace(setting, train={"select": {"c_d": 5.5}}),
        replace(setting, epochs={"early": 15}),
        replace(setting, window=5),
    ]
    cells = [next(grid_of(one, ["auto"], [0.7]).cells()) for one in (setting, *changed)]
    autos = [replace(cell, row=Row("auto", "auto"), pruned=0.7) for cell in cells]
    assert len({cell.settings for cell in autos}) == 4


def test_compare_takes_auto_and_counts_what_it_costs(compared):
    comparison = compared
    lines = {line.row: line.values for line in comparison.lines}
    tried, kept = lines["auto"]["auto"], lines["auto"]["auto"]["kept"]
    assert {arm["name"] for arm in tried["arms"]} == set(NAMES)
    images = sum(arm["images"] * len(arm["accuracies"]) for arm in tried["arms"])
    recorded = recipes()["table"].record * round(0.9 * SAMPLES)
    assert lines["auto"]["recorded"] == images + recorded
    assert f"% pruned: {kept}" in str(comparison)
    if kept == "random":
        assert lines["auto"]["accuracy"] == lines["random"]["accuracy"]


@pytest.mark.slow
def test_a_comparison_killed_while_it_tries_resumes_to_the_same(compared, table, tmp_path):
    command = ("compare", table, "--label", "label", "--method", "auto", "--method", "random")
    command += ("--keep", 0.2, "--seeds", 1, "--processes", 1, "--out", tmp_path)

    def some_are_tried():
        return any(len(read(file)) >= 9 for file in tmp_path.glob("work/*/auto/*/results.jsonl"))

    killed_when(some_are_tried, *command)
    again = compare(table, label="label", out=tmp_path, **COMPARE)
    assert [_reached(line) for line in again.lines] == [_reached(line) for line in compared.lines]


def _reached(line):
    return line.key, line.values["accuracy"], line.values.get("auto")
