"""Training: batches, order, checkpoints, recordings, results; and what is written beside."""

import math
import os
import signal
import subprocess
import sys
from copy import deepcopy
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from PIL import Image
from safetensors.torch import load_file
from torch import nn
from torch.nn.functional import cross_entropy
from torch.optim import SGD
from torch.optim.optimizer import register_optimizer_step_post_hook

from dualprune import Recorder, Run
from dualprune.data import in_memory, load, replace_links, write_tree
from dualprune.errors import DamagedError, InputError, WriteError
from dualprune.files import draft_folder, read_json, write_json
from dualprune.method import Arrays
from dualprune.report.figures import draw_moons, moon
from dualprune.train import Result, Setup, recipes, record, train
from dualprune.train.batches import ImageBatches, augment
from dualprune.train.checkpoint import restore, store
from dualprune.train.epoch import Plan, train_epoch
from dualprune.train.models import build
from dualprune.train.order import batches_of_epoch, steps_per_epoch
from dualprune.train.place import useful_threads

from .photos import save

CPU = torch.device("cpu")
DIGITS, DIGITS_TEST = (part.take(np.arange(120)) for part in load("digits"))
RECIPE = replace(recipes()["digits"], epochs=6, record=3, batch=40, lr_end=0.01)
SIGNALS = ("loss", "margin", "rival", "entropy", "error_norm")


@pytest.fixture
def rates():
    """The learning rate of every step that an optimiser makes."""
    seen = []
    hook = register_optimizer_step_post_hook(lambda sgd, *_: seen.append(sgd.param_groups[0]["lr"]))
    yield seen
    hook.remove()


def cosine(steps, of):
    return pytest.approx([0.03 + 0.02 * math.cos(math.pi * step / of) for step in range(steps)])


def setup(images=DIGITS, test=DIGITS_TEST, model="auto", **changed):
    return Setup.of(images, test, recipe=replace(RECIPE, **changed), model=model)


def weights(out):
    (file,) = (out / "checkpoint").glob("*.safetensors")
    return load_file(file)


def equal(some, other):
    assert some.keys() == other.keys()
    return all(torch.equal(value, other[name]) for name, value in some.items())


def logits(this, out, data):
    """What the model in the checkpoint says of all images, in evaluation mode."""
    model, stored = this.fresh_model(0), weights(out)
    model.load_state_dict({name: stored[f"model.{name}"] for name in model.state_dict()})
    pixels = (data.pixels - this.data.pixels.mean()) / this.data.pixels.std()
    with torch.no_grad():
        return model.eval()(torch.from_numpy(pixels).float().permute(0, 3, 1, 2))


def shuffled(images, ids):
    """The same with the pixels of these ids exchanged, which keeps mean and deviation."""
    pixels = images.pixels.copy()
    pixels[ids] = pixels[np.roll(ids, 1)][:, ::-1]
    return replace(images, pixels=pixels)


def stop_after(epoch):
    def tell(progress):
        if progress.epoch == epoch:
            raise KeyboardInterrupt

    return tell


# Batches


def augmented_by_hand(batch, crop, flip, draw):
    count, height, width, channels = batch.shape
    margin = round(crop * min(height, width))
    corners = torch.randint(0, 2 * margin + 1, (2, count, 1), generator=draw)
    coins = torch.rand(count, 1, generator=draw)
    images = []
    for image, top, left, coin in zip(batch, *corners, coins, strict=True):
        padded = np.zeros((height + 2 * margin, width + 2 * margin, channels), np.uint8)
        padded[margin : margin + height, margin : margin + width] = image
        cropped = padded[top : top + height, left : left + width]
        images.append(cropped[:, ::-1] if flip and coin < 0.5 else cropped)
    return np.stack(images)


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_a_convolutional_model_resumes_to_the_same_bits(tmp_path, optimizer):
    this = setup(optimizer=optimizer, lr=0.01)
    record(this, tmp_path / "whole", epochs=3)
    for epochs in (1, 3):
        record(this, tmp_path / "resumed", epochs=epochs)
    assert equal(weights(tmp_path / "whole"), weights(tmp_path / "resumed"))


