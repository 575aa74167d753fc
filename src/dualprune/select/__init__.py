"""Selectors: from scores and a budget to the ids to keep, sorted."""

from dualprune.select.beta import anchor_confidence, beta
from dualprune.select.boss import boss
from dualprune.select.budget import budget
from dualprune.select.bws import bws
from dualprune.select.candidates import Notes
from dualprune.select.d2 import d2
from dualprune.select.infomax import infomax
from dualprune.select.k_center import k_center
from dualprune.select.moderate import moderate
from dualprune.select.random import random
from dualprune.select.stratified import stratified
from dualprune.select.top import top
from dualprune.signatures import Function

__all__ = [
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
