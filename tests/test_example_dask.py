"""The example with Dask runs as it is, and chooses what the library chooses."""

from pathlib import Path

import pytest

from dualprune import Coreset, choose

from .commands import process

EXAMPLES = Path(__file__).parent.parent / "examples"
RUN = Path(__file__).parent / "runs" / "digits"


def test_dask_chooses_the_same(tmp_path):
    pytest.importorskip("distributed")
    code, printed, said = process(EXAMPLES / "dask_ranges.py", RUN, tmp_path / "out")
    assert code == 0, said
    expected = choose(RUN, "dual+beta", keep=0.3)
    assert printed.split()[-1] == expected.card.ids_sha256
    assert Coreset.load(tmp_path / "out").card == expected.card
