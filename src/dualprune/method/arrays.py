"""Arrays: what scores and selectors read, found by name and computed once.

A name is an array of the run (`labels`, `features`), a signal or a derived one, else a score over
the same epochs. This is the only place that knows.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dualprune.arguments import as_array
from dualprune.errors import InputError, MissingError
from dualprune.run import Run
from dualprune.run.derived import DERIVED
from dualprune.run.ranges import Map, ranges, threads
from dualprune.score import SCORES
from dualprune.score.observed import mean_observed
from dualprune.score.parts import ScoreParts
from dualprune.signatures import Array, Function, check_knobs, inputs, name_of

Wanted = tuple[Function, Mapping[str, Any]]

_FEW = 32  # samples that are scored a second time, by themselves


class Arrays:
    """Arrays of one or more runs of the same data, over the same epochs.

    ``arrays["labels"]`` and scores have shape (samples,), signals (epochs, samples), features
    (samples, width). A score of several runs is the mean of their scores; a sample that one of them
    could not score has the mean of the others.

    Parameters
    ----------
    epochs
        Use the first so many of each run; all if not given.
    features
        After which epoch to take features, if not the newest of those.
    map
        What calls a function for ranges of ids, where scores do not read features; threads if not
        given.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        *,
        epochs: int | None = None,
        features: int | None = None,
        map: Map | None = None,
    ) -> None:
        if not runs:
            raise InputError("give at least one run")
        for other in runs[1:]:
            _refuse_other_data(runs[0], other)
        counts = {run.first_epochs(epochs) for run in runs}
        if len(counts) > 1:
            raise InputError(f"the runs have {sorted(counts)} epochs; say how many to use of each")
        self.runs = list(runs)
        self.samples = runs[0].samples
        (self.epochs,) = counts
        self._features = features or self.epochs
        self.map = map
        self._scores: dict[tuple[Function, str], Array] = {}
        self._saved: dict[tuple[Function, str], ScoreParts] = {}

    def __getitem__(self, name: str) -> Array:
        if name == "labels":
            return self.runs[0].labels
        if name in SCORES and not self.runs[0].has(name):
            return self.score(SCORES[name])
        if len(self.runs) > 1:
            raise InputError(f"{name} of several runs cannot be put together; give one run")
        if name == "features":
            return self.runs[0].features(self._features)
        if not self.runs[0].has(name):
            raise MissingError(_missing(name, self.runs[0]))
        return self.runs[0][name][: self.epochs]

    def of_readable(self, name: str, values: Array | None = None) -> Array:
        """Give an array, or these values of that name, without what could not be read."""
        values, unreadable = self[name] if values is None else values, self.runs[0].unreadable
        if not len(unreadable):
            return values
        return np.delete(values, unreadable, axis=values.ndim - 1 if name != "features" else 0)

    def by_id(self, values: Array) -> Array:
        """Give numbers of the samples that could be read as those of all, NaN for the others."""
        if not len(self.runs[0].unreadable):
            return values
        whole = np.full(self.samples, np.nan)
        whole[self.readable_ids()] = values
        return whole

    def readable_ids(self) -> Array:
        """Ids of the samples that could be read."""
        return np.delete(np.arange(self.samples), self.runs[0].unreadable)

    def has(self, name: str) -> bool:
        """Whether an array of this name can be had from these epochs."""
        if is_score(name):
            return self.can_score(SCORES[name], {})
        return all(run.has(source) for run in self.runs for source in sources([name]))

    def can_score(self, fn: Function, knobs: Mapping[str, Any]) -> bool:
        """Whether all that a score must read can be had, and as many epochs as its window has."""
        if self.epochs < check_knobs(fn, knobs).get("window", 1):
            return False
        return all(self.has(name) for name, required in inputs(fn).items() if required)

    def score(self, fn: Function, knobs: Mapping[str, Any] | None = None) -> Array:
        """Score every sample."""
        (values,) = self.scores([(fn, knobs or {})])
        return values

    def scores(self, wanted: Iterable[Wanted]) -> list[Array]:
        """Compute several scores while each run is read once; what is known is not computed again.

        Memory stays small whatever the number of samples: blocks of them are read and scored one
        after the other, unless a score reads features.
        """
        keys = [(_key(fn, knobs), (fn, knobs)) for fn, knobs in wanted]
        for key, parts in self._saved.items():
            if key not in self._scores and any(key == other for other, _ in keys):
                self._scores[key] = parts.read(range(self.samples))
        new = {key: score for key, score in keys if key not in self._scores}
        by_run = [self._of_run(run, list(new.values())) for run in self.runs if new]
        for key, values in zip(new, zip(*by_run, strict=True), strict=True):
            self._scores[key] = values[0] if len(values) == 1 else mean_observed(np.stack(values))
        return [self._scores[key] for key, _ in keys]

    def remember(self, fn: Function, knobs: Mapping[str, Any], values: Array | ScoreParts) -> None:
        """Take over scores that were computed before."""
        if isinstance(values, ScoreParts):
            self._saved[_key(fn, knobs)] = values
        else:
            self._scores[_key(fn, knobs)] = values

    def saved(self, fn: Function, knobs: Mapping[str, Any]) -> ScoreParts | None:
        """Give scores that were computed before and lie in files."""
        return self._saved.get(_key(fn, knobs))

    def _of_run(self, run: Run, wanted: list[Wanted]) -> list[Array]:
        if run.epochs == 0:
            raise MissingError(f"{run.path} has no complete epoch yet")
        parts = [score for score in wanted if "features" not in sources(inputs(score[0]))]
        columns = iter(self._by_block(run, parts))
        return [
            next(columns) if score in parts else self._with_features(run, *score)
            for score in wanted
        ]

    def _with_features(self, run: Run, fn: Function, knobs: Mapping[str, Any]) -> Array:
        if self.map is not None:
            raise InputError(
                f"{name_of(fn)} compares the features of all samples, so it works on one machine; "
                "score without map (on the command line without --engine)"
            )
        alone = Arrays([run], epochs=self.epochs, features=self._features)
        read = [name for name, needed in inputs(fn).items() if needed or alone.has(name)]
        scores = fn(**{name: alone.of_readable(name) for name in read}, **knobs)
        return alone.by_id(scores)

    def _by_block(self, run: Run, wanted: list[Wanted]) -> list[Array]:
        """Compute scores of which each sample's depends on its own records alone."""
        if not wanted:
            return []
        read = sorted({name for fn, _ in wanted for name in signals_of(fn, run)})
        parts = ranges(run.samples)
        task = partial(score_range, run, wanted, read, self.epochs)
        columns = [np.empty(run.samples) for _ in wanted]
        for ids, values in zip(parts, self.mapping(wanted)(task, parts), strict=True):
            for column, part in zip(columns, values, strict=True):
                column[ids.start : ids.stop] = part
        return columns

    def mapping(self, wanted: Iterable[Wanted]) -> Map:
        """What computes such scores by range: `map`, else as many threads as memory allows."""
        if self.map is not None:
            return self.map
        run = self.runs[0]
        read = sorted({name for fn, _ in wanted for name in signals_of(fn, run)})
        return partial(threads, workers=run.threads(read, epochs=self.epochs))