@pytest.mark.parametrize("flip", [True, False])
@pytest.mark.parametrize("crop", [0, 0.125, 0.5])
@pytest.mark.parametrize("shape", [(8, 8, 1), (7, 5, 3), (4, 9, 3), (1, 1, 1)])
def test_augmentation_is_that_of_one_image_after_the_other(shape, crop, flip):
    batch = np.random.default_rng(0).integers(1, 256, (50, *shape), np.uint8)
    draw, same = (torch.Generator().manual_seed(3) for _ in range(2))
    result = augment(torch.from_numpy(batch), crop=crop, flip=flip, draw=draw)
    assert result.dtype == torch.uint8
    np.testing.assert_array_equal(result, augmented_by_hand(batch, crop, flip, same))


def coloured(samples, seed=0):
    rng = np.random.default_rng(seed)
    pixels = rng.integers([0, 90, 200], [50, 150, 256], (samples, 6, 5, 3), np.uint8)
    return in_memory(pixels, np.arange(samples) % 3, ("a", "b", "c"))


def test_training_images_have_mean_0_and_deviation_1_and_test_images_their_scale():
    images, test = coloured(30), coloured(10, seed=1)
    data = ImageBatches(images, size=0, device=CPU)
    batch = data.normalised(next(data.raw([torch.arange(30)])))
    assert (batch.shape, batch.dtype) == ((30, 3, 6, 5), torch.float32)
    assert batch.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(batch.mean((0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(batch.std((0, 2, 3), correction=0), torch.ones(3))
    judge = ImageBatches(test, size=0, device=CPU, like=data)
    batch = judge.normalised(next(judge.raw([torch.tensor([7, 2])])))
    expected = (test.pixels[[7, 2]] - images.pixels.mean((0, 1, 2))) / images.pixels.std((0, 1, 2))
    np.testing.assert_allclose(batch.permute(0, 2, 3, 1), expected, atol=1e-5)
    alike = ImageBatches(
        replace(images, pixels=np.full_like(images.pixels, 77)), size=0, device=CPU
    )
    assert (alike.normalised(next(alike.raw([torch.arange(30)]))) == 0).all()


@pytest.fixture
def photos(tmp_path):
    for number, pixels in enumerate(coloured(6).pixels):
        file = tmp_path / "photos" / ("Käfer", "жук 1")[number % 2] / f"{number}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(file)
    return load(tmp_path / "photos")[0]


def test_files_are_the_same_decoded_at_once_or_on_the_way(photos, monkeypatch):
    at_once = ImageBatches(photos, size=5, device=CPU)
    monkeypatch.setattr("dualprune.train.batches.IN_MEMORY", 0)
    later = ImageBatches(photos, size=5, device=CPU)
    assert at_once.shape == later.shape == (3, 5)
    assert torch.equal(at_once.mean, later.mean)
    assert torch.equal(at_once.deviation, later.deviation)
    order = [torch.tensor([4, 0, 5]), torch.tensor([2])]
    for one, other in zip(at_once.raw(order), later.raw(order), strict=True):
        assert torch.equal(one, other)


# Order


@given(st.lists(st.booleans()).filter(any), st.integers(1, 70), st.integers(0, 2**40))
def test_an_epoch_is_every_kept_sample_once_in_batches_of_almost_equal_size(keep, batch, seed):
    keep = torch.tensor(keep)
    batches = batches_of_epoch(keep, batch, seed=seed, epoch=3)
    sizes, seen = [len(ids) for ids in batches], torch.cat(batches).tolist()
    assert sorted(seen) == torch.nonzero(keep).flatten().tolist()
    assert max(sizes) <= min(batch, min(sizes) + 1)
    assert len(batches) == steps_per_epoch(len(seen), batch) == math.ceil(len(seen) / batch)
    of_all = torch.cat(batches_of_epoch(torch.ones_like(keep), 7, seed=seed, epoch=3)).tolist()
    assert seen == [sample for sample in of_all if keep[sample]]


def test_every_seed_and_epoch_has_its_own_order():
    def order(seed, epoch):
        return torch.cat(batches_of_epoch(torch.ones(50) > 0, 8, seed=seed, epoch=epoch)).tolist()

    assert order(1, 2) == order(1, 2)
    assert len({tuple(order(seed, epoch)) for seed in range(4) for epoch in range(1, 5)}) == 16


# Checkpoints


def a_training(seed, steps=2):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 2))
    model = model.to(memory_format=torch.channels_last)
    optimizer = SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(5, 3, 4, 4)).square().sum().backward()
        optimizer.step()
    return model, optimizer


