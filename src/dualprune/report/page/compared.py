"""What `compare` found, one entry per method and share kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from dualprune.report.page.pack import safe_text
from dualprune.select import budget

__all__ = ["Compared", "summarise"]

_PALETTE = (
    "#c8374e", "#3f7fbf", "#2f9e77", "#b8860b", "#7d5bbe", "#d9713c",
    "#5b8c2a", "#b0529b", "#3aa6a6", "#8a6d5b", "#6b7bd6", "#a39b2f",
)  # fmt: skip
_WHOLE = "#80868f"


@dataclass(frozen=True)
class Compared:
    """Mean and deviation over seeds; `cost` is time with recording as a share of full training."""

    method: str
    keep: str
    share: float
    accuracy: float
    deviation: float
    seeds: int
    training: float
    cost: float
    judged_on: str
    whole: bool
    color: str


def summarise(cells: Sequence[Mapping[str, Any]]) -> list[Compared]:
    """Bring the rows of `results.json` together."""
    full = [cell["seconds"] for cell in cells if cell["whole"]]
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for cell in cells:
        groups.setdefault((cell["method"], cell["keep"]), []).append(cell)
    methods = dict.fromkeys(cell["method"] for cell in cells if not cell["whole"])
    colors = {method: _PALETTE[i % len(_PALETTE)] for i, method in enumerate(methods)}
    return [_compared(same, mean(full) if full else None, colors) for same in groups.values()]


def _compared(
    same: list[Mapping[str, Any]], full: float | None, colors: Mapping[str, str]
) -> Compared:
    first, accuracies = same[0], [cell["accuracy"] for cell in same]
    training = mean(cell["seconds"] for cell in same)
    recording = mean(cell["recording_seconds"] for cell in same)
    return Compared(
        method=safe_text(first["method"]),
        keep=first["keep"],
        share=budget(first["samples"], keep=first["keep"]) / first["samples"],
        accuracy=mean(accuracies),
        deviation=stdev(accuracies) if len(accuracies) > 1 else 0.0,
        seeds=len(same),
        training=training / full if full else float("nan"),
        cost=(training + recording) / full if full else float("nan"),
        judged_on=first["judged_on"],
        whole=first["whole"],
        color=_WHOLE if first["whole"] else colors[first["method"]],
    )
