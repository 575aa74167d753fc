"""Names as an enemy would choose them, and a page that shows them wherever names can be."""

from dataclasses import replace

import numpy as np

from dualprune.method.choose import score_runs, select_from
from dualprune.report.page import write_report
from dualprune.run.names import write_names

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


def write_hostile(home, names, folder):
    """A page on which all that a user can name has these names; a surrogate fits into no file."""
    count = len(names)
    rng = np.random.default_rng(0)
    probability = rng.uniform(0.1, 0.9, (12, 3 * count))
    labels = np.arange(3 * count) % count
    beliefs = between_two(probability, labels, (labels + 1) % count, count)
    notes = " ".join(names[:8])
    run = write_beliefs(home / folder, beliefs, labels, class_names=names, notes=notes)
    files = [name.encode("utf-8", "replace").decode() for name in names] * 3
    write_names(run.path, files, np.arange(3 * count))
    coreset = select_from("beta", [run], score_runs("dual", [run]), k=count, seed=0)
    coreset = replace(coreset, card=coreset.card | {"data_name": names[2]})
    cell = {"keep": "0.5", "accuracy": 0.5, "samples": 20, "seconds": 1.0, "judged_on": "test"}
    cells = [
        cell | {"method": name, "whole": not i, "recording_seconds": 1.0, "seed": 0}
        for i, name in enumerate(names)
    ]
    return write_report(
        home / f"{folder}.html", run, coreset=coreset, samples=[*names] * 3, results=cells
    )
