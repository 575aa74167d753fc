"""How long a person waits for `dualprune --help`, and a program for `import dualprune`."""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial

from benchmarks.timing import interleaved

ROUNDS = 15
_START = {
    "python -c pass": (["-c", "pass"], "what both include"),
    "import dualprune": (["-c", "import dualprune"], "under 0.1 s"),
    "dualprune --help": (["-m", "dualprune", "--help"], "under 0.35 s"),
}


def rows() -> Iterator[tuple[str, str, str]]:
    commands = {name: [sys.executable, *words] for name, (words, _) in _START.items()}
    functions = {
        name: partial(subprocess.run, command, check=True, capture_output=True)
        for name, command in commands.items()
    }
    best = interleaved(functions, ROUNDS)
    for name, (_, goal) in _START.items():
        yield name, f"{best[name]:.3f} s", goal
