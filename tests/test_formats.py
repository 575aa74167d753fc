"""What was written in format 1 can be read, and format 2 says what format 1 could not."""

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dualprune import Coreset, Method, Recorder, Run, choose
from dualprune.errors import DamagedError, InputError
from dualprune.files import read_json, write_json
from dualprune.report.facts import gather
from dualprune.report.page.summary import repeat, rows
from dualprune.run.description import FORMAT
from dualprune.run.health import examine
from dualprune.run.writer import write_part
from dualprune.score.scored import Scored
from tests.run_by_hand import NOTHING_ODD, start, trajectories, write_run

HERE = Path(__file__).parent
OLD_RUN = HERE / "runs" / "digits"
OLD = HERE / "format1"


def test_a_run_of_format_1_is_read_with_its_names_and_features():
    run = Run(OLD_RUN)
    assert read_json(OLD_RUN / "run.json")["format"] == run.description.format == 1
    assert sorted(run.names["source"].tolist()) == run.names["source"].tolist()
    assert run.features().shape[0] == 1438
    assert run.signals[0] == "loss"


@pytest.mark.parametrize("name", ["selected", "pruned"])
def test_a_coreset_of_format_1_is_read(name):
    coreset, old = Coreset.load(OLD / name), read_json(OLD / name / "card.json")
    assert "format" not in old
    assert (len(coreset), coreset.card.method) == (old["k"], old["method"])
    assert coreset.card.select_knobs == old["knobs"]["select"]
    assert (coreset.card.score, coreset.card.selector) == ("dual", "beta")
    assert (coreset.card.training is None) == (name == "selected")
    assert set(coreset.columns["why"][coreset.ids]) == {"sampled"}


def test_scores_of_format_1_are_read():
    scored = Scored.load(OLD / "dual.parquet")
    assert (scored.score, scored.epochs, len(scored.values)) == ("dual", 20, 1438)


@pytest.mark.filterwarnings("ignore:.*fair share")
def test_a_coreset_of_format_1_is_chosen_again_from_its_run():
    old = Coreset.load(OLD / "selected")
    assert old.card.runs == [Run(OLD_RUN).fingerprint]
    method = Method("dual", "beta", select_knobs={"c_d": old.card.select_knobs["c_d"]})
    again = choose(OLD_RUN, method, keep=len(old), floor=0, seed=old.card.seed)
    assert again.ids.tolist() == old.ids.tolist()


def test_a_run_of_format_1_is_not_continued(tmp_path):
    old = read_json(OLD_RUN / "run.json")
    write_json(tmp_path / "run.json", old)
    (tmp_path / "attempts").mkdir()
    about = {name: old[name] for name in ("samples", "classes", "signals", "class_names", "data")}
    with pytest.raises(InputError, match="format 1, which is read but not continued"):
        Recorder(tmp_path, **about)


def test_what_is_written_says_format_2(tmp_path):
    run = write_run(tmp_path / "run", trajectories())
    saved = choose(run, "dual+beta", keep=10).save(tmp_path / "coreset")
    assert [read_json(p)["format"] for p in (tmp_path / "run/run.json", saved / "card.json")] == [
        2,
        2,
    ]
    assert read_json(tmp_path / "run/run.json")["signals"] == {"loss": "<f4", "margin": "<f4"}


@pytest.mark.parametrize("newer", [FORMAT + 1, 99])
def test_a_newer_format_is_refused_with_what_to_do(tmp_path, newer):
    run = write_run(tmp_path / "run", trajectories())
    saved = choose(run, "dual+beta", keep=10).save(tmp_path / "coreset")
    for path, load in ((tmp_path / "run/run.json", Run), (saved / "card.json", Coreset.load)):
        content = read_json(path)
        write_json(path, content | {"format": newer})
        with pytest.raises(InputError, match=rf"format {newer}, .* reads formats 1 to 2; pip"):
            load(path.parent)


def test_very_many_samples_are_saved_in_parts_by_id(tmp_path, monkeypatch):
    monkeypatch.setattr("dualprune.coreset.coreset.PART", 16)
    coreset = choose(write_run(tmp_path / "run", trajectories()), "dual+beta", keep=10)
    saved = coreset.save(tmp_path / "coreset")
    names = sorted(path.name for path in (saved / "coreset.parquet").iterdir())
    assert names == [f"{start:012d}.parquet" for start in (0, 16, 32)]
    again = Coreset.load(saved)
    assert again.ids.tolist() == coreset.ids.tolist()
    assert again.to_arrow().equals(coreset.to_arrow())
    assert pq.read_table(saved / "coreset.parquet").sort_by("id").equals(coreset.to_arrow())
    (saved / "coreset.parquet" / names[1]).unlink()
    with pytest.raises(DamagedError, match=r"000000000016\.parquet"):
        Coreset.load(saved)


