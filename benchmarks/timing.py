"""Best times of several functions, called in turn so that all meet the same machine."""

import time
from collections.abc import Callable

__all__ = ["SAMPLES", "interleaved"]

SAMPLES = 1_281_167  # ImageNet-1K


def interleaved(functions: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Best seconds of each function over `rounds`, after one call to warm up."""
    for function in functions.values():
        function()
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            best[name] = min(best[name], time.perf_counter() - start)
    return best
