"""Recipe: how to train, and how to prune afterwards."""

import math
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

from dualprune.errors import InputError, did_you_mean
from dualprune.files import read_rows
from dualprune.select.budget import share_of


@dataclass(frozen=True)
class Recipe:
    """An optimiser and a cosine schedule over `epochs`; the first `record` are recorded.

    `momentum` and `nesterov` are those of SGD. `lr_for` is how many samples, all epochs
    together, `lr` suits.
    `iterations` replaces `epochs` when training on a
    coreset. `crop` is the padding of random crops as a share of the image;
    where `decode` says to which side image files are decoded, crops are random and resized to
    `size` instead, and the centre is evaluated. `published` names the
    data that the setting was published for, if any. The model is evaluated after every
    `judge_every` epochs and after the last. `select` are knobs for any selector that has them,
    unless a method sets them.
    """

    name: str
    published: str
    model: str
    size: int
    epochs: int
    record: int
    batch: int
    lr: float
    momentum: float
    nesterov: bool
    weight_decay: float
    crop: float
    flip: bool
    optimizer: Literal["sgd", "adamw"] = "sgd"
    lr_for: int | None = None
    decode: int | None = None
    lr_end: float = 0.0
    judge_every: int = 1
    iterations: int | None = None
    batch_at: dict[str, int] = field(default_factory=dict)
    select: dict[str, Any] = field(default_factory=dict)

    @property
    def decoded(self) -> int:
        """Side in pixels of the squares that image files are decoded to."""
        return self.decode or self.size

    def lr_scale(self, samples: float) -> float:
        """Factor of the learning rate of a training on so many samples, all epochs together.

        With more than `lr_for` there are more steps, in which a model would learn wrong labels by
        heart, so that none stands out.

        >>> recipes()["text"].lr_scale(20_000 * 30)
        0.5
        """
        return 1.0 if self.lr_for is None else math.sqrt(self.lr_for / samples)

    def stated(self) -> dict[str, Any]:
        """Give the fields that training depends on and that differ from their defaults."""
        defaults = {setting.name: setting.default for setting in fields(self)}
        ignored = ("published", "select", "record", "model", "name")
        return {
            name: value
            for name, value in asdict(self).items()
            if name not in ignored and value not in (defaults[name], {})
        }

    def batch_for(self, pruned: float) -> int:
        """Batch size when this share is pruned: `batch`, or that of `batch_at`.

        `batch_at` has the batch size from a pruned share on; the largest share reached counts.

        >>> recipe = recipes()["cifar10"]
        >>> recipe.batch_for(0.5), recipe.batch_for(0.8), recipe.batch_for(0.95)
        (128, 64, 32)
        """
        shares = [share for share in self.batch_at if float(share) <= pruned]
        return self.batch_at[max(shares, key=float)] if shares else self.batch

    def passes(self, kept: int, samples: int) -> float:
        """Cost of training on `kept` samples, in passes over all samples.

        >>> recipes()["cifar10"].passes(5_000, 50_000)
        20.0
        """
        if self.iterations is not None:
            return self.iterations * self.batch_for(share_of(kept, samples)) / samples
        return self.epochs * kept / samples


def recipes() -> dict[str, Recipe]:
    """All recipes, by name."""
    rows = read_rows("dualprune.train", "recipes.toml")
    return {name: Recipe(name=name, **row) for name, row in rows.items()}


def find_recipe(name: str, data: str, *, gpu: bool, size: int | None = None) -> Recipe:
    """Find a recipe by name; `auto` is the data's own, or `small` where that one needs a GPU.

    With another `size` of its images it is no published one.

    >>> [find_recipe("auto", "cifar10", gpu=gpu).name for gpu in (True, False)]
    ['cifar10', 'small']
    """
    known = recipes()
    if name == "auto":
        own = known.get(data, known["small"])
        name = own.name if gpu or not own.published else "small"
    if name not in known:
        raise InputError(
            f"there is no recipe {name!r}; choose auto or one of {', '.join(known)}."
            f"{did_you_mean(name, known)}"
        )
    recipe = known[name]
    return recipe if size in (None, recipe.size) else replace(recipe, size=size, published="")
