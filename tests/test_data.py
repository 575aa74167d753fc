"""Named sets, folders and arrays become the same thing: labelled images, numbered from 0."""

import gzip
import os
import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from dualprune.data import (
    NAMED,
    decode,
    flip_labels,
    in_memory,
    load,
    long_tail,
    validation_split,
)
from dualprune.data.decode import readable
from dualprune.errors import DamagedError, InputError, MissingError
from dualprune.select import random

DEBIAN = Path("/usr/share/datasets/fashion-mnist")


def picture(mode="RGB", size=(9, 7), seed=0):
    rng = np.random.default_rng(seed)
    image = Image.fromarray(rng.integers(0, 256, (size[1], size[0], 4), np.uint8), "RGBA")
    return image.convert("RGB").convert(mode) if mode == "P" else image.convert(mode)


def save(path, mode="RGB", size=(9, 7), seed=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    picture(mode, size, seed).save(path)


@pytest.fixture
def photos(tmp_path):
    """Two classes of pictures of all kinds, one broken picture, one class without any."""
    folder = tmp_path / "photos"
    save(folder / "cat" / "b.png", "L", (12, 5))
    save(folder / "cat" / "A file with spaces.JPEG", "RGB", (30, 40))
    save(folder / "cat" / "deep" / "c.jpg", "L", (8, 8))
    save(folder / "Käfer и жук" / "größe.PNG", "RGBA", (7, 21))
    save(folder / "Käfer и жук" / "palette.png", "P", (16, 9))
    (folder / "cat" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and then nothing")
    (folder / "cat" / "notes.txt").write_text("not an image")
    (folder / "nothing here").mkdir()
    return folder


@pytest.fixture
def loaded(photos):
    with pytest.warns(UserWarning, match="photos") as warned:
        images, test = load(photos)
    assert test is None
    return images, [str(warning.message) for warning in warned]


# Folders


def test_a_folder_becomes_its_sorted_classes_and_files(photos, loaded):
    images, _ = loaded
    assert images.class_names == ("Käfer и жук", "cat", "nothing here")
    assert images.names == (
        "Käfer и жук/größe.PNG",
        "Käfer и жук/palette.png",
        "cat/A file with spaces.JPEG",
        "cat/b.png",
        "cat/deep/c.jpg",
    )
    assert images.labels.tolist() == [0, 0, 1, 1, 1]
    assert images.labels.dtype == images.source.dtype == np.int64
    assert images.files == tuple(photos / name for name in images.names)
    assert images.pixels is None


def test_what_is_left_out_or_empty_is_counted_and_named(photos, loaded):
    images, (broken, empty) = loaded
    assert str(photos) in broken
    assert "unreadable" in broken
    assert "(1): 'cat/broken.png'" in broken
    assert "(1): 'nothing here'" in empty
    assert images.source.tolist() == [0, 1, 2, 3, 5], "the broken one was the fifth"


def test_truncated_images_are_left_out(tmp_path):
    save(tmp_path / "a" / "good.jpg", size=(300, 200))
    for name in ("a/short.jpg", "a/short.png"):
        save(tmp_path / name, size=(300, 200))
        data = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(data[: len(data) // 2])
    with pytest.warns(UserWarning, match=r"\(2\): 'a/short.jpg', 'a/short.png'"):
        images, _ = load(tmp_path)
    assert images.names == ("a/good.jpg",)


def test_too_little_memory_says_nothing_of_a_file(tmp_path, monkeypatch):
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")

    def full(*_):
        raise MemoryError

    monkeypatch.setattr(import_module("dualprune.data.decode"), "_load", full)
    with pytest.raises(MemoryError):
        readable(tmp_path / "a.png")


@pytest.mark.parametrize("place", ["pixels", "checksum"])
def test_a_damaged_png_is_not_readable(tmp_path, place):
    save(tmp_path / "a.png", size=(40, 40))
    data = bytearray((tmp_path / "a.png").read_bytes())
    data[len(data) // 2 if place == "pixels" else data.index(b"IEND") - 5] ^= 1
    (tmp_path / "a.png").write_bytes(data)
    assert not readable(tmp_path / "a.png")


def test_only_common_formats_are_opened(tmp_path):
    picture().save(tmp_path / "a.png", format="PPM")
    assert not readable(tmp_path / "a.png"), "Pillow knows formats that run other programs"


def test_hidden_things_and_pipes_are_passed_over(tmp_path):
    for name in ("a/x.png", "a/.x.png", ".cache/x.png", "a/.cache/x.png"):
        save(tmp_path / name)
    os.mkfifo(tmp_path / "a" / "pipe.png")
    (tmp_path / "a" / "folder.png").mkdir()
    images, _ = load(tmp_path)
    assert images.names == ("a/x.png",)
    assert images.class_names == ("a",)


def test_control_characters_in_names_do_not_reach_the_terminal(tmp_path):
    save(tmp_path / "a" / "x.png")
    (tmp_path / "a" / "\x1b[2Jy.png").write_bytes(b"")
    with pytest.warns(UserWarning, match="unreadable") as warned:
        load(tmp_path)
    assert "\x1b" not in str(warned[0].message)


def test_many_broken_files_are_counted_but_not_all_named(tmp_path):
    save(tmp_path / "a" / "x.png")
    for number in range(50):
        (tmp_path / "a" / f"{number}.png").write_bytes(b"")
    with pytest.warns(UserWarning, match=r"\(50\): .* and 30 more"):
        load(tmp_path)


def test_a_folder_without_images_is_refused(tmp_path):
    with pytest.raises(InputError, match="one sub-folder of images per class"):
        load(tmp_path)
    (tmp_path / "cat").mkdir()
    with pytest.raises(InputError, match="no readable image"):
        load(tmp_path)


@pytest.mark.parametrize("second", ["test", "val"])
def test_train_and_test_folders_are_used(tmp_path, second):
    for name in ("train/a/1.png", "train/b/1.png", f"{second}/b/2.png"):
        save(tmp_path / name)
    save(tmp_path / f"{second}/a/3.png")
    train, test = load(str(tmp_path))
    assert train.names == ("a/1.png", "b/1.png")
    assert test.names == ("a/3.png", "b/2.png")
    assert test.class_names == train.class_names == ("a", "b")


def test_test_goes_before_val_and_a_class_may_be_called_train(tmp_path):
    for name in ("train/a/1.png", "test/a/2.png", "val/a/3.png"):
        save(tmp_path / "sets" / name)
    assert load(tmp_path / "sets")[1].names == ("a/2.png",)
    for name in ("train/1.png", "test/2.png"):
        save(tmp_path / "vehicles" / name)
    images, test = load(tmp_path / "vehicles")
    assert images.class_names == ("test", "train")
    assert test is None


@pytest.mark.parametrize("out", ["", "new", "cat", "cat/new", "dog/../new"])
def test_nothing_is_written_among_the_images(photos, out):
    before = sorted(photos.rglob("*"))
    with pytest.raises(InputError, match=r"is among the images of .*; choose a folder outside"):
        load(photos, out=photos / out)
    assert sorted(photos.rglob("*")) == before


@pytest.mark.parametrize("out", ["../new", "../photos-2", ".hidden", ".hidden/new"])
@pytest.mark.filterwarnings("ignore:left out", "ignore:classes")
def test_beside_the_images_or_hidden_from_them_can_be_written(photos, out):
    assert len(load(photos, out=photos / out)[0])


def test_beside_the_sets_can_be_written_but_not_in_them(tmp_path):
    for name in ("train/a", "val/a"):
        save(tmp_path / name / "1.png")
    load(tmp_path, out=tmp_path / "run")
    for name in ("train", "train/run", "val/run"):
        with pytest.raises(InputError, match="is among the images"):
            load(tmp_path, out=tmp_path / name)


def test_test_labels_are_those_of_the_training_classes(tmp_path):
    for name in ("train/a/1.png", "train/b/1.png", "test/b/2.png"):
        save(tmp_path / name)
    with pytest.warns(UserWarning, match=r"without an image \(1\): 'a'"):
        _, test = load(tmp_path)
    assert test.labels.tolist() == [1]
    save(tmp_path / "test/c/2.png")
    with pytest.raises(InputError, match=r"\['c'\]"):
        load(tmp_path)


# Decoding


@pytest.mark.parametrize("size", [1, 5, 32])
def test_every_kind_of_image_becomes_the_same_shape(loaded, size):
    for file in loaded[0].files:
        for channels in (1, 3):
            pixels = decode(file, size, channels)
            assert pixels.shape == (size, size, channels)
            assert pixels.dtype == np.uint8
            assert pixels.flags.writeable


@pytest.mark.parametrize("turned", [False, True])
def test_the_middle_square_is_kept(tmp_path, turned):
    stripes = np.zeros((10, 30, 3), np.uint8)
    for channel in range(3):
        stripes[:, 10 * channel : 10 * channel + 10, channel] = 255
    image = stripes.transpose(1, 0, 2) if turned else stripes
    Image.fromarray(np.ascontiguousarray(image)).save(tmp_path / "a.png")
    assert (decode(tmp_path / "a.png", 10) == [0, 255, 0]).all()
    assert (decode(tmp_path / "a.png", 4)[1:-1, 1:-1] == [0, 255, 0]).all()


def test_an_image_of_the_right_size_is_not_changed(tmp_path):
    image = picture(size=(8, 8))
    image.save(tmp_path / "a.png")
    np.testing.assert_array_equal(decode(tmp_path / "a.png", 8), np.asarray(image))


def test_grey_is_grey_in_every_channel_whatever_its_depth(tmp_path):
    deep = (np.arange(64).reshape(8, 8) * 1000).astype(np.uint16)
    Image.fromarray(deep).save(tmp_path / "deep.png")
    Image.fromarray((deep >> 8).astype(np.uint8)).save(tmp_path / "grey.png")
    expected = np.repeat((deep >> 8)[..., None], 3, axis=2)
    np.testing.assert_array_equal(decode(tmp_path / "grey.png", 8), expected)
    np.testing.assert_array_equal(decode(tmp_path / "deep.png", 8), expected)


def test_a_transparent_palette_is_decoded_without_complaint(tmp_path):
    image = picture(size=(8, 8)).convert("P")
    image.save(tmp_path / "a.png", transparency=bytes(range(256)))
    opaque = np.asarray(image.convert("RGB"))
    np.testing.assert_array_equal(decode(tmp_path / "a.png", 8), opaque)


def test_an_image_that_broke_later_is_named(photos):
    with pytest.raises(DamagedError, match=r"broken\.png"):
        decode(photos / "cat" / "broken.png", 8)


# Fingerprints and parts


def some_images(samples=12, classes=3):
    rng = np.random.default_rng(5)
    pixels = rng.integers(0, 256, (samples, 4, 4, 3), np.uint8)
    return in_memory(pixels, np.arange(samples) % classes, tuple("abcdefgh"[:classes]))


def test_the_fingerprint_of_a_folder_is_that_of_names_and_sizes(photos, loaded):
    images = loaded[0]
    assert images.fingerprint  # while the files are still there
    moved = photos.rename(photos.with_name("elsewhere"))
    with pytest.warns(UserWarning, match="elsewhere"):
        again = load(moved)[0]
    assert again.fingerprint == images.fingerprint
    (moved / "cat" / "b.png").rename(moved / "cat" / "B.png")
    with pytest.warns(UserWarning, match="elsewhere"):
        renamed = load(moved)[0]
    assert renamed.fingerprint != images.fingerprint
    (moved / "cat" / "B.png").rename(moved / "cat" / "b.png")
    save(moved / "cat" / "b.png", "L", (13, 5))
    with pytest.warns(UserWarning, match="elsewhere"):
        other_size = load(moved)[0]
    assert len({images.fingerprint, renamed.fingerprint, other_size.fingerprint}) == 3


def test_the_fingerprint_in_memory_is_that_of_every_pixel_label_and_class_name():
    images = some_images()
    assert some_images().fingerprint == images.fingerprint
    pixels, labels = images.pixels.copy(), images.labels.copy()
    pixels[7, 2, 1, 0] ^= 1
    labels[3] = (labels[3] + 1) % 3
    others = [
        in_memory(pixels, images.labels, images.class_names),
        in_memory(images.pixels, labels, images.class_names),
        in_memory(images.pixels, images.labels, ("a", "b", "d")),
        in_memory(images.pixels.reshape(12, 2, 8, 3), images.labels, images.class_names),
        images.take(np.arange(12)[::-1]),
    ]
    assert len({images.fingerprint, *(other.fingerprint for other in others)}) == 6


def test_taking_re_indexes_and_remembers_the_source(loaded):
    images = some_images()
    part = images.take(np.array([9, 2, 4]))
    assert part.source.tolist() == [9, 2, 4]
    assert part.take(np.array([2, 0])).source.tolist() == [4, 9]
    np.testing.assert_array_equal(part.pixels, images.pixels[[9, 2, 4]])
    assert part.labels.tolist() == images.labels[[9, 2, 4]].tolist()
    files = loaded[0].take(np.array([3, 0]))
    assert files.names == ("cat/b.png", "Käfer и жук/größe.PNG")
    assert [file.name for file in files.files] == ["b.png", "größe.PNG"]
    assert len(images.take(np.array([], int))) == 0


@pytest.mark.parametrize(
    ("share", "counts"),
    [(0.1, [5] * 4), (0.25, [13, 13, 12, 12]), (0.5, [25] * 4), (0.9, [45] * 4)],
)
def test_a_validation_split_takes_its_share_of_every_class(share, counts):
    images = some_images(samples=200, classes=4).take(np.arange(200)[::-1])
    train, validation = validation_split(images, share, seed=3)
    assert np.bincount(validation.labels).tolist() == counts
    assert sorted([*train.source, *validation.source]) == list(range(200))
    np.testing.assert_array_equal(validation.pixels, some_images(200, 4).pixels[validation.source])
    again = validation_split(images, share, seed=3)[1]
    assert again.source.tolist() == validation.source.tolist()
    assert validation_split(images, share, seed=4)[1].source.tolist() != again.source.tolist()


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, float("nan"), 0.001, 0.999])
def test_a_split_that_leaves_nothing_is_refused(share):
    with pytest.raises(InputError, match="share"):
        validation_split(some_images(), share, seed=0)


def test_a_long_tail_has_the_published_sizes():
    labels = np.repeat(np.arange(10), 5000)
    images = in_memory(np.zeros((50_000, 1, 1, 1), np.uint8), labels, tuple("abcdefghij"))
    tail = long_tail(images, 0.01, seed=1)
    published = [5000, 2997, 1796, 1077, 645, 387, 232, 139, 83, 50]
    assert np.bincount(tail.labels).tolist() == published
    np.testing.assert_array_equal(labels[tail.source], tail.labels)
    assert (np.diff(tail.source) > 0).all()
    assert long_tail(images, 0.01, seed=2).source.tolist() != tail.source.tolist()
    assert len(long_tail(images, 1, seed=1)) == 50_000


def test_a_long_tail_keeps_what_there_is():
    images = some_images(samples=12, classes=3).take(np.array([0, 1, 2, 3, 6, 9]))
    assert np.bincount(images.labels).tolist() == [4, 1, 1]
    assert np.bincount(long_tail(images, 0.01, seed=0).labels).tolist() == [4, 1, 1]
    for factor in (0, -1, 1.1, float("nan")):
        with pytest.raises(InputError, match="factor"):
            long_tail(images, factor, seed=0)


# Noise


@pytest.mark.parametrize(
    ("share", "samples", "count"),
    [(0.1, 1437, 143), (0.29, 100, 29), (0, 50, 0), (1, 50, 50), (0.2, 3, 0)],
)
def test_exactly_so_many_labels_flip_and_always_to_another_class(share, samples, count):
    labels = np.arange(samples) % 10
    noisy, flipped = flip_labels(labels, share, 10, seed=7)
    assert len(flipped) == count
    assert np.flatnonzero(noisy != labels).tolist() == flipped.tolist()
    assert ((noisy >= 0) & (noisy < 10)).all()
    assert labels.tolist() == (np.arange(samples) % 10).tolist(), "the labels given are untouched"


def test_new_labels_are_spread_over_all_other_classes():
    noisy, _ = flip_labels(np.full(30_000, 3), 1.0, 6, seed=0)
    counts = np.bincount(noisy, minlength=6)
    assert counts[3] == 0
    assert np.abs(np.delete(counts, 3) - 6000).max() < 5 * np.sqrt(6000)


def test_noise_depends_on_seed_and_id_alone():
    labels = np.arange(1000) % 10
    noisy, flipped = flip_labels(labels, 0.3, 10, seed=1)
    again = flip_labels((labels + 1) % 10, 0.3, 10, seed=1)
    assert again[1].tolist() == flipped.tolist()
    assert ((noisy + 1) % 10).tolist() == again[0].tolist()
    assert flip_labels(labels, 0.3, 10, seed=2)[1].tolist() != flipped.tolist()


def test_noise_has_nothing_to_do_with_a_random_coreset_of_the_same_seed():
    labels = np.arange(10_000) % 10
    noisy, flipped = flip_labels(labels, 0.1, 10, seed=0)
    kept = random(labels, k=5000, seed=0)
    assert 440 < len(np.intersect1d(flipped, kept)) < 560
    steps = (noisy - labels)[np.intersect1d(flipped, kept)] % 10
    assert len(np.unique(steps)) == 9


def test_noise_that_cannot_be_is_refused():
    for share, classes in ((-0.1, 10), (1.1, 10), (float("nan"), 10), (0.1, 1)):
        with pytest.raises(InputError, match="share"):
            flip_labels(np.zeros(5, int), share, classes, seed=0)


# Arrays


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
    with pytest.raises(InputError, match=r"not an \.npz"):
        load(file)


# Named sets


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


@pytest.mark.skipif(
    not DEBIAN.is_dir() and not os.environ.get("CI"), reason="dataset-fashion-mnist is missing"
)
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


def test_a_missing_pillow_is_said(photos, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingError, match=r"pip install 'dualprune\[torch\]'"):
        load(photos)
