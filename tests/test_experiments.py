"""Experiments: every cell once, whatever happens on the way; nothing mixed; tables by hand."""

import contextlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from itertools import combinations, product
from threading import Event
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dualprune.data import CORRUPTIONS, list_training, load
from dualprune.errors import DamagedError, InputError, WriteError
from dualprune.experiments import accuracy, cost, picture, runner
from dualprune.experiments.accuracy import _over_random, _uses
from dualprune.experiments.experiment import experiments, find_experiment
from dualprune.experiments.grid import ANEW, SHORTER, WHOLE, Row, recordings
from dualprune.experiments.kinds import KINDS
from dualprune.experiments.present import tabulate
from dualprune.experiments.removed import _removed
from dualprune.experiments.results import NUMBERS, Line, append, read
from dualprune.experiments.runner import _alone, lines_of, missing, run, workplace
from dualprune.experiments.setting import pixels_of, settings
from dualprune.experiments.table import as_latex, as_markdown
from dualprune.experiments.work import _weights, is_recorded, make_recording, train_on
from dualprune.files import read_json, seal, write_json
from dualprune.train import Result, silent
from tests.photos import BROKEN, make_photos, needs_fashion_mnist

SMALL = "sampling-cifar10"  # few rows
TIMES = ("training_seconds", "recording_seconds")


def smoke(name):
    return find_experiment(name).at("smoke")


def run_here(grid, out):
    with ThreadPoolExecutor(1) as pool:
        return run(grid, out, pool=pool)


def draw(grid, lines, folder, out):
    return list(KINDS[grid.kind].draw(grid, lines, folder, workplace(out)))


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("experiments")


def numbers(lines):
    """What was measured, without the clock."""
    return {
        line.key: {name: value for name, value in line.values.items() if name not in TIMES}
        for line in lines
    }


@pytest.mark.parametrize("name", experiments())
def test_every_experiment_runs_and_is_drawn(name, out):
    grid = smoke(name)
    lines = run_here(grid, out)
    assert {line.key for line in lines} == {cell.key for cell in grid.cells()}
    assert missing(grid, out) == []
    table = tabulate(grid, lines)
    kind = KINDS[grid.kind]
    assert (table is None) == (kind.table is None and (not lines or kind.rows is None))
    if table is not None:
        assert all(entry.ours for row in table.rows.values() for entry in row)
        for name_ in table.rows:
            assert name_ in as_markdown(table)
    folder = out / name
    folder.mkdir()
    drawn = draw(grid, lines, folder, out)
    assert drawn or table is not None
    for path in drawn:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.with_suffix(".svg").stat().st_size > 0


