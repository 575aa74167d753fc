"""Card: how a coreset was chosen, so that anybody can choose it again."""

import platform
from dataclasses import dataclass, field, fields
from importlib.metadata import version
from typing import Any

import numpy as np

from dualprune.errors import InputError


@dataclass(frozen=True)
class Training:
    """What `prune` or the `demo` trained to record, and what training on the coreset costs.

    `settings` decide the recording; `published` says whether they were published for this data.
    Passes are over all samples. `suspects` is how many labels are probably wrong.
    """

    data: str
    model: str
    recipe: str
    published: bool
    epochs: int
    settings: dict[str, Any]
    suspects: int
    full_passes: float
    coreset_passes: float
    workflow: str = "prune"


@dataclass(frozen=True)
class Card:
    """The method and its knobs, the budget, the seed, and what the samples were chosen from.

    Parameters
    ----------
    method
        The name that was asked for, such as ``ccs``; it consists of `score` and `selector`.
    reads
        Which array a parameter read, where that is not the one of its name.
    values
        Numbers that the selector found on the way, such as the `mu` of Beta sampling.
    runs, data
        Fingerprints of the runs and of the dataset.
    reasons
        How many samples were `filled`, `cut_off`, `unscored`; the column `why` says which.
    versions, cpu
        Logarithms may differ in the last bit between kinds of CPU.
    """

    method: str
    score: str | None
    selector: str
    k: int
    samples: int
    seed: int
    epochs: int
    ids_sha256: str
    runs: list[str]
    data: str = ""
    score_knobs: dict[str, Any] = field(default_factory=dict)
    select_knobs: dict[str, Any] = field(default_factory=dict)
    reads: dict[str, str] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    cpu: dict[str, Any] = field(default_factory=dict)
    training: Training | None = None

    @staticmethod
    def from_json(content: dict[str, Any]) -> "Card":
        """Give the card with these fields; one of another version is refused."""
        if content.keys() != {field.name for field in fields(Card)}:
            raise InputError(
                "this coreset was written by another version of dualprune; choose it again from "
                "its run"
            )
        training = content["training"]
        return Card(**content | {"training": None if training is None else Training(**training)})


def made_with() -> dict[str, Any]:
    """Versions and the kind of CPU, as fields of a card."""
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    return {
        "versions": {
            "dualprune": version("dualprune"),
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "cpu": {"machine": platform.machine(), "simd": [*simd["baseline"], *simd["found"]]},
    }
