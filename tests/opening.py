"""Print every program, connection and pickle that commands over a run and an `.npz` ask for.

    python -m tests.opening RUN FOLDER

A script, because an audit hook stays until the process ends.
"""

import sys
from pathlib import Path

import numpy as np

from dualprune.data import load
from tests.commands import dualprune

WATCHED = ("os.exec", "os.fork", "os.posix_spawn", "os.system", "pickle.", "socket.", "subprocess.")


def main(run, folder):
    events, npz = [], folder / "data.npz"
    np.savez(npz, x=np.zeros((9, 8, 8, 1), np.uint8), y=np.arange(9) % 3)
    sys.addaudithook(lambda event, _: event.startswith(WATCHED) and events.append(event))
    load(npz)
    for command in (
        ("doctor", run),
        ("score", "dual", run, "--out", folder / "dual.parquet"),
        ("select", "beta", run, "--keep", "0.1", "--out", folder / "coreset"),
        ("audit", run, "--out", folder / "audit.csv"),
        ("report", folder / "coreset", "--run", run, "--out", folder / "page.html"),
    ):
        code, _, said = dualprune(*command)
        assert code == 0, said
    print(*events)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
