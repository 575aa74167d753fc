"""For all tests and doctests: `np` is numpy, and global generators are no help."""

import os
import random

import numpy as np
import pytest

# Tests run side by side, and threads would fight; their number also changes a loss's last bits.
os.environ["OMP_NUM_THREADS"] = "1"


@pytest.fixture(autouse=True)
def _numpy_in_doctests(doctest_namespace):
    doctest_namespace["np"] = np


@pytest.fixture(autouse=True)
def _global_generators_differ_in_every_test():
    seed = int.from_bytes(os.urandom(4), "little")
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - what reads it by accident must show
