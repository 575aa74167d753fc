"""Setting: on what, with what and how long an experiment trains, at one scale."""

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from dualprune.data import CORRUPTIONS, Images, corrupt, flip_labels, load, long_tail
from dualprune.errors import InputError
from dualprune.files import read_rows
from dualprune.select import random
from dualprune.signatures import Array
from dualprune.train import Setup
from dualprune.train.recipe import Recipe, recipes

__all__ = ["Setting", "Shifted", "settings"]

_SUBSET_SEED = 0x73756273  # nobody's own, so that no random coreset is the same draw


@dataclass(frozen=True)
class Setting:
    """A row of `settings.toml`, which explains the fields."""

    name: str
    data: str
    about: str
    recipe: str
    model: str
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

    @cached_property
    def trained(self) -> Recipe:
        """The recipe with this setting's changes."""
        return replace(recipes()[self.recipe], **self.train)

    def setup(self, shifted: "Shifted", model: str, changes: dict[str, Any]) -> Setup:
        """Give what trainings of a model on these images share."""
        recipe = replace(self.trained, **changes)
        return Setup.of(shifted.images, shifted.test, name=self.data, recipe=recipe, model=model)

    def stand_in(self, model: str | None) -> str:
        """Give what is trained here where the paper trains this model; None is the usual one."""
        return self.model if model is None else self.models.get(model, model)

    def images(self, shift: dict[str, float], seed: int) -> "Shifted":
        """Load the images and do to them what an experiment asks for; the last stay in memory."""
        return _prepared(self.data, self.samples, tuple(shift.items()), seed)

    def recorded(self) -> dict[str, Any]:
        """What a recording depends on, beside its model and seed."""
        return self.identity() | {
            name: getattr(self, name) for name in ("record", "features", "also")
        }

    def identity(self) -> dict[str, Any]:
        """What any training depends on."""
        return {"data": self.data, "samples": self.samples, "recipe": asdict(self.trained)}


@dataclass(frozen=True)
class Shifted:
    """Images and what was done to them: `wrong` are the ids of each kind of damage."""

    images: Images
    test: Images
    wrong: dict[str, Array]


def settings() -> dict[str, Setting]:
    """All settings, by name."""
    rows = read_rows("dualprune.experiments", "settings.toml")
    return {name: Setting(name=name, **row) for name, row in rows.items()}


@lru_cache(2)
def _prepared(
    data: str, samples: int | None, shift: tuple[tuple[str, float], ...], seed: int
) -> Shifted:
    images, test = load(data)
    if test is None:
        raise InputError(f"{data} has no test images to judge by")
    if samples is not None and samples < len(images):
        chosen = random(images.labels, k=samples, seed=_SUBSET_SEED, balance="proportional")
        images = images.take(chosen)
    return _shifted(images, test, dict(shift), seed)


def _shifted(images: Images, test: Images, shift: dict[str, float], seed: int) -> Shifted:
    """Flip labels, corrupt images or thin out classes: one of these, or nothing."""
    classes = len(images.class_names)
    if "labels" in shift:
        labels, flipped = flip_labels(images.labels, shift["labels"], classes, seed=seed)
        return Shifted(replace(images, labels=labels), test, {"labels": flipped})
    if "images" in shift:
        corrupted, kind = corrupt(images, shift["images"], seed)
        wrong = {name: np.flatnonzero(kind == i) for i, name in enumerate(CORRUPTIONS)}
        return Shifted(corrupted, test, {"images": np.flatnonzero(kind >= 0)} | wrong)
    if "tail" in shift:
        return Shifted(long_tail(images, 1 / shift["tail"], seed), test, {})
    return Shifted(images, test, {})