def content(model, optimizer):
    momenta = [optimizer.state[each]["momentum_buffer"] for each in model.parameters()]
    return deepcopy(model.state_dict() | {str(n): each for n, each in enumerate(momenta)})


@pytest.fixture
def stored(tmp_path):
    """A checkpoint of epoch 7 with the settings a and b, and what is in it."""
    training = a_training(0)
    store(tmp_path, *training, {"epoch": 7, "settings": {"a": 1, "b": [2]}}, {"uses": np.arange(5)})
    return tmp_path, content(*training)


@pytest.mark.parametrize("steps", [0, 1])
def test_parameters_buffers_momentum_and_arrays_come_back_bit_for_bit(stored, steps):
    folder, before = stored
    other = a_training(1, steps)
    state, arrays = restore(folder, *other, {"a": 1, "b": [2]})
    assert (state["epoch"], arrays["uses"].tolist()) == (7, [0, 1, 2, 3, 4])
    assert equal(content(*other), before)
    assert restore(folder / "nothing", *other, {"a": 1}) == ({}, {})


@pytest.mark.parametrize("other", [{"a": 1, "b": [3]}, {"c": 1}])
def test_a_checkpoint_of_other_settings_is_refused(stored, other):
    with pytest.raises(InputError, match=f"another training: its {[*other][-1]} is"):
        restore(stored[0], *a_training(1), other)


@pytest.mark.parametrize("name", ["000007.safetensors", "state.json"])
@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:-9] + b"?" * 9])
def test_a_damaged_checkpoint_is_noticed_before_anything_is_loaded(stored, name, damage):
    file = stored[0] / name
    file.write_bytes(damage(file.read_bytes()))
    training = a_training(1)
    before = content(*training)
    with pytest.raises(DamagedError, match=name):
        restore(stored[0], *training, {"a": 1})
    assert equal(content(*training), before)


@pytest.mark.parametrize("lost", ["settings", "tensors", "sha256"])
def test_what_is_sealed_but_no_checkpoint_is_refused(stored, lost):
    state = read_json(stored[0] / "state.json")
    del state[lost]
    write_json(stored[0] / "state.json", state)
    with pytest.raises(DamagedError, match=rf"state\.json is damaged: '{lost}'"):
        restore(stored[0], *a_training(1), {"a": 1})


def test_missing_tensors_are_noticed(stored):
    (stored[0] / "000007.safetensors").unlink()
    with pytest.raises(DamagedError, match=r"cannot read .*000007\.safetensors: No such file"):
        restore(stored[0], *a_training(1), {"a": 1})


def crash(*_):
    raise KeyboardInterrupt


def test_a_newer_checkpoint_replaces_the_old_one_only_when_it_is_whole(stored, monkeypatch):
    folder, before = stored
    newer, other, state = a_training(2), a_training(1), {"epoch": 8, "settings": {"a": 1}}
    with monkeypatch.context() as patched:
        patched.setattr("dualprune.train.checkpoint.write_json", crash)
        with pytest.raises(KeyboardInterrupt):
            store(folder, *newer, state, {})
    assert restore(folder, *other, {"a": 1})[0]["epoch"] == 7
    assert equal(content(*other), before)
    store(folder, *newer, state, {})
    assert sorted(path.name for path in folder.iterdir()) == ["000008.safetensors", "state.json"]
    assert restore(folder, *other, {"a": 1})[0]["epoch"] == 8
    assert equal(content(*other), content(*newer))


