"""No change moves what a method chooses, or a number that experiments measure, unnoticed."""

import json

import pytest

from dualprune.experiments.results import NUMBERS
from tests import behaviours, choices
from tests.hashes import added, cpu, moved

KINDS = {"choices": choices.choices, "behaviours": behaviours.behaviours}


@pytest.mark.parametrize("kind", KINDS)
def test_what_moves_numbers_raises_their_version(kind):
    path, now = {"choices": choices, "behaviours": behaviours}[kind].EXPECTED, KINDS[kind]()
    names, of = moved(path, now)
    if names and of != cpu():
        pytest.skip(f"{len(names)} of {len(now)} hashes differ, on another kind of CPU: {cpu()}")
    assert not names, (
        f"{', '.join(names)} moved. If that is right, raise NUMBERS in "
        f"src/dualprune/experiments/results.py; then run `python -m tests.{kind}`."
    )
    assert not added(path, now), f"run `python -m tests.{kind}`, which adds them"
    assert json.loads(path.read_text())["numbers"] == NUMBERS, f"run `python -m tests.{kind}`"
