"""Folders of images: what is found in them, and what it is decoded to."""

import os
import sys
from importlib import import_module

import numpy as np
import pytest
from PIL import Image

from dualprune.data import decode, load
from dualprune.data.decode import decode_sound
from dualprune.errors import DamagedError, InputError, MissingError
from tests.photos import picture, save, some_images


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
        decode_sound(tmp_path / "a.png", 8)


@pytest.mark.parametrize("place", ["pixels", "checksum"])
def test_a_damaged_png_is_not_readable(tmp_path, place):
    save(tmp_path / "a.png", size=(40, 40))
    data = bytearray((tmp_path / "a.png").read_bytes())
    data[len(data) // 2 if place == "pixels" else data.index(b"IEND") - 5] ^= 1
    (tmp_path / "a.png").write_bytes(data)
    assert decode_sound(tmp_path / "a.png", 8) is None


def test_only_common_formats_are_opened(tmp_path):
    picture().save(tmp_path / "a.png", format="PPM")
    assert decode_sound(tmp_path / "a.png", 8) is None, (
        "Pillow knows formats that run other programs"
    )


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


@pytest.mark.parametrize("size", [1, 5, 32])
def test_every_kind_of_image_becomes_the_same_shape(loaded, size):
    for file in loaded[0].files:
        pixels = decode(file, size)
        assert pixels.shape == (size, size, 3)
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


def test_a_missing_pillow_is_said(photos, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingError, match=r"pip install 'dualprune\[torch\]'"):
        load(photos)