# Recordings


def test_a_recording_covers_every_sample_of_the_first_epochs(tmp_path, rates):
    told = []
    run = record(setup(), tmp_path / "run", tell=told.append)
    assert run.epochs == len(told) == 3
    assert all(np.isfinite(run[name]).all() for name in SIGNALS)
    np.testing.assert_array_equal(run["labels"], DIGITS.labels)
    assert (run.description.mode, run.description.data) == ("train", DIGITS.fingerprint)
    np.testing.assert_allclose(run["loss"].mean(1), [each.loss for each in told], rtol=1e-5)
    np.testing.assert_array_equal(run.names["source"], DIGITS.source)
    assert rates == cosine(9, of=18), "the schedule is that of all six epochs"


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("kind", ["stopped", "extended", "not stored"])
def test_a_recording_in_parts_is_that_in_one_go(tmp_path, monkeypatch, kind, clean):
    whole = record(setup(), tmp_path / "whole", epochs=4, clean=clean)
    if kind == "extended":
        record(setup(), tmp_path / "run", epochs=2, clean=clean)
    with monkeypatch.context() as patched:
        if kind == "not stored":  # the first epoch is recorded, but its checkpoint is not written
            patched.setattr("dualprune.train.loop.store", crash)
        with pytest.raises(KeyboardInterrupt):
            record(setup(), tmp_path / "run", epochs=4, clean=clean, tell=stop_after(3))
    run = record(setup(), tmp_path / "run", epochs=4, clean=clean)
    for name in SIGNALS:
        np.testing.assert_array_equal(run[name], whole[name])
    assert equal(weights(run.path), weights(whole.path))


def test_a_recording_of_another_training_is_refused(tmp_path):
    record(setup(), tmp_path / "run", epochs=1)
    for asked, message in (
        ({"epochs": 7}, "schedule is 6, not 7"),
        ({"seed": 1}, "seed is 0, not 1"),
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
    ):
        with pytest.raises(InputError, match=message):
            record(setup(), tmp_path / "run", **asked)


def test_a_clean_recording_sees_each_image_as_it_is_and_does_not_change_the_training(tmp_path):
    this, labels = setup(), torch.from_numpy(DIGITS.labels)
    clean = record(this, tmp_path / "clean", epochs=6, clean=True)
    assert clean.description.mode == "eval"
    oracle = cross_entropy(logits(this, clean.path, DIGITS), labels, reduction="none")
    np.testing.assert_allclose(clean["loss"][-1], oracle, rtol=1e-3, atol=1e-5)
    run = record(this, tmp_path / "run", epochs=6)
    train(this, tmp_path / "trained")
    assert equal(weights(clean.path), weights(run.path))
    assert equal(weights(run.path), weights(tmp_path / "trained"))
    with pytest.raises(InputError, match="mode is eval in one and train in the other"):
        Arrays([clean, run])


# Results


def test_a_result_is_what_the_last_epoch_reached_and_is_not_trained_again(tmp_path, rates):
    this, out, told = setup(), tmp_path / "out", []
    result = train(this, out, ids=np.arange(100), epochs=4, tell=told.append)
    right = logits(this, out, DIGITS_TEST).argmax(1).numpy() == DIGITS_TEST.labels
    assert result.accuracy == told[-1].accuracy == pytest.approx(right.mean())
    assert result.best_accuracy == max(each.accuracy for each in told)
    assert (result.samples, result.kept, result.judged_on) == (120, 100, "test")
    written = read_json(out / "result.json")
    assert written.pop("settings")["seed"] == 0
    assert written == asdict(result)
    assert train(this, out, ids=np.arange(100), epochs=4, tell=crash) == result
    assert len(rates) == 12
    with pytest.raises(InputError, match="its kept is"):
        train(this, out, ids=np.arange(20, 120), epochs=4)
    state = read_json(out / "checkpoint" / "state.json")
    for row, accuracy in zip(state["history"], (0.25, 0.75, 0.75, 0.5), strict=True):
        row["accuracy"] = accuracy
    write_json(out / "checkpoint" / "state.json", state)
    result = train(this, out, ids=np.arange(100), epochs=4)
    assert (result.accuracy, result.best_accuracy, result.best_epoch) == (0.5, 0.75, 2)


