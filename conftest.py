"""For all tests and doctests: `np` is numpy, global generators are no help, GPUs are counted."""

import os
import random

import numpy as np
import pytest

# Tests run side by side, and threads would fight; their number also changes a loss's last bits.
os.environ["OMP_NUM_THREADS"] = "1"
# Ray's workers are nice to all others, so beside another test they would hardly run.
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - as Ray spells it


@pytest.fixture(autouse=True)
def _numpy_in_doctests(doctest_namespace):
    doctest_namespace["np"] = np


@pytest.fixture(autouse=True)
def _global_generators_differ_in_every_test():
    seed = int.from_bytes(os.urandom(4), "little")
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - what reads it by accident must show


def pytest_collection_modifyitems(items):
    """Skip what needs more GPUs than there are: `gpu` is one, `gpu(2)` two."""
    needing = [item for item in items if item.get_closest_marker("gpu")]
    if not needing:
        return
    import torch  # noqa: PLC0415 - slow to load

    present = torch.cuda.device_count()
    for item in needing:
        needed = max(mark.args[0] if mark.args else 1 for mark in item.iter_markers("gpu"))
        if needed > present:
            item.add_marker(pytest.mark.skip(f"needs a GPU: {needed}, this machine has {present}"))


def pytest_terminal_summary(terminalreporter):
    """Say how much was not run for want of a GPU, so that nobody takes it for tested."""
    skipped = terminalreporter.stats.get("skipped", [])
    if count := sum("gpu" in report.keywords for report in skipped):
        terminalreporter.write_line(f"{count} tests need a GPU and were not run")
