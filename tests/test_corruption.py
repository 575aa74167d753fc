"""Damage to images: exactly as many as asked, in five equal parts, each its own kind to the eye."""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from dualprune.data import CORRUPTIONS, corrupt, in_memory, load
from dualprune.data.images import Images
from dualprune.errors import InputError
from dualprune.select import random

shares = st.integers(0, 1000).map(lambda n: n / 1000)
repeatable = settings(derandomize=True, deadline=None, max_examples=200)


def noisy_images(samples, shape=(8, 8, 1), seed=0):
    pixels = np.random.default_rng(seed).integers(0, 256, (samples, *shape), np.uint8)
    return in_memory(pixels, np.arange(samples) % 2, ("a", "b"))


def of_kind(name, image, samples=100, seed=0):
    """Give what one kind of damage makes of the same image, one row per id that it falls on."""
    pixels = np.repeat(np.asarray(image, np.uint8)[None], samples, axis=0)
    damaged, kind = corrupt(in_memory(pixels, np.zeros(samples), ("a",)), 1, seed)
    return damaged.pixels[kind == CORRUPTIONS.index(name)]


# Which images


@repeatable
@given(samples=st.integers(0, 300), share=shares, seed=st.integers(0, 2**64))
def test_exactly_so_many_are_damaged_in_equal_parts(samples, share, seed):
    images = noisy_images(samples, shape=(1, 1, 1))
    _, kind = corrupt(images, share, seed)
    counts = np.bincount(kind + 1, minlength=6)
    assert kind.dtype == np.int8
    assert counts[1:].sum() == Fraction(str(share)) * samples // 1
    assert counts.sum() == samples
    assert np.ptp(counts[1:]) <= 1


def test_the_published_shares():
    images = noisy_images(5_000, shape=(1, 1, 1))
    for share, each in ((0.2, 200), (0.3, 300), (0.4, 400)):
        _, kind = corrupt(images, share, seed=0)
        assert np.bincount(kind + 1).tolist() == [5_000 - 5 * each, *[each] * 5]


def test_a_larger_share_damages_the_same_images_in_the_same_way_and_more():
    images = noisy_images(200)
    results = [corrupt(images, share, seed=3) for share in (0.1, 0.25, 0.9)]
    for (few, kind), (more, other) in pairwise(results):
        hit = kind >= 0
        assert other[hit].tolist() == kind[hit].tolist()
        np.testing.assert_array_equal(few.pixels[hit], more.pixels[hit])


def test_damage_has_nothing_to_do_with_a_random_coreset_of_the_same_seed():
    images = noisy_images(10_000, shape=(1, 1, 1))
    _, kind = corrupt(images, 0.2, seed=0)
    kept = random(images.labels, k=5000, seed=0)
    counts = np.bincount(kind[kept] + 1)
    assert np.abs(counts[1:] - 200).max() < 5 * np.sqrt(100)


# What happens to one image is its own affair


def test_clean_images_and_everything_but_pixels_stay_as_they_were():
    images = noisy_images(60).take(np.arange(59, -1, -1))
    before = images.pixels.copy()
    damaged, kind = corrupt(images, 0.5, seed=1)
    np.testing.assert_array_equal(images.pixels, before)
    np.testing.assert_array_equal(damaged.pixels[kind < 0], before[kind < 0])
    assert (damaged.pixels != before).any(axis=(1, 2, 3)).tolist() == (kind >= 0).tolist()
    assert damaged.labels.tolist() == images.labels.tolist()
    assert damaged.source.tolist() == images.source.tolist()
    assert damaged.fingerprint != images.fingerprint


def test_what_happens_to_a_sample_does_not_depend_on_the_others():
    images = noisy_images(100)
    damaged, kind = corrupt(images, 0.6, seed=2)
    order = np.random.default_rng(1).permutation(100)
    order = np.where(np.arange(100) % 3 == 0, np.arange(100), order)
    shuffled, same = corrupt(images.take(order), 0.6, seed=2)
    assert same.tolist() == kind.tolist()
    np.testing.assert_array_equal(shuffled.pixels[::3], damaged.pixels[::3])
    assert (shuffled.pixels[kind >= 0] != damaged.pixels[kind >= 0]).any()


