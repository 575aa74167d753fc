"""From another framework: an array of losses is a run.

    python examples/from_losses.py [ROUNDS]

Learn that a recording needs neither torch nor our Recorder. Anything that gives the probability of
each label after each epoch works: JAX, Keras or, here, the trees of scikit-learn's gradient
boosting. Every method that reads losses works on the run. `from_losses.png` shows the map.
"""

import sys
from pathlib import Path
from shutil import rmtree

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier

import dualprune
from dualprune import Run, score
from dualprune.report.figures import draw_moons

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
x, y = load_digits(return_X_y=True)
model = HistGradientBoostingClassifier(max_iter=rounds, learning_rate=0.1, random_state=0).fit(x, y)
rows = np.arange(len(y))
losses = [-np.log(p[rows, y]) for p in model.staged_predict_proba(x)]  # (rounds, samples)

rmtree("from_losses", ignore_errors=True)
run = Run.from_arrays("from_losses", loss=np.array(losses), labels=y)
coreset = dualprune.choose(run, "dual+beta", keep=0.3)
print(f"{len(coreset)} of {run.samples} samples kept")

p = run["target_prob"]
panels = {"DUAL score": score.dual(p), "30 % kept (red)": coreset.mask}
draw_moons(Path("from_losses.png"), score.variability(p), score.confidence(p), panels)
