"""Print one table: what was measured, and what it must reach."""

import os
import platform
import sys

from benchmarks import (
    disk,
    geometry,
    integrations,
    memory,
    page,
    prune,
    recording,
    sampling,
    scaling,
    starting,
    training,
    waves,
)

PARTS = {
    part.__name__.rpartition(".")[2]: part
    for part in (
        starting,
        memory,
        disk,
        sampling,
        recording,
        integrations,
        training,
        prune,
        geometry,
        scaling,
        page,
        waves,
    )
}

print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
for name in sys.argv[1:] or PARTS:
    for what, measured, goal in PARTS[name].rows():
        print(f"{what:42} {measured:>10}   {goal}", flush=True)
