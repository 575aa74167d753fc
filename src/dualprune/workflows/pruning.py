"""prune: from a set of images to the part of it that is worth training on."""

import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
from torch import nn

from dualprune.coreset import Coreset
from dualprune.data import Images, load, write_tree
from dualprune.errors import InputError
from dualprune.report import draw_moons
from dualprune.report.page import write_report
from dualprune.run import Run
from dualprune.score import SCORES, from_runs
from dualprune.select import budget
from dualprune.suspects import audit
from dualprune.train import Setup, Watch, silent
from dualprune.workflows.checking import against_random
from dualprune.workflows.recording import choose, record_for

__all__ = ["described", "prune"]


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
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError("prune works in one process; use record under torchrun, then select")
    out = Path(out)
    name, images, test = _loaded(data, download, out)
    k = budget(len(images), keep=str(keep))
    if materialize:
        _refuse_to_materialize(images, out)
    setup = Setup.of(images, test, name=name, recipe=recipe, model=model)
    epochs = setup.recipe.record if epochs is None else epochs
    asked = {"method": method, "k": k, "epochs": epochs, "seed": seed, "settings": setup.settings()}
    _refuse_another(out, asked)
    runs = record_for(
        setup, out, [method], pruned=[1 - k / len(images)], epochs=epochs, seed=seed, watch=watch
    )
    coreset = choose(method, runs, k=k, seed=seed, c_d=setup.recipe.c_d, epochs=epochs)
    coreset = described(setup, runs[0], coreset, name, asked)
    if not (out / "card.json").exists():
        coreset.save(out)
    if materialize and not (out / "images").exists():
        write_tree(images.take(coreset.ids), out / "images", materialize)
    if find_spec("matplotlib") is not None:
        _draw(runs[0], coreset, out / "moon.png")
    if find_spec("bokeh") is not None:
        write_report(out / "report.html", runs[0], coreset=coreset, samples=images)
    if check:
        against_random(setup, coreset, out / "check", watch=watch)
    return coreset


def _loaded(
    data: str | Path | Images, download: bool, out: Path
) -> tuple[str, Images, Images | None]:
    if isinstance(data, Images):
        return "images", data, None
    return str(data), *load(data, download=download, out=out)


def _refuse_to_materialize(images: Images, out: Path) -> None:
    if not images.files:
        raise InputError("only images that are files can be linked or copied")
    if (out / "images").exists() and not (out / "card.json").exists():
        raise InputError(f"{out / 'images'} is in the way; choose another folder for --out")


def described(
    setup: Setup, run: Run, coreset: Coreset, data: str, asked: dict[str, Any] | None = None
) -> Coreset:
    """Give the coreset with a card that also says what was recorded, and what it saves."""
    recipe, epochs = setup.recipe, coreset.card["epochs"]
    facts = {
        **({"asked": asked} if asked else {}),
        "data_name": Path(data).name,
        "model": setup.model_name,
        "recipe": recipe.name,
        "published": recipe.published == data and setup.model_name == recipe.model,
        "doubted": audit(run, epochs=epochs).issues,
        "passes": {  # over all samples
            "recording": epochs,
            "full": recipe.passes(run.samples, run.samples),
            "coreset": recipe.passes(len(coreset), run.samples),
        },
    }
    return replace(coreset, card=coreset.card | facts)


def _refuse_another(out: Path, asked: dict[str, Any]) -> None:
    """Refuse a folder that holds a coreset which was asked for in another way."""
    if not (out / "card.json").exists():
        return
    before = Coreset.load(out).card.get("asked", {})
    other = [name for name, value in asked.items() if before.get(name) != value]
    if other:
        raise InputError(
            f"{out} already holds another coreset, with another {' and '.join(other)}; choose "
            f"another folder. What is recorded in {out / 'run'} can be used again with "
            "`dualprune select`."
        )


def _draw(run: Run, coreset: Coreset, path: Path) -> None:
    kept = np.zeros(run.samples, bool)
    kept[coreset.ids] = True
    score = {"score": coreset.columns["score"]} if "score" in coreset.columns else {}
    draw_moons(
        path,
        from_runs(SCORES["variability"], run, epochs=coreset.card["epochs"]),
        from_runs(SCORES["confidence"], run, epochs=coreset.card["epochs"]),
        {**score, f"kept: {len(coreset):,} of {run.samples:,} (red)": kept},
    )