def test_only_the_given_ids_are_trained_on(tmp_path):
    ids = np.random.default_rng(0).permutation(120)[:70]
    others = np.setdiff1d(np.arange(120), ids)
    labels = DIGITS.labels.copy()
    labels[others] = (labels[others] + 1) % 10
    unlike = shuffled(replace(DIGITS, labels=labels), others)
    for name, images in (("a", DIGITS), ("b", unlike), ("c", shuffled(DIGITS, ids[:2]))):
        train(setup(images), tmp_path / name, ids=ids, epochs=2)
    assert equal(weights(tmp_path / "a"), weights(tmp_path / "b"))
    assert not equal(weights(tmp_path / "a"), weights(tmp_path / "c"))


@pytest.mark.parametrize(
    ("own", "asked", "steps", "images"),
    [
        ({}, {"iterations": 7}, 7, 280),
        ({}, {"epochs": 2}, 6, 240),
        ({"iterations": 4}, {}, 4, 160),
        ({"iterations": 4}, {"epochs": 1}, 3, 120),
        ({"batch_at": {"0.4": 9}}, {"epochs": 1, "ids": np.arange(60)}, 7, 60),
    ],
)
def test_a_training_makes_exactly_so_many_steps(tmp_path, rates, own, asked, steps, images):
    result = train(setup(**own), tmp_path / "out", **asked)
    assert rates == cosine(steps, of=steps)
    assert (result.epochs, result.backward) == (math.ceil(images / result.kept), images)


def test_a_training_that_cannot_be_is_refused(tmp_path):
    for asked, message in (
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"iterations": -3}, "iterations must be at least 1, got -3"),
        ({"ids": np.array([5, 5])}, "1 samples are left"),
        ({"ids": np.array([], np.int64)}, "0 samples are left"),
    ):
        with pytest.raises(InputError, match=message):
            train(setup(), tmp_path / "out", **asked)


def test_without_test_images_a_tenth_is_held_out_and_never_trained_on(tmp_path):
    this = setup(test=None)
    result = train(this, tmp_path / "one", epochs=2)
    assert (result.judged_on, result.kept, len(this.held_out)) == ("validation", 108, 12)
    judge = DIGITS.take(this.held_out)
    right = logits(this, tmp_path / "one", judge).argmax(1).numpy() == judge.labels
    assert result.accuracy == pytest.approx(right.mean())
    other = setup(shuffled(DIGITS, this.held_out), test=None)
    train(other, tmp_path / "other", ids=np.arange(120), epochs=2)
    assert equal(weights(tmp_path / "one"), weights(tmp_path / "other"))
    assert np.isfinite(record(this, tmp_path / "run")["loss"]).all(), "all samples are recorded"


def test_a_module_of_the_user_is_copied(tmp_path):
    own = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
    before = deepcopy(own.state_dict())
    run = record(setup(model=own), tmp_path / "run", epochs=2)
    assert train(setup(model=own), tmp_path / "out", epochs=5).accuracy > 0.3
    assert equal(own.state_dict(), before)
    assert not own.training
    assert not torch.equal(weights(run.path)["model.1.weight"], before["1.weight"])


# What is written beside


def test_names_come_back_or_are_damaged(tmp_path):
    names, source = ["Käfer/größe.png", "жук/1 a.png", "猫/😀.png"], np.array([5, 1, 2**40])
    root, file = tmp_path / "run", tmp_path / "run" / "names.parquet"
    with Recorder(root, samples=3, classes=2, names=names, source=source):
        pass
    assert Run(root).names["name"].tolist() == names
    assert Run(root).names["source"].tolist() == source.tolist()
    data = file.read_bytes()
    for position in (40, 150, len(data) - 1):
        for changed in (data[:position], data[:position] + b"?" + data[position + 1 :]):
            file.write_bytes(changed)
            with pytest.raises(DamagedError, match=r"names\.parquet"):
                _ = Run(root).names


