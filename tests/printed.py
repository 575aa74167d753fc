"""Hashes of what the files say the paper printed, and where: `python -m tests.printed` writes them.

They hold where the paper's source is not at hand. With it, `tests/test_experiments_printed.py`
compares number by number; write the hashes only after that passes.
"""

import json
from hashlib import sha256
from pathlib import Path

from dualprune.experiments.experiment import experiments

EXPECTED = Path(__file__).parent / "printed.json"


def printed():
    """Give the SHA-256 of the source and of all numbers of every experiment."""
    contents = {
        each.name: [each.source, each.pruned, each.printed, each.deviations]
        for each in experiments().values()
    }
    return {
        name: sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        for name, content in contents.items()
    }


if __name__ == "__main__":
    EXPECTED.write_text(json.dumps(printed(), indent=1) + "\n")
