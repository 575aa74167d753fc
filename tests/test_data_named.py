"""Named sets, as they come."""

import gzip
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from dualprune.data import NAMED, decode, load
from dualprune.errors import DamagedError, MissingError
from tests.photos import needs_fashion_mnist, save


def test_digits_are_those_of_scikit_learn_split_once_and_for_all():
    bundled = load_digits()
    train, test = load("digits")
    assert (len(train), len(test)) == (1438, 359)
    assert sorted([*train.source, *test.source]) == list(range(1797))
    shares = np.bincount(test.labels) / np.bincount(bundled.target)
    assert np.abs(shares - 0.2).max() < 1 / 170
    for part in (train, test):
        assert part.pixels.shape == (len(part), 8, 8, 1)
        assert part.pixels.max() == 255
        np.testing.assert_array_equal(part.labels, bundled.target[part.source])
        values = np.rint(part.pixels[..., 0] / 255 * 16)
        np.testing.assert_array_equal(values, bundled.images[part.source])
    assert load("digits")[0].fingerprint == train.fingerprint


@needs_fashion_mnist
def test_fashion_mnist_from_the_real_files(tmp_path):
    train, test = load("fashion-mnist", root=tmp_path)
    assert train.pixels.shape == (60_000, 28, 28, 1)
    assert test.pixels.shape == (10_000, 28, 28, 1)
    assert np.bincount(train.labels).tolist() == [6000] * 10
    assert np.bincount(test.labels).tolist() == [1000] * 10
    assert train.class_names[train.labels[0]] == "Ankle boot"
    assert train.pixels.mean() / 255 == pytest.approx(0.2860, abs=1e-4)
    assert train.pixels.flags.writeable


def idx(magic, *shape, extra=b""):
    header = np.array([magic, *shape], ">u4").tobytes()
    body = np.arange(np.prod(shape)) % 10
    return header + body.astype(np.uint8).tobytes() + extra


@pytest.fixture
def small_fashion(tmp_path, monkeypatch):
    module = import_module("dualprune.data.fashion_mnist")
    monkeypatch.setattr(module, "SAMPLES", {"train": 6, "t10k": 3})
    monkeypatch.setattr(module, "DEBIAN", tmp_path / "debian")
    home = tmp_path / "fashion-mnist"
    home.mkdir()
    for part, count in (("train", 6), ("t10k", 3)):
        (home / f"{part}-images-idx3-ubyte").write_bytes(idx(2051, count, 28, 28))
        (home / f"{part}-labels-idx1-ubyte").write_bytes(idx(2049, count))
    return home


def test_fashion_mnist_plain_or_compressed(small_fashion):
    plain, _ = load("fashion-mnist", root=small_fashion.parent)
    assert plain.pixels[1, 0, :6, 0].tolist() == [4, 5, 6, 7, 8, 9], "784 modulo 10 is 4"
    for file in list(small_fashion.iterdir()):
        subprocess.run(["gzip", file], check=True)
    packed, test = load("fashion-mnist", root=small_fashion.parent)
    assert packed.fingerprint == plain.fingerprint
    assert test.labels.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("train-images-idx3-ubyte", idx(2049, 6, 28, 28)),
        ("train-images-idx3-ubyte", idx(2051, 5, 28, 28)),
        ("train-images-idx3-ubyte", idx(2051, 6, 28, 28)[:-1]),
        ("train-images-idx3-ubyte", idx(2051, 6, 28, 28, extra=b"\0")),
        ("t10k-labels-idx1-ubyte", idx(2049, 3)[:-1] + b"\x0a"),
        ("t10k-labels-idx1-ubyte", b"abc"),
        ("t10k-labels-idx1-ubyte", b""),
        ("t10k-labels-idx1-ubyte.gz", b"not compressed at all"),
    ],
)
def test_damaged_idx_files_are_refused(small_fashion, name, data):
    (small_fashion / name.removesuffix(".gz")).unlink()
    (small_fashion / name).write_bytes(data)
    with pytest.raises(DamagedError, match=name):
        load("fashion-mnist", root=small_fashion.parent)