def test_a_run_without_names_has_none_and_their_number_is_that_of_the_samples(tmp_path):
    with Recorder(tmp_path / "run", samples=3, classes=2):
        pass
    assert Run(tmp_path / "run").names == {}
    with Recorder(tmp_path / "source", samples=3, classes=2, source=np.array([3, 1, 2])):
        pass
    assert list(Run(tmp_path / "source").names) == ["source"]
    with pytest.raises(InputError, match="2 names for 3 samples"):
        Recorder(tmp_path / "fewer", samples=3, classes=2, names=["a", "b"])
    with pytest.raises(InputError, match="holds another run: names is"):
        Recorder(tmp_path / "run", samples=3, classes=2, names=["a", "b", "c"])


@pytest.mark.parametrize("how", ["link", "copy"])
def test_a_tree_holds_the_files_that_were_kept_and_nothing_else(tmp_path, photos, how):
    folder = tmp_path / "out" / "images"
    folder.parent.mkdir()
    kept = photos.take(np.array([0, 3, 5]))
    write_tree(kept, folder, how)
    assert set(folder.rglob("*.png")) == {folder / name for name in kept.names}
    for name, file in zip(kept.names, kept.files, strict=True):
        assert (folder / name).read_bytes() == file.read_bytes()
        assert (folder / name).is_symlink() == (how == "link")
    assert [path.name for path in folder.parent.iterdir()] == ["images"]


@pytest.mark.parametrize("through", ["", "a link to the home", "links to files"])
def test_links_stay_valid_when_images_and_tree_move_together(tmp_path, photos, through):
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    (tmp_path / "photos").rename(home / "photos")
    way = home
    if through == "a link to the home":
        way = tmp_path / "way"
        way.symlink_to(home)
    if through == "links to files":
        elsewhere.mkdir()
        for number, name in enumerate(photos.names):
            file = (home / "photos" / name).rename(elsewhere / f"{number}.png")
            (home / "photos" / name).symlink_to(file)
    images = load(way / "photos")[0]
    (home / "pruned").mkdir()
    write_tree(images, way / "pruned" / "images", "link")
    moved = home.rename(tmp_path / "moved")
    for name in images.names:
        link = moved / "pruned" / "images" / name
        assert not link.readlink().is_absolute()
        assert link.samefile(moved / "photos" / name)


def test_links_to_another_disk_are_absolute(tmp_path, photos, monkeypatch):
    """They cannot be moved together."""
    real = Path.stat

    def other_disk(path, **more):
        found = real(path, **more)
        if path.name != "photos":
            return found
        return os.stat_result([*found[:2], found.st_dev + 1, *found[3:]])

    monkeypatch.setattr(Path, "stat", other_disk)
    write_tree(photos, tmp_path / "images", "link")
    for name, file in zip(photos.names, photos.files, strict=True):
        assert (tmp_path / "images" / name).readlink() == file


def test_copies_replace_links_one_by_one_and_the_rest_later(tmp_path, photos, monkeypatch):
    folder, replace = tmp_path / "images", os.replace
    write_tree(photos, folder, "link")

    def fails_at_the_third(*paths):
        if sum(not (folder / name).is_symlink() for name in photos.names) == 2:
            raise OSError(28, "No space left on device")
        replace(*paths)

    monkeypatch.setattr(os, "replace", fails_at_the_third)
    with pytest.raises(WriteError, match="No space left"):
        replace_links(photos, folder)
    monkeypatch.undo()
    (folder / photos.class_names[0] / f".{'0' * 32}.tmp").write_bytes(b"of a killed process")
    for copied in (2, 6):
        assert sum(not (folder / name).is_symlink() for name in photos.names) == copied
        for name, file in zip(photos.names, photos.files, strict=True):
            assert (folder / name).read_bytes() == file.read_bytes()
        replace_links(photos, folder)
    assert {path for path in folder.rglob("*") if path.is_file()} == {
        folder / name for name in photos.names
    }
    assert not any(file.is_symlink() for file in photos.files)


