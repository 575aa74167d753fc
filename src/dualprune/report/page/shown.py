"""Which samples the page draws, which of them it lists, and which have a picture."""

from dataclasses import dataclass

import numpy as np

from dualprune.report.facts import Facts
from dualprune.signatures import Array

POINTS = 50_000
PICTURES = 2_000
_LISTED = 240


@dataclass(frozen=True)
class Shown:
    """`ids` that are drawn and `pictured`, those of them with a picture, both sorted.

    `lists` holds the ids of each list, in the order in which they are shown.
    """

    ids: Array
    pictured: Array
    lists: dict[str, Array]


def choose_shown(facts: Facts) -> Shown:
    """Choose all samples that could be read, or a random part that includes all listed ones."""
    run, order = facts.run, np.random.default_rng(0).permutation(facts.run.samples)
    readable = np.isin(np.arange(run.samples), run.unreadable, invert=True)
    order = order[readable[order]]
    lists = {n: ids[readable[ids]][:_LISTED] for n, ids in _lists(facts, order).items()}
    first = np.concatenate([*lists.values(), order])
    _, position = np.unique(first, return_index=True)
    ranked = first[np.sort(position)]
    return Shown(np.sort(ranked[:POINTS]), np.sort(ranked[:PICTURES]), lists)


def _lists(facts: Facts, order: Array) -> dict[str, Array]:
    worst = facts.labels.order
    if facts.labels.suspect.any():
        worst = worst[facts.labels.suspect[worst]]
    lists = {"suspects": worst} if facts.labels.judged else {}
    if facts.kept is None:
        best = np.argsort(-np.nan_to_num(facts.score, nan=-np.inf), kind="stable")
        return lists | {"best": best}
    kept = facts.kept[order]
    return lists | {"kept": order[kept], "pruned": order[~kept]}
