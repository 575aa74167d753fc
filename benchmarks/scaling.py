"""What every score costs per sample and epoch, when there are more of them."""

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.timing import interleaved
from dualprune.score import SCORES
from dualprune.signatures import Array, inputs

FEW, MANY, EPOCHS = 10_000, 1_000_000, 20


def _call(fn: Callable[..., Array], epochs: int, samples: int) -> Callable[[], object]:
    rng = np.random.default_rng(0)
    if "features" in inputs(fn):
        features, labels = rng.random((samples, 8), np.float32), np.arange(samples) % 10
        return lambda: fn(features, labels)
    signal = rng.random((epochs, samples), np.float32)
    if "correct" in inputs(fn):
        signal = (signal < 0.5).astype(np.float32)
    return lambda: fn(signal)


def rows() -> Iterator[tuple[str, str, str]]:
    for name, fn in SCORES.items():
        sizes = {"few": _call(fn, EPOCHS, FEW), "many": _call(fn, EPOCHS, MANY)}
        times = interleaved(sizes, 3)
        more = times["many"] / times["few"] / (MANY / FEW)
        yield f"{name}: per sample, 1,000,000 / 10,000", f"{more:.2f}x", "linear: about 1x or less"
        if "features" in inputs(fn):
            continue
        times = interleaved({n: _call(fn, n, 100_000) for n in (EPOCHS, 4 * EPOCHS)}, 3)
        more = times[4 * EPOCHS] / times[EPOCHS] / 4
        yield f"{name}: per epoch, 80 / 20", f"{more:.2f}x", "linear: about 1x or less"