def test_a_name_that_is_not_utf_8_in_a_class_with_a_backslash_is_in_its_class(tmp_path):
    name = os.fsdecode(b"caf\xe9.png")
    save(tmp_path / "photos" / "a\\b" / name)
    images, _ = load(tmp_path / "photos")
    write_tree(images, tmp_path / "tree", "copy")
    assert [file.name for file in (tmp_path / "tree").rglob("*.png")] == [name]
    assert [folder.name for folder in (tmp_path / "tree").iterdir()] == ["a\\b"]


def test_a_tree_never_replaces_what_is_there(photos):
    """It might be the folder that the images are in."""
    home = photos.files[0].parent.parent
    with pytest.raises(InputError, match="in the way"):
        write_tree(photos, home, "link")
    assert all(file.is_file() and not file.is_symlink() for file in photos.files)


@pytest.mark.parametrize("how", ["copy", "link"])
def test_a_tree_is_not_there_by_half(tmp_path, photos, how):
    photos.files[4].unlink()
    (tmp_path / "out").mkdir()
    with pytest.raises(WriteError, match="images"):
        write_tree(photos, tmp_path / "out" / "images", how)
    assert not list((tmp_path / "out").iterdir())


DIES_WHILE_COPYING = """
import os, shutil, signal, sys
from pathlib import Path
from dualprune.data import load, write_tree

shutil.copyfile = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
write_tree(load(sys.argv[1])[0], Path(sys.argv[2]), "copy")
"""


def test_the_next_tree_removes_what_a_killed_one_left_but_not_that_of_a_living_one(
    tmp_path, photos
):
    folder, living = tmp_path / "out/images", tmp_path / "out/other"
    killed = [sys.executable, "-c", DIES_WHILE_COPYING, tmp_path / "photos", folder]
    assert subprocess.run(killed, check=False).returncode == -signal.SIGKILL
    assert len(list(folder.parent.iterdir())) == 1
    with draft_folder(living) as building:
        write_tree(photos, folder, "copy")
        assert {*folder.parent.iterdir()} == {building, folder}
    assert {*folder.parent.iterdir()} == {living, folder}