def test_fashion_mnist_is_downloaded_only_when_asked_for(tmp_path, small_fashion, monkeypatch):
    module = import_module("dualprune.data.fashion_mnist")
    files = {f"{file.name}.gz": file.read_bytes() for file in small_fashion.iterdir()}
    asked = []

    def download(url, path, pinned):
        asked.append((url, pinned))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(files[path.name]))

    monkeypatch.setattr(module, "download", download)
    (tmp_path / "root").mkdir()
    with pytest.raises(MissingError, match="dataset-fashion-mnist"):
        load("fashion-mnist", root=tmp_path / "root")
    assert not asked
    train, _ = load("fashion-mnist", root=tmp_path / "root", download=True)
    assert len(train) == 6
    assert dict(asked) == {
        module._ADDRESS + name: module.PINNED[name.removesuffix(".gz")] for name in files
    }
    assert len(load("fashion-mnist", root=tmp_path / "root", download=True)[0]) == 6
    assert len(asked) == 4


def test_what_is_absent_is_said_with_places_and_ways(tmp_path, small_fashion):
    for file in small_fashion.iterdir():
        file.unlink()
    for name in set(NAMED) - {"digits"}:
        with pytest.raises(MissingError) as told:
            load(name, root=tmp_path)
        assert str(tmp_path) in str(told.value), "where it looked"
        assert any(way in str(told.value) for way in ("--download", "https://", "http://"))


def test_an_unknown_name_is_answered_with_the_known_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingError) as told:
        load("cifra10")
    assert all(name in str(told.value) for name in NAMED)
    with pytest.raises(MissingError, match="digits"):
        load(Path("digits"))


def test_the_root_comes_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("DUALPRUNE_DATA", str(tmp_path / "there"))
    with pytest.raises(MissingError, match=str(tmp_path / "there" / "cifar100")):
        load("cifar100")


def annotate(home, rows):
    (home / "val" / "val_annotations.txt").write_text(
        "".join(f"{name}\t{label}\t0\t0\t63\t63\n" for name, label in rows)
    )


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    module = import_module("dualprune.data.imagenet")
    monkeypatch.setattr(module, "COUNTS", {"tiny-imagenet": (3, 2), "imagenet": (3, 2)})
    home = tmp_path / "tiny-imagenet-200"
    for name in ("n02/images/n02_0", "n01/images/n01_0", "n01/images/n01_10"):
        save(home / "train" / f"{name}.JPEG", size=(64, 64))
    for number in range(2):
        save(home / "val" / "images" / f"val_{number}.JPEG", size=(64, 64))
    annotate(home, [("val_1.JPEG", "n01"), ("val_0.JPEG", "n02")])
    return home


@pytest.mark.usefixtures("tiny")
def test_tiny_imagenet_as_it_comes(tmp_path):
    train, test = load("tiny-imagenet", root=tmp_path)
    assert train.names == (
        "n01/images/n01_0.JPEG", "n01/images/n01_10.JPEG", "n02/images/n02_0.JPEG",
    )  # fmt: skip
    assert train.labels.tolist() == [0, 0, 1]
    assert test.names == ("images/val_0.JPEG", "images/val_1.JPEG")
    assert test.labels.tolist() == [1, 0]
    assert decode(test.files[0], 64).shape == (64, 64, 3)


@pytest.mark.parametrize(
    "row",
    [("val_0.JPEG", "n03"), ("absent.JPEG", "n01"), ("../../train/n01/images/n01_0.JPEG", "n01")],
)
def test_wrong_annotations_are_refused(tmp_path, tiny, row):
    annotate(tiny, [row, ("val_1.JPEG", "n01")])
    with pytest.raises(DamagedError, match="val_annotations"):
        load("tiny-imagenet", root=tmp_path)


def test_half_a_named_set_is_not_that_set(tmp_path, tiny):
    (tiny / "train" / "n02" / "images" / "n02_0.JPEG").unlink()
    with pytest.raises(DamagedError, match=r"expected \(3, 2\).*got \(2, 2\)"):
        load("tiny-imagenet", root=tmp_path)


@pytest.mark.usefixtures("tiny")
def test_imagenet_as_it_comes(tmp_path):
    for name in ("train/n02/a", "train/n01/b", "train/n01/a", "val/n01/v1", "val/n02/v0"):
        save(tmp_path / "imagenet" / f"{name}.JPEG")
    train, test = load("imagenet", root=tmp_path)
    assert train.names == ("n01/a.JPEG", "n01/b.JPEG", "n02/a.JPEG")
    assert test.labels.tolist() == [0, 1]


def test_importing_the_package_loads_no_optional_library():
    loaded = subprocess.run(
        [sys.executable, "-c", "import dualprune.data, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert "dualprune.data.tfjs" in loaded
    assert not {"torch", "PIL", "sklearn"} & set(loaded)
