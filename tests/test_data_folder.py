"""Folders of images: what is found in them, and what it is decoded to."""

import os
import resource
import shutil
import subprocess
import sys
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dualprune import Coreset
from dualprune.data import decode, load, only_readable
from dualprune.data.decode import decode_sound
from dualprune.errors import DamagedError, InputError, MissingError
from tests.commands import DUALPRUNE, dualprune, process
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
        "cat/broken.png",
        "cat/deep/c.jpg",
    )
    assert images.labels.tolist() == [0, 0, 1, 1, 1, 1]
    assert images.source.tolist() == list(range(6))
    assert images.readable_ids.tolist() == [0, 1, 2, 3, 5]
    assert images.labels.dtype == images.source.dtype == np.int64
    assert images.files == tuple(photos / name for name in images.names)
    assert images.pixels is None


def order_of_the_usual_dataset(folder):
    """As torchvision's ImageFolder lists its samples, with GIF, too: file and class number."""
    suffixes = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp", ".gif")
    samples = []
    classes = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    for number, name in enumerate(classes):
        for root, _, files in sorted(os.walk(folder / name, followlinks=True)):
            images = [file for file in sorted(files) if file.lower().endswith(suffixes)]
            samples += [(Path(root) / file, number) for file in images]
    return samples


def test_ids_and_labels_are_those_of_the_usual_dataset(tmp_path):
    photos, elsewhere = tmp_path / "photos", tmp_path / "elsewhere"
    deep = ["b/x.png", "b/a/x.png", "b/a-b/x.png", "b/a/deep/x.png", "b/a.png", "b/Z/x.png"]
    hidden = ["b/.x.png", "b/.cache/x.png", ".thumbs/x.png", "b/folder.png/x.gif"]
    for name in [*deep, *hidden, "B/2.PNG", "B/10.png", "B/b.jpeg", "ä/é.png", "ä/e\u0301.png"]:
        save(photos / name)
    save(elsewhere / "deep" / "y.png")
    (photos / "b" / "a" / "linked").symlink_to(elsewhere)
    (photos / "c").symlink_to(elsewhere / "deep")
    for name in ("b/._x.png", "b/broken.png", "b/a/broken.jpg"):
        (photos / name).write_bytes(b"nothing")
    (photos / "b" / "gone.png").symlink_to(tmp_path / "nowhere.png")
    (photos / "a class without any").mkdir()
    with pytest.warns(UserWarning, match=r"unreadable images|without an image"):
        images, _ = load(photos)
    expected = order_of_the_usual_dataset(photos)
    assert [*zip(images.files, images.labels, strict=True)] == expected
    assert images.class_names == (".thumbs", "B", "a class without any", "b", "c", "ä")
    assert np.array(images.names)[images.unreadable].tolist() == [
        "b/._x.png",
        "b/broken.png",
        "b/gone.png",
        "b/a/broken.jpg",
    ]


def test_what_is_left_out_or_empty_is_counted_and_named(photos, loaded):
    _, (other, broken, empty) = loaded
    assert str(photos) in other
    assert ".pgm, .png, .ppm" in other
    assert "(1): 'cat/notes.txt'" in other
    assert str(photos) in broken
    assert "unreadable" in broken
    assert "(1): 'cat/broken.png'" in broken
    assert "(1): 'nothing here'" in empty


def test_truncated_images_are_unreadable(tmp_path):
    save(tmp_path / "a" / "good.jpg", size=(300, 200))
    for name in ("a/short.jpg", "a/short.png"):
        save(tmp_path / name, size=(300, 200))
        data = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(data[: len(data) // 2])
    with pytest.warns(UserWarning, match=r"\(2\): 'a/short.jpg', 'a/short.png'"):
        images, _ = load(tmp_path, size=8)
    assert only_readable(images).names == ("a/good.jpg",)
    assert images.squares.any(axis=(1, 2, 3)).tolist() == [True, False, False]


@contextmanager
def no_more_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "tif", "ppm"])
def test_too_many_open_files_say_nothing_of_a_file(tmp_path, suffix):
    save(tmp_path / f"a.{suffix}")
    decode_sound(tmp_path / f"a.{suffix}", 8)
    message = rf"cannot read .*a\.{suffix}: Too many open files \(errno 24\)"
    with no_more_files(), pytest.raises(InputError, match=message):
        decode_sound(tmp_path / f"a.{suffix}", 8)
    with no_more_files(), pytest.raises(InputError, match=message):
        decode(tmp_path / f"a.{suffix}", 8)
    with no_more_files(), pytest.raises(InputError, match=r"errno 24"):
        load(tmp_path)


