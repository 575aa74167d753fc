"""Hashes of what must not move, kept in JSON beside the version of the numbers.

Something new adds hashes. What moves an old one makes results measured before incomparable: raise
NUMBERS in `experiments/results.py` first, and name what moved in the changelog.
"""

import json
import sys

from dualprune.coreset.card import made_with
from dualprune.experiments.results import NUMBERS


def cpu():
    return made_with()["cpu"]


def moved(path, now):
    """Give the names whose hash is another one, or gone, and the kind of CPU they are of."""
    before = json.loads(path.read_text())
    names = [name for name, value in before["hashes"].items() if now.get(name) != value]
    return names, before["cpu"]


def added(path, now):
    return sorted(now.keys() - json.loads(path.read_text())["hashes"].keys())


def write(path, now):
    names, kind = moved(path, now)
    if names and json.loads(path.read_text())["numbers"] == NUMBERS:
        sys.exit(f"{', '.join(names)} moved: raise NUMBERS in experiments/results.py first")
    if names and kind != cpu():
        sys.exit(f"{', '.join(names)} moved, but on another kind of CPU: {cpu()}, not {kind}")
    content = {"numbers": NUMBERS, "cpu": cpu() if names else kind, "hashes": now}
    path.write_text(json.dumps(content, indent=1) + "\n")
