"""Hashes of what the files say the paper printed: `python -m tests.printed` writes them down.

They hold where the paper's source is not at hand. With it, `tests/test_experiments_printed.py`
compares number by number; write the hashes only after that passes.
"""

import json
from hashlib import sha256
from pathlib import Path

from dualprune.experiments.experiment import experiments

EXPECTED = Path(__file__).parent / "printed.json"


def printed():
    """Give the SHA-256 of all numbers of every experiment that has some."""
    contents = {
        each.name: [each.pruned, each.printed, each.deviations]
        for each in experiments().values()
        if each.printed
    }
    return {
        name: sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        for name, content in contents.items()
    }


if __name__ == "__main__":
    EXPECTED.write_text(json.dumps(printed(), indent=1) + "\n")
