"""The kinds of experiments, by name; a new one is a file and a line here."""

from dualprune.experiments.accuracy import ACCURACY
from dualprune.experiments.agreement import AGREEMENT
from dualprune.experiments.kind import Kind
from dualprune.experiments.picture import PICTURE
from dualprune.experiments.removed import REMOVED
from dualprune.experiments.theory.figures import THEORY

KINDS: dict[str, Kind] = {
    "accuracy": ACCURACY,
    "removed": REMOVED,
    "agreement": AGREEMENT,
    "picture": PICTURE,
    "theory": THEORY,
}
