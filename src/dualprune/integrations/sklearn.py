"""CoresetSampler: choose what to keep inside scikit-learn, without torch and without files."""

from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from dualprune.arguments import checked
from dualprune.errors import InputError, needing
from dualprune.integrations.logits import signals_of
from dualprune.method import Method, find_method, for_classes, needs, warn_of_short
from dualprune.method.arrays import arrays_for
from dualprune.method.choose import select_ids
from dualprune.method.classes import class_sizes, short_classes
from dualprune.method.needs import window_of
from dualprune.run.derived import DERIVED
from dualprune.run.signals import DEFAULT
from dualprune.score import SCORES
from dualprune.select import budget
from dualprune.select.budget import Amount, share_of
from dualprune.select.candidates import Balance
from dualprune.signatures import Array, inputs

with needing("sklearn"):
    from sklearn.base import BaseEstimator, clone
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler
    from sklearn.utils import Tags, _safe_indexing, check_random_state, get_tags, indexable
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import validate_data

_FIRST_TREES: dict[str, Callable[[int], Any]] = {
    "iteration_range": lambda trees: (0, trees),  # XGBoost
    "num_iteration": lambda trees: trees,  # LightGBM
}


class CoresetSampler(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """Keep the part of a training set that is worth training on, as a step of a pipeline.

    A classifier is trained for some rounds; after each it says how probable the label of every
    sample is. `fit_resample` gives the rows that the method keeps, of the same kind as they came:
    a DataFrame keeps its index and types. It is a step of `imblearn.pipeline.Pipeline`, which
    prunes what is fitted and nothing that is predicted.

    Parameters
    ----------
    estimator
        The classifier to watch: one with `partial_fit`, with `staged_predict_proba` (boosting), or
        one of XGBoost or LightGBM; its number of rounds is set. None is a small neural network on
        standardised columns.
    keep
        How much to keep: 0.3, "30%" or a number of samples.
    method
        A name such as ``dual+beta`` or ``el2n``, or a `Method`, also with functions of your own;
        not one that reads features or averages recordings. Compare it with ``random``.
    rounds
        How many passes over the data, or trees per class, to watch.
    balance, floor
        As in `dualprune.choose`: without either, every class keeps at least half of its fair share.
    random_state
        Seed of the choice, and of an estimator that has none of its own.

    Attributes
    ----------
    sample_indices_
        Positions of the rows that are kept, in ascending order.
    scores_
        One number per row, or None where the method needs no score.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> sampler = CoresetSampler(keep=0.3, random_state=0)
    >>> small, labels = sampler.fit_resample(X, y)
    >>> small.shape, bool((small.index == sampler.sample_indices_).all()), sampler.scores_.shape
    ((45, 4), True, (150,))
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        keep: Amount,
        method: str | Method = "dual+beta",
        rounds: int = 30,
        balance: Balance | None = None,
        floor: int | float | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.keep = keep
        self.method = method
        self.rounds = rounds
        self.balance = balance
        self.floor = floor
        self.random_state = random_state

    def fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:  # noqa: N803 - as in scikit-learn
        """Give the rows to keep and their labels."""
        self.fit(X, y)
        return tuple(_safe_indexing(data, self.sample_indices_) for data in indexable(X, y))

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Choose the rows to keep: `sample_indices_`."""
        tags = get_tags(self)
        X, y = validate_data(  # noqa: N806
            self, X, y, accept_sparse="csr", ensure_all_finite=not tags.input_tags.allow_nan
        )
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise InputError(f"y has one class, {classes[0]}; give samples of two or more")
        k = budget(len(labels), keep=self.keep)
        method = _usable(self.method, share_of(k, len(labels)), rounds=self.rounds)
        method = for_classes(method, self.balance, self.floor)
        seed = int(check_random_state(self.random_state).randint(2**31))
        watched = self._watch(method, X, labels, seed)
        self.scores_, self.sample_indices_ = _choose(method, watched, k, seed)
        kept, names = labels[self.sample_indices_], list(map(str, classes))
        sizes, left = (class_sizes(some, len(names)) for some in (labels, kept))
        warn_of_short(short_classes(sizes, left, len(kept), names))
        return self

    def _watch(self, method: Method, X: Any, labels: Array, seed: int) -> dict[str, Array]:  # noqa: N803
        """Give the labels and the signals that a method reads; without any, nothing is trained."""
        wanted = needs([method]) - {"labels"}
        if not wanted:
            return {"labels": labels}
        if self.estimator is None:
            X = StandardScaler(with_mean=not issparse(X)).fit_transform(X)  # noqa: N806
            estimator = MLPClassifier(batch_size=min(32, len(labels)))
        else:
            estimator = clone(self.estimator)
        if estimator.get_params().get("random_state", 0) is None:
            estimator.set_params(random_state=seed)
        rounds = [
            {name: values for name, values in _signals(beliefs, labels).items() if name in wanted}
            for beliefs in _beliefs(estimator, X, labels, method.epochs or self.rounds)
        ]
        return {"labels": labels, **{name: np.stack([r[name] for r in rounds]) for name in wanted}}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        watched = get_tags(MLPClassifier() if self.estimator is None else self.estimator)
        tags.input_tags.sparse = watched.input_tags.sparse
        tags.input_tags.allow_nan = watched.input_tags.allow_nan
        tags.target_tags.required = True
        return tags


@checked
def _usable(method: str | Method, pruned: float, *, rounds: int) -> Method:
    """Find a method, and refuse one that needs more than can be watched."""
    method = find_method(method, pruned) if isinstance(method, str) else method
    unknown = sorted(needs([method]) - {"labels", *DEFAULT})
    if unknown or method.runs > 1:
        reason = f"reads {unknown[0]}" if unknown else f"averages {method.runs} recordings"
        raise InputError(
            f"{method.name} {reason}, which CoresetSampler does not have; choose a method that "
            f"reads labels, {', '.join(DEFAULT)}, such as dual+beta, el2n or random"
        )
    if rounds < (least := max(method.epochs or 1, window_of(method))):
        raise InputError(f"{method.name} needs at least {least} rounds, got {rounds}")
    return method


def _beliefs(estimator: Any, X: Any, labels: Array, rounds: int) -> Iterator[Array]:  # noqa: N803
    """Give the probabilities (samples, classes) after every round."""
    predict = getattr(estimator, "predict_proba", None)
    if predict and hasattr(estimator, "partial_fit"):
        for _ in range(rounds):
            estimator.partial_fit(X, labels, classes=np.unique(labels))
            yield predict(X)
    elif hasattr(estimator, "staged_predict_proba"):
        yield from _boosted(estimator, X, labels, rounds).staged_predict_proba(X)
    elif predict and (known := _FIRST_TREES.keys() & signature(predict).parameters.keys()):
        _boosted(estimator, X, labels, rounds)
        for trees in range(1, rounds + 1):
            yield predict(X, **{name: _FIRST_TREES[name](trees) for name in known})
    else:
        raise InputError(
            f"{type(estimator).__name__} cannot be watched; give a classifier with predict_proba "
            "and partial_fit (such as MLPClassifier), with staged_predict_proba (such as "
            "HistGradientBoostingClassifier), or one of XGBoost or LightGBM"
        )


def _boosted(estimator: Any, X: Any, labels: Array, rounds: int) -> Any:  # noqa: N803
    counts = {"n_estimators", "max_iter"} & estimator.get_params().keys()
    return estimator.set_params(**dict.fromkeys(counts, rounds)).fit(X, labels)


def _signals(beliefs: Array, labels: Array) -> dict[str, Array]:
    smallest = np.finfo(np.float64).tiny
    return signals_of(np.log(np.maximum(np.asarray(beliefs, np.float64), smallest)), labels)


def _choose(
    method: Method, watched: dict[str, Array], k: int, seed: int
) -> tuple[Array | None, Array]:
    """Give the scores, if the method has one, and the positions to keep."""
    derived = {
        name: fn(*(watched[source] for source in inputs(fn)))
        for name, fn in DERIVED.items()
        if watched.keys() >= inputs(fn).keys()
    }
    known: dict[str, Any] = {**watched, **derived, "scores": None}
    if (scorer := method.scorer) is not None:
        known["scores"] = scorer(**arrays_for(scorer, known), **method.score_knobs)
    for name, source in method.reads.items():
        score = SCORES.get(source)
        known[name] = known[source] if score is None else score(**arrays_for(score, known))
    data, scores = arrays_for(method.select, known), known["scores"]
    return scores, select_ids(method, data, len(watched["labels"]), k=k, seed=seed)