def test_in_a_smaller_set_a_sample_with_the_same_id_and_kind_becomes_the_same():
    images = noisy_images(300)
    whole, kind = corrupt(images, 1, seed=2)
    part, kind_there = corrupt(images.take(np.arange(150)), 1, seed=2)
    same = np.flatnonzero(kind_there == kind[:150])
    assert set(kind[same]) == set(range(5))
    np.testing.assert_array_equal(part.pixels[same], whole.pixels[same])


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others():
    images = noisy_images(100, shape=(9, 7, 3))
    (one, kind), (again, _), (two, other) = (corrupt(images, 1, seed) for seed in (4, 4, 5))
    assert one.pixels.tobytes() == again.pixels.tobytes()
    assert (kind != other).mean() > 0.6
    drawn = (kind == other) & (kind != CORRUPTIONS.index("reduced resolution"))
    assert (one.pixels[drawn] != two.pixels[drawn]).any(axis=(1, 2, 3)).mean() > 0.8


# What each kind looks like


def test_motion_blur_draws_a_dot_out_to_a_straight_line():
    dot = np.zeros((33, 33, 1))
    dot[16, 16] = 255
    angles = []
    for image in of_kind("motion blur", dot):
        y, x = np.nonzero(image[..., 0])
        assert len(np.unique(image)) == 2
        assert len(y) in (7, 9)
        assert image.max() == round(255 / len(y))
        assert 6.9 <= np.hypot(np.ptp(y), np.ptp(x)) <= 8.95
        along = np.array([y[-1] - y[0], x[-1] - x[0]]) / np.hypot(y[-1] - y[0], x[-1] - x[0])
        beside = (y - 16) * along[1] - (x - 16) * along[0]
        assert np.abs(beside).max() < 1
        angles.append(np.arctan2(*along) % np.pi)
    assert np.ptp(angles) > np.pi / 2


def test_motion_blur_blurs_along_one_direction_only():
    image = np.kron(np.random.default_rng(0).integers(0, 256, (24, 24, 1)), np.ones((4, 4, 1)))
    for blurred in of_kind("motion blur", image, samples=25):
        down, right = np.gradient(blurred[..., 0].astype(float))
        energy = np.cov([down.ravel(), right.ravel()])
        along, across = np.linalg.eigvalsh(energy)
        assert along < across / 4


def test_motion_blur_keeps_a_plain_image_even_at_its_edges():
    for blurred in of_kind("motion blur", np.full((12, 9, 3), 200), samples=25):
        assert (blurred == 200).all()


def test_fog_is_light_and_thicker_in_some_places():
    for fog in of_kind("fog", np.zeros((32, 32, 3))) / 255:
        assert abs(fog.min() - 0.4) < 0.01
        assert abs(fog.max() - 0.8) < 0.01
        assert (fog == fog[..., :1]).all(), "fog has no colour"
        steps = max(np.abs(np.diff(fog, axis=axis)).max() for axis in (0, 1))
        assert steps < 0.08, "it has no edges"


def test_fog_makes_images_brighter_and_takes_contrast():
    board = np.indices((32, 32)).sum(axis=0)[..., None] % 2 * 200
    for image in of_kind("fog", board):
        assert (image >= board).all()
        assert image.mean() > board.mean() + 50
        assert image.std() < board.std() * 0.7
        contrast = np.abs(np.diff(image.astype(int), axis=0))
        assert contrast.max() < 200 * 0.6 + 255 * 0.08
    digits, _ = load("digits")
    damaged, kind = corrupt(digits, 0.5, seed=0)
    fog = kind == CORRUPTIONS.index("fog")
    before, after = digits.pixels[fog], damaged.pixels[fog]
    assert (after.mean(axis=(1, 2, 3)) > before.mean(axis=(1, 2, 3))).all()
    assert (after.std(axis=(1, 2, 3)) < before.std(axis=(1, 2, 3))).all()


