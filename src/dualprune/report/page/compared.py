"""Results of a comparison, one entry per method and share kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from statistics import mean, stdev
from typing import Any, Protocol

from dualprune.report.page.pack import safe_text

_PALETTE = (
    "#c8374e", "#3f7fbf", "#2f9e77", "#b8860b", "#7d5bbe", "#d9713c",
    "#5b8c2a", "#b0529b", "#3aa6a6", "#8a6d5b", "#6b7bd6", "#a39b2f",
)  # fmt: skip
_WHOLE = "#80868f"


class Result(Protocol):
    """A line of `results.jsonl`; `pruned` is 0 for the training on all the data."""

    @property
    def row(self) -> str: ...
    @property
    def pruned(self) -> float: ...
    @property
    def values(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Compared:
    """Mean and deviation over seeds; `cost` is time with recording as a share of full training."""

    method: str
    share: float
    accuracy: float
    deviation: float
    seeds: int
    training: float
    cost: float
    color: str


def summarise(results: Sequence[Result]) -> list[Compared]:
    """Summarise the results of trainings, one entry per method and share kept."""
    trained = [line for line in results if {"accuracy", "training_seconds"} <= {*line.values}]
    seconds = [line.values["training_seconds"] for line in trained if line.pruned == 0]
    full = mean(seconds or [nan])
    groups: dict[tuple[str, float], list[Result]] = {}
    for line in trained:
        groups.setdefault((line.row, line.pruned), []).append(line)
    methods = dict.fromkeys(line.row for line in trained if line.pruned > 0)
    colors = {method: _PALETTE[i % len(_PALETTE)] for i, method in enumerate(methods)}
    return [_compare(lines, full, colors) for lines in groups.values()]


def _compare(lines: list[Result], full: float, colors: Mapping[str, str]) -> Compared:
    name, accuracies = lines[0].row, [line.values["accuracy"] for line in lines]
    training = mean(line.values["training_seconds"] for line in lines)
    recording = mean(line.values.get("recording_seconds", 0.0) for line in lines)
    return Compared(
        method=safe_text(name) if name in colors else "all the data",
        share=1 - lines[0].pruned,
        accuracy=mean(accuracies),
        deviation=stdev(accuracies) if len(accuracies) > 1 else 0.0,
        seeds=len(lines),
        training=training / full,
        cost=(training + recording) / full,
        color=colors.get(name, _WHOLE),
    )