@pytest.mark.filterwarnings("ignore:Exception ignored in")  # Pillow does not close the file itself
def test_a_disk_that_fails_says_nothing_of_a_file(tmp_path):
    save(tmp_path / "a" / "x.png")
    (tmp_path / "a" / "y.png").symlink_to("/proc/self/mem")  # of which the first page is not there
    with pytest.raises(InputError, match=r"y\.png: Input/output error \(errno 5\)"):
        load(tmp_path)


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("name", ["a/x.png", "a/deep", "a", "."])
def test_what_may_not_be_read_says_nothing_of_a_file(tmp_path, name):
    save(tmp_path / "photos" / "a" / "deep" / "x.png")
    save(tmp_path / "photos" / "a" / "x.png")
    (tmp_path / "photos" / name).chmod(0)
    with pytest.raises(InputError, match=r"Permission denied \(errno 13\)"):
        load(tmp_path / "photos")
    (tmp_path / "photos" / name).chmod(0o700)


MEMORY_OF_LARGE_IMAGES = """
import resource, sys
from pathlib import Path
from dualprune.data import load
small = load(Path(sys.argv[1], "small"))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
large = load(Path(sys.argv[1], "large"))
print(len(large[0]), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_large_images_are_decoded_one_at_a_time(tmp_path):
    for number in range(5):
        save(tmp_path / "small" / "a" / f"{number}.png", "L")
        (tmp_path / "large" / "a").mkdir(parents=True, exist_ok=True)
        Image.new("L", (7000, 6000), number).save(tmp_path / "large" / "a" / f"{number}.png")
    command = [sys.executable, "-c", MEMORY_OF_LARGE_IMAGES, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    count, kibibytes = map(int, done.stdout.split())
    assert count == 5
    assert kibibytes / 2**10 < 1.5 * (42 + 4 * 42), "grey and colour, in MB"


def test_more_pixels_than_an_image_can_have_are_not_decoded(tmp_path):
    save(tmp_path / "a" / "x.png")
    Image.new("1", (14_000, 14_000)).save(tmp_path / "a" / "huge.png")
    (tmp_path / "a" / "broken.png").write_bytes(b"")
    with pytest.warns(UserWarning, match="left out") as warned:
        images, _ = load(tmp_path)
    assert only_readable(images).names == ("a/x.png",)
    large, unreadable = (str(warning.message) for warning in warned)
    assert "images of more than 178,956,970 pixels" in large
    assert large.endswith("(1): 'a/huge.png'")
    assert unreadable.endswith("(1): 'a/broken.png'")


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
    assert decode_sound(tmp_path / "a.png", 8) == "unreadable images"


def test_only_common_formats_are_opened(tmp_path):
    picture().save(tmp_path / "a.png", format="EPS")
    assert decode_sound(tmp_path / "a.png", 8) == "unreadable images", (
        "Pillow knows formats that run other programs"
    )


def test_what_torchvision_reads_is_read(tmp_path):
    suffixes = [".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp", ".gif"]
    for suffix in suffixes:
        save(tmp_path / "a" / f"x{suffix}", "L" if suffix == ".pgm" else "RGB")
        save(tmp_path / "a" / f"x{suffix.upper()}", "L" if suffix == ".pgm" else "RGB")
    assert len(load(tmp_path)[0]) == 2 * len(suffixes)


def test_hidden_files_that_are_no_images_of_a_class_are_passed_over(tmp_path):
    for name in ("a/x.png", ".stray.png"):
        save(tmp_path / name)
    (tmp_path / "a" / ".DS_Store").write_text("")
    (tmp_path / "a" / "folder.png").mkdir()
    images, _ = load(tmp_path)
    assert images.names == ("a/x.png",)


def test_hidden_folders_are_no_splits_and_no_classes_beside_them(tmp_path):
    for name in ("train/a/1.png", "val/a/2.png", ".cache/x/3.png"):
        save(tmp_path / name)
    train, test = load(tmp_path)
    assert (train.names, test.names) == (("a/1.png",), ("a/2.png",))


def test_all_that_is_no_image_in_a_class_is_named_once(tmp_path):
    for name in ("a/x.png", "b/deep/x.png", "stray.png", "also.JPG"):
        save(tmp_path / name)
    for name in ("a/x.heic", "a/x.raw", "b/deep/x.avif", "labels.csv"):
        (tmp_path / name).write_bytes(b"?")
    os.mkfifo(tmp_path / "a" / "pipe.png")
    (tmp_path / "a" / "gone.png").symlink_to(tmp_path / "nowhere.png")
    with pytest.warns(UserWarning, match="left out|unreadable") as warned:
        images, _ = load(tmp_path)
    assert only_readable(images).names == ("a/x.png", "b/deep/x.png")
    other, stray, unreadable = (str(warning.message) for warning in warned)
    assert other.endswith("(3): 'a/x.heic', 'a/x.raw', 'b/deep/x.avif'")
    assert unreadable.endswith("(2): 'a/gone.png', 'a/pipe.png'")
    assert stray.endswith("that are in no sub-folder (2): 'also.JPG', 'stray.png'")


def test_links_to_folders_are_followed(tmp_path):
    for name in ("photos/a/1.png", "elsewhere/2.png", "elsewhere/deep/3.png"):
        save(tmp_path / name)
    (tmp_path / "photos" / "a" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "photos" / "b").symlink_to(tmp_path / "elsewhere" / "deep")
    images, _ = load(tmp_path / "photos")
    assert images.names == ("a/1.png", "a/link/2.png", "a/link/deep/3.png", "b/3.png")


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("photos/a/loop", "photos/a"),
        ("photos/a/deep/loop", "photos"),
        ("photos/loop", "photos"),
        ("elsewhere/loop", "photos/a"),  # which has a link to elsewhere
        ("photos/a/loop", "photos/a/loop"),
    ],
)
def test_links_without_end_are_refused_by_name(tmp_path, link, target):
    for name in ("photos/a/deep/1.png", "elsewhere/2.png"):
        save(tmp_path / name)
    (tmp_path / "photos" / "a" / "there").symlink_to(tmp_path / "elsewhere")
    (tmp_path / link).symlink_to(tmp_path / target)
    with pytest.raises(InputError, match=r"/loop"):
        load(tmp_path / "photos")


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


@pytest.mark.parametrize("second", ["test", "val", "valid", "validation"])
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


def test_train_is_a_class_beside_other_classes(tmp_path):
    for name in ("bus/1.png", "car/red/2.png", "train/3.png", "train/steam/4.png"):
        save(tmp_path / name)
    with pytest.warns(UserWarning, match=r"train is read as a class.* \(2\): 'bus', 'car'"):
        images, test = load(tmp_path)
    assert images.names == ("bus/1.png", "car/red/2.png", "train/3.png", "train/steam/4.png")
    assert test is None
    save(tmp_path / "test" / "a" / "5.png")
    with pytest.raises(InputError, match=r"train and test.* splits, beside \['bus', 'car'\]"):
        load(tmp_path)


def test_images_beside_the_splits_are_named(tmp_path):
    for name in ("train/a/1.png", "train/2.png", "3.png"):
        save(tmp_path / name)
    with pytest.warns(UserWarning, match="left out") as warned:
        load(tmp_path)
    assert [str(warning.message).rpartition(" that are in no ")[2] for warning in warned] == [
        "split (1): '3.png'",
        "sub-folder (1): '2.png'",
    ]


@pytest.mark.parametrize("out", ["", "new", "cat", "cat/new", "dog/../new", ".hidden"])
def test_nothing_is_written_among_the_images(photos, out):
    before = sorted(photos.rglob("*"))
    with pytest.raises(InputError, match=r"is among the images of .*; choose a folder outside"):
        load(photos, out=photos / out)
    assert sorted(photos.rglob("*")) == before


@pytest.mark.parametrize("out", ["../new", "../photos-2"])
@pytest.mark.filterwarnings("ignore:left out", "ignore:classes")
def test_beside_the_images_can_be_written(photos, out):
    assert len(load(photos, out=photos / out)[0])


def test_nothing_is_written_among_the_sets(tmp_path):
    """Beside `train`, it would make that a class."""
    for name in ("train/a", "val/a"):
        save(tmp_path / name / "1.png")
    for name in ("run", "train", "train/run", "val/run"):
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
    for file in only_readable(loaded[0]).files:
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


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "tif"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_images_are_turned_as_their_camera_says(tmp_path, suffix, orientation):
    upright = np.zeros((64, 64, 3), np.uint8)
    upright[:32, :32] = (255, 0, 0)
    upright[:32, 32:] = (0, 255, 0)
    stored = {  # rows and columns of the file begin at these sides of the picture
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: np.rot90(upright),
        7: np.rot90(upright.transpose(1, 0, 2), 2),
        8: np.rot90(upright, -1),
    }[orientation]
    file, exif = tmp_path / f"a.{suffix}", Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(np.ascontiguousarray(stored)).save(file, exif=exif, quality=95)
    np.testing.assert_allclose(decode(file, 64)[8::16, 8::16], upright[8::16, 8::16], atol=20)
    np.testing.assert_allclose(decode_sound(file, 8)[1::4, 1::4], upright[1::32, 1::32], atol=40)


@pytest.mark.parametrize("damage", [b"", b"MM", b"nonsense" * 4, b"II*\0\xff\xff\xff\xff"])
def test_an_image_with_a_damaged_description_is_read_as_it_is(tmp_path, damage):
    picture(size=(8, 8)).save(tmp_path / "a.webp", lossless=True, exif=damage)
    expected = np.asarray(picture(size=(8, 8)))
    np.testing.assert_array_equal(decode_sound(tmp_path / "a.webp", 8), expected)


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


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_deep_images_are_scaled_by_their_own_range(tmp_path, dtype):
    values = np.arange(64).reshape(8, 8)
    Image.fromarray((values * 1e7 - 3e8).astype(dtype)).save(tmp_path / "a.tif")
    expected = np.rint(values / 63 * 255)
    assert decode_sound(tmp_path / "a.tif", 8)[..., 1].tolist() == expected.tolist()


def test_what_is_not_a_number_is_black(tmp_path):
    values = np.array([[-1.0, np.nan, 1.0], [np.inf, -np.inf, 0.0], [0.0, 1.0, -1.0]], np.float32)
    Image.fromarray(values).save(tmp_path / "a.tif")
    assert decode(tmp_path / "a.tif", 3)[..., 0].tolist() == [
        [0, 0, 255], [255, 0, 128], [128, 255, 0]
    ]  # fmt: skip
    Image.fromarray(np.full((3, 3), np.nan, np.float32)).save(tmp_path / "a.tif")
    assert not decode(tmp_path / "a.tif", 3).any()


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
    save(moved / "cat" / "broken.png")
    with pytest.warns(UserWarning, match="elsewhere"):
        assert load(moved)[0].fingerprint != other_size.fingerprint


@pytest.fixture
def not_utf8(tmp_path):
    """Two classes of ten images, with bytes in their names as another encoding has them."""
    photos = tmp_path / os.fsdecode(b"ph\xf6tos")
    for class_name, colour in ((b"caf\xe9", (200, 40, 60)), (rb"caf\udce9", (60, 40, 200))):
        (photos / os.fsdecode(class_name)).mkdir(parents=True)
        for number in range(10):
            file = photos / os.fsdecode(class_name + b"/\xff%d.png" % number)
            Image.new("RGB", (8, 8), (colour[0] + number, *colour[1:])).save(file)
    return photos


def test_names_that_are_not_utf8_are_spelled_so_that_they_differ(not_utf8):
    images, _ = load(not_utf8)
    assert images.class_names == (r"caf\\udce9", r"caf\udce9"), "in the order of the true names"
    assert images.names[0] == r"caf\\udce9/\udcff0.png"
    assert images.names[10] == r"caf\udce9/\udcff0.png"
    assert len({*images.names}) == 20
    assert all(file.is_file() for file in images.files)
    not_utf8.rename(not_utf8.with_name("train"))
    shutil.copytree(not_utf8.with_name("train"), not_utf8 / "train")
    shutil.copytree(not_utf8.with_name("train") / "caf\udce9", not_utf8 / "test" / "caf\udce9")
    with pytest.warns(UserWarning, match="without an image"):
        _, test = load(not_utf8)
    assert test.labels.tolist() == [1] * 10


def test_names_that_are_not_utf8_work_to_the_end(not_utf8, tmp_path):
    out = tmp_path / "out"
    words = ("prune", not_utf8, "--keep", 8, "--epochs", 10, "--recipe", "digits", "--out", out)
    code, _, said = dualprune(*words, "--materialize", "copy")
    assert code == 0, said
    coreset = Coreset.load(out)
    images, _ = load(not_utf8)
    assert coreset.columns["name"].tolist() == [*images.names]
    kept = images.take(coreset.ids)
    assert (out / "report.html").is_file()
    assert sorted(load(out / "images")[0].names) == sorted(kept.names)
    for file in kept.files:
        copy = out / "images" / file.relative_to(not_utf8)
        assert copy.read_bytes() == file.read_bytes()
    code, _, said = dualprune("audit", out / "run", "--out", tmp_path / "audit")
    assert code == 0, said
    assert r"caf\\udce9/\udcff3.png" in (tmp_path / "audit" / "audit.csv").read_text()
    (not_utf8 / "caf\udce9" / "\udcff3.png").write_bytes(b"")
    words = ("prune", not_utf8, "--keep", 8, "--out", tmp_path / "again", "--epochs", 1)
    code, _, said = process(*DUALPRUNE, *words)
    assert code == 2
    assert r"(1): 'caf\\udce9/\\udcff3.png'" in said


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


def test_a_missing_pillow_is_said(tmp_path, monkeypatch):
    save(tmp_path / "a" / "x.png")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingError, match=r"pip install 'dualprune\[torch\]'"):
        load(tmp_path)
