r"""Which labels are probably wrong, from what was recorded alone.

.. math:: q_i = \sigma(m_i), \qquad m_i = \operatorname{mean}_t \,
    (z_{it}(y_i) - \max_{c \ne y_i} z_{it}(c))

The quality of a label is the logistic function of its area under the margin (AUM, Pleiss et al.,
2020): 1 when the model was always sure of it, below one half when on average it believed another
class more. A margin tells a wrong label, which has a rival, from a hard sample, of which the model
believes nothing firmly.

The suspects are the labels of the lowest quality, as many as may be wrong (`estimate.py`): the
upper end of the interval, so that a person who looks at all of them misses few. Where it cannot be
told how many are wrong, none are.
"""

from dataclasses import dataclass

import numpy as np

from dualprune.coreset import WrongLabels
from dualprune.errors import MissingError
from dualprune.method import Arrays
from dualprune.run.signals import all_missing
from dualprune.score import aum
from dualprune.signatures import Array


@dataclass(frozen=True)
class Judgement:
    """What the model believed of every label, by id; classes are positions, -1 where unknown.

    Without labels, or without what was believed of other classes, nothing is `judged`.
    """

    label: Array
    predicted: Array
    quality: Array
    suspect: Array
    wrong: WrongLabels
    judged: bool = True

    @property
    def order(self) -> Array:
        """Ids with the worst label first; NaN, never seen, sorts last."""
        return np.argsort(self.quality, kind="stable")


def judge(arrays: Arrays) -> Judgement:
    """Judge every label of a run."""
    from dualprune.suspects.estimate import count_wrong  # noqa: PLC0415 - loads scipy, slowly

    if lacking := _lacking(arrays):
        raise MissingError(
            f"{arrays.runs[0].path} has no {' and no '.join(lacking)}: without labels, and the "
            "signals margin and rival, it cannot be told which labels are wrong; record them"
        )
    margin, rival = arrays.scores([(aum, {"keep": "easy"}), (usual_rival, {})])
    label = arrays["labels"]
    quality = (1 + np.tanh(margin / 2)) / 2  # the logistic function, which cannot overflow so
    predicted = np.where(margin < 0, rival.astype(np.int32), label)
    wrong = count_wrong(margin)
    return Judgement(label, predicted, quality, _suspect(margin, wrong), wrong)


def judge_if_possible(arrays: Arrays) -> Judgement:
    """Judge every label, or none where the run does not hold what that needs."""
    if not _lacking(arrays):
        return judge(arrays)
    label = arrays["labels"] if arrays.has("labels") else all_missing("label", arrays.samples)
    unknown, none = np.full(arrays.samples, np.nan), np.zeros(arrays.samples, bool)
    return Judgement(label, label, unknown, none, WrongLabels(None, 0, 0), judged=False)


def _lacking(arrays: Arrays) -> list[str]:
    return [name for name in ("labels", "margin", "rival") if not arrays.has(name)]


def _suspect(margin: Array, wrong: WrongLabels) -> Array:
    """Say which labels are suspect: of those that the model doubted, as many as may be wrong."""
    suspect: Array = margin < 0
    suspect[np.argsort(margin, kind="stable")[wrong.high if wrong.estimate else 0 :]] = False
    return suspect


def usual_rival(rival: Array) -> Array:
    """Give the class that was most often the best other one; of equally frequent ones the lower.

    -1, missing, counts only where there is nothing else.

    >>> usual_rival(np.array([[2, -1], [1, -1], [2, 3]])).tolist()
    [2, 3]
    """
    ordered = np.sort(rival, axis=0)
    best: Array = ordered[0]
    length = most = np.zeros(ordered.shape[1], int)
    for before, now in zip(np.vstack([ordered[:1], ordered[:-1]]), ordered, strict=True):
        length = np.where(now == before, length + 1, 1)
        better = (now >= 0) & (length > most)
        best, most = np.where(better, now, best), np.where(better, length, most)
    return best
