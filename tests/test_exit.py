"""Processes end cleanly: Arrow's threads can outlive the interpreter and abort the process."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dualprune import choose

RUN = Path(__file__).parent / "runs" / "digits"
READ_AND_WRITE = """
import os, sys, time
from pathlib import Path
import numpy as np
import pandas
from dualprune import Coreset, Run, audit
from dualprune.score.scored import Scored

def threads():
    return len(os.listdir("/proc/self/task"))

folder, run = Path(sys.argv[1]), Run(sys.argv[2])
before = threads()
assert run.names
run.features()
run["loss"]
coreset = Coreset.load(folder / "coreset")
coreset.save(folder / "again")
coreset.to_pandas()
for _ in range(2):  # the second looks at what it replaces
    audit(run).save(folder / "audit")
    Scored(np.arange(3.0), "dual", {}, 3, []).save(folder / "scores.parquet")
Scored.load(folder / "scores.parquet")
deadline = time.monotonic() + 10  # the system ends a joined thread a little later
while threads() > before and time.monotonic() < deadline:
    pass
print(threads() - before)
"""
LOAD = "import sys, torch, dualprune; dualprune.Coreset.load(sys.argv[1]).to_pandas()"


def python(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_reading_and_writing_leave_no_threads(tmp_path):
    choose(RUN, keep=0.3).save(tmp_path / "coreset")
    done = python(READ_AND_WRITE, tmp_path, RUN)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "0"


def test_no_process_that_loaded_torch_and_a_coreset_aborts_at_its_end(tmp_path):
    choose(RUN, keep=0.3).save(tmp_path / "coreset")
    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(lambda _: python(LOAD, tmp_path / "coreset"), range(50)))
    assert [(done.returncode, done.stderr) for done in ended] == [(0, "")] * 50
