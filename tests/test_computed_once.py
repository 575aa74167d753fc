"""`prune` reads its run and its images no more often than it must."""

import sys
from collections import Counter

import pytest

from dualprune import Run, prune
from dualprune.data import decode as decode_module
from dualprune.data.decode import _load
from tests.photos import make_photos


def test_prune_reads_a_run_once_for_all_scores_and_once_for_the_curves(tmp_path, monkeypatch):
    readings = []
    original = Run.map

    def counting(self, fn, names, **more):
        readings.append(sorted(names))
        return original(self, fn, names, **more)

    monkeypatch.setattr(Run, "map", counting)
    prune("digits", keep=0.3, out=tmp_path / "pruned", epochs=10)
    assert readings == [["margin", "rival", "target_prob"], ["target_prob"]]


@pytest.mark.filterwarnings("ignore:left out", "ignore:classes of")
def test_prune_decodes_every_file_once_for_training(tmp_path, monkeypatch):
    sizes = Counter()

    def counting(file, size):
        sizes[file.name, size] += 1
        return _load(file, size)

    monkeypatch.setattr(sys.modules[decode_module.__module__], "_load", counting)
    make_photos(tmp_path / "photos")
    prune(tmp_path / "photos", keep=0.5, out=tmp_path / "pruned", epochs=10)
    for_training = [count for (_, size), count in sizes.items() if size == 32]
    assert len(for_training) >= 10
    assert set(for_training) == {1}