def test_why_takes_a_byte_per_sample(tmp_path):
    coreset = choose(write_run(tmp_path / "run", trajectories()), "dual+beta", keep=10)
    column = pq.read_table(coreset.save(tmp_path / "coreset") / "coreset.parquet").column("why")
    assert column.type == pa.dictionary(pa.int8(), pa.string())
    assert column.to_pylist() == coreset.columns["why"].tolist()


def test_samples_may_have_no_labels(tmp_path):
    attempt = start(tmp_path / "run", 5, None, ["loss"])
    write_part(attempt, 1, 0, {"id": np.arange(5), "loss": np.arange(5)}, NOTHING_ODD)
    run = Run(tmp_path / "run")
    assert (run.classes, run.has("labels"), run.has("target_prob")) == (None, False, True)
    assert repr(run).endswith("5 samples, 1 epochs; loss)")
    with pytest.raises(LookupError, match="recorded without classes"):
        run["labels"]


def test_an_evaluation_pass_between_epochs_is_marked(tmp_path):
    attempt = start(tmp_path / "run", 2, 2, ["loss"])
    rows = {"id": np.arange(2), "label": np.arange(2), "loss": np.arange(2)}
    write_part(attempt, 1, 0, rows, NOTHING_ODD)
    write_part(attempt, 2, 0, rows, NOTHING_ODD | {"step": 150})
    assert Run(tmp_path / "run").steps == [None, 150]


FORGED = [
    ("samples", -3),
    ("samples", "many"),
    ("samples", True),
    ("classes", 1),
    ("signals", ["loss"]),
    ("signals", {"loss": "|O"}),
    ("class_names", [1, 2]),
    ("mode", 7),
    ("surprise", 1),
]


@pytest.mark.parametrize(("name", "value"), FORGED)
def test_a_forged_run_json_with_a_valid_seal_is_damage(tmp_path, name, value):
    write_run(tmp_path / "run", trajectories())
    path = tmp_path / "run" / "run.json"
    write_json(path, read_json(path) | {name: value})
    with pytest.raises(DamagedError, match=r"run\.json|another run"):
        Run(tmp_path / "run")


def test_more_samples_than_fit_into_memory_are_refused_before_anything_is_read(tmp_path):
    write_run(tmp_path / "run", trajectories())
    path = tmp_path / "run" / "run.json"
    write_json(path, read_json(path) | {"samples": 10**13})
    for read in (Run, examine):
        with pytest.raises(InputError, match=r"10,000,000,000,000 samples, .*would not fit"):
            read(tmp_path / "run")


@pytest.mark.parametrize("name", ["first_epoch", "writers", "identity", "continues", "run"])
@pytest.mark.parametrize("value", [None, -1, "x", [7], [[7]], {}])
def test_a_forged_start_json_with_a_valid_seal_is_our_error(tmp_path, name, value):
    write_run(tmp_path / "run", trajectories())
    path = tmp_path / "run/attempts/0001/start.json"
    content = read_json(path)
    write_json(path, content | {name: value})
    try:
        run = Run(tmp_path / "run")
    except DamagedError:
        return
    assert run.epochs in (0, 12)


def test_a_forged_card_with_a_valid_seal_is_our_error(tmp_path):
    saved = choose(write_run(tmp_path / "run", trajectories()), "dual+beta", keep=10).save(
        tmp_path / "coreset"
    )
    good = read_json(saved / "card.json")
    for name in good:
        for value in (None, -1, "x", [7], {}, {"../run/run.json": "x"}):
            if json.dumps(value) == json.dumps(good[name]):
                continue
            write_json(saved / "card.json", good | {name: value})
            try:
                assert Coreset.load(saved).ids.tolist()
            except (DamagedError, InputError):
                continue
    write_json(saved / "card.json", {n: v for n, v in good.items() if n != "k"})
    with pytest.raises(DamagedError, match="card"):
        Coreset.load(saved)


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ("random", {"score": "dual"}),
        ("random", {"select_knobs": {"name": 1}}),
        ("random", {"runs": [[1]]}),
        ("dual+beta", {"values": {}}),
        ("dual+beta", {"values": {"mu": "x"}}),
        ("dual+beta", {"select_knobs": {}}),
        ("dual+beta", {"select_knobs": {"anchor": 5, "other": 1}}),
        ("dual+beta", {"score_knobs": {"other": 1}}),
        ("dual+beta", {"reads": {"confidence": 3}}),
    ],
)
def test_a_forged_card_is_our_error_or_a_page(tmp_path, method, changes):
    run = Run(Path(__file__).parent / "runs/digits")
    path = choose(run, method, keep=10).save(tmp_path / "coreset") / "card.json"
    write_json(path, read_json(path) | changes)
    with suppress(DamagedError, InputError):
        coreset = Coreset.load(tmp_path / "coreset")
        assert [*rows(gather(run, coreset))]
        assert repeat(coreset)
