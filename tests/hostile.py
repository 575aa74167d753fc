"""Names as an enemy would choose them, and a page that shows them wherever names can be."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from dualprune import choose
from dualprune.coreset import Training, WrongLabels
from dualprune.report.facts import gather
from dualprune.report.page import write_report

from .beliefs import between_two, write_beliefs

HOSTILE = (
    "<script>window.hacked=1</script>",
    '"><img src=x onerror=window.hacked=1>',
    "</script><script>window.hacked=1</script>",
    "javascript:alert(1)",
    "\u202egnp.exe",
    "nul\0byte",
    "lone \ud800",
    "🦔 <b>&amp;",
    "x" * 2**20,
    "$$x$$",
    "{{7*7}}",
    "__proto__",
    "constructor",
    "'};window.hacked=1;//\u2028",
)


def write_hostile(home, names, folder, *, trained=True):
    """A page on which all that a user can name has these names; a surrogate fits into no file.

    Of what was not trained by `prune`, it shows the notes instead of model and recipe.
    """
    count = len(names)
    rng = np.random.default_rng(0)
    probability = rng.uniform(0.1, 0.9, (12, 3 * count))
    labels = np.arange(3 * count) % count
    beliefs = between_two(probability, labels, (labels + 1) % count, count)
    notes = " ".join(names[:8])
    files = [name.encode("utf-8", "replace").decode() for name in names] * 3
    run = write_beliefs(home / folder, beliefs, labels, class_names=names, notes=notes, names=files)
    coreset = choose(run, "dual+beta", keep=count)
    if trained:
        training = Training(
            names[2], names[0], names[1], False, 12, {}, WrongLabels(0, 0, 0), 30.0, 10.0
        )
        coreset = replace(coreset, card=replace(coreset.card, training=training))
    values = {"accuracy": 0.5, "training_seconds": 1.0, "recording_seconds": 1.0}
    lines = [SimpleNamespace(row=name, pruned=0.5, values=values) for name in names]
    lines.append(SimpleNamespace(row="everything", pruned=0.0, values=values))
    return write_report(
        home / f"{folder}.html", gather(run, coreset), samples=[*names] * 3, results=lines
    )
