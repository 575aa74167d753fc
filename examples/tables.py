"""Tables: a step of scikit-learn that prunes rows, and a setting with which it loses.

    python examples/tables.py [SEEDS]

Learn to compare with a random part before you trust a coreset. A random forest trains on parts of
two tables, digits (64 columns) and breast cancer, each with a fifth of the training labels wrong.
`tables.png` shows the accuracy on a test set with right labels.
"""

import sys

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from dualprune import Method
from dualprune.integrations.sklearn import CoresetSampler
from dualprune.report.figures import figure

seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
tables = {"digits, 10 classes": load_digits, "breast cancer, 2 classes": load_breast_cancer}
methods = {
    "dual+beta": "dual+beta",
    "dual+beta, c_D 3": Method("dual", "beta", select_knobs={"c_d": 3.0}),
    "random": "random",
}
shares = (0.1, 0.3, 0.5, 0.7, 0.9)


def accuracy(method: str | Method, keep: float, load: object, seed: int) -> float:
    """Train on a part of a table with wrong labels; give the accuracy on right ones."""
    x, test_x, y, test_y = train_test_split(*load(return_X_y=True), random_state=seed)
    rng, classes = np.random.default_rng(seed), y.max() + 1
    wrong = rng.random(len(y)) < 0.2
    y[wrong] = (y[wrong] + rng.integers(1, classes, wrong.sum())) % classes
    sampler = CoresetSampler(method=method, keep=keep, random_state=seed)
    x, y = sampler.fit_resample(x, y) if keep < 1 else (x, y)
    return RandomForestClassifier(50, random_state=seed).fit(x, y).score(test_x, test_y)


canvas = figure(10, 4)
for axes, (name, load) in zip(canvas.subplots(1, 2), tables.items(), strict=True):
    for label, method in methods.items():
        runs = [[accuracy(method, k, load, seed) for k in shares] for seed in range(seeds)]
        axes.plot(shares, np.mean(runs, axis=0), marker="o", label=label)
    full = np.mean([accuracy("random", 1, load, seed) for seed in range(seeds)])
    axes.axhline(full, color="grey", linestyle=":", label="all rows")
    axes.set(title=name, xlabel="share kept", ylabel="accuracy")
    axes.legend()
canvas.savefig("tables.png")