@pytest.mark.parametrize("name", ["removed-images-20", "stability", "overlap", SMALL])
def test_what_is_there_so_far_is_drawn(name, out, tmp_path):
    grid = smoke(name)
    lines = run_here(grid, out)
    for count in (1, len(lines) // 2):
        for some in (lines[:count], lines[count:]):
            draw(grid, some, tmp_path, out)
            table = tabulate(grid, some)
            assert table.rows or "all the data reaches" in table.title


def test_lines_come_in_the_order_of_the_table(out, tmp_path):
    grid = smoke(SMALL)
    lines = run_here(grid, out)
    for line in reversed(lines):
        append(tmp_path / "results.jsonl", line)
    assert [line.key for line in lines_of(grid, tmp_path)] == [cell.key for cell in grid.cells()]


def test_coresets_are_drawn_once_beside_what_is_chosen_while_training(out, tmp_path):
    grid = smoke("dynamic-noise")
    lines = run_here(grid, out)
    drawn = draw(grid, lines, tmp_path, out)
    assert [path.stem for path in drawn][-2:] == ["accuracy-by-images", "uses"]
    uses = _uses([line for line in lines if line.row != WHOLE.name])
    assert list(uses) == ["any coreset", "Random (dynamic)", "InfoBatch", "IES"]
    assert uses["any coreset"].tolist() == [0.0] * 80 + [1.0] * 21


def drawn_by(monkeypatch, module, draw):
    """Give the figures that are drawn, by their names."""
    figures = {}

    def save(figure, path):
        figures[path.name] = figure
        return path, path

    monkeypatch.setattr(module, "save", save)
    list(draw())
    return figures


def test_what_costs_the_same_is_drawn_as_what_is_to_beat(out, tmp_path, monkeypatch):
    grid = smoke(SMALL)
    lines = run_here(grid, out)
    figures = drawn_by(monkeypatch, accuracy, lambda: draw(grid, lines, tmp_path, out))
    axes = figures["accuracy-by-cost"].axes[0]
    assert [line.get_linestyle() for line in axes.lines if line.get_color() == "black"] == [
        "--"
    ] * 2


def test_what_costs_the_same_trains_in_the_batches_of_a_coreset(tmp_path):
    grid = smoke(SMALL)
    setting = replace(grid.setting, train=grid.setting.train | {"batch_at": {"0.9": 8}})
    rows = (Row("Random", "random"), SHORTER, ANEW)
    grid = replace(grid, setting=setting, rows=rows, pruned=(0.5, 0.9), seeds=1, whole=False)
    run_here(grid, tmp_path)
    batches = {}
    for path in workplace(tmp_path).glob("trained/*/result.json"):
        plan = json.loads(path.read_text())["settings"]
        batches.setdefault(plan["recipe"]["batch"], []).append(plan)
    usual = setting.trained.batch
    assert {batch: len(plans) for batch, plans in batches.items()} == {usual: 4, 8: 2}
    lengths = sorted(plan["schedule"] for plan in batches[8])
    assert lengths == [0.48, 5], "12 of the 25 steps of an epoch; 5 epochs of 20 images each"


@pytest.mark.parametrize(
    ("name", "length", "alike"),
    [
        (SMALL, "", ""),
        ("training-length", " for the usual length", ""),
        ("plain-training", "", "; learning rate and augmentation as on all the data"),
    ],
)
def test_what_costs_the_same_says_as_which_rows(name, length, alike, out):
    grid = smoke(name)
    (note,) = accuracy.cost_notes(grid, tabulate(grid, run_here(grid, out)).rows)
    cost = f"training{length} on what is kept at that share, no recording{alike}"
    rows = "all the data, shorter and a new random part every epoch"
    assert note == f"{rows}: as many samples, in as large batches, as {cost}"


def test_densities_start_where_the_paper_lets_them(tmp_path, monkeypatch):
    grid = smoke("densities")
    figures = drawn_by(monkeypatch, picture, lambda: draw(grid, [], tmp_path, tmp_path))
    assert list(figures) == ["densities-cifar10", "densities-cifar100", "densities-C"]
    for figure in figures.values():
        words = {text.get_text() for text in figure.axes[0].get_legend().get_texts()}
        assert "mu 0.25" in words


def test_gains_are_over_what_is_chosen_by_chance_and_trained_alike():
    half = {"epochs": 20}
    rows = [
        Row("Random, half", "random", train=half),
        Row("DUAL, half", "dual", train=half),
        Row("Random", "random"),
        Row("DUAL", "dual"),
        Row("InfoBatch", "infobatch", train={"epochs": 29}),
        Row("DUAL, half, slow", "dual", train=half | {"lr": 0.01}),
        Row("not yet trained", "dual"),
    ]
    names = [row.name for row in rows[:6]]
    reached = dict(zip(names, np.array([1, 2, 4, 8, 16, 32]), strict=True))
    gains = {"DUAL, half": 1, "DUAL": 4, "InfoBatch": 12, "DUAL, half, slow": 31}
    assert _over_random(rows, reached) == gains
    assert _over_random(rows, {"DUAL": reached["DUAL"]}) == {}


def test_equal_scores_weigh_the_same_in_training():
    cell = SimpleNamespace(method=SimpleNamespace(weighted=True))
    for scores, expected in (([0.2, 0.2], [1, 1]), ([0.2, 0.6, 0.4], [0, 1, 0.5])):
        coreset = SimpleNamespace(columns={"score": np.array(scores)})
        np.testing.assert_allclose(_weights(cell, coreset), expected)


def test_kinds_of_corruption_are_drawn_apart(out, tmp_path):
    grid = smoke("removed-images-20")
    lines = run_here(grid, out)
    drawn = draw(grid, lines, tmp_path, out)
    assert [path.stem for path in drawn] == ["removed", "removed-kinds"]
    same = [line for line in lines if line.row == "DUAL"]
    for kind in CORRUPTIONS:
        removed = [line.values["removed"][kind] for line in same]
        assert _removed(same, kind)["DUAL"].tolist() == [removed]


def test_a_cell_begins_as_soon_as_its_own_recording_is_there(tmp_path, monkeypatch):
    begun, seen = Event(), []

    def make_recording(wanted, *_):
        assert wanted.seed == 0 or begun.wait(20)

    def measure(cell, *_):
        seen.append((cell.seed, bool(cell.recordings)))
        if (0, True) in seen:
            begun.set()
        return {"accuracy": 0.5}

    monkeypatch.setattr(runner, "make_recording", make_recording)
    monkeypatch.setattr(runner, "_measure", measure)
    with ThreadPoolExecutor(2) as pool:
        lines = run(replace(smoke("fitting"), seeds=2), tmp_path, pool=pool)
    assert len(lines) == len(seen)
    assert {(0, True), (1, True), (0, False), (1, False)} == set(seen)


class Watched(ThreadPoolExecutor):
    """A pool that knows whether anything was cancelled."""

    def __init__(self):
        super().__init__(1)
        self.cancelled = Event()

    def submit(self, *given):
        future = super().submit(*given)
        future.add_done_callback(lambda each: each.cancelled() and self.cancelled.set())
        return future


def test_the_first_failure_ends_what_has_not_begun_and_keeps_what_is_done(tmp_path, monkeypatch):
    pool, seen = Watched(), []

    def measure(cell, *_):
        seen.append(cell)
        if len(seen) == 3:
            raise ZeroDivisionError
        assert len(seen) < 3 or pool.cancelled.wait(20)
        return {"accuracy": 0.5}

    monkeypatch.setattr(runner, "make_recording", lambda *_: None)
    monkeypatch.setattr(runner, "_measure", measure)
    with pool, pytest.raises(ZeroDivisionError):
        run(smoke("cifar10"), tmp_path, pool=pool)
    assert pool.cancelled.is_set()
    assert len(read(tmp_path / "results.jsonl")) == 2


def reproduce(out, *words):
    command = [sys.executable, "-m", "dualprune", "reproduce", SMALL, "--scale", "smoke"]
    return subprocess.Popen(
        [*command, "--out", str(out), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_killed_while_recording_and_while_training_it_ends_with_the_same_numbers(tmp_path, out):
    for sign in ("recording 1 of", "2 of"):
        with reproduce(tmp_path, "--processes", "1") as process:
            for line in process.stderr:
                if line.startswith(sign):
                    break
            else:
                pytest.fail(f"it ended without {sign!r}")
            process.kill()  # the parent alone: its workers must notice
    with reproduce(tmp_path, "--processes", "2") as process:
        printed, said = process.communicate()
    assert process.returncode == 0, said
    assert "DUAL+beta" in printed
    found = read(tmp_path / "results.jsonl")
    keys = [line.key for line in found]
    assert len(keys) == len(set(keys))
    assert numbers(found) == numbers(run_here(smoke(SMALL), out))


def test_a_recording_without_the_checkpoint_of_its_last_epoch_is_made_again(tmp_path):
    wanted = recordings(list(smoke(SMALL).cells()))[0]
    make_recording(wanted, tmp_path, silent)
    (state,) = tmp_path.glob("recordings/*/checkpoint/state.json")
    content = read_json(state)
    write_json(state, content | {"history": content["history"][:-1]})  # as a kill leaves it
    assert not is_recorded(wanted, tmp_path)
    make_recording(wanted, tmp_path, silent)
    assert is_recorded(wanted, tmp_path)
    assert len(read_json(state)["history"]) == wanted.setting.record


def test_one_recording_serves_every_row():
    wanted = list(smoke("cifar10").cells())
    assert len(recordings(wanted)) == settings()["smoke"].seeds
    assert len({cell.key for cell in wanted}) == len(wanted)


def line(**changes):
    one = Line("e", "smoke", "Random", 0.5, 0, {"accuracy": 0.5}, "settings", NUMBERS, "here")
    return replace(one, **changes)


def test_a_line_that_was_being_written_is_done_again(tmp_path):
    path = tmp_path / "results.jsonl"
    append(path, line())
    whole = path.read_bytes()
    for cut in range(1, len(whole)):
        path.write_bytes(whole + whole[:cut])
        assert read(path) == [line()]
    append(path, line(seed=1))
    assert read(path) == [line(), line(seed=1)]


def test_a_disk_that_becomes_full_is_our_error_and_the_next_line_is_whole(tmp_path):
    path = tmp_path / "results.jsonl"
    append(path, line())
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 40, most))
    try:
        with pytest.raises(WriteError, match=r"cannot write .*results\.jsonl: File too large"):
            append(path, line(seed=1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    assert not path.read_bytes().endswith(b"\n")
    assert read(path) == [line()]
    append(path, line(seed=1))
    assert read(path) == [line(), line(seed=1)]


def test_whatever_one_byte_becomes_it_is_noticed_or_changes_nothing(tmp_path):
    path, lines = tmp_path / "results.jsonl", [line(), line(seed=1)]
    for each in lines:
        append(path, each)
    whole, noticed = path.read_bytes(), []
    with path.open("r+b", buffering=0) as file:
        for position, byte in product(range(len(whole)), range(256)):
            os.pwrite(file.fileno(), bytes([byte]), position)
            try:
                assert read(path) == lines
            except DamagedError as error:
                noticed.append(str(error))
            os.pwrite(file.fileno(), whole[position : position + 1], position)
    assert all(re.search("is damaged: line [12] ", message) for message in noticed)
    assert len(noticed) > 0.9 * 255 * len(whole)


def test_lines_of_format_1_have_no_seal_and_are_read(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(asdict(line())) + "\n")
    append(path, line(seed=1))
    assert read(path) == [line(), line(seed=1)]
    first, second = map(json.loads, path.read_text().splitlines())
    assert "seal" not in first
    assert second.pop("sealed")
    assert second.pop("seal") == seal(second)


def test_a_line_that_lost_a_piece_is_refused_and_not_taken_for_one_of_format_1(tmp_path):
    path = tmp_path / "results.jsonl"
    append(path, line())
    whole = path.read_bytes()
    quotes = [match.start() for match in re.finditer(b'"', whole)]
    for start, end in combinations(sorted([*quotes, *(n + 1 for n in quotes)]), 2):
        with contextlib.suppress(ValueError):
            json.loads(whole[:start] + whole[end:])
            path.write_bytes(whole[:start] + whole[end:])
            with contextlib.suppress(DamagedError):
                assert read(path) in ([], [line()])


def test_a_line_is_added_without_reading_those_before_it(tmp_path):
    path = tmp_path / "results.jsonl"
    with path.open("wb") as file:
        file.truncate(2**43)  # more than fits into memory, and takes no space
        file.seek(0, os.SEEK_END)
        file.write(b"\n")
    append(path, line())
    with path.open("rb") as file:
        file.seek(2**43)
        assert file.readline() == b"\n"
        assert json.loads(file.read())["values"] == line().values


def test_a_damaged_line_is_an_error(tmp_path):
    path = tmp_path / "results.jsonl"
    append(path, line())
    path.write_bytes(path.read_bytes().replace(b"{", b"[", 1))
    with pytest.raises(DamagedError, match="line 1"):
        read(path)


def test_a_sealed_file_that_is_no_result_is_refused(tmp_path):
    write_json(tmp_path / "result.json", {"accuracy": 0.5})
    with pytest.raises(DamagedError, match=r"result\.json is damaged: 'best_accuracy'"):
        Result.load(tmp_path)


@pytest.mark.parametrize(
    ("changed", "what"),
    [({"numbers": NUMBERS - 1}, "versions of the code"), ({"settings": "other"}, "settings")],
)
def test_results_of_other_code_or_settings_are_not_mixed(tmp_path, changed, what):
    grid = smoke(SMALL)
    first = next(grid.cells())
    same = Line(*first.key, {"accuracy": 1.0}, first.settings, NUMBERS, "here")
    append(tmp_path / "results.jsonl", replace(same, **changed))
    with pytest.raises(InputError, match=f"other {what} made"):
        missing(grid, tmp_path)


def test_two_runners_do_not_work_in_one_place(tmp_path):
    with _alone(tmp_path), pytest.raises(InputError, match="another process works"):
        run_here(smoke(SMALL), tmp_path)


def test_a_lock_that_is_a_link_is_refused_and_its_target_left_alone(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    (out / "runner.lock").symlink_to(precious)
    with pytest.raises(WriteError, match=r"runner\.lock: .*remove it"), _alone(out):
        pass
    assert precious.read_text() == "mine"
    (out / "runner.lock").unlink()
    (out / "runner.lock").write_text("what was there")
    with _alone(out):
        assert (out / "runner.lock").read_text() == "what was there"


@pytest.fixture
def used(out, tmp_path):
    """A cell of a dynamic method, its home, and the files of how often samples were used."""
    grid, home = smoke("dynamic-noise"), tmp_path / "home"
    run_here(grid, out)
    shutil.copytree(workplace(out), home)
    cell = next(cell for cell in grid.cells() if cell.row.is_dynamic)
    return cell, home, [*home.glob("trained/*/uses.parquet")]


@pytest.mark.parametrize("damage", ["flipped", "replaced", "lost"])
def test_how_often_samples_were_used_is_checked_by_the_hash_in_the_result(used, damage):
    cell, home, paths = used
    assert len(train_on(cell, home, None, silent)["uses"]) == 101
    for path in paths:
        data = path.read_bytes()
        path.unlink()
        if damage == "flipped":
            path.write_bytes(data[:50] + bytes([data[50] ^ 1]) + data[51:])
        if damage == "replaced":
            pq.write_table(pa.table({"uses": np.arange(9)}), path)
    with pytest.raises(DamagedError, match=r"uses\.parquet"):
        train_on(cell, home, None, silent)


def test_results_of_format_1_do_not_state_that_hash_and_are_read(used):
    cell, home, paths = used
    before = train_on(cell, home, None, silent)
    for path in paths:
        result = read_json(path.parent / "result.json")
        del result["uses_sha256"]
        write_json(path.parent / "result.json", result)
    assert train_on(cell, home, None, silent) == before
    for path in paths:
        pq.write_table(pa.table({"other": np.arange(9)}), path)
    with pytest.raises(DamagedError, match=r"uses\.parquet is damaged"):
        train_on(cell, home, None, silent)


def test_lines_of_other_experiments_are_left_alone(tmp_path):
    append(tmp_path / "results.jsonl", line())
    assert missing(smoke(SMALL), tmp_path) == list(smoke(SMALL).cells())


def table_lines(grid):
    for row in [WHOLE, *grid.rows]:
        for share in [0.0] if row.is_whole else grid.pruned:
            for seed in (0, 1):
                values = {"accuracy": 0.5 + share / 4 + seed / 100}
                yield Line(grid.name, "smoke", row.name, share, seed, values, "", NUMBERS, "")


def test_a_table_shows_mean_deviation_and_what_the_paper_printed():
    grid = smoke("cifar10")
    table = tabulate(grid, list(table_lines(grid)))
    assert table.title.endswith("; training on all the data reaches 50.5 ± 0.7 (95.3)")
    assert [str(entry) for entry in table.rows["DUAL+beta"]] == ["70.5 ± 0.7 (91.4 ± 0.4)"]
    assert table.header == ["pruned", "80%"]
    assert "| DUAL+beta | 70.5 ± 0.7 (91.4 ± 0.4) |" in as_markdown(table)
    assert r"DUAL{+}beta & 70.5 $\pm$ 0.7 (91.4 $\pm$ 0.4) \\" in as_latex(table)
    assert any(note.startswith("AUM: ") for note in table.notes)


def test_a_table_says_in_what_its_rows_differ_from_the_papers():
    for name, note in (
        ("cifar10", "EL2N, here: method el2n"),
        ("equal-iterations", "DUAL+beta, equal iterations, lr 0.05, here: iterations 35, lr 0.05"),
        ("dynamic-cifar10", "InfoBatch, here: epochs 5, from 90% pruned 2"),
    ):
        grid = smoke(name)
        assert note in tabulate(grid, list(table_lines(grid))).notes


def test_brackets_are_spoken_of_where_there_are_some():
    for name, printed in (("cifar10", True), ("ablation-t", False), ("dynamic-cifar10", False)):
        grid = smoke(name)
        assert bool(grid.printed) or not printed
        assert ("in brackets" in tabulate(grid, list(table_lines(grid))).title) == printed


@pytest.mark.parametrize("show", [(), ("--show",)])  # nothing to run first
def test_the_theory_says_when_both_scores_turn(show, dualprune, tmp_path):
    code, printed, said = dualprune("reproduce", "theory", "--out", tmp_path, *show)
    assert code == 0, said
    shown = (tmp_path / "theory-cpu/table.md").read_text()
    assert "| learning rate 0.01, J = 10 | 98 | 11 | 29 |" in shown
    assert "| learning rate 0.0005, J = 10 | 2091 | 320 | 686 |" in shown
    assert "J = 100" in printed


def test_what_seeds_have_in_common_is_one_number_and_how_they_rank_deviates():
    grid = smoke("stability")
    lines = [
        replace(line, values={"overlap_of_seeds": 0.4, "rank_correlation": 0.8 + line.seed / 10})
        for line in table_lines(grid)
        if line.row == "DUAL"
    ]
    rows = tabulate(grid, lines).rows
    assert {name: [str(entry) for entry in row] for name, row in rows.items()} == {
        "in common, two seeds: DUAL": ["0.40"],
        "rank correlation: DUAL": ["0.85 ± 0.07"],
    }


def test_shifts_are_what_they_say_and_the_truth_is_known():
    setting = settings()["smoke"]
    clean, noisy = setting.images({}, 0), setting.images({"labels": 0.2}, 0)
    changed = np.flatnonzero(clean.images.labels != noisy.images.labels)
    assert changed.tolist() == noisy.wrong["labels"].tolist()
    assert len(changed) == 40
    corrupted = setting.images({"images": 0.2}, 0)
    differ = (clean.images.pixels != corrupted.images.pixels).any(axis=(1, 2, 3))
    assert np.flatnonzero(differ).tolist() == corrupted.wrong["images"].tolist()
    tail = setting.images({"tail": 10}, 0).images
    sizes = np.bincount(tail.labels)
    assert sizes[0] == max(sizes)
    assert sizes[-1] == int(sizes[0] / 10)


def test_the_truth_is_stored_beside_the_recording(out):
    grid = smoke("removed-labels-20")
    run_here(grid, out)
    for each in recordings(list(grid.cells())):
        truth = pq.read_table(workplace(out) / f"recordings/{each.digest}.truth.parquet")
        wrong = each.setting.images(each.shift, each.seed).wrong["labels"]
        assert np.flatnonzero(truth.column("labels")).tolist() == wrong.tolist()


def test_the_list_names_every_experiment():
    command = [sys.executable, "-m", "dualprune", "reproduce"]
    printed = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "200"}
    ).stdout
    for experiment in experiments().values():
        assert experiment.name in printed
        assert experiment.at("paper").title in printed
    assert "fig:" not in printed


def test_a_dry_run_counts_what_is_missing(tmp_path):
    with reproduce(tmp_path, "--dry-run") as process:
        printed, said = process.communicate()
    assert process.returncode == 0, said
    assert printed.startswith("2 recordings and 10 trainings are left to do"), printed
    assert not [*tmp_path.iterdir()]


def test_a_dry_run_needs_no_data(dualprune, tmp_path, monkeypatch):
    monkeypatch.setenv("DUALPRUNE_DATA", str(tmp_path / "nothing"))
    words = ("reproduce", "long-tail-cifar10-100", "--dry-run", "--out", tmp_path / "out")
    code, printed, said = dualprune(*words)
    assert (code, said) == (0, "")
    assert printed.startswith("3 recordings and 120 trainings are left to do, about ")


def test_a_plan_counts_what_several_experiments_share_once(dualprune, tmp_path):
    words = ("reproduce", "--dry-run", "--scale", "smoke", "--out", tmp_path / "out")
    code, printed, said = dualprune(*words)
    assert (code, said) == (0, "")
    rows = [line.split() for line in printed.splitlines()[1:]]
    assert [row[0] for row in rows] == list(experiments())
    counts = {row[0]: (int(row[1]), int(row[2])) for row in rows}
    assert counts["moon-evolution"] == (1, 0)
    assert counts["cifar10"][0] == 1, "one of its two recordings is there by then"
    assert counts["cifar100"] != counts["cifar10"]
    seen, cells = set(), set()
    for experiment in experiments().values():
        grid = experiment.at("smoke")
        seen |= {each.digest for each in recordings(list(grid.cells()))}
        if KINDS[grid.kind].trains:
            cells |= {cell.settings for cell in grid.cells() if not cell.row.is_whole}
    assert sum(count for count, _ in counts.values()) == len(seen)
    assert sum(count for _, count in counts.values()) == len(cells)


def test_cells_that_another_experiment_measured_are_copied(tmp_path):
    one = find_experiment("beta-90-cifar10").at("smoke")
    other = replace(one, name="another")
    lines = runner.run(one, tmp_path, pool=runner.InThisProcess())
    shutil.rmtree(tmp_path / "work")
    assert sum(plan.trainings for _, plan in cost.plan("smoke", tmp_path, 1)) < sum(
        plan.trainings for _, plan in cost.plan("smoke", tmp_path / "nothing", 1)
    )
    copied = runner.run(other, tmp_path, pool=runner.InThisProcess())
    assert not (tmp_path / "work").exists(), "nothing was recorded or trained"
    assert [line.values for line in copied] == [line.values for line in lines]
    assert {line.experiment for line in copied} == {"another"}


@pytest.fixture
def files(tmp_path):
    """A setting of image files, as ImageNet comes, and the training images among them."""
    photos = tmp_path / "photos"
    make_photos(photos, each=12)
    (photos / BROKEN).unlink()
    images, test = (list_training(photos) for _ in range(2))
    setting = replace(settings()["smoke"], samples=None, loaded=(images, test))
    return replace(setting, train=setting.train | {"size": 8}), images


def test_image_files_are_corrupted_as_squares_of_the_size_that_is_trained_on(files):
    setting, images = files
    shifted = setting.images({"images": 0.5}, 0)
    clean = pixels_of(images, np.arange(len(images)), 8)
    assert shifted.images.pixels.shape == clean.shape == (len(images), 8, 8, 3)
    differ = (shifted.images.pixels != clean).any(axis=(1, 2, 3))
    assert set(np.flatnonzero(differ)) <= set(shifted.wrong["images"])
    assert len(shifted.wrong["images"]) == len(images) // 2
    setup = setting.setup(shifted, "cnn-small", {})
    assert setup.batches.shape == setup.test_batches.shape == (3, 8)


def test_more_files_than_fit_into_memory_are_not_corrupted(files, monkeypatch):
    monkeypatch.setattr("dualprune.experiments.setting.IN_MEMORY", 100)
    with pytest.raises(InputError, match="only what fits into 0 GiB is corrupted"):
        files[0].images({"images": 0.25}, 0)


@pytest.mark.parametrize(("name", "sheets"), [("kept-and-pruned", 2), ("corruptions", 1)])
def test_pictures_of_image_files_are_drawn(name, sheets, files, tmp_path):
    grid = replace(smoke(name), setting=files[0])
    lines = run_here(grid, tmp_path / "out")
    drawn = draw(grid, lines, tmp_path, tmp_path / "out")
    assert len(drawn) == sheets
    assert all(path.stat().st_size > 1000 for path in drawn)


@pytest.mark.parametrize(
    "name", ["digits", pytest.param("fashion-mnist", marks=needs_fashion_mnist)]
)
def test_the_shapes_of_named_sets_are_known_without_them(name):
    images, _ = load(name)
    assert cost.SETS[name] == (len(images), len(images.class_names), images.pixels.shape[1:])


def test_results_are_json_lines(tmp_path):
    append(tmp_path / "results.jsonl", line())
    (text,) = (tmp_path / "results.jsonl").read_text().splitlines()
    assert json.loads(text)["values"] == {"accuracy": 0.5}
