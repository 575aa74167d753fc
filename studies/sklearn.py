"""The table of `docs/sklearn.md`: what CoresetSampler is worth on sets that scikit-learn bundles.

    python -m studies.sklearn

Each seed splits a set anew (30 % is for testing, with the right labels), makes a share of the
training labels wrong, and trains the same models on all rows, on a random part, and on coresets.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dualprune import Method
from dualprune.data import flip_labels
from dualprune.integrations.sklearn import CoresetSampler

SETS = {"digits": load_digits, "breast cancer": load_breast_cancer, "wine": load_wine}
WRONG, KEEP = (0.0, 0.2), (0.5, 0.3)
SEEDS = range(10, 15)  # the default network was chosen with the seeds from 0 to 4
MODELS = {
    "forest": RandomForestClassifier(random_state=0),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
}
METHODS: dict[str, str | Method] = {
    "random": "random",
    "dual+beta": Method("dual", "beta", select_knobs={"c_d": 0.5}),
    "with c_d=1": Method("dual", "beta", select_knobs={"c_d": 1.0}),
    "with c_d=3": Method("dual", "beta", select_knobs={"c_d": 3.0}),
}


def row(data: Any, wrong: float, keep: float, seed: int) -> Iterator[tuple[str, float]]:
    """Give accuracies in percent by model and method, and the share of wrong labels kept."""
    x, test_x, y, test_y = train_test_split(
        data.data, data.target, test_size=0.3, stratify=data.target, random_state=seed
    )
    noisy, flipped = flip_labels(y, wrong, len(data.target_names), seed)
    parts = {
        name: CoresetSampler(keep=keep, method=method, random_state=seed)
        .fit(x, noisy)
        .sample_indices_
        for name, method in METHODS.items()
    }
    for (name, ids), model in product({"all": np.arange(len(y)), **parts}.items(), MODELS):
        accuracy = MODELS[model].fit(x[ids], noisy[ids]).score(test_x, test_y)
        yield f"{model} {name}", 100 * accuracy
        yield f"wrong {name}", 100 * float(np.isin(ids, flipped).mean())


def main() -> None:
    """Print means and standard deviations over the seeds, and the wrong labels kept."""
    names = ["all", *METHODS]
    print("| data | wrong | kept | model |", " | ".join(names), "|")
    print("|---" * (4 + len(names)) + "|")
    for (name, load), wrong, keep in product(SETS.items(), WRONG, KEEP):
        rows = [dict(row(load(), wrong, keep, seed)) for seed in SEEDS]
        for model in MODELS:
            values = [[one[f"{model} {name}"] for one in rows] for name in names]
            cells = [f"{np.mean(of):.1f} ± {np.std(of, ddof=1):.1f}" for of in values]
            print(f"| {name} | {wrong:.0%} | {keep:.0%} | {model} |", " | ".join(cells), "|")
        if wrong:
            cells = [f"{np.mean([one[f'wrong {name}'] for one in rows]):.0f} %" for name in names]
            print(f"| | | | wrong labels in it | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
