"""Hashes of what decides the numbers of experiments; `python -m tests.behaviours` writes them.

Nothing here is trained: choices from recorded runs, orders, augmentation, damage, splits, the
weights that models start from, and the settings of methods and recipes.
"""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from dualprune.data import corrupt, flip_labels, in_memory, long_tail, validation_split
from dualprune.dynamic import IES, InfoBatch, RandomEveryEpoch
from dualprune.experiments.grid import CANDIDATES, ROUNDS, stated
from dualprune.experiments.search import PART
from dualprune.experiments.setting import held_out_ids, settings
from dualprune.method import find_method, named_methods
from dualprune.train import recipes
from dualprune.train.batches import augment
from dualprune.train.epoch import _learning_rate
from dualprune.train.models import MODELS, build
from dualprune.train.order import batches_of_epoch
from tests.choices import PRUNED
from tests.hashes import write

EXPECTED = Path(__file__).parent / "behaviours.json"


def behaviours():
    """Give the hash of everything that decides numbers, by name."""
    pixels = np.random.default_rng(0).integers(0, 256, (60, 8, 8, 3), np.uint8)
    images = in_memory(pixels, np.arange(60) % 4, tuple("abcd"))
    noisy, flipped = flip_labels(images.labels, 0.2, 4, seed=3)
    corrupted, kind = corrupt(images, 0.5, 3)
    train, validation = validation_split(images, 0.25, seed=1)
    generator = torch.Generator().manual_seed(5)
    keep = torch.arange(60) % 3 > 0
    observed = InfoBatch(60, epochs=10, seed=2)
    observed.observe(np.arange(60), np.linspace(0, 1, 60))
    early = IES(60)
    for loss in range(7):
        early.observe(np.arange(60), np.linspace(0, 1e-4, 60) + 1 / (1 + loss))
    things = {
        "flipped labels": [noisy, flipped],
        "corrupted images": [corrupted.pixels, kind],
        "long tail": long_tail(images, 0.1, 2).source,
        "validation split": [train.source, validation.source],
        "order": batches_of_epoch(keep, 7, seed=3, epoch=2),
        "augmentation": augment(torch.from_numpy(pixels), crop=0.25, flip=True, draw=generator),
        "learning rate": {
            name: [_learning_rate(recipe, part) for part in (0, 0.3, 1)]
            for name, recipe in recipes().items()
        },
        "random every epoch": RandomEveryEpoch(60, keep=0.3, seed=4).plan(3).train,
        "infobatch": [observed.plan(2).train, observed.plan(2).weights],
        "ies": early.plan(8).train,
        "methods": {
            name: [stated(find_method(name, float(pruned))) for pruned in PRUNED]
            for name in named_methods()
        },
        "recipes": {name: [r.stated(), r.select, r.record] for name, r in recipes().items()},
        "settings": {
            name: stated(replace(setting, about="", name=""))
            for name, setting in settings().items()
        },
        "auto": [[stated(row) for row in CANDIDATES], ROUNDS, PART],
        "held-out parts": held_out_ids(images.labels, PART, 3),
        "initial weights": {name: _weights(name) for name in MODELS["images"]},
    }
    entries = {}
    for name, thing in things.items():
        parts = thing if isinstance(thing, dict) else {"": thing}
        entries |= {f"{name} {part}".strip(): value for part, value in parts.items()}
    return {name: hashlib.sha256(_bytes(value)).hexdigest() for name, value in entries.items()}


def _weights(name):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = build(name, "images", classes=3, shape=(3, 32))
    return [value.numpy() for value in model.state_dict().values()]


def _bytes(thing):
    if isinstance(thing, np.ndarray | torch.Tensor):
        array = np.ascontiguousarray(thing)
        return f"{array.dtype} {array.shape}".encode() + array.tobytes()
    if isinstance(thing, dict):
        return b"".join(str(key).encode() + _bytes(value) for key, value in thing.items())
    if isinstance(thing, list | tuple):
        return b"[" + b",".join(map(_bytes, thing)) + b"]"
    return repr(thing).encode()


if __name__ == "__main__":
    write(EXPECTED, behaviours())
