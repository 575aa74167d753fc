"""Arrays in a file."""

import io
import os
import pickle
import zipfile
from importlib import import_module

import numpy as np
import pytest

from dualprune.data import load
from dualprune.errors import InputError, MissingError


def save_npz(path, **arrays):
    np.savez(path / "data.npz", **arrays)
    return path / "data.npz"


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("shape", [(6, 4, 5), (6, 4, 5, 1), (6, 4, 5, 3)])
def test_an_npz_becomes_images(tmp_path, shape, compressed):
    x = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    y = np.array([0, 1, 2, 0, 1, 2], np.int32)
    (np.savez_compressed if compressed else np.savez)(tmp_path / "data.npz", x=x, y=y)
    images, test = load(tmp_path / "data.npz")
    assert test is None
    np.testing.assert_array_equal(images.pixels, x if x.ndim == 4 else x[..., None])
    assert images.labels.tolist() == y.tolist()
    assert images.labels.dtype == np.int64
    assert images.class_names == ("0", "1", "2")


def test_floats_and_class_names_in_an_npz(tmp_path):
    x = np.linspace(0, 1, 256, dtype=np.float32).reshape(4, 8, 8)
    images, _ = load(save_npz(tmp_path, x=x, y=np.array(["dog", "cat", "dog", "ape"])))
    assert images.pixels.ravel().tolist() == list(range(256))
    half_way = np.array([0.49, 0.51, 254.49, 254.51]).reshape(4, 1, 1) / 255
    rounded, _ = load(save_npz(tmp_path, x=half_way, y=np.zeros(4, int)))
    assert rounded.pixels.ravel().tolist() == [0, 1, 254, 255]
    assert images.class_names == ("ape", "cat", "dog")
    assert images.labels.tolist() == [2, 1, 2, 0]


GOOD_X, GOOD_Y = np.zeros((4, 3, 3), np.uint8), np.array([0, 1, 0, 1])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": GOOD_X}, "no y; it has"),
        ({"images": GOOD_X, "labels": GOOD_Y}, "no x and no y"),
        ({"x": GOOD_X.astype(np.int64), "y": GOOD_Y}, "uint8 or floats"),
        ({"x": GOOD_X + 200.0, "y": GOOD_Y}, "from 200.0 to 200.0"),
        ({"x": GOOD_X - 0.1, "y": GOOD_Y}, "floats from 0 to 1"),
        ({"x": np.full((4, 3, 3), np.nan), "y": GOOD_Y}, "floats from 0 to 1"),
        ({"x": np.zeros((4, 3, 8, 8), np.uint8), "y": GOOD_Y}, r"\(4, 3, 8, 8\)"),
        ({"x": np.zeros((4, 9), np.uint8), "y": GOOD_Y}, r"\(4, 9\)"),
        ({"x": np.zeros((0, 3, 3), np.uint8), "y": GOOD_Y[:0]}, r"\(0, 3, 3\)"),
        ({"x": GOOD_X, "y": GOOD_Y[:3]}, r"\(3,\)"),
        ({"x": GOOD_X, "y": np.eye(4)}, r"\(4, 4\)"),
        ({"x": GOOD_X, "y": GOOD_Y - 1}, "from -1 to 0"),
        ({"x": GOOD_X, "y": GOOD_Y * 1000}, "from 0 to 1000"),
        ({"x": GOOD_X, "y": GOOD_Y + 0.5}, "float64"),
    ],
)
def test_an_npz_that_cannot_be_used_says_why(tmp_path, arrays, message):
    with pytest.raises((InputError, MissingError), match=message):
        load(save_npz(tmp_path, **arrays))


class Canary:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("place", ["x", "y", "whole"])
def test_pickles_are_refused_unopened(tmp_path, place):
    canary, file = tmp_path / "canary", tmp_path / "data.npz"
    if place == "whole":
        file.write_bytes(pickle.dumps(Canary(canary)))
    else:
        objects = np.array([Canary(canary)] * 4, dtype=object)
        np.savez(file, **({"x": GOOD_X, "y": GOOD_Y} | {place: objects}))
    with pytest.raises(InputError):
        load(file)
    assert not canary.exists()


def test_a_damaged_npz_is_refused(tmp_path):
    file = save_npz(tmp_path, x=GOOD_X, y=GOOD_Y)
    data = bytearray(file.read_bytes())
    data[data.index(b"NUMPY") + 130] ^= 255
    file.write_bytes(data)
    with pytest.raises(InputError, match="cannot be read"):
        load(file)
    file.write_bytes(data[:100])
    with pytest.raises(InputError, match="not a zip file"):
        load(file)


def test_an_npz_that_would_fill_the_memory_is_not_unpacked(tmp_path, monkeypatch):
    file, x = tmp_path / "data.npz", np.zeros((3000, 32, 32), np.uint8)
    np.savez_compressed(file, x=x, y=np.zeros(3000, np.uint8))
    assert len(load(file)[0]) == 3000
    module = import_module("dualprune.data.npz")
    monkeypatch.setattr(module, "IN_MEMORY", 2**20)
    packed = file.stat().st_size
    message = rf"3,075,256 bytes, the file has {packed:,}; at most 1,048,576 are unpacked"
    with pytest.raises(InputError, match=message):
        load(file)
    np.savez(file, x=x, y=np.zeros(3000, np.uint8))
    assert len(load(file)[0]) == 3000, "a file that is as large as its content may be of any size"
    monkeypatch.setattr(os, "sysconf", lambda _: 1000)
    with pytest.raises(InputError, match=r"the memory of this machine \(1,000,000\)"):
        load(file)


@pytest.mark.parametrize("shape", [(10**9, 10**4), (2**62, 4), (4, 3, 2), (4, 3, 4)])
def test_an_array_of_another_size_than_its_header_states_is_not_unpacked(tmp_path, shape):
    file, content = save_npz(tmp_path, y=GOOD_Y), io.BytesIO()
    header = {"descr": "|u1", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(content, header)
    content.write(bytes(36))
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("x.npy", content.getvalue())
    with pytest.raises(InputError, match=r"x\.npy has 164 bytes, not the .* of an array of uint8"):
        load(file)


def test_class_names_in_an_npz_may_come_from_any_file_system(tmp_path):
    names = np.array([r"caf\udce9", "caf\udce9", "a\\b", "\ud800"])
    images, _ = load(save_npz(tmp_path, x=GOOD_X, y=names))
    assert [images.class_names[label] for label in images.labels] == [
        r"caf\\udce9", r"caf\udce9", r"a\b", r"\ud800"
    ]  # fmt: skip


def test_a_file_in_an_npz_that_is_no_array_is_refused(tmp_path):
    file = save_npz(tmp_path, y=GOOD_Y)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("x.npy", b"no array")
    with pytest.raises(InputError, match=r"cannot be read as an \.npz"):
        load(file)
