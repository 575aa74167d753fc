"""What prune and compare can refuse before they read any data."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from torch import nn

from dualprune.data import Columns, Data, usual_recipe
from dualprune.dynamic import DYNAMIC
from dualprune.errors import InputError
from dualprune.experiments.grid import CANDIDATES
from dualprune.method import AUTO, Method, check_epochs, find_method
from dualprune.select.budget import Amount, share_pruned
from dualprune.train import check_training
from dualprune.train.datasets import Samples
from dualprune.train.models import check_model
from dualprune.train.place import device
from dualprune.train.pretrained import is_checkpoint
from dualprune.train.recipe import Recipe, find_recipe
from dualprune.train.setup import CHECKPOINT

Wanted = Mapping[str, Amount]
"""How much to keep or prune, as `budget` takes it."""


def check_request(
    methods: Sequence[str | Method],
    wanted: Sequence[Wanted],
    model: str | nn.Module,
    recipe: str,
    data: str | Path | Data,
    columns: Columns,
    *,
    epochs: int | Literal["auto"] | None = None,
    seed: int = 0,
    size: int | None = None,
) -> Recipe:
    """Refuse unknown names, what is no amount, and too few epochs for a method; give the recipe."""
    check_training(seed, epochs)
    usual = usual_recipe(data, columns) if isinstance(data, str | Path) else data.recipe
    usual = CHECKPOINT if is_checkpoint(model) else usual
    how = find_recipe(recipe, usual, gpu=device().type == "cuda", size=size)
    if isinstance(model, str) and model != "auto" and not is_checkpoint(model):
        check_model(model)
    if isinstance(data, Samples) and isinstance(model, str):
        raise InputError(
            "for a dataset of torch, give a module of your own: model=torch.nn.Sequential(...)"
        )
    recorded = how.record if epochs is None or isinstance(epochs, str) else epochs
    tried = [row.method for row in CANDIDATES] if AUTO in methods else []
    for amount in wanted:
        share = share_pruned(**amount)
        for method in [*methods, *tried]:
            if not isinstance(method, str):
                check_epochs([method], recorded)
            elif method not in (*DYNAMIC, AUTO):
                named = find_method(method, share or 0.0)
                check_epochs([] if share is None else [named], recorded)
    return how