def score_range(
    run: Run, wanted: list[Wanted], read: list[str], epochs: int, ids: range
) -> list[Array]:
    """Compute scores of a range of ids, in this thread."""

    def score(**block: Array) -> list[Array]:
        return [_checked(fn, block, knobs) for fn, knobs in wanted]

    columns = [np.empty(len(ids)) for _ in wanted]
    for some, values in run.map(score, read, epochs=epochs, ids=ids, threads=1):
        for column, part in zip(columns, values, strict=True):
            column[some.start - ids.start : some.stop - ids.start] = part
    return columns


def _key(fn: Function, knobs: Mapping[str, Any]) -> tuple[Function, str]:
    return fn, repr(sorted(check_knobs(fn, knobs).items()))


def is_score(name: str) -> bool:
    """Whether a name is that of a score; `entropy` is also the signal that its score reads."""
    return name in SCORES and name not in inputs(SCORES[name])


def sources(names: Iterable[str]) -> set[str]:
    """What arrays of these names are made of: recorded signals, `labels`, `features`.

    >>> sorted(sources(["confidence", "tdds", "labels"]))
    ['kl_step', 'labels', 'loss']
    """
    recorded: set[str] = set()
    for name in names:
        if name in DERIVED:
            recorded |= {"labels" if n == "label" else n for n in inputs(DERIVED[name])}
        elif is_score(name):
            required = [n for n, needed in inputs(SCORES[name]).items() if needed]
            recorded |= sources(required)
        else:
            recorded.add(name)
    return recorded


