"""Selectors: from scores and a budget to the ids to keep, sorted."""

from collections.abc import Callable

from dualprune.select.beta import anchor_confidence, beta, beta_of_blocks
from dualprune.select.blocked import Choice
from dualprune.select.boss import boss
from dualprune.select.budget import budget
from dualprune.select.bws import bws
from dualprune.select.candidates import Notes
from dualprune.select.d2 import d2
from dualprune.select.infomax import infomax
from dualprune.select.k_center import k_center
from dualprune.select.moderate import moderate
from dualprune.select.random import random, random_of_blocks
from dualprune.select.stratified import stratified, stratified_of_blocks
from dualprune.select.top import top, top_of_blocks
from dualprune.signatures import Function

__all__ = [
    "OF_BLOCKS",
    "SELECTORS",
    "Notes",
    "anchor_confidence",
    "beta",
    "boss",
    "budget",
    "bws",
    "d2",
    "infomax",
    "k_center",
    "moderate",
    "random",
    "stratified",
    "top",
]

SELECTORS: dict[str, Function] = {
    f.__name__: f
    for f in (top, random, beta, stratified, moderate, k_center, d2, boss, bws, infomax)
}

OF_BLOCKS: dict[Function, Callable[..., Choice]] = {
    top: top_of_blocks,
    random: random_of_blocks,
    beta: beta_of_blocks,
    stratified: stratified_of_blocks,
}
"""The same choices of samples that lie in blocks; the others compare samples with each other."""
