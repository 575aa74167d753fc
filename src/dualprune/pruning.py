"""prune: from a set of images to the part of it that is worth training on."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Literal

import numpy as np
from torch import nn

from dualprune.arrays import Array, inputs, knobs
from dualprune.coreset import Coreset
from dualprune.data import Images, load, write_tree
from dualprune.errors import InputError
from dualprune.files import make_folders, write_json
from dualprune.method import parse_method, score_runs, select_from
from dualprune.record.signals import DEFAULT
from dualprune.report import draw_moons
from dualprune.run import Run
from dualprune.run.derived import DERIVED
from dualprune.score import SCORES, from_runs
from dualprune.select import budget, random
from dualprune.train import Setup, Watch, record, silent, train

__all__ = ["Check", "against_random", "choose", "prune", "signals_for"]

_SEEDS = 3


def prune(
    data: str | Path | Images,
    *,
    keep: float | str,
    out: str | os.PathLike[str],
    model: str | nn.Module = "auto",
    recipe: str = "auto",
    method: str = "dual+beta",
    epochs: int | None = None,
    seed: int = 0,
    materialize: Literal["link", "copy"] | None = None,
    check: bool = False,
    download: bool = False,
    watch: Watch = silent,
) -> Coreset:
    """Record, score, select; writes the run, the coreset and figures into `out`.

    Called again after it was interrupted, it goes on; what is finished is not done again.

    Parameters
    ----------
    data
        A folder with one sub-folder per class, an ``.npz`` with `x` and `y`, a named set, or
        images that were loaded.
    keep
        How much to keep: 0.3, "30%" or a number of samples.
    model, recipe
        What to train and how; `auto` chooses by the data and the machine.
    epochs
        How many epochs to record, if not the recipe's number.
    materialize
        Also write the kept images as a folder tree of links or copies.
    check
        Also train briefly on the coreset and on random ones of the same size, and write which was
        better into ``check/check.json``.
    """
    images, test = (data, None) if isinstance(data, Images) else load(data, download=download)
    k, out = budget(len(images), keep=str(keep)), Path(out)
    if materialize and not images.files:
        raise InputError("only images that are files can be linked or copied")
    name = "images" if isinstance(data, Images) else str(data)
    setup = Setup.of(images, test, name=name, recipe=recipe, model=model)
    _refuse_too_few_epochs(method, setup.recipe.record if epochs is None else epochs)
    make_folders(out)
    run = record(
        setup,
        out / "run",
        epochs=epochs,
        seed=seed,
        signals=signals_for([method]),
        tell=watch("recording"),
    )
    coreset = choose(method, run, k=k, seed=seed, c_d=setup.recipe.c_d)
    coreset = replace(coreset, card=coreset.card | _facts(setup, run, coreset, name))
    _save(coreset, out)
    if materialize:
        write_tree(images.take(coreset.ids), out / "images", materialize)
    if find_spec("matplotlib") is not None:
        _draw(run, coreset, out / "moon.png")
    if check:
        against_random(setup, coreset, out / "check", watch=watch)
    return coreset


def choose(method: str, run: Run, *, k: int, seed: int, c_d: float) -> Coreset:
    """Select `k` samples of a run with a method such as ``dual+beta``."""
    score, selector = parse_method(method)
    scored = None if score is None else score_runs(score, [run])
    given = {"c_d": c_d} if selector == "beta" else {}
    return select_from(selector, [run], scored, k=k, seed=seed, given=given)


def signals_for(methods: Sequence[str]) -> list[str]:
    """Give the default signals and what else these methods read.

    >>> signals_for(["dual+beta", "tdds"])
    ['loss', 'margin', 'rival', 'entropy', 'error_norm', 'kl_step']
    """
    scores = [SCORES[score] for score, _ in map(parse_method, methods) if score]
    needed = [name for fn in scores for name in inputs(fn)]
    stored = [each for name in needed for each in DERIVED.get(name, (None, (name,)))[1]]
    return list(dict.fromkeys([*DEFAULT, *(name for name in stored if name == "kl_step")]))


def _refuse_too_few_epochs(method: str, epochs: int) -> None:
    """Say now what scoring would say after the training."""
    score, _ = parse_method(method)
    window = knobs(SCORES[score]).get("window") if score else None
    if window and epochs < window.default:
        raise InputError(
            f"{score} needs at least {window.default} epochs, got {epochs}; record more"
        )


def _facts(setup: Setup, run: Run, coreset: Coreset, data: str) -> dict[str, Any]:
    """Say what the run was, for the card."""
    recipe = setup.recipe
    confidence = from_runs(SCORES["confidence"], run)
    return {
        "data_name": Path(data).name,
        "model": setup.model_name,
        "recipe": recipe.name,
        "published": recipe.published == data and setup.model_name == recipe.model,
        "doubted": int((confidence < 1 / run.description.classes).sum()),
        "passes": {  # over all samples
            "recording": run.epochs,
            "full": recipe.passes(run.samples, run.samples),
            "coreset": recipe.passes(len(coreset), run.samples),
        },
    }


def _save(coreset: Coreset, out: Path) -> None:
    if not (out / "card.json").exists():
        coreset.save(out)
    elif Coreset.load(out).card["ids_sha256"] != coreset.card["ids_sha256"]:
        raise InputError(
            f"{out} already holds another coreset; choose another folder. What is recorded in "
            f"{out / 'run'} can be used again with `dualprune select`."
        )


def _draw(run: Run, coreset: Coreset, path: Path) -> None:
    kept = np.zeros(run.samples, bool)
    kept[coreset.ids] = True
    score = {"score": coreset.columns["score"]} if "score" in coreset.columns else {}
    draw_moons(
        path,
        from_runs(SCORES["variability"], run),
        from_runs(SCORES["confidence"], run),
        {**score, f"kept: {len(coreset):,} of {run.samples:,} (red)": kept},
    )


@dataclass(frozen=True)
class Check:
    """Accuracies after training on a coreset and on random ones of the same size."""

    coreset: list[float]
    random: list[float]
    epochs: int

    @property
    def verdict(self) -> str:
        """Which was better, if the seeds allow to say so.

        >>> Check([0.9, 0.91], [0.8, 0.82], epochs=30).verdict
        'the coreset was better'
        """
        difference = mean(self.coreset) - mean(self.random)
        if abs(difference) <= max(stdev(self.coreset), stdev(self.random)):
            return "no difference beyond the spread of the seeds"
        return "the coreset was better" if difference > 0 else "random was better"


def against_random(setup: Setup, coreset: Coreset, out: Path, *, watch: Watch = silent) -> Check:
    """Train briefly on a coreset and on random ones of the same size, judged on held-out images.

    The images to judge by are a tenth of the training images, which neither training sees; test
    images are not looked at.
    """
    setup = setup.judged_by_validation()
    epochs = min(setup.recipe.epochs, setup.recipe.record)
    others = np.setdiff1d(np.arange(len(setup.images)), setup.held_out)
    ids = np.setdiff1d(coreset.ids, setup.held_out)

    def accuracy(name: str, ids: Array, seed: int) -> float:
        title = f"{name}, seed {seed}"
        folder = out / f"{name}-{seed}"
        return train(setup, folder, ids=ids, epochs=epochs, seed=seed, tell=watch(title)).accuracy

    result = Check([], [], epochs)
    for seed in range(_SEEDS):
        drawn = others[random(setup.images.labels[others], k=len(ids), seed=seed)]
        result.coreset.append(accuracy("coreset", ids, seed))
        result.random.append(accuracy("random", drawn, seed))
    write_json(out / "check.json", {**asdict(result), "verdict": result.verdict})
    return result
