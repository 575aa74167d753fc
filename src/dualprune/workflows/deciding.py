"""The method and the number to keep: as they were asked for, or found by trying."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np

from dualprune.coreset import Card, Search, Shares
from dualprune.data import only_readable
from dualprune.errors import InputError
from dualprune.experiments.search import (
    SHARE_SEEDS,
    SHARES,
    Ground,
    RunGrid,
    candidates,
    floor_of,
    has_room,
    most_trainings,
    search_method,
    search_share,
)
from dualprune.experiments.setting import Setting
from dualprune.files import exists
from dualprune.method import Method, find_method, for_classes
from dualprune.run import Run
from dualprune.select import budget
from dualprune.select.budget import share_of
from dualprune.select.candidates import floor_quotas
from dualprune.signatures import knobs
from dualprune.train import Setup
from dualprune.workflows.asked import TRIED, Asked
from dualprune.workflows.working import Work


@dataclass(frozen=True, eq=False)
class Wanted:
    """What was asked for, the data and the model, and what is or will be recorded of them."""

    asked: Asked
    setup: Setup
    epochs: int
    recorded: list[Run] = field(default_factory=list)

    @staticmethod
    def of(asked: Asked, setup: Setup, epochs: int | Literal["auto"] | None) -> "Wanted":
        """Take the recipe's number of epochs if there is no other; evaluate once, at the end."""
        epochs = setup.recipe.record if epochs is None or isinstance(epochs, str) else epochs
        recipe = replace(setup.recipe, judge_every=epochs)
        return Wanted(asked, replace(setup, recipe=recipe), epochs)

    @property
    def samples(self) -> int:
        """How many samples could be read."""
        return len(self.setup.data.readable_ids)

    @cached_property
    def k(self) -> int | None:
        """How many to keep, None if that is to be found."""
        return None if self.asked.finds_share else budget(self.samples, **self.asked.amount)

    @property
    def methods(self) -> list[Method]:
        """All that may choose, and for which must be recorded."""
        if self.k is None:
            return [self.method_at(1 - keep) for keep in SHARES]
        pruned = share_of(self.k, self.samples)
        if self.asked.finds_method:
            return list(self.candidates_at(pruned).values())
        return [self.method_at(pruned)]

    def method_at(self, pruned: float) -> Method:
        """Give the method that was asked for, at this share pruned."""
        method = self.asked.method
        named = find_method(method, pruned) if isinstance(method, str) else method
        return self._for_classes(named.with_defaults(self.setup.recipe.select))

    def candidates_at(self, pruned: float) -> dict[str, Method]:
        """Give what is tried, without what cannot keep to the balance or floor asked for."""
        said = {"balance": self.asked.balance, "floor": self.asked.floor}
        needed = {name for name, value in said.items() if value is not None}
        return {
            name: self._for_classes(method)
            for name, method in candidates(self.setting, pruned).items()
            if needed <= knobs(method.select).keys()
        }

    def refuse_impossible(self) -> None:
        """Refuse a floor that what is kept has no room for, and a cut-off of what may be kept."""
        labels = self.setup.data.labels[self.setup.data.readable_ids]
        if self.k is not None:
            for method in self.methods:
                floor_quotas(np.bincount(labels), self.k, floor_of(method))
        elif not has_room(labels, most := self.method_at(1 - SHARES[-1]), SHARES[-1]):
            raise InputError(
                f"keep auto tries at most {SHARES[-1]:.0%} of the {self.samples} samples, which "
                f"have no room for a floor of {floor_of(most)} per class; lower the floor, or say "
                "how much to keep"
            )
        else:
            self._refuse_cut_off()

    def _refuse_cut_off(self) -> None:
        """Refuse to find a share for a method that cuts off what a large share would keep."""
        for keep in (*SHARES, 1.0):
            method = self.method_at(1 - keep)
            cut_off = method.select_knobs.get("cut_off", 0.0)
            if cut_off > 1 - keep:
                raise InputError(
                    f"keep auto tries up to {SHARES[-1]:.0%} of the data, and may keep all, but "
                    f"{method.name} cuts off {cut_off:.0%}; say how much to keep, or lower cut_off"
                )

    def _for_classes(self, method: Method) -> Method:
        return for_classes(method, self.asked.balance, self.asked.floor)

    def method_of(self, card: Card) -> Method | None:
        """Give the method that a card must name if it is of what is asked for; None if none can."""
        pruned = share_of(min(card.k, self.samples), self.samples)  # a card may be of other data
        if self.asked.finds_method:
            kept = None if card.search is None else card.search.kept
            return self.candidates_at(pruned).get(kept or "")
        return None if card.search is not None else self.method_at(pruned)

    @cached_property
    def setting(self) -> Setting:
        """What is tried on: all that could be read, trained as long as the recipe says."""
        data, recipe = only_readable(self.setup.data), self.setup.recipe
        setting = Setting.of(
            TRIED, recipe, data, data, seeds=1, model=self.setup.model, judged_on="validation"
        )
        return replace(
            setting,
            record=self.epochs,
            epochs={"early": self.epochs},
            train={"judge_every": recipe.epochs},
        )


