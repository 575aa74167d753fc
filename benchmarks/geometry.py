"""D2 over 50,000 samples in 10 classes, against its search for neighbours and dense tables."""

import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from benchmarks.timing import interleaved
from dualprune.select.d2 import d2
from dualprune.select.neighbours import nearest

SAMPLES, WIDTH, CLASSES = 50_000, 512, 10
DENSE = 2_000  # of one class: its tables take seconds

_PEAK = """
from pathlib import Path
from benchmarks.geometry import clusters, selected
selected(*clusters())
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""


def clusters() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, features and labels; half of the spread lies between the classes."""
    rng = np.random.default_rng(0)
    labels = np.arange(SAMPLES) % CLASSES
    features = rng.standard_normal((SAMPLES, WIDTH), dtype=np.float32)
    features += rng.standard_normal((CLASSES, WIDTH), dtype=np.float32)[labels]
    return rng.random(SAMPLES), features, labels


def selected(scores: np.ndarray, features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return d2(scores, features, labels, k=len(scores) // 10, seed=0, neighbours=5)


def _searched(features: np.ndarray, labels: np.ndarray) -> None:
    for label in range(CLASSES):
        nearest(features[labels == label], 5)


def _dense(scores: np.ndarray, features: np.ndarray, k: int) -> np.ndarray:
    """Full tables of distances and joins, and a scan of all values for each kept sample."""
    squares = (features**2).sum(1)
    gaps = np.sqrt(np.maximum(squares[:, None] + squares - 2 * features @ features.T, 0))
    joined = np.zeros_like(gaps, dtype=bool)
    np.put_along_axis(joined, np.argsort(gaps, axis=1)[:, 1:6], True, axis=1)
    joined |= joined.T
    values = scores + (joined * np.exp(-gaps) * np.maximum(scores, 1e-7)).sum(1)
    kept: list[int] = []
    for _ in range(k):
        best = int(values.argmax())
        kept.append(best)
        values -= joined[best] * np.exp(-0.1 * gaps[best]) * values[best]
        values[kept] = values.min() - 1
    return np.sort(kept)


def rows() -> Iterator[tuple[str, str, str]]:
    data = scores, features, labels = clusters()
    best = interleaved(
        {"search": lambda: _searched(features, labels), "d2": lambda: selected(*data)}, 3
    )
    peak = subprocess.run([sys.executable, "-c", _PEAK], capture_output=True, check=True, text=True)
    few = scores[:DENSE], features[labels == 0][:DENSE].astype(np.float64), np.zeros(DENSE)
    loop = interleaved(
        {"dense": lambda: _dense(*few[:2], DENSE // 10), "d2": lambda: selected(*few)}, 3
    )
    same = np.array_equal(_dense(*few[:2], DENSE // 10), selected(*few))
    yield "d2 / its search for neighbours", f"{best['d2'] / best['search']:.2f}x", "at most 2x"
    yield "d2 of 50,000 x 512 in 10 classes", f"{best['d2']:.1f} s", "reported"
    yield "peak memory of d2", f"{int(peak.stdout) / 2**20:.2f} GB", "under 2 GB"
    yield f"dense tables / d2, {DENSE:,} samples", f"{loop['dense'] / loop['d2']:.1f}x", "reported"
    yield "same samples as from dense tables", str(same), "True"
