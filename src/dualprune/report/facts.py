"""Facts: what is known of every sample; the card, the figures and the page all show these."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualprune.coreset import Card, Coreset
from dualprune.errors import InputError, MissingError
from dualprune.method import Arrays, Method, for_classes
from dualprune.run import Run
from dualprune.score import aum, confidence, dual, variability
from dualprune.select.beta import anchor_confidence, beta, draw_keys
from dualprune.select.candidates import Balance, Unscored
from dualprune.select.keys import BETA, ties, uniform
from dualprune.signatures import Array, check_knobs, knobs
from dualprune.suspects import Judgement, judge_if_possible, usual_rival

_BEHIND_ALL = 1e9  # farther than any density can move a key


@dataclass(frozen=True)
class WhatIf:
    """What DUAL with Beta sampling needs to choose another share of the samples.

    `keys` are ln(-ln u) - ln s, shape (samples,); the samples kept are those with the smallest keys
    minus the log density of the confidence, as far as the classes' `balance` or `floor` leaves
    room. Scores of zero come last, in random order; NaN is without a score. `mean_confidence` is
    that of several runs, None where one was recorded. Where `c_d` is None, the page finds it for
    every share, from `log_scores`.
    """

    keys: Array
    log_scores: Array
    mean_confidence: Array | None
    mu: float
    c_d: float | None
    concentration: float
    balance: Balance
    floor: int | float
    unscored: Unscored


@dataclass(frozen=True)
class Facts:
    """Arrays of shape (samples,), by id; `kept` is None without a coreset."""

    run: Run
    coreset: Coreset | None
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
        """How many samples could be read."""
        return self.run.readable


def gather(run: Run, coreset: Coreset | None, arrays: Arrays | None = None) -> Facts:
    """Compute the facts from the epochs that the coreset was chosen from, or from all.

    `arrays` may hold some of them already.
    """
    epochs = _epochs(run, coreset)
    if arrays is None or len(arrays.runs) > 1:
        arrays = Arrays([run], epochs=epochs)
    _refuse_without_loss(run)
    arrays.scores(shown for shown in scores_shown(epochs) if arrays.can_score(*shown))
    dual_scores = _dual(arrays)
    name, score = "dual", dual_scores
    if score is None:
        name, score = "variability", arrays["variability"]
    if coreset is not None and coreset.card.score is not None:
        name, score = coreset.card.score, coreset.columns["score"]
    return Facts(
        run=run,
        coreset=coreset,
        epochs=epochs,
        variability=arrays["variability"],
        confidence=arrays["confidence"],
        score=score,
        score_name=name,
        labels=judge_if_possible(arrays),
        kept=None if coreset is None else coreset.mask,
        what_if=_what_if(dual_scores, arrays, coreset),
    )


def scores_shown(epochs: int) -> list[tuple[Any, Mapping[str, Any]]]:
    """Give the scores that the page shows of a run with so many epochs, and their knobs."""
    scores: list[tuple[Any, Mapping[str, Any]]] = [(confidence, {}), (variability, {})]
    scores += [(aum, {"keep": "easy"}), (usual_rival, {})]
    return [*scores, (dual, {})] if epochs >= knobs(dual)["window"].default else scores


def _refuse_without_loss(run: Run) -> None:
    if not run.has("loss"):
        raise MissingError(
            f"the page shows confidence and variability, which need the loss; {run.path} has "
            f"{', '.join(run.signals)}"
        )


def _epochs(run: Run, coreset: Coreset | None) -> int:
    if coreset is None:
        return run.epochs
    if run.fingerprint not in coreset.card.runs:
        raise InputError(
            f"the coreset was not chosen from {run.path} as it is recorded now; "
            "give the run that it was chosen from"
        )
    return coreset.card.epochs


def _dual(arrays: Arrays) -> Array | None:
    """Give the DUAL scores, None if no sample was observed in as many epochs as a window has."""
    if arrays.epochs < knobs(dual)["window"].default:
        return None
    scores = arrays["dual"]
    return None if np.isnan(scores).all() else scores


def card_of_beta(coreset: Coreset | None) -> Card | None:
    """Give the card of a coreset that DUAL with Beta sampling chose from its usual arrays."""
    if coreset is None or coreset.card.reads:
        return None
    is_beta = (coreset.card.score, coreset.card.selector) == ("dual", "beta")
    return coreset.card if is_beta else None


def _what_if(scores: Array | None, arrays: Arrays, coreset: Coreset | None) -> WhatIf | None:
    """Give what choosing another share needs, None without DUAL scores.

    Scores and knobs are those of the coreset if DUAL and Beta chose it, else the defaults. As when
    it was chosen, what could not be read has no part in it.
    """
    if scores is None:
        return None
    card, mean, seed = card_of_beta(coreset), None, 0
    if coreset is not None and card is not None:
        scores, seed = coreset.columns["score"], card.seed
        mean = coreset.columns["confidence"] if len(card.runs) > 1 else None
    scores = arrays.of_readable("scores", scores)
    confidence = arrays.of_readable("confidence", mean)
    values = _knobs(card, arrays, bool(np.isnan(scores).any()))
    tie_keys = ties(seed, len(scores))
    mu = values["mu"] if card is None else card.values.get("mu", values["mu"])
    if mu is None:
        mu = anchor_confidence(scores, confidence, tie_keys, anchor=values["anchor"])
    with np.errstate(divide="ignore"):
        log_scores = np.log(scores)
    keys = draw_keys(uniform(seed, 0, len(scores), stream=BETA), log_scores)
    zero = np.flatnonzero(scores == 0)
    keys[zero[np.argsort(tie_keys[zero])]] = _BEHIND_ALL * (1 + np.arange(len(zero)))
    names = ("c_d", "concentration", "balance", "floor", "unscored")
    known = {name: values[name] for name in names}
    return WhatIf(arrays.by_id(keys), arrays.by_id(log_scores), mean, mu, **known)


def _knobs(card: Card | None, arrays: Arrays, some_unscored: bool) -> dict[str, Any]:
    """Give the knobs of Beta sampling: the card's, or those of `dualprune select beta`."""
    if card is not None:
        return check_knobs(beta, card.select_knobs)
    usual = for_classes(Method("dual", beta), labels=arrays.has("labels")).select_knobs
    return check_knobs(beta, {**usual, "unscored": "drop" if some_unscored else "error"})
