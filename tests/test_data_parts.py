"""Parts of a set, and wrong labels in it."""

import numpy as np
import pytest

from dualprune.data import flip_labels, in_memory, long_tail, validation_split
from dualprune.errors import InputError
from dualprune.select import random
from tests.photos import some_images


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
