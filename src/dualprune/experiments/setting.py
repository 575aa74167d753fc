"""Setting: on what, with what and how long an experiment trains, at one scale."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache, partial
from typing import Any

import numpy as np

from dualprune.data import (
    CORRUPTIONS,
    Data,
    Images,
    corrupt,
    decode,
    flip_labels,
    load,
    long_tail,
    split_ids,
)
from dualprune.data.images import IN_MEMORY
from dualprune.errors import InputError
from dualprune.files import read_rows
from dualprune.select import random
from dualprune.signatures import Array
from dualprune.train import Setup
from dualprune.train.pretrained import is_checkpoint
from dualprune.train.recipe import Recipe, recipes

SHIFTS = ("labels", "images", "tail")
HELD_OUT = "held_out"
"""A shift that leaves the test data out of it: a share of the training data judges instead."""

_SUBSET_SEED = 0x73756273  # nobody's own, so that no random coreset is the same draw
_HELD_OUT_SEED = 0x686F6C64  # added to the seed; not that of `hold_out`, by which `check` judges


@dataclass(frozen=True, eq=False)
class Shifted:
    """Images and what was done to them: `wrong` are the ids of each kind of damage."""

    images: Data
    test: Data
    wrong: dict[str, Array]


@dataclass(frozen=True)
class Setting:
    """A row of `settings.toml`, which explains the fields.

    `loaded` are training and test images that a caller already has, instead of the `data` of that
    name, and then `recipe` is no name either; `judged_on` says what the test images are.
    """

    name: str
    data: str
    about: str
    recipe: str | Recipe
    model: Any
    record: int
    epochs: dict[str, int]
    seeds: int
    features: list[int] = field(default_factory=list)
    also: list[str] = field(default_factory=list)
    samples: int | None = None
    train: dict[str, Any] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    window: int | None = None
    pruned: list[float] | None = None
    rows: list[str] | None = None
    judged_on: str = "test"
    loaded: tuple[Data, Data] | None = field(default=None, repr=False, compare=False)

    @staticmethod
    def of(
        name: str,
        recipe: Recipe,
        images: Data,
        test: Data,
        *,
        seeds: int,
        model: Any = "auto",
        judged_on: str = "test",
    ) -> "Setting":
        """Give the setting of images that are loaded, recorded as long as their recipe says."""
        return Setting(
            name=name,
            data="",
            about=f"{len(images):,} samples, {recipe.epochs} epochs",
            recipe=recipe,
            model=recipe.model if model == "auto" else model,
            record=recipe.record,
            epochs={"early": recipe.record},
            seeds=seeds,
            judged_on=judged_on,
            loaded=(images, test),
        )

    @cached_property
    def trained(self) -> Recipe:
        """The recipe with this setting's changes."""
        recipe = recipes()[self.recipe] if isinstance(self.recipe, str) else self.recipe
        return replace(recipe, **self.train)

    @property
    def records_all(self) -> bool:
        """Whether the training on all the data is recorded to its end.

        It is not where a coreset, and so all the data, too, are trained on for other iterations.
        """
        return self.trained.iterations is None and self.record >= self.trained.epochs

    def setup(self, shifted: Shifted, model: Any, changes: dict[str, Any]) -> Setup:
        """Give what trainings of a model on these images share."""
        recipe = replace(self.trained, **changes)
        checkpoint = model if is_checkpoint(model) else "auto"
        shared = _on_device(shifted, self.trained.size, self.trained.decode, checkpoint)
        return replace(shared, recipe=recipe, model=model)

    def stand_in(self, model: str | None) -> Any:
        """Give what is trained here where the paper trains this model; None is the usual one."""
        return self.model if model is None else self.models.get(model, model)

    def images(self, shift: dict[str, float], seed: int) -> Shifted:
        """Load the images and do to them what an experiment asks for; the last stay in memory."""
        images, test = self.loaded or _loaded(self.data, self.samples)
        return _shifted(images, test, tuple(shift.items()), seed, self.trained.size)

    def recorded(self) -> dict[str, Any]:
        """What a recording depends on, beside its model and seed."""
        return self.identity() | {
            name: getattr(self, name) for name in ("record", "features", "also")
        }

    def identity(self) -> dict[str, Any]:
        """What any training depends on."""
        data = self.data if self.loaded is None else [part.fingerprint for part in self.loaded]
        return {"data": data, "samples": self.samples, "recipe": self.trained.stated()}