@pytest.mark.parametrize("how", ["copy", "link"])
def test_a_tree_is_on_the_disk_before_it_appears(tmp_path, photos, how, monkeypatch):
    folder, synced, fsync = tmp_path / "out" / "images", [], os.fsync
    folder.parent.mkdir()

    def recorded(descriptor):
        synced.append((Path(f"/proc/self/fd/{descriptor}").resolve(), folder.exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", recorded)
    write_tree(photos, folder, how)
    outside = {tmp_path, folder.parent}
    *before, (last, _) = [row for row in synced if row[0] not in outside or row[1]]
    assert last == folder.parent
    assert not any(appeared for _, appeared in before)
    files = [*photos.names] if how == "copy" else []
    (building,) = {path for path, _ in before if path.parent == folder.parent}
    names = sorted(path.relative_to(building).as_posix() for path, _ in before)
    assert names == sorted([*files, *photos.class_names, "."]), "each of them once"


@pytest.mark.parametrize("how", ["copy", "link"])
def test_names_that_are_one_to_the_disk_are_refused(tmp_path, photos, how):
    (tmp_path / "out").mkdir()
    twice = photos.take(np.array([0, 1, 0]))
    with pytest.raises(InputError, match=f"cannot write {twice.names[0]}: .* differ only in case"):
        write_tree(twice, tmp_path / "out" / "images", how)
    assert not list((tmp_path / "out").iterdir())


def test_classes_that_are_one_to_the_disk_are_refused(tmp_path, monkeypatch):
    """As on a disk where capitals do not count."""
    for name in ("CAT/1.png", "cat/2.png"):
        save(tmp_path / "photos" / name)

    def ignores_case(path):
        return path.name.lower() in [other.name.lower() for other in path.parent.glob("*")]

    images, _ = load(tmp_path / "photos")
    monkeypatch.setattr("dualprune.data.tree.exists", ignores_case)
    with pytest.raises(InputError, match=r"cannot write cat/2\.png: to this disk, cat is the same"):
        write_tree(images, tmp_path / "images", "copy")


def test_moons_are_drawn_for_numbers_and_for_yes_or_no(tmp_path):
    x, y, z = np.random.default_rng(0).random((3, 300))
    draw_moons(tmp_path / "moon.png", x, y, {"score": z, "kept": z < 0.2})
    with Image.open(tmp_path / "moon.png") as image:
        assert (image.format, image.size) == ("PNG", (1500, 630))
        assert len(image.convert("RGB").getcolors(2**20)) > 100
    axes = Figure().add_subplot()
    assert moon(axes, x, y, z < 0.2, "kept") is axes
    _, yes = (np.asarray(each.get_offsets()).tolist() for each in axes.collections)
    assert sorted(yes) == sorted(np.stack([x, y], 1)[z < 0.2].tolist())
    (points,) = moon(Figure().add_subplot(), x, y, z, "score").collections
    np.testing.assert_array_equal(points.get_array(), np.sort(z), "high ones are drawn last")
    np.testing.assert_array_equal(points.get_offsets()[:, 0], x[np.argsort(z)])


@pytest.mark.parametrize("changes", [{"accuracy": None}, {"seconds": "x"}, {"samples": [1]}, None])
def test_what_is_sealed_but_no_result_is_refused(tmp_path, changes):
    good = asdict(Result(0.5, 0.5, 1, "test", 9, 9, 1, 9, 9, 0.1))
    write_json(tmp_path / "result.json", good | {"settings": {}})
    assert asdict(Result.load(tmp_path)) == good
    write_json(tmp_path / "result.json", {} if changes is None else good | changes)
    with pytest.raises(DamagedError, match=r"result\.json is damaged"):
        Result.load(tmp_path)


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("model", "threads"), [("cnn-small", 1), ("resnet8", 1), ("resnet18", 2)])
@pytest.mark.usefixtures("two_threads")
def test_a_model_has_as_many_threads_as_its_batches_keep_busy(model, threads):
    image = torch.zeros(1, 3, 32, 32)
    own = build(model, "images", classes=10, shape=(3, 32))
    assert useful_threads(own, image, batch=64) == threads


@pytest.mark.usefixtures("two_threads")
def test_a_small_model_trains_in_one_thread_and_leaves_the_others_to_the_caller(tmp_path):
    threads = []
    train(setup(), tmp_path, epochs=2, tell=lambda _: threads.append(torch.get_num_threads()))
    assert threads == [1, 1]
    assert torch.get_num_threads() == 2


def test_files_that_are_decoded_larger_are_cropped_to_train_and_their_centre_is_judged(tmp_path):
    for number in range(8):
        save(tmp_path / f"{number % 2}/{number}.png", size=(20, 20), seed=number)
    photos, _ = load(tmp_path, size=16)
    recipe = replace(recipes()["digits"], size=8, decode=16)
    this = Setup.of(photos, photos, recipe=recipe)
    order = [torch.arange(8)]
    whole, centre = next(this.batches.raw(order)), next(this.batches.inputs(order))
    assert (whole.shape, centre.shape) == ((8, 16, 16, 3), (8, 3, 8, 8))
    assert torch.equal(centre, this.batches.normalised(whole[:, 4:12, 4:12]))
    seen = []
    model = this.fresh_model(0)
    model.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    plan = Plan(recipe, np.arange(8), 8, 1, 1, 0)
    train_epoch(model, this.batches, plan, SGD(model.parameters(), lr=0.1), 1, None)
    (images,) = seen
    assert images.shape == (8, 3, 8, 8)
    assert not torch.equal(images.sort(0).values, centre.sort(0).values), "cropped at random"