def signals_of(fn: Function, run: Run) -> set[str]:
    """What a block must hold for a score; `label` stands for the labels."""
    names: set[str] = set()
    for name, needed in inputs(fn).items():
        if name == "labels" and run.has(name):
            names.add("label")
        elif run.has(name):
            names.add(name)
        elif is_score(name) and (needed or all(map(run.has, sources([name])))):
            names |= signals_of(SCORES[name], run)
        elif needed:
            raise MissingError(_missing(name, run))
    return names


def arrays_for(fn: Function, block: Mapping[str, Array]) -> dict[str, Array]:
    """Find the arrays that a function reads among those of some samples, or score them."""
    data = {}
    for name, needed in inputs(fn).items():
        if name in block:
            data[name] = block[name]
        elif name == "labels" and "label" in block:
            data[name] = block["label"].max(axis=0)  # -1 where an epoch did not see the sample
        elif is_score(name) and (needed or _can(SCORES[name], block)):
            data[name] = _apply(SCORES[name], block, {})
    return data


def _apply(fn: Function, block: Mapping[str, Array], knobs: Mapping[str, Any]) -> Array:
    return fn(**arrays_for(fn, block), **knobs)


def _checked(fn: Function, block: Mapping[str, Array], knobs: Mapping[str, Any]) -> Array:
    """Refuse scores of somebody's own that depend on which samples are scored together."""
    scores = _apply(fn, block, knobs)
    if fn in SCORES.values():
        return scores
    scores = as_array(f"the scores of {name_of(fn)}", scores)
    samples = next(iter(block.values())).shape[1]
    if np.shape(scores) != (samples,):
        raise InputError(
            f"{name_of(fn)} must give one number per sample, shape ({samples},); got shape "
            f"{np.shape(scores)}"
        )
    few = {name: column[:, : min(_FEW, samples // 2)] for name, column in block.items()}
    alone = _apply(fn, few, knobs) if samples > 1 else scores
    if not np.allclose(alone, scores[: len(alone)], rtol=1e-5, equal_nan=True):
        raise InputError(
            f"{name_of(fn)} gives a sample another score when other samples are scored with it; "
            "scores are computed for blocks of samples, so look at each sample by itself"
        )
    return scores


def _can(fn: Function, block: Mapping[str, Array]) -> bool:
    return all(name in block for name, needed in inputs(fn).items() if needed)


def _missing(name: str, run: Run) -> str:
    known = [*filter(run.has, ["labels"]), *run.signals, *filter(run.has, DERIVED)]
    if name == "labels":
        return f"{run.path} has no labels, which this needs; it has {', '.join(known)}"
    return (
        f"there is no {name!r}: {run.path} has {', '.join(known)}, and scores are "
        f"{', '.join(SCORES)}. Name the parameter after one of these, or record it: "
        f"signals=[..., {name!r}]."
    )


def _refuse_other_data(one: Run, other: Run) -> None:
    refusal = f"{one.path} and {other.path} do not go together"
    first, second = vars(one.description), vars(other.description)
    for name in ("samples", "classes", "mode"):
        if first[name] != second[name]:
            values = f"{first[name]} in one and {second[name]} in the other"
            raise InputError(f"{refusal}: {name} is {values}")
    if first["data"] and second["data"] and first["data"] != second["data"]:
        raise InputError(f"{refusal}: their data differ")
    if one.classes is None:
        return
    labels, others = one.labels, other.labels
    if ((labels != others) & (labels >= 0) & (others >= 0)).any():
        raise InputError(f"{refusal}: their labels differ")