@cache
def settings() -> dict[str, Setting]:
    """All settings, by name."""
    rows = read_rows("dualprune.experiments", "settings.toml")
    return {name: Setting(name=name, **row) for name, row in rows.items()}


@lru_cache(1)
def _on_device(shifted: Shifted, size: int, decode: int | None, model: str) -> Setup:
    """Put data on their device once for the trainings that follow each other."""
    recipe = replace(recipes()[shifted.images.recipe], size=size, decode=decode)
    return Setup.of(shifted.images, shifted.test, recipe=recipe, model=model)


@lru_cache(1)
def _loaded(data: str, samples: int | None) -> tuple[Data, Data]:
    images, test = load(data)
    if test is None:
        raise InputError(f"{data} has no test images to evaluate on")
    if samples is not None and samples < len(images):
        chosen = random(images.labels, k=samples, seed=_SUBSET_SEED, balance="proportional")
        images = images.take(chosen)
    return images, test


@lru_cache(2)
def _shifted(
    images: Data, test: Data, changes: tuple[tuple[str, float], ...], seed: int, size: int
) -> Shifted:
    """Flip labels, corrupt images, thin out classes or hold out: one of these, or nothing.

    Files are read at this size before they are corrupted.
    """
    shift, classes = dict(changes), len(images.class_names)
    if "labels" in shift:
        labels, flipped = flip_labels(images.labels, shift["labels"], classes, seed=seed)
        return Shifted(replace(images, labels=labels), test, {"labels": flipped})
    if "images" in shift:
        corrupted, kind = corrupt(_in_memory(images, size), shift["images"], seed)
        wrong = {name: np.flatnonzero(kind == i) for i, name in enumerate(CORRUPTIONS)}
        return Shifted(corrupted, test, {"images": np.flatnonzero(kind >= 0)} | wrong)
    if "tail" in shift:
        return Shifted(long_tail(images, 1 / shift["tail"], seed), test, {})
    if HELD_OUT in shift:
        others, judging = held_out_ids(images.labels, shift[HELD_OUT], seed)
        return Shifted(images.take(others), images.take(judging), {})
    return Shifted(images, test, {})


def held_out_ids(labels: Array, share: float, seed: int) -> tuple[Array, Array]:
    """Give the ids that a seed trains on, and those of every class that it is judged by."""
    return split_ids(labels, share, _HELD_OUT_SEED + seed)


def pixels_of(data: Data, ids: Array, size: int) -> Array:
    """Give these images, uint8 (ids, height, width, channels); files as squares of this size."""
    images = _as_images(data)
    if images.pixels is not None:
        return np.asarray(images.pixels[ids])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return np.stack(list(pool.map(partial(decode, size=size), [images.files[i] for i in ids])))


def _in_memory(data: Data, size: int) -> Images:
    images = _as_images(data)
    if images.pixels is not None:
        return images
    if (needed := len(images) * size * size * 3) > IN_MEMORY:
        raise InputError(
            f"{len(images):,} images of {size} x {size} take {needed / 2**30:.1f} GiB, and only "
            f"what fits into {IN_MEMORY / 2**30:.0f} GiB is corrupted; take fewer or smaller ones"
        )
    pixels = pixels_of(images, np.arange(len(images)), size)
    return replace(images, pixels=pixels, files=(), names=(), squares=None)


def _as_images(data: Data) -> Images:
    if not isinstance(data, Images):
        raise InputError(f"only images can be shown and corrupted, not {data.kind}")
    return data