@pytest.mark.parametrize(
    ("height", "width", "rows", "columns"),
    [(8, 8, 4, 4), (28, 28, 7, 7), (32, 32, 8, 8), (30, 17, 7, 4), (64, 9, 16, 4), (5, 3, 2, 1)],
)
def test_reduced_resolution_shows_the_mean_of_each_block(height, width, rows, columns):
    image = np.random.default_rng(0).integers(0, 256, (height, width, 3))
    block_of_row = [y * rows // height for y in range(height)]
    block_of_column = [x * columns // width for x in range(width)]
    assert (block_of_row[-1], block_of_column[-1]) == (rows - 1, columns - 1)
    expected = np.empty(image.shape)
    for y in range(height):
        for x in range(width):
            down = [j for j in range(height) if block_of_row[j] == block_of_row[y]]
            right = [j for j in range(width) if block_of_column[j] == block_of_column[x]]
            expected[y, x] = image[np.ix_(down, right)].mean(axis=(0, 1))
    result = of_kind("reduced resolution", image, samples=10)
    assert np.abs(result - expected).max() < 0.501
    assert len(np.unique(result[0].reshape(-1, 3), axis=0)) <= rows * columns


@pytest.mark.parametrize("level", [0, 100, 150, 255])
def test_occlusion_covers_a_rectangle_with_what_stands_out(level):
    colour = 0 if level > 127 else 255
    places = set()
    for image in of_kind("occlusion", np.full((20, 40, 3), level)):
        rows, columns = (np.unique(axis) for axis in np.nonzero(image != level)[:2])
        assert 6 <= len(rows) <= 12
        assert 12 <= len(columns) <= 24
        assert (np.diff(rows) == 1).all()
        assert (np.diff(columns) == 1).all()
        assert (image[np.ix_(rows, columns)] == colour).all()
        assert (image != level).sum() == 3 * len(rows) * len(columns)
        places.add((rows[0], columns[0], len(rows), len(columns)))
    assert len(places) > 15
    assert min(place[0] for place in places) == 0
    assert max(place[0] + place[2] for place in places) == 20


def test_gaussian_noise_has_its_deviation():
    images = of_kind("Gaussian noise", np.full((64, 64, 3), 128))
    noise = images - 128.0
    assert abs(noise.mean()) < 5 * 40 / np.sqrt(noise.size)
    assert abs(noise.std() - 40) < 0.4
    some = noise.ravel()[::97] + np.random.default_rng(0).uniform(
        -0.5, 0.5, len(noise.ravel()[::97])
    )
    assert kstest(some, "norm", args=(0, 40)).pvalue > 1e-3
    for one, other in (
        (noise[:, 1:], noise[:, :-1]),
        (noise[:, :, 1:], noise[:, :, :-1]),
        (noise[..., 0], noise[..., 1]),
        (noise[1:], noise[:-1]),
    ):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 5 / np.sqrt(one.size)


def test_noise_never_wraps_around():
    for level in (0, 255):
        for image in of_kind("Gaussian noise", np.full((32, 32, 1), level), samples=25):
            assert 0.4 < (image == level).mean() < 0.6
            assert np.abs(image.astype(int) - level).max() < 40 * 6


# Edges


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (2, 5, 1), (8, 8, 1), (28, 28, 1), (32, 32, 3), (31, 65, 3), (224, 224, 3)]
)
def test_images_of_every_size(shape):
    images = noisy_images(10, shape)
    damaged, kind = corrupt(images, 1, seed=0)
    assert damaged.pixels.dtype == np.uint8
    assert damaged.pixels.shape == (10, *shape)
    assert sorted(kind) == sorted([*range(5)] * 2)
    if min(shape[:2]) >= 8:
        assert (damaged.pixels != images.pixels).any(axis=(1, 2, 3)).all()


def test_damage_that_cannot_be_is_refused():
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(InputError, match="share must be from 0 to 1"):
            corrupt(noisy_images(5), share, seed=0)
    files = Images(np.zeros(1, int), ("a",), np.zeros(1, int), files=(Path("a/b.png"),))
    with pytest.raises(InputError, match="decode"):
        corrupt(files, 0.2, seed=0)
