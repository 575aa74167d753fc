"""Runs, scores and coresets at URLs: the same as on disk, and errors that say what to do."""

import os
import pickle
import sys
import threading
import traceback
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import fsspec
import numpy as np
import pytest
from upath import UPath

import dualprune
from dualprune import Coreset, Recorder, Run, audit, choose, push, urls
from dualprune.errors import DamagedError, InputError, MissingError, StoreError
from dualprune.files import place
from dualprune.method import Arrays
from dualprune.run import RunWriter
from dualprune.run.part import CHUNK
from dualprune.run.ranges import ranges
from dualprune.score import dual
from tests import commands
from tests.mapping import METHODS, assert_same, in_memory, in_parts, record
from tests.store import SECRET, hang_up, proxy_to, s3_server, status, use

DIGITS = Path(__file__).parent / "runs" / "digits"


@pytest.fixture(scope="module")
def address():
    with s3_server() as address:
        yield address


@pytest.fixture
def s3(address, monkeypatch):
    """Give a bucket of its own for each test."""
    use(monkeypatch, address)
    store, bucket = fsspec.filesystem("s3"), f"b{os.urandom(4).hex()}"
    store.mkdir(bucket)
    return f"s3://{bucket}"


@pytest.fixture
def proxy(address, s3, monkeypatch):
    with proxy_to(address) as (proxy, between):
        use(monkeypatch, between)
        yield proxy


@pytest.fixture(params=["memory", "s3"])
def home(request):
    """Give a URL to write to."""
    if request.param == "s3":
        return request.getfixturevalue("s3")
    return f"memory://{os.urandom(4).hex()}"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return record(tmp_path_factory.mktemp("recorded") / "run")


def test_a_run_at_a_url_holds_the_same(run, home):
    push(run.path, f"{home}/run")
    there = Run(f"{home}/run")
    assert (there.fingerprint, there.epochs) == (run.fingerprint, run.epochs)
    for name in ("loss", "rival", "target_prob", "labels"):
        np.testing.assert_array_equal(there[name], run[name])
    np.testing.assert_array_equal(there.names["name"], run.names["name"])
    np.testing.assert_array_equal(there.unreadable, run.unreadable)
    one, other = audit(there), audit(run)
    for name, column in other.columns.items():
        np.testing.assert_array_equal(one.columns[name], column)


@pytest.mark.parametrize(("name", "knobs"), METHODS[4:5], ids=str)
def test_what_is_chosen_and_written_by_range_is_the_same(run, home, name, knobs):
    push(run.path, f"{home}/run")
    there, out = Run(f"{home}/run"), place(f"{home}/small")
    parts, coreset = ranges(run.samples, 3), in_parts(there, name, knobs, out, count=3)
    assert_same(in_memory(run, name, knobs), out)
    np.testing.assert_array_equal(coreset.columns["score"], Coreset.load(out).columns["score"])
    assert {file.name for file in out.files()} == {
        "card.json",
        *(f"{p.start:012d}.parquet" for p in parts),
    }


def test_commands_print_the_same_of_a_url(home, tmp_path):
    digits, local = Run(DIGITS), tmp_path / "run"
    signals = {name: digits[name][:4] for name in ("loss", "margin", "rival")}
    Run.from_arrays(local, labels=digits.labels, classes=10, **signals)
    assert commands.dualprune("push", local, f"{home}/run")[0] == 0
    for words in (("doctor",), ("audit", "--show", "3"), ("audit", "--epochs", "3")):
        here, there = (commands.dualprune(*words, at) for at in (local, f"{home}/run"))
        assert here[0] == there[0] == 0, there
        printed = there[1].replace(str(place(f"{home}/run")), "RUN").replace(f"{home}/run", "RUN")
        assert printed == here[1].replace(str(local), "RUN")