@dataclass(frozen=True)
class Decision:
    """What chooses, how many it keeps, and what was tried to know that."""

    method: Method
    k: int
    search: Search | None = None
    shares: Shares | None = None


def decide(wanted: Wanted, runs: list[Run], work: Work) -> Decision:
    """Give the method and the number that were asked for, or try several of them; resumes."""
    if wanted.k is None:
        shares = _find_share(wanted, runs, work)
        k = budget(wanted.samples, keep=repr(shares.keep))
        return Decision(wanted.method_at(1 - shares.keep), k, shares=shares)
    pruned = share_of(wanted.k, wanted.samples)
    if not wanted.asked.finds_method:
        return Decision(wanted.method_at(pruned), wanted.k)
    methods = wanted.candidates_at(pruned)
    search = _find_method(wanted, methods, pruned, runs, work)
    return Decision(methods[search.kept], wanted.k, search=search)


def _find_method(
    wanted: Wanted, methods: Mapping[str, Method], pruned: float, runs: list[Run], work: Work
) -> Search:
    shares = [1 - pruned] * most_trainings(len(methods))
    work = _announce(wanted, work, f"which of {'; '.join(methods)}", shares)
    run, ground = _run_in(wanted, work), _ground(wanted, runs)
    return search_method(ground, methods, pruned, run, work.tell)


def _find_share(wanted: Wanted, runs: list[Run], work: Work) -> Shares:
    lose, shares = float(wanted.asked.lose or 0), [1.0, *SHARES, SHARES[-1]] * SHARE_SEEDS
    work = _announce(wanted, work, f"which share loses at most {lose:g} points", shares)
    run, ground = _run_in(wanted, work), _ground(wanted, runs)
    return search_share(ground, wanted.method_at, lose, run, work.tell)


def _announce(wanted: Wanted, work: Work, what: str, shares: list[float]) -> Work:
    """Say before it begins how much there is to do at most: a training for each of the shares."""
    count, recipe = work.at_a_time(wanted.setting, len(shares)), wanted.setup.recipe
    if not exists(wanted.asked.out / "card.json"):
        samples = wanted.samples
        passes = sum(recipe.passes(round(share * samples), samples) for share in shares)
        amount = work.amount(wanted.setup, len(shares), passes, count)
        work.tell(f"auto: at most {amount} to find {what}")
    return replace(work, processes=count)


def _run_in(wanted: Wanted, work: Work) -> RunGrid:
    return partial(work.run, out=wanted.asked.out / TRIED)


def _ground(wanted: Wanted, runs: list[Run]) -> Ground:
    return Ground(wanted.setting, tuple(runs), wanted.epochs, wanted.asked.seed)
