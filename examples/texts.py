"""Texts: prune a table of texts with one call.

    python examples/texts.py [EPOCHS]

Learn what `prune` does with a data frame. The texts are docstrings; the label is the library that
each comes from. The call trains a small model on their n-grams, chooses a coreset, and writes the
page `texts/report.html`. `texts.png` shows the texts on the map and which of them are kept.
"""

import inspect
import sys
from importlib import import_module
from pathlib import Path

import pandas as pd

import dualprune
from dualprune import Run, score
from dualprune.report.figures import draw_moons

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 30
modules = {
    "numpy": ["numpy", "numpy.linalg", "numpy.fft"],
    "scipy": ["scipy.linalg", "scipy.signal", "scipy.special", "scipy.ndimage"],
    "sklearn": ["sklearn.metrics", "sklearn.datasets", "sklearn.linear_model", "sklearn.ensemble"],
}
rows = [
    {"docstring": inspect.getdoc(vars(module)[name])[:300], "library": library}
    for library, names in modules.items()
    for module in map(import_module, names)
    for name in module.__all__
    if inspect.getdoc(vars(module).get(name))
]
frame = pd.DataFrame(rows).drop_duplicates("docstring", ignore_index=True)
coreset = dualprune.prune(
    frame, text="docstring", label="library", keep=0.3, epochs=epochs, out="texts"
)
small = coreset.apply(frame)  # a data frame again
print(f"{len(small)} of {len(frame)} docstrings kept; the highest score has")
print(frame["docstring"][coreset.to_pandas()["score"].idxmax()])

p = Run("texts/run")["target_prob"]
panels = {"DUAL score": score.dual(p), "30 % kept (red)": coreset.mask}
draw_moons(Path("texts.png"), score.variability(p), score.confidence(p), panels)