def test_commands_read_and_write_urls(s3, tmp_path):
    home = s3
    assert commands.dualprune("push", DIGITS, f"{home}/run")[0] == 0
    at = f"{home}/run"
    code, printed, said = commands.dualprune("score", "dual", at, "--out", f"{home}/scores.parquet")
    assert (code, printed.strip()) == (0, str(place(f"{home}/scores.parquet"))), said
    code, default, _ = commands.dualprune("score", "el2n", at)
    assert code == 0
    assert default.startswith(str(place(at)))
    words = ("--keep", "0.3", "--score", f"{home}/scores.parquet", "--out", f"{home}/small")
    code, _, said = commands.dualprune("select", "beta", at, *words)
    assert code == 0, said
    chosen = choose(DIGITS, keep=0.3)
    assert Coreset.load(f"{home}/small").card.ids_sha256 == chosen.card.ids_sha256
    code, _, said = commands.dualprune("report", f"{home}/small", "--run", at)
    assert code == 0, said
    page = place(f"{home}/small/report.html").open().read().decode()
    assert "--keep" in page
    assert str(place(at)) in page
    (tmp_path / "ids.csv").write_text(f"id\n{chosen.ids[0]}\n")
    words = ("--drop", tmp_path / "ids.csv", "--out", f"{home}/edited")
    code, _, said = commands.dualprune("edit", f"{home}/small", *words)
    assert code == 0, said
    np.testing.assert_array_equal(Coreset.load(f"{home}/edited").ids, chosen.ids[1:])
    code, _, said = commands.dualprune("audit", at, "--out", f"{home}/audited")
    assert code == 0, said
    assert place(f"{home}/audited/audit.csv").exists()
    code, _, said = commands.dualprune("select", "beta", at, "--keep", 9, "--out", f"{home}/small")
    assert code == 2
    assert "already holds a coreset" in said


def test_a_coreset_is_saved_and_loaded(home):
    chosen = choose(DIGITS, keep=0.2)
    chosen.save(f"{home}/small")
    assert_same(chosen, f"{home}/small")
    with pytest.raises(InputError, match="already holds a coreset"):
        chosen.save(f"{home}/small")
    with pytest.raises(MissingError, match="there is no coreset at"):
        Coreset.load(f"{home}/other")


def test_a_upath_brings_its_own_options(address, s3, monkeypatch):
    push(DIGITS, f"{s3}/run")
    monkeypatch.setitem(fsspec.config.conf, "s3", {})
    options = {"key": "a", "secret": "b", "endpoint_url": address}
    run = Run(UPath(f"{s3}/run", **options))
    assert run.fingerprint == Run(DIGITS).fingerprint
    assert choose(run, keep=0.1, out=UPath(f"{s3}/small", **options)).card.k == 144
    assert Run(UPath(DIGITS)).path == DIGITS
    assert Run(DIGITS.as_uri()).path == DIGITS


def test_processes_open_the_same_run(run, s3):
    push(run.path, f"{s3}/run")
    there = Run(f"{s3}/run")
    assert pickle.loads(pickle.dumps(there)).fingerprint == run.fingerprint
    expected = Arrays([run]).score(dual)
    for method in ("fork", "spawn"):
        with ProcessPoolExecutor(1, mp_context=get_context(method)) as pool:
            got = Arrays([there], map=pool.map).score(dual)
        np.testing.assert_array_equal(got, expected)


def test_what_others_wrote_since_is_seen(s3, tmp_path):
    writer, url = RunWriter(tmp_path / "run", samples=3, signals=["loss"]), f"{s3}/run"
    for epoch in (1, 2):
        writer.write_epoch({"loss": [0.5, 0.25, 0.125]})
        other = fsspec.filesystem("s3", skip_instance_cache=True)
        other.put(f"{tmp_path}/run/", f"{url}/", recursive=True)
        assert Run(url).epochs == epoch


def test_only_the_row_groups_of_a_range_are_read(proxy, s3, tmp_path):
    losses = np.random.default_rng(0).exponential(size=(2, 2 * CHUNK + 5)).astype(np.float32)
    more = {"entropy": losses, "margin": losses}
    run = Run.from_arrays(tmp_path / "run", loss=losses, **more)
    push(run.path, f"{s3}/run")
    there = Run(f"{s3}/run")
    proxy.requests.clear()
    ids = range(CHUNK + 3, CHUNK + 9)
    ((_, values),) = there.map(lambda loss: loss.copy(), ["loss"], ids=ids)
    np.testing.assert_array_equal(values, losses[:, ids.start : ids.stop])
    column = CHUNK * 4
    assert len(proxy.requests) == 2
    assert all(column <= count < column * 1.01 for _, _, count in proxy.requests)
    proxy.requests.clear()
    list(there.map(lambda loss, margin: None, ["loss", "margin"], ids=ids))
    assert len(proxy.requests) == 2  # columns that lie close together come at once
    assert all(2 * column <= count < 3.01 * column for _, _, count in proxy.requests)


