"""What the page knows of every sample."""

from dataclasses import dataclass

import numpy as np

from dualprune.coreset import Coreset
from dualprune.errors import InputError
from dualprune.run import Run
from dualprune.score import SCORES, from_runs
from dualprune.select.beta import anchor_confidence, beta
from dualprune.select.keys import uniform
from dualprune.signatures import Array, knobs
from dualprune.suspects import Judgement, judge

__all__ = ["Facts", "WhatIf", "gather"]

_BEHIND_ALL = 1e9  # farther than any density can move a key


@dataclass(frozen=True)
class WhatIf:
    """What Beta sampling of DUAL needs to choose any share of the samples again.

    `keys` are ln(-ln u) - ln s, shape (samples,): with the log density of the confidence taken off,
    the smallest are kept. Scores of zero come last, by lot; what has no score is NaN.
    """

    keys: Array
    mu: float
    c_d: float
    concentration: float


@dataclass(frozen=True)
class Facts:
    """Arrays of shape (samples,), by id; `kept` is None where nothing was chosen."""

    epochs: int
    variability: Array
    confidence: Array
    score: Array
    score_name: str
    labels: Judgement
    kept: Array | None
    what_if: WhatIf | None

    @property
    def samples(self) -> int:
        return len(self.confidence)


def gather(run: Run, coreset: Coreset | None) -> Facts:
    """Compute everything from the epochs that the coreset was chosen from, or from all."""
    epochs = _epochs(run, coreset)
    confidence, variability = (
        from_runs(SCORES[name], run, epochs=epochs) for name in ("confidence", "variability")
    )
    dual = _dual(run, epochs)
    name, score = ("dual", dual) if dual is not None else ("variability", variability)
    kept = None
    if coreset is not None:
        kept = np.zeros(run.samples, bool)
        kept[coreset.ids] = True
        if "score" in coreset.columns:
            name = str(coreset.card["method"]).partition("+")[0]
            score = coreset.columns["score"]
    return Facts(
        epochs=epochs,
        variability=variability,
        confidence=confidence,
        score=score,
        score_name=name,
        labels=judge(run, epochs=epochs),
        kept=kept,
        what_if=None if dual is None else _what_if(dual, confidence, coreset),
    )


def _epochs(run: Run, coreset: Coreset | None) -> int:
    if coreset is None:
        return run.epochs
    if run.fingerprint not in coreset.card["runs"]:
        raise InputError(
            f"the coreset was not chosen from {run.path}, or before more was recorded there; "
            "give the run that it was chosen from"
        )
    return int(coreset.card["epochs"])


def _dual(run: Run, epochs: int) -> Array | None:
    """Give the DUAL score, unless no sample was seen in as many epochs as its window has."""
    if epochs < knobs(SCORES["dual"])["window"].default:
        return None
    scores = from_runs(SCORES["dual"], run, epochs=epochs)
    return None if np.isnan(scores).all() else scores


def _what_if(dual: Array, confidence: Array, coreset: Coreset | None) -> WhatIf:
    """Take scores and settings of a coreset that was sampled so, else the defaults."""
    given = {name: knob.default for name, knob in knobs(beta).items()}
    seed = 0
    if coreset is not None and coreset.card["method"] == "dual+beta":
        given, seed = coreset.card["knobs"]["select"], coreset.card["seed"]
        dual = coreset.columns["score"]
    lots = uniform(seed, 0, len(dual))
    mu = given["mu"]
    if mu is None:
        mu = anchor_confidence(dual, confidence, lots, anchor=given["anchor"])
    with np.errstate(divide="ignore"):
        keys = np.log(-np.log(lots)) - np.log(dual)
    zero = np.flatnonzero(dual == 0)
    keys[zero[np.argsort(lots[zero])]] = _BEHIND_ALL * (1 + np.arange(len(zero)))
    return WhatIf(keys, mu, given["c_d"], given["concentration"])
