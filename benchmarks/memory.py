"""DUAL over float32 probabilities in memory, against one pass that only reads them."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from numba import njit

from benchmarks.timing import SAMPLES, interleaved
from dualprune.score import dual, windows


@njit(nogil=True)
def _add_up(lanes: np.ndarray, start: int, stop: int) -> int:
    total = np.uint64(0)
    for i in range(start, stop):
        total += lanes[i]
    return total


def _read(values: np.ndarray, pool: ThreadPoolExecutor) -> None:
    lanes = values.reshape(-1)[: values.size // 2 * 2].view(np.uint64)
    step = -(-len(lanes) // 64)
    starts = range(0, len(lanes), step)
    list(pool.map(lambda i: _add_up(lanes, i, min(i + step, len(lanes))), starts))


def _torch_loop(values: torch.Tensor, window: int = 10) -> torch.Tensor:
    """One mean and one deviation per window, as research code usually has it."""
    parts = [values[k : k + window] for k in range(len(values) - window + 1)]
    return torch.stack([(1 - part.mean(0)) * part.std(0) for part in parts]).mean(0)


def _numpy_loop(values: np.ndarray, dtype: type, window: int = 10) -> np.ndarray:
    parts = [values[k : k + window] for k in range(len(values) - window + 1)]
    each = [(1 - p.mean(0, dtype=dtype)) * p.std(0, ddof=1, dtype=dtype) for p in parts]
    return np.mean(each, axis=0)


def _without_numba(values: np.ndarray) -> np.ndarray:
    usual, windows.JIT_FROM = windows.JIT_FROM, values.size + 1
    try:
        return dual(values)
    finally:
        windows.JIT_FROM = usual


def rows() -> Iterator[tuple[str, str, str]]:
    values = np.random.default_rng(0).random((60, SAMPLES), dtype=np.float32)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        fast = interleaved({"read": lambda: _read(values, pool), "dual": lambda: dual(values)}, 15)
        slow = interleaved(
            {"dual": lambda: dual(values), "numpy": lambda: _without_numba(values)}, 3
        )
    loops = {
        "torch, float32": lambda: _torch_loop(torch.from_numpy(values)),
        "numpy, float64": lambda: _numpy_loop(values, np.float64),
        "numpy, float32": lambda: _numpy_loop(values, np.float32),
    }
    loop = interleaved({"dual": lambda: dual(values), **loops}, 5)
    same = np.array_equal(dual(values), _without_numba(values))
    yield "dual / read pass", f"{fast['dual'] / fast['read']:.2f}x", "at most 3.5x"
    without = slow["numpy"] / slow["dual"] * fast["dual"] / fast["read"]
    yield "dual without numba / read pass", f"{without:.1f}x", "at most 60x"
    for name in loops:
        goal = "at least 100x" if name.startswith("torch") else "reported"
        yield f"window loop ({name}) / dual", f"{loop[name] / loop['dual']:.0f}x", goal
    yield "same bits with and without numba", str(same), "True"
