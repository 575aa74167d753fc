"""Grid: rows x shares pruned x seeds, and the cells and recordings that it consists of."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from dualprune.coreset import worth
from dualprune.coreset.tried import BY_CHANCE
from dualprune.dynamic import DYNAMIC
from dualprune.experiments.setting import Setting
from dualprune.files import seal
from dualprune.method import AUTO, Method, find_method, needs
from dualprune.method.named import at_share
from dualprune.select.budget import share_of
from dualprune.signatures import identity_of, knobs
from dualprune.train.order import steps_per_epoch
from dualprune.train.recipe import Recipe
from dualprune.train.setup import model_identity

Key = tuple[str, str, str, float, int]


@dataclass(frozen=True)
class Row:
    """A line of a table.

    A value in `score`, `select`, `dynamic` or `train` that depends on the share pruned is a table
    from that share, as in `methods.toml`; in between, the nearest smaller one counts.

    Parameters
    ----------
    method
        A name as `compare` takes it, static or dynamic, or a method.
    epochs
        From which epochs: a name from the setting, or a number.
    score, select, dynamic
        Knobs that differ from the method's own.
    runs
        How many recordings are averaged, if not as many as the method says.
    recorded
        The model whose training is recorded, if not the one that is trained.
    train
        Fields of the recipe that differ, such as `lr`; `iterations` replaces `epochs`.
    pruned
        The share pruned, if not those of the grid.
    """

    name: str
    method: str | Method
    epochs: str | int = "early"
    score: dict[str, Any] = field(default_factory=dict)
    select: dict[str, Any] = field(default_factory=dict)
    dynamic: dict[str, Any] = field(default_factory=dict)
    runs: int | None = None
    recorded: str | None = None
    train: dict[str, Any] = field(default_factory=dict)
    pruned: float | None = None

    @property
    def is_dynamic(self) -> bool:
        return isinstance(self.method, str) and self.method in DYNAMIC

    @property
    def is_auto(self) -> bool:
        """Whether candidates are tried before a method is known."""
        return self.method == AUTO

    @property
    def is_static(self) -> bool:
        """Whether a known method chooses, once and for all, what it trains on."""
        return bool(self.method) and not self.is_dynamic and not self.is_auto

    @property
    def is_whole(self) -> bool:
        """Whether it is the training on all the data that others are compared with."""
        return self == WHOLE

    def at(self, pruned: float) -> "Row":
        """Give the row with what holds for this share pruned.

        >>> row = Row("IES", "ies", dynamic={"threshold": {"0.0": 1e-3, "0.7": 1e-2}})
        >>> row.at(0.5).dynamic, row.at(0.9).dynamic
        ({'threshold': 0.001}, {'threshold': 0.01})
        """
        return replace(
            self,
            score=at_share(self.score, pruned),
            select=at_share(self.select, pruned),
            dynamic=at_share(self.dynamic, pruned),
            train=at_share(self.train, pruned),
        )

    def method_at(self, setting: Setting, pruned: float) -> Method:
        """Give the method with this row's knobs, and its epochs in this setting."""
        method, own = self.method, self.at(pruned)
        if isinstance(method, str):
            method = find_method(method, pruned)
        score = dict(method.score_knobs)
        if setting.window and method.scorer and "window" in knobs(method.scorer):
            score["window"] = setting.window
        epochs = self.epochs if isinstance(self.epochs, int) else setting.epochs[self.epochs]
        return replace(
            method,
            score_knobs=score | own.score,
            select_knobs={**method.select_knobs, **own.select},
            epochs=method.epochs or epochs,
            runs=self.runs or method.runs,
        ).with_defaults(setting.trained.select)


WHOLE = Row("everything", "")
SHORTER = Row(worth.SHORTER, "")
ANEW = Row(worth.ANEW, "random-dynamic")

CANDIDATES = (
    Row(BY_CHANCE, "random"),
    Row("dual+beta, c_D 1", "dual+beta", select={"c_d": 1.0}),
    Row("dual+beta, c_D 3", "dual+beta", select={"c_d": 3.0}),
    Row("dual+beta, c_D 5.5", "dual+beta", select={"c_d": 5.5}),
    Row("dual+beta", "dual+beta"),  # with the c_D of the recipe, or the one that is found
    Row("ccs", "ccs"),
    Row("dyn_unc", "dyn_unc"),
    Row("dual", "dual"),
)
"""What `auto` tries: of one recording, and without features, which not every recording has."""
ROUNDS = (1, 3, 9)
"""With how many seeds it trains those that are left, round by round."""


