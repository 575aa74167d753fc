"""What pruning is worth: from which training on it pays, and how it compares with other ways."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, hypot, inf, sqrt
from statistics import mean, stdev

CORESET = "the coreset"
RANDOM = "a random part"
ALL = "all the data"
SHORTER = "all the data, shorter"
ANEW = "a new random part every epoch"

RIVALS = (
    "a shorter training on all the data, or a new random part every epoch, costs as much as one on "
    "what was kept, and needs no recording; prune --check compares them"
)

_ONE_SIDE = 0.975  # of an interval of 95 %
_GAIN = 0.95  # of an interval that is open above
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


@dataclass(frozen=True)
class Arm:
    """One way to train: how many images a training takes, and the accuracies by seed."""

    name: str
    images: int
    accuracies: list[float]


@dataclass(frozen=True)
class Difference:
    """How many points the coreset is above another arm: mean and deviation over paired seeds.

    `noise` is the deviation that comes from judging on few images.
    """

    points: float
    spread: float
    seeds: int
    noise: float = 0.0

    @property
    def may_be_chance(self) -> bool:
        """Whether the 95 % interval of the mean, over seeds (Student's t) and images, contains 0.

        >>> [Difference(points, 0.3, seeds=3).may_be_chance for points in (0.7, -0.8)]
        [True, False]
        >>> Difference(-0.8, 0.3, seeds=3, noise=0.4).may_be_chance
        True
        """
        over_seeds = student(self.seeds) * self.spread / sqrt(self.seeds)
        over_images = student(inf) * self.noise
        return abs(self.points) <= hypot(over_seeds, over_images)

    @property
    def is_gain(self) -> bool:
        """Whether the one-sided 95 % interval of the mean over seeds lies above 0.

        >>> [Difference(points, 0.3, seeds=6).is_gain for points in (0.2, 0.3, -0.3)]
        [False, True, False]
        """
        if self.seeds < 2:
            return False
        return self.points > student(self.seeds, _GAIN) * self.spread / sqrt(self.seeds)

    @property
    def in_short(self) -> str:
        """The points, with their deviation where there is more than one seed."""
        spread = f" ± {self.spread:.1f}" if self.seeds > 1 else ""
        return f"{self.points:+.1f}{spread}"

    def __str__(self) -> str:
        """Say it in words.

        >>> print(Difference(-0.8, 0.3, seeds=3), Difference(0.7, 0.3, seeds=3), sep="; ")
        worse by 0.8 ± 0.3; +0.7 ± 0.3, may be chance
        """
        if self.may_be_chance:
            return f"{self.points:+.1f} ± {self.spread:.1f}, may be chance"
        word = "better" if self.points > 0 else "worse"
        return f"{word} by {abs(self.points):.1f} ± {self.spread:.1f}"


def student(seeds: float, one_side: float = _ONE_SIDE) -> float:
    """Give half the width of an interval of a mean over seeds, in standard errors."""
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to load, and seldom needed

    return float(stdtrit(seeds - 1, one_side))


def paired(own: Sequence[float], other: Sequence[float]) -> Difference:
    """Compare accuracies seed by seed, as far as both have seeds, in points.

    >>> paired([0.5, 0.7, 0.6], [0.4, 0.5])
    Difference(points=15.0, spread=7.07..., seeds=2, noise=0.0)
    """
    both = [one - two for one, two in zip(own, other, strict=False)]
    return Difference(*_spread(both), len(both))


def in_points(accuracies: Sequence[float]) -> str:
    """Write accuracies in %: their mean, and the deviation where there is more than one.

    >>> in_points([0.5]), in_points([0.5, 0.6])
    ('50.0', '55.0 ± 7.1')
    """
    reached, spread = _spread(accuracies)
    return f"{reached:.1f} ± {spread:.1f}" if len(accuracies) > 1 else f"{reached:.1f}"


@dataclass(frozen=True)
class Check:
    """The coreset, first, and other ways to train, judged on the same held-out images."""

    held_out: int
    arms: list[Arm]

    @property
    def seeds(self) -> int:
        return len(self.arms[0].accuracies)

    def against(self, arm: Arm) -> Difference:
        """Compare the coreset with another arm, seed by seed, in points of accuracy.

        That both are judged on the same images makes the noise smaller, by how much is not known.
        """
        pairs = zip(self.arms[0].accuracies, arm.accuracies, strict=True)
        reached = [mean(one.accuracies) for one in (self.arms[0], arm)]
        noise = 100 * sqrt(sum(p * (1 - p) for p in reached) / self.held_out)
        return Difference(*_spread([own - other for own, other in pairs]), self.seeds, noise)

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Give of every arm its name, images, accuracy in %, and what the coreset is beside it."""
        for arm in self.arms:
            beside = "" if arm.name == CORESET else str(self.against(arm))
            yield arm.name, f"{arm.images:,}", in_points(arm.accuracies), beside

    def advice(self) -> str:
        """Say how the coreset stands beside the better of the two ways that cost the same."""
        rivals = [arm for arm in self.arms if arm.name in (SHORTER, ANEW)]
        best = max(rivals, key=lambda arm: mean(arm.accuracies))
        difference = self.against(best)
        if difference.points > 0 and not difference.may_be_chance:
            return f"at the same cost, the coreset was better than {best.name}"
        how = (
            "as good, as far as these seeds and samples tell"
            if difference.may_be_chance
            else "better"
        )
        return (
            f"to save time, train on {best.name}: it costs as much as training on the coreset, "
            f"needs no recording, and was {how}"
        )


def _spread(accuracies: Sequence[float]) -> tuple[float, float]:
    """Give mean and deviation in points, that of one seed is 0."""
    return 100 * mean(accuracies), 100 * stdev(accuracies) if len(accuracies) > 1 else 0.0


def pays(recording: float, small: float, full: float) -> str:
    """Say from which training on it costs less, all in passes over the full set.

    >>> pays(recording=30, small=15, full=30), pays(recording=30, small=3, full=200)
    ('pays from the third training on', 'pays from the first training on')
    """
    if small >= full:
        return "saves no time: training on it takes as long as on all the data"
    number = floor(recording / (full - small)) + 1
    few = number <= len(_ORDINALS)
    which = f"the {_ORDINALS[number - 1]} training" if few else f"training {number}"
    return f"pays from {which} on"
