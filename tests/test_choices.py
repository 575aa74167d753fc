"""No change may move what a method chooses, unless the changelog says so."""

import json

import pytest

from tests.choices import EXPECTED, choices, cpu


def test_every_method_chooses_what_it_chose_before():
    expected, now = json.loads(EXPECTED.read_text()), choices()
    changed = [name for name, ids in expected["ids"].items() if now.get(name) != ids]
    if changed and expected["cpu"] != cpu():
        pytest.skip(f"{len(changed)} of {len(now)} choices differ, on another kind of CPU: {cpu()}")
    assert not changed
    assert now.keys() == expected["ids"].keys()
