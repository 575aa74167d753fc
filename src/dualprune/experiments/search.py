"""auto: which method, or how small a share, holds on these data; tried on held-out parts of them.

Every seed holds out a tenth of every class of its own, trains on what is chosen of the others, as
long as the recipe says, and is judged by what it held out; test data are not looked at. All choices
come from one recording, of the same share of the others.

Methods: all candidates are trained with one seed, the better half with three, and the best of these
with nine; random is trained with all of them. If random is ahead with three seeds, it is kept. In
the end the best candidate is kept if the one-sided 95 % interval of its lead over random, paired
over the nine seeds, lies above 0; otherwise random is. Three of these seeds chose the candidate,
so that of candidates as good as random one is kept in 11 % of searches rather than in 5 %.

Shares: from the smallest on, until the mean loss against all the data, paired over the seeds, plus
its standard error stays within the limit; then the middle between that share and the one before.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from dualprune.coreset import Arm, Search, Share, Shares
from dualprune.coreset.tried import BY_CHANCE
from dualprune.coreset.worth import paired
from dualprune.experiments.grid import CANDIDATES, ROUNDS, Cell, Grid, Row, stated
from dualprune.experiments.results import Line
from dualprune.experiments.setting import HELD_OUT, Setting, held_out_ids
from dualprune.experiments.work import images_of, run_of
from dualprune.files import seal
from dualprune.method import Arrays, Method, choose_among
from dualprune.run import Run
from dualprune.select import beta, budget, random, top
from dualprune.signatures import Array
from dualprune.train import FEWEST

SHARES = (0.1, 0.2, 0.3, 0.5, 0.7)
SHARE_SEEDS = 5
PART = 0.1
"""Share of every class that is held out."""

_ENOUGH = 3  # seeds after which random may be kept at once
_SEEDS_APART = 10  # so that another seed holds out other parts

RunGrid = Callable[[Grid], list[Line]]
"""Does what is missing of a grid and gives all its lines, as `runner.run` does."""
Tell = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Ground:
    """What is tried on: the data of a setting, recordings of them, and how rows train."""

    setting: Setting
    runs: tuple[Run, ...]
    epochs: int
    seed: int
    train: dict[str, Any] = field(default_factory=dict)

    @property
    def labels(self) -> Array:
        return self.setting.images({}, 0).images.labels

    @property
    def held_out(self) -> int:
        """How many samples judge a seed."""
        return len(held_out_ids(self.labels, PART, 0)[1])

    @property
    def _recorded(self) -> list[str]:
        return [run.fingerprint for run in self.runs]

    def grid(self, name: str, methods: Mapping[str, Method], pruned: float, seeds: int) -> Grid:
        """Give a grid in which methods choose from what each seed does not hold out."""
        first = _SEEDS_APART * (self.seed % 2**32)
        rows = [
            Row(label, self._known(method, pruned, range(first, first + seeds)), train=self.train)
            for label, method in methods.items()
        ]
        return Grid(
            name=name,
            kind="accuracy",
            title=name,
            setting=self.setting,
            rows=tuple(rows),
            pruned=(pruned,),
            seeds=seeds,
            first_seed=first,
            model=self.setting.model,
            shift={HELD_OUT: PART},
            scale=seal({"recorded": self._recorded, "epochs": self.epochs})[:16],
        )

    def _known(self, method: Method, pruned: float, seeds: range) -> Method:
        """Give a method of ids that are known; its name stands for all that chose them."""
        runs, epochs = self.runs[: method.runs], method.epochs or self.epochs
        arrays, ids = _arrays(runs, epochs, method.features), {}
        for seed in seeds:
            among, _ = held_out_ids(self.labels, PART, seed)
            k = budget(len(among), prune=repr(pruned))
            scaled = _scaled(method, self.labels, among, k)
            ids[seed] = choose_among(arrays, scaled, among, k=k, seed=seed)
        by = {"method": stated(method), "recorded": self._recorded, "epochs": self.epochs}
        return Method(None, Known(ids), name=seal(by)[:16])


def floor_of(method: Method) -> int:
    """How many of every class a method keeps at least, where it says a number; 0 if not.

    >>> [floor_of(Method("dual", select_knobs={"floor": floor})) for floor in (5, 0.5)]
    [5, 0]
    """
    floor = method.select_knobs.get("floor", 0)
    return floor if isinstance(floor, int) and method.select in (top, random, beta) else 0


def _scaled(method: Method, labels: Array, among: Array, k: int) -> Method:
    """Give a method with the floor for a part of the data: its share of that for all, or less.

    Rounding may leave `k` of them no room for all of it.
    """
    if not (floor := floor_of(method)):
        return method
    sizes = np.bincount(labels[among])
    floors = range(floor * len(among) // len(labels), -1, -1)
    fitting = next(some for some in floors if np.minimum(sizes, some).sum() <= k)
    return replace(method, select_knobs={**method.select_knobs, "floor": fitting})


def has_room(labels: Array, method: Method, keep: float) -> bool:
    """Whether a share of these data holds the floor of a method, and is enough to train on."""
    others, _ = held_out_ids(labels, PART, 0)
    if keep * len(others) < FEWEST:
        return False
    k = budget(len(labels), keep=repr(keep))
    return bool(np.minimum(np.bincount(labels), floor_of(method)).sum() <= k)


@lru_cache(2)
def _arrays(runs: tuple[Run, ...], epochs: int, features: int | None) -> Arrays:
    """Give arrays that remember their scores, which the choices of all seeds read."""
    return Arrays(runs, epochs=epochs, features=features)


@dataclass(frozen=True, eq=False)
class Known:
    """A selector of ids that are known, by seed; an object, so that other processes can have it."""

    ids: dict[int, Array]

    def __call__(self, labels: Array, *, seed: int) -> Array:  # noqa: ARG002
        return self.ids[seed]


def candidates(setting: Setting, pruned: float) -> dict[str, Method]:
    """Give the methods to try at this share, each with its knobs; none of them twice.

    >>> from dualprune.experiments.setting import settings
    >>> list(candidates(settings()["smoke"], 0.7))[:4]
    ['random', 'dual+beta, c_D 1', 'dual+beta, c_D 3', 'dual+beta, c_D 5.5']
    """
    methods: dict[str, Method] = {}
    for row in CANDIDATES:
        method = row.method_at(setting, pruned)
        if method not in methods.values():
            methods[row.name] = method
    return methods


def most_trainings(count: int) -> int:
    """How many trainings a search among so many candidates takes at most.

    >>> most_trainings(7)  # 7 with the first seed, 4 with two more, 2 with six more
    27
    """
    trainings, before = 0, 0
    for seeds in ROUNDS:
        trainings += count * (seeds - before)
        count, before = 1 + max(1, (count - 1) // 2), seeds
    return trainings


def search_method(
    ground: Ground, methods: Mapping[str, Method], pruned: float, run: RunGrid, tell: Tell
) -> Search:
    """Train the candidates, give up the worse half after each round, and keep the best."""
    left, arms = list(methods), dict[str, Arm]()
    for seeds in ROUNDS:
        lines = run(ground.grid("auto", {name: methods[name] for name in left}, pruned, seeds))
        arms |= {name: _arm(name, lines) for name in left}
        reached = {name: mean(arms[name].accuracies) for name in left}
        chance = reached.pop(BY_CHANCE)
        ranked = sorted(reached, key=lambda name: -reached[name])
        if seeds >= _ENOUGH and reached[ranked[0]] <= chance:
            break
        left = [BY_CHANCE, *ranked[: max(1, len(ranked) // 2)]]
        tell(f"auto: best beside random after {seeds} of {ROUNDS[-1]} seeds: {'; '.join(left[1:])}")
    best = ranked[0]
    gain = paired(arms[best].accuracies, arms[BY_CHANCE].accuracies)
    kept = best if gain.is_gain else BY_CHANCE
    return Search(kept, ground.held_out, list(arms.values()))


def _arm(name: str, lines: Sequence[Line]) -> Arm:
    own = [line.values for line in lines if line.row == name]
    return Arm(name, own[0]["forward"], [values["accuracy"] for values in own])


def search_share(
    ground: Ground, method_at: Callable[[float], Method], lose: float, run: RunGrid, tell: Tell
) -> Shares:
    """Train on all the data and on larger and larger shares, until one loses little enough.

    `method_at` gives the method at a share pruned. Shares without room for its floor, or with too
    few samples to train on, are left out.
    """

    def train(keep: float, method: Method) -> Share:
        label, pruned = f"{100 * keep:.3g}% of the data", round(1 - keep, 12)
        arm = _arm(label, run(ground.grid("shares", {label: method}, pruned, SHARE_SEEDS)))
        return Share(keep, arm.images, arm.accuracies)

    shares = Shares(lose, 1.0, ground.held_out, [train(1.0, Method(None, "random"))])

    def is_within(keep: float) -> bool:
        method = method_at(round(1 - keep, 12))
        if not has_room(ground.labels, method, keep):
            return False
        share = train(keep, method)
        shares.tried.append(share)
        loss = shares.loss(share).in_short
        tell(f"auto: {100 * keep:.3g}% of the data lose {loss} points")
        return shares.is_within(share)

    below = 0.0
    for keep in SHARES:
        if is_within(keep):
            middle = round((below + keep) / 2, 3)
            return replace(shares, keep=middle if is_within(middle) else keep)
        below = keep
    return shares


def settle(cell: Cell, home: Path, run: RunGrid) -> tuple[Cell, Search]:
    """Give a cell of `auto` with the method that is the best for its recording and share."""
    shifted, (wanted,) = images_of(cell), cell.recordings
    setting = replace(
        cell.setting,
        model=cell.model,
        loaded=(shifted.images, shifted.test),
        train=cell.setting.train | {"judge_every": cell.setting.trained.epochs},
    )
    methods = candidates(setting, cell.pruned)
    ground = Ground(
        setting, (run_of(wanted, home),), setting.epochs["early"], cell.seed, cell.row.train
    )
    search = search_method(ground, methods, cell.pruned, run, lambda line: None)  # noqa: ARG005
    return replace(cell, row=replace(cell.row, method=methods[search.kept])), search
