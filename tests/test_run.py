"""What a Run says of itself, and the table of signals behind it."""

import numpy as np
import pytest

from dualprune import Coreset, Run, audit, choose
from dualprune.data import load
from dualprune.errors import DamagedError, InputError, MissingError
from dualprune.run import part as parts
from dualprune.run import reader
from dualprune.run.derived import DERIVED
from dualprune.run.signals import COLUMNS, DEFAULT, SIGNALS, all_missing, column_of
from dualprune.run.writer import write_part
from dualprune.score.scored import Scored
from dualprune.signatures import inputs
from tests.run_by_hand import NOTHING_ODD, start, trajectories, write_run


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run", trajectories())


def test_a_run_says_what_it_holds_in_one_line(run):
    assert run.signals == ("loss", "margin")
    assert run.classes == 2
    expected = f"Run('{run.path}': 40 samples of 2 classes, 12 epochs; loss, margin)"
    assert repr(run) == expected


def test_labels_are_read_once_and_cannot_be_overwritten(run, monkeypatch):
    labels = run.labels
    monkeypatch.setattr(parts.Part, "read", None)
    assert run.labels is labels
    assert labels.tolist() == [0, 1] * 20
    with pytest.raises(ValueError, match="read-only"):
        labels[0] = 1


def test_the_array_of_labels_by_name_is_the_caller_s_own(run):
    mine = run["labels"]
    mine[:] = 7
    assert run["labels"].tolist() == run.labels.tolist() == [0, 1] * 20


def test_a_map_without_signals_calls_the_function_for_every_range(tmp_path, monkeypatch):
    for module in (parts, reader):
        monkeypatch.setattr(module, "CHUNK", 16)
    run = write_run(tmp_path / "run", trajectories())
    ranges = [(0, 16), (16, 32), (32, 40)]
    assert [((ids.start, ids.stop), n) for ids, n in run.map(lambda: 5, [])] == [
        (ends, 5) for ends in ranges
    ]


def test_what_is_stored_has_the_type_that_the_table_states(tmp_path):
    columns = {name: np.zeros(3) for name in (*COLUMNS, "my_signal")} | {"id": np.arange(3)}
    attempt = start(tmp_path / "run", 3, 2, [*SIGNALS, "my_signal"])
    write_part(attempt, 1, 0, columns, NOTHING_ODD)
    (path,) = attempt.folder.rglob("*.parquet")
    names = list(columns)
    _, stored = parts.Part.open(path, {}, 3).read(0, names)
    types = {name: values.dtype.str for name, values in zip(names, stored, strict=True)}
    integers = {"id": "<i8", "label": "<i4", "rival": "<i4"}
    assert types == {name: integers.get(name, "<f4") for name in names}
    assert types == {name: column_of(name).dtype for name in names}


def test_missing_is_nan_and_minus_one_among_integers():
    for name in (*SIGNALS, "label", "my_signal"):
        values = all_missing(name, (2, 3))
        assert values.shape == (2, 3)
        assert (values == -1 if values.dtype.kind == "i" else np.isnan(values)).all(), name


def test_derived_signals_are_made_of_columns_in_the_table():
    for fn in DERIVED.values():
        assert inputs(fn).keys() <= COLUMNS.keys()
    assert not DERIVED.keys() & COLUMNS.keys()


def test_the_table_and_the_functions_that_compute_it_have_the_same_names():
    pytest.importorskip("torch")
    from dualprune.record.signals import make_signals  # noqa: PLC0415 - needs torch

    deferred, immediate = make_signals(list(SIGNALS), samples=2, classes=2, writers=1)
    assert {*deferred, *immediate} == SIGNALS.keys()
    assert DEFAULT == ("loss", "margin", "rival", "entropy", "error_norm")


def test_a_signal_that_is_not_there_is_named_with_those_that_are(tmp_path):
    run = write_run(tmp_path / "run", trajectories(), signals=("margin",))
    with pytest.raises(MissingError, match=r"no 'target_prob'; it has margin, correct\."):
        run["target_prob"]


@pytest.mark.parametrize("name", [None, 3, b"loss", ["loss"], {"loss"}, np.arange(3), np.zeros(0)])
def test_what_is_no_name_of_a_signal_is_refused(run, name):
    for call in (run.has, run.__getitem__):
        with pytest.raises(InputError, match="name must be text, got"):
            call(name)


@pytest.mark.parametrize("epochs", [2.0, True, "2", (1, 2), {1}, [], np.arange(3), np.float32(1)])
def test_what_is_no_number_of_epochs_is_refused(run, epochs):
    for call in (run.features, lambda epochs: run.map(len, ["loss"], epochs=epochs)):
        with pytest.raises(InputError, match=r"epochs must be a whole number .* or None, got"):
            call(epochs)


@pytest.mark.parametrize("path", ["a\0b", "\ud800", b"run", 3, None, [b"run"]])
def test_what_is_no_path_is_refused(path):
    for call in (Run, Coreset.load, Scored.load, load, audit, lambda path: choose(path, keep=9)):
        with pytest.raises(InputError, match=r"(path|data|run|runs) must be .*a path.*, got"):
            call(path)


def test_a_path_that_no_system_can_have_is_not_read():
    for call in (Run, Coreset.load, Scored.load, load, audit):
        with pytest.raises(DamagedError, match=r"cannot read 9+.*: File name too long"):
            call("9" * 5000)


def test_a_user_that_does_not_exist_has_no_data():
    with pytest.raises(MissingError, match="there is no data '~nobody here/x'"):
        load("~nobody here/x")
