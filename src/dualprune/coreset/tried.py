"""What was tried before a choice: methods by `--method auto`, shares by `--keep auto`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import mean

from dualprune.coreset.worth import Arm, Difference, in_points, paired, student
from dualprune.errors import InputError

BY_CHANCE = "random"
"""Name of the candidate that all others are compared with."""


@dataclass(frozen=True)
class Search:
    """Candidates that were trained on held-out parts of the data, random first; which was kept.

    Every seed has a part of its own, of `held_out` samples, that judges all candidates. Those that
    were behind were given up after fewer seeds.
    """

    kept: str
    held_out: int
    arms: list[Arm]

    def __post_init__(self) -> None:
        names = [arm.name for arm in self.arms]
        if names[:1] != [BY_CHANCE] or self.kept not in names or _is_empty(self.arms):
            raise InputError("a search has random first, what was kept, and accuracies of each")

    @property
    def trainings(self) -> int:
        return sum(len(arm.accuracies) for arm in self.arms)

    @property
    def images(self) -> int:
        """Samples that went through the model."""
        return sum(arm.images * len(arm.accuracies) for arm in self.arms)

    def beside_random(self, arm: Arm) -> Difference:
        """Compare a candidate with random, over the seeds of both."""
        return paired(arm.accuracies, self.arms[0].accuracies)

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Give of every candidate its name, seeds, accuracy in %, and what it is beside random."""
        for arm in sorted(self.arms, key=lambda arm: -len(arm.accuracies)):
            name = f"{arm.name} (kept)" if arm.name == self.kept else arm.name
            beside = "" if arm.name == BY_CHANCE else self.beside_random(arm).in_short
            yield name, str(len(arm.accuracies)), in_points(arm.accuracies), beside

    def __str__(self) -> str:
        """Say what was kept, and why.

        >>> random = Arm("random", 100, [0.5, 0.5, 0.5])
        >>> print(Search("random", 10, [random, Arm("ccs", 100, [0.6, 0.5, 0.5])]))
        random was kept: the best candidate was not better by more than chance explains; 6 trainings
        """
        cost = f"{self.trainings} trainings"
        if self.kept == BY_CHANCE:
            return (
                f"{self.kept} was kept: the best candidate was not better by more than chance "
                f"explains; {cost}"
            )
        arm = next(arm for arm in self.arms if arm.name == self.kept)
        beside = self.beside_random(arm)
        gain = f"{beside.points:.1f} ± {beside.spread:.1f} points over {beside.seeds} seeds"
        return f"{self.kept} was kept: better than random by {gain}; {cost}"


@dataclass(frozen=True)
class Share:
    """A share of the data that was trained on, and the accuracies by seed."""

    keep: float
    images: int
    accuracies: list[float]


@dataclass(frozen=True)
class Shares:
    """Shares that were trained on, all the data first, to find the smallest that loses little.

    A share stays within the limit if the mean loss over seeds, plus its standard error, is at most
    `lose` points. `keep` is the smallest that does, 1.0 if none does. Every seed has a part of its
    own, of `held_out` samples, that judges all shares.
    """

    lose: float
    keep: float
    held_out: int
    tried: list[Share]

    def __post_init__(self) -> None:
        keeps = [share.keep for share in self.tried]
        if keeps[:1] != [1] or self.keep not in keeps or _is_empty(self.tried):
            raise InputError("shares have all the data first, what was kept, and accuracies")

    @property
    def images(self) -> int:
        """Samples that went through the model."""
        return sum(share.images * len(share.accuracies) for share in self.tried)

    @property
    def trainings(self) -> int:
        return sum(len(share.accuracies) for share in self.tried)

    def loss(self, share: Share) -> Difference:
        """How many points all the data are above a share."""
        return paired(self.tried[0].accuracies, share.accuracies)

    def interval(self, share: Share) -> tuple[float, float]:
        """Give the 95 % interval of the mean loss, in points."""
        loss = self.loss(share)
        half = student(loss.seeds) * loss.spread / sqrt(loss.seeds)
        return loss.points - half, loss.points + half

    def is_within(self, share: Share) -> bool:
        """Whether a share loses no more than the limit, as far as these seeds tell."""
        loss = self.loss(share)
        return loss.points + loss.spread / sqrt(loss.seeds) <= self.lose

    @property
    def curve(self) -> list[Share]:
        """The shares, the smallest first."""
        return sorted(self.tried, key=lambda share: share.keep)

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Give of every share its name, accuracy in %, loss with its interval, and the verdict."""
        for share in self.curve:
            name = f"{100 * share.keep:.3g}%" if share.keep < 1 else "all the data"
            loss, verdict = "", ""
            if share.keep < 1:
                low, high = self.interval(share)
                loss = f"{self.loss(share).points:.1f} ({low:.1f} to {high:.1f})"
                verdict = "within" if self.is_within(share) else "too much"
            mark = " (kept)" if share.keep == self.keep else ""
            yield name + mark, in_points(share.accuracies), loss, verdict

    def __str__(self) -> str:
        """Say what was kept, and how sure that is.

        >>> whole, tenth = Share(1.0, 100, [0.9, 0.9, 0.9]), Share(0.1, 10, [0.7, 0.7, 0.8])
        >>> print(Shares(0.5, 1.0, 50, [whole, tenth]))
        everything was kept: every share up to 10% may lose more than 0.5 points; 6 trainings
        """
        cost = f"{self.trainings} trainings"
        if self.keep == 1:
            most = max((share.keep for share in self.tried if share.keep < 1), default=0)
            return (
                f"everything was kept: every share up to {100 * most:.3g}% may lose more than "
                f"{self.lose:g} points; {cost}"
            )
        share = next(share for share in self.tried if share.keep == self.keep)
        low, high = self.interval(share)
        return (
            f"{100 * self.keep:.3g}% of the data lose {self.loss(share).points:.1f} points "
            f"(95 % interval {low:.1f} to {high:.1f}), within {self.lose:g}; all the data reach "
            f"{100 * mean(self.tried[0].accuracies):.1f} %; {cost}"
        )


def _is_empty(measured: Sequence[Arm | Share]) -> bool:
    return not all(one.accuracies for one in measured)