def same_cost(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Give the ways to train that cost as much as on what these rows keep, and record nothing.

    >>> [row.name for row in same_cost([Row("DUAL", "dual")])]
    ['all the data, shorter', 'a new random part every epoch']
    """
    has_anew = any(row.method == ANEW.method for row in rows)
    return (SHORTER,) if has_anew else (SHORTER, ANEW)


def train_as_coreset(row: Row, recipe: Recipe, kept: int, samples: int) -> dict[str, int]:
    """Give how such a row trains, where a coreset has this many of all the samples.

    It sees as many samples in batches of the same size, so it takes about as many steps.

    >>> from dualprune.train.recipe import recipes
    >>> train_as_coreset(SHORTER, recipes()["cifar10"], 5_000, 50_000)
    {'batch': 32, 'iterations': 31260}
    >>> train_as_coreset(ANEW, recipes()["cifar10"], 5_000, 50_000)
    {'batch': 32, 'epochs': 200}
    """
    passes, batch = recipe.passes(kept, samples), recipe.batch_for(share_of(kept, samples))
    if row == SHORTER:
        steps = round(passes * steps_per_epoch(samples, batch))
        return {"batch": batch, "iterations": max(1, steps)}
    return {"batch": batch, "epochs": max(1, round(passes * samples / kept))}


@dataclass(frozen=True)
class Grid:
    """A table or figure to run: an experiment at one scale, or what `compare` and `prune` ask for.

    Parameters
    ----------
    whole
        Whether to train on all the data, too.
    seeds, first_seed
        How often everything is repeated, and the first of these seeds.
    pairs
        Rows whose coresets are compared with each other.
    printed, deviations
        What the paper printed of each row, a number per share pruned.
    notes
        What to know of it, in words.
    """

    name: str
    kind: str
    title: str
    setting: Setting
    rows: tuple[Row, ...]
    pruned: tuple[float, ...]
    seeds: int
    model: Any
    scale: str = ""
    whole: bool = False
    shift: dict[str, float] = field(default_factory=dict)
    draw: str | None = None
    first_seed: int = 0
    pairs: Sequence[Sequence[str]] = ()
    printed: dict[str, Any] = field(default_factory=dict)
    deviations: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def cells(self) -> "Iterator[Cell]":
        """Give every cell, seed by seed, so that what is there early is whole."""
        for seed in range(self.first_seed, self.first_seed + self.seeds):
            if self.whole:
                yield Cell(self, WHOLE, 0.0, seed)
            for row in self.rows:
                for pruned in self.pruned if row.pruned is None else (row.pruned,):
                    yield Cell(self, row.at(pruned), pruned, seed)


@dataclass(frozen=True)
class Recording:
    """One training that is recorded; several cells, also of other experiments, choose from it."""

    setting: Setting
    shift: dict[str, float]
    model: Any
    seed: int
    number: int

    @cached_property
    def digest(self) -> str:
        model = model_identity(self.model)
        content = [self.setting.recorded(), self.shift, model, self.seed, self.number]
        return seal({"recorded": content})[:16]


@dataclass(frozen=True)
class Cell:
    """One entry of a table: a row, a share pruned, a seed."""

    grid: Grid
    row: Row
    pruned: float
    seed: int

    @property
    def key(self) -> Key:
        return (self.grid.name, self.grid.scale, self.row.name, self.pruned, self.seed)

    @property
    def setting(self) -> Setting:
        return self.grid.setting

    @property
    def shift(self) -> dict[str, float]:
        return self.grid.shift

    @property
    def model(self) -> Any:
        return self.grid.model

    @property
    def method(self) -> Method:
        """What chooses, where the row is static."""
        return self.row.method_at(self.setting, self.pruned)

    @property
    def settings(self) -> str:
        """Digest of all that its numbers depend on, beside the code."""
        row, setting = self.row, self.setting
        content: dict[str, Any] = {"of": setting.identity(), "shift": self.shift}
        content |= {"kind": self.grid.kind, "trained": model_identity(self.model)}
        content |= {"train": row.train, "dynamic": row.dynamic, "pruned": self.pruned}
        content |= {"recorded": [source.digest for source in self.recordings], "seed": self.seed}
        content["method"] = stated(self.method) if row.is_static else row.method
        if row.is_auto:
            tried = [stated(row.method_at(setting, self.pruned)) for row in CANDIDATES]
            content["candidates"] = [tried, ROUNDS]
        if row in (SHORTER, ANEW):
            content["length"] = "as much as a coreset costs"
            batch = setting.trained.batch_for(self.pruned)  # as `train_as_coreset` has it
            if batch != setting.trained.batch:
                content["train"] = {"batch": batch}
        if self.grid.pairs:
            content["beside"] = [stated(other) for other in self.grid.rows]
            content["seeds"] = self.grid.seeds
        return seal(content)[:16]

    @cached_property
    def recordings(self) -> list[Recording]:
        """What must be recorded before: nothing for dynamic methods and those that read labels."""
        row, setting = self.row, self.setting
        if not (row.is_static or row.is_whole or row.is_auto):
            return []
        if row.is_static and needs([self.method]) == {"labels"}:
            return []
        runs = self.method.runs if row.is_static else 1
        model = setting.stand_in(row.recorded) if row.recorded else self.model
        return [Recording(setting, self.shift, model, self.seed, n) for n in range(runs)]


def stated(thing: Any) -> dict[str, Any]:
    """Give the fields of a dataclass that differ from their defaults.

    What a later version adds, with a default that changes nothing, does not change this.

    >>> stated(Row("DUAL", "dual", epochs=30))
    {'name': 'DUAL', 'method': 'dual', 'epochs': 30}
    """
    values = {}
    for attribute in fields(thing):
        value, default = getattr(thing, attribute.name), attribute.default
        if attribute.default_factory is not MISSING:
            default = attribute.default_factory()
        if value != default:
            values[attribute.name] = _plain(value)
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, Method):
        return stated(value)
    return identity_of(value) if callable(value) else value


def recordings(wanted: Iterable[Cell]) -> list[Recording]:
    """Give all recordings that these cells need, none of them twice."""
    sources = {source.digest: source for cell in wanted for source in cell.recordings}
    return list(sources.values())
