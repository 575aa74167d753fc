"""Type every command in a fresh environment: each works, or says in one sentence what it lacks.

`-I commands.py torch report` says which extras are there.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

from dualprune import Run

LACKING = {
    "torch": "this needs torch, which is not installed: pip install 'dualprune[torch]'",
    "report": "the page needs Bokeh: pip install 'dualprune[report]'",
    "s3": "s3://bucket/run needs s3fs, which is not installed: pip install 'dualprune[s3]'",
    "ray": "this needs ray, which is not installed: pip install 'dualprune[ray]'",
}
COMMANDS = {
    "--version": "",
    "--help": "",
    "methods": "",
    "methods --show ccs": "",
    "reproduce": "",
    "import losses.npy --values loss --labels labels.npy --out run": "",
    "doctor run": "",
    "audit with-rivals --out audited --review review.csv": "",
    "score dual run --out scores.parquet": "",
    "select beta run --score scores.parquet --keep 0.3 --out small": "",
    "select top run --keep 0.3 --engine ray --out by-ray": "ray",
    "push run s3://bucket/run": "s3",
    "edit small --drop ids.csv --out smaller": "",
    "report small --run run --out page.html": "report",
    "record digits --epochs 2 --out recorded": "torch",
    "prune digits --keep 0.3 --epochs 10 --out pruned": "torch",
    "train digits --coreset pruned --epochs 1 --out trained": "torch",
    "compare digits --method random --keep 0.3 --seeds 1 --out compared": "torch",
    "reproduce cifar10 --dry-run": "torch",
    "reproduce densities --scale smoke --out reproduced": "torch",
    "demo --seeds 1 --out demonstrated": "torch",
}
"""What is typed, in this order, and the extra that it needs."""


def type_all(extras: set[str]) -> int:
    """Type all commands; gives how many did not do what they should."""
    losses = np.exp(-np.random.default_rng(0).gamma(2, 0.2, 90) * np.arange(12)[:, None])
    labels = np.arange(90) % 3
    np.save("losses.npy", losses)
    np.save("labels.npy", labels)
    rivals = {"margin": 1 - losses, "rival": np.broadcast_to((labels + 1) % 3, losses.shape)}
    Run.from_arrays("with-rivals", loss=losses, labels=labels, **rivals)
    Path("ids.csv").write_text("id\n0\n1\n2\n")
    return sum(not as_expected(words, need, extras) for words, need in COMMANDS.items())


def as_expected(words: str, need: str, extras: set[str]) -> bool:
    command = [Path(sys.executable).with_name("dualprune"), *words.split()]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    expected = (0, "") if not need or need in extras else (2, f"dualprune: {LACKING[need]}\n")
    said = ended.stderr if expected[0] else ""
    if fine := (ended.returncode, said) == expected:
        result = said.strip() or "works"
    else:
        result = f"exit code {ended.returncode}\n{ended.stdout}{ended.stderr}"
    print(f"dualprune {words}: {result}", flush=True)
    return fine


if __name__ == "__main__":
    sys.exit(type_all(set(sys.argv[1:])) != 0)
