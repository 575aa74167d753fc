"""The short, seeded part of `python -m torture`: it finds nothing."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "kind", ["faults", "flips", "fuzz", "hostile", "kills", "readers", "writers"]
)
def test_the_short_attack_finds_nothing(tmp_path, kind):
    command = [sys.executable, "-m", "torture", kind, "--short", "--out", tmp_path]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
