"""What every method chooses from two recorded runs: `python -m tests.choices` writes it down.

The runs in `tests/runs` are the numbers of 20 epochs of digits and of 2,000 CIFAR-10 images, with
features after epochs 10 and 20. `choices.json` holds the SHA-256 of the ids, or the first words of
the refusal, and the kind of CPU: another kind may differ in the last bit of a logarithm.
"""

from dataclasses import replace
from pathlib import Path

from dualprune.errors import DualpruneError
from dualprune.method import Arrays, choose_from, find_method, named_methods
from dualprune.run import Run
from dualprune.score import SCORES
from dualprune.select import budget
from tests.hashes import write

RUNS = Path(__file__).parent / "runs"
EXPECTED = Path(__file__).parent / "choices.json"
PRUNED = ("0.3", "0.7", "0.9")
SEED = 1

PLAIN = [
    *(f"{score}+{selector}" for score in SCORES for selector in ("top", "beta", "stratified")),
    *(f"dual+{selector}" for selector in ("d2", "boss", "bws", "infomax")),
    *(f"forgetting+{selector}" for selector in ("d2", "boss", "bws", "infomax")),
    *("random", "moderate", "k_center", "beta"),
    *named_methods(),
]
WITH_KNOBS = [
    ("dual", {"window": 5}, {}),
    ("dyn_unc", {"skip_last": True}, {}),
    ("el2n", {"over": "sum"}, {}),
    ("grand", {"over": "mean"}, {}),
    ("forgetting", {"never_learned": "zero"}, {}),
    ("forgetting+beta", {"never_learned": "zero"}, {}),
    ("aum", {"keep": "easy"}, {}),
    ("tdds", {"window": 5, "decay": 0.5}, {}),
    ("ssp", {"prototypes": "class"}, {}),
    ("dual", {}, {"balance": "proportional"}),
    ("dual", {}, {"balance": "uniform"}),
    ("dual", {}, {"floor": 5}),
    ("random", {}, {"balance": "uniform"}),
    ("random", {}, {"floor": 5}),
    ("dual+beta", {}, {"balance": "proportional"}),
    ("dual+beta", {}, {"floor": 5}),
    ("dual+beta", {}, {"c_d": 5.5, "concentration": 10.0, "anchor": 3}),
    ("dual+beta", {}, {"mu": 0.0}),
    ("dual+beta", {}, {"c_d": None}),
    ("el2n+beta", {}, {"c_d": None}),
    ("aum_prob+stratified", {}, {"strata": 10, "cut_off": 0.1}),
    ("dual+d2", {}, {"scope": "global", "cut_off": 0.1}),
    ("dual+boss", {}, {"cut_off": 0.1, "alpha": 1.5}),
    ("forgetting+bws", {}, {"judged": 0.5}),
    ("dual+infomax", {}, {"alpha": 1.0, "neighbours": 10, "parts": 3}),
    ("moderate", {}, {"centre": "mean"}),
    ("k_center", {}, {"balance": "uniform"}),
]


def choices():
    """Give every choice, by run, method, knobs and share pruned."""
    ids = {}
    for path in sorted(RUNS.iterdir()):
        run = Run(path)
        for name, score, select in [*((name, {}, {}) for name in PLAIN), *WITH_KNOBS]:
            for pruned in PRUNED:
                knobs = "".join(f" {knob}={value}" for knob, value in (score | select).items())
                ids[f"{path.name}: {name}{knobs}, {pruned} pruned"] = _outcome(
                    run, name, score, select, pruned
                )
    return ids


def _outcome(run, name, score, select, pruned):
    try:
        method = find_method(name, float(pruned))
        method = replace(
            method,
            score_knobs={**method.score_knobs, **score},
            select_knobs={**method.select_knobs, **select},
        ).with_defaults({"c_d": 3.0})  # as the tables of docs/results.md
        arrays = Arrays([run] * method.runs, epochs=method.epochs or 20, features=method.features)
        k = budget(run.samples, prune=pruned)
        return choose_from(arrays, method, k=k, seed=SEED).card.ids_sha256
    except DualpruneError as error:
        return f"refused: {type(error).__name__}"


if __name__ == "__main__":
    write(EXPECTED, choices())