@pytest.mark.parametrize("fault", [status(503, "SlowDown"), hang_up], ids=["503", "hang up"])
def test_a_server_that_fails_every_ninth_time_is_asked_again(proxy, s3, run, fault):
    proxy.answer = lambda handler, number: number % 9 == 0 and fault(handler, number)
    push(run.path, f"{s3}/run")
    there = Run(f"{s3}/run")
    chosen = choose(there, "confidence", keep=9, out=f"{s3}/small")
    assert there.fingerprint == run.fingerprint
    np.testing.assert_array_equal(Coreset.load(f"{s3}/small").ids, chosen.ids)
    np.testing.assert_array_equal(chosen.ids, choose(run, "confidence", keep=9).ids)


def test_errors_of_a_store_are_ours(proxy, s3, run, monkeypatch):
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    push(run.path, f"{s3}/run")
    there, chosen = Run(f"{s3}/run"), choose(run, "confidence", keep=9)
    proxy.answer = status(403, "AccessDenied")
    for attempt in (
        lambda: Run(f"{s3}/run"),
        lambda: there["loss"],
        lambda: chosen.save(f"{s3}/s"),
    ):
        with pytest.raises(StoreError, match=f"{s3}/.*: .*; check the credentials"):
            attempt()
    proxy.answer = status(500, "InternalError")
    with pytest.raises(StoreError, match=r"cannot read .*InternalError.*try again"):
        there["loss"]
    code, _, said = commands.dualprune("doctor", f"{s3}/run")
    assert code == 2
    assert "cannot read" in said
    proxy.answer = lambda handler, number: False
    with pytest.raises(StoreError, match=r"cannot write s3://nobody/.*make the bucket"):
        chosen.save("s3://nobody/small")
    with pytest.raises(MissingError, match="there is no run at s3://nobody/run"):
        Run("s3://nobody/run")


def test_a_server_that_does_not_answer_is_not_waited_for(proxy, s3, run, monkeypatch):
    push(run.path, f"{s3}/run")
    there, end = Run(f"{s3}/run"), threading.Event()
    monkeypatch.setattr(urls, "SECONDS", 1.0)
    proxy.answer = lambda handler, number: not end.wait(60) or hang_up(handler, number)
    for attempt in (lambda: Run(f"{s3}/run"), lambda: there["loss"]):
        with pytest.raises(StoreError, match=r"no answer in time.*check the network"):
            attempt()
    end.set()


