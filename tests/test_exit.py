"""Reading small files starts no threads: Arrow's can abort the process when it ends."""

import subprocess
import sys
from pathlib import Path

import numpy as np

from dualprune import choose
from dualprune.score.scored import Scored

RUN = Path(__file__).parent / "runs" / "digits"
COUNT_THREADS = """
import os, sys
from pathlib import Path
import dualprune
from dualprune.score.scored import Scored

def threads():
    return len(os.listdir("/proc/self/task"))

before = threads()
dualprune.Coreset.load(sys.argv[1])
Scored.load(sys.argv[2])
assert dualprune.Run(sys.argv[3]).names
dualprune.Run(sys.argv[3]).features()
print(threads() - before)
"""


def test_coresets_scores_names_and_features_are_read_in_the_callers_thread(tmp_path):
    choose(RUN, keep=0.3).save(tmp_path / "coreset")
    Scored(np.arange(3.0), "dual", {}, 3, []).save(tmp_path / "scores.parquet")
    arguments = [tmp_path / "coreset", tmp_path / "scores.parquet", RUN]
    done = subprocess.run(
        [sys.executable, "-c", COUNT_THREADS, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "0"
