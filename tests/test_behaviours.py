"""Whoever moves a number that experiments measure must say so, and nobody else has to."""

import json

import pytest

from dualprune.experiments.results import NUMBERS
from tests.behaviours import EXPECTED, changed
from tests.choices import cpu


def test_a_change_that_moves_numbers_raises_their_version():
    expected = json.loads(EXPECTED.read_text())
    names = changed()
    if names and expected["cpu"] != cpu():
        pytest.skip(f"{', '.join(names)} differ, on another kind of CPU: {cpu()}")
    assert not names, (
        f"{', '.join(names)} changed. If results measured before are no longer comparable, raise "
        "NUMBERS in src/dualprune/experiments/results.py; then run `python -m tests.behaviours`."
    )
    assert expected["numbers"] == NUMBERS, "run `python -m tests.behaviours`"