def test_a_server_that_is_not_there_is_said(s3, monkeypatch):
    use(monkeypatch, "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(StoreError, match=r"cannot read s3://.*127\.0\.0\.1:1.*try again"):
        Run(f"{s3}/run")


def test_a_flipped_bit_on_the_server_is_found(home, tmp_path):
    losses = np.random.default_rng(0).exponential(size=(3, 500)).astype(np.float32)
    push(Run.from_arrays(tmp_path / "run", loss=losses).path, f"{home}/run")
    part = next(f for f in place(f"{home}/run").files() if "/000002/part" in str(f))
    data = bytearray(part.open().read())
    data[len(data) // 2] ^= 16
    part.write(data)
    with pytest.raises(DamagedError, match=f"{part} is damaged"):
        Run(f"{home}/run")["loss"]
    code, printed, _ = commands.dualprune("doctor", f"{home}/run")
    assert code == 1
    assert f"{part} is damaged" in printed
    data[-20] ^= 1
    part.write(data)
    with pytest.raises(DamagedError, match="footer does not match"):
        Run(f"{home}/run")
    assert push(tmp_path / "run", f"{home}/run").copied == 1
    np.testing.assert_array_equal(Run(f"{home}/run")["loss"], losses)


SECRETS = [
    f"s3://AKIA:{SECRET}@bucket/run",
    f"sftp://me:{SECRET}@host/run",
    f"https://{SECRET.replace('/', '')}@host/run",
    f"https://host/run?X-Amz-Signature={SECRET}",
]


@pytest.mark.parametrize("url", SECRETS)
def test_no_password_is_shown(url, tmp_path, monkeypatch):
    secret = SECRET if SECRET in url else SECRET.replace("/", "")
    for attempt in (
        lambda: Run(url),
        lambda: Coreset.load(url),
        lambda: choose(url, keep=3),
        lambda: choose(DIGITS, keep=3, out=url),
        lambda: push(DIGITS, url),
        lambda: push(url, "memory://x"),
        lambda: Recorder(url, samples=3),
        lambda: RunWriter(url, samples=3, signals=["loss"]),
        lambda: dualprune.prune("digits", keep=0.5, out=url),
        lambda: Run(Path(url)),
    ):
        with pytest.raises(InputError, match=r"\*\*\*") as error:
            attempt()
        assert secret not in "".join(traceback.format_exception(error.value))
    monkeypatch.chdir(tmp_path)
    for words in (
        ("doctor", url),
        ("push", url, "s3://b"),
        ("push", DIGITS, url),
        ("train", "digits", "--out", url),
    ):
        code, printed, said = commands.dualprune(*words)
        assert code == 2
        assert secret not in printed + said
    assert not [*tmp_path.iterdir()]


def test_no_credential_is_written_or_shown(s3, run):
    push(run.path, f"{s3}/run")
    said = [
        *commands.dualprune("select", "random", f"{s3}/run", "--keep", "9", "--out", f"{s3}/small"),
        *commands.dualprune("doctor", f"{s3}/run"),
        *commands.dualprune("doctor", "s3://none/run"),
        repr(Run(f"{s3}/run")),
        repr(place(s3)),
    ]
    assert "no run at s3://none/run" in said[8]
    assert SECRET not in str(said)
    for file in place(s3).files():
        assert SECRET.encode() not in file.open().read()


def test_recording_stays_on_disk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for attempt in (
        lambda: Recorder("s3://bucket/run", samples=3),
        lambda: RunWriter("s3://bucket/run", samples=3, signals=["loss"]),
        lambda: Run.from_arrays("s3://bucket/run", loss=[[1.0]]),
        lambda: dualprune.prune("digits", keep=0.5, out="s3://bucket/run"),
        lambda: dualprune.compare("digits", methods=["random"], keep=[0.5], out="s3://bucket/run"),
    ):
        with pytest.raises(
            InputError, match=r"s3://bucket/run is a URL.*dualprune push FOLDER URL"
        ):
            attempt()
    (tmp_path / "losses.csv").write_text("id,epoch,loss\n0,1,0.5\n")
    for words in (
        ("import", "losses.csv"),
        ("record", "digits"),
        ("prune", "digits", "--keep", "0.5"),
    ):
        code, _, said = commands.dualprune(*words, "--out", "s3://bucket/run")
        assert code == 2
        assert "is a URL" in said
    assert [path.name for path in tmp_path.iterdir()] == ["losses.csv"]


def test_what_is_missing_is_said_in_a_sentence(monkeypatch):
    with pytest.raises(MissingError, match=r"gs://b/run needs gcsfs.*: pip install gcsfs"):
        Run("gs://b/run")
    with pytest.raises(InputError, match=r"nowhere://b/run cannot be used: Protocol not known"):
        Run("nowhere://b/run")
    with pytest.raises(
        InputError, match=r"s3:/b/run looks like a URL that lost a slash.* give it as text"
    ):
        Run(Path("s3://b/run"))
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(import_module("fsspec.registry")._registry, "s3", raising=False)
    with pytest.raises(MissingError, match=r"s3://b/run needs s3fs.*pip install 'dualprune\[s3\]'"):
        Run("s3://b/run")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingError, match=r"pip install 'dualprune\[s3\]'"):
        Run("s3://b/run")
