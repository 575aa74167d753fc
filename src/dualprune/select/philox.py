r"""Philox4x64-10 of some counters, the bits of `numpy.random.Philox`, which makes them in a row.

A round multiplies two of four words by constants, to 128 bits each, and mixes the halves and the
key into the others; ten rounds give four numbers. See Salmon et al., 2011. Parallel Random Numbers:
As Easy as 1, 2, 3. doi:10.1145/2063384.2063405
"""

import numpy as np

from dualprune.signatures import Array

_FACTORS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
_STEPS = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B  # of the key, from round to round
_ROUNDS = 10
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)


def philox(key: int, stream: int, ids: Array) -> Array:
    """Give the 64 bits of each id in the stream of a key."""
    words = [(ids // 4 + 1).astype(np.uint64), *np.zeros((3, len(ids)), np.uint64)]
    for turn in range(_ROUNDS):
        keys = [np.uint64((key + turn * _STEPS[0]) % 2**64)]
        keys += [np.uint64((stream + turn * _STEPS[1]) % 2**64)]
        high0, low0 = _product(_FACTORS[0], words[0])
        high1, low1 = _product(_FACTORS[1], words[2])
        words = [high1 ^ words[1] ^ keys[0], low1, high0 ^ words[3] ^ keys[1], low0]
    return np.choose(ids % 4, words)


def _product(factor: int, word: Array) -> tuple[Array, Array]:
    """Give the upper and the lower 64 bits of a product."""
    f_high, f_low = np.uint64(factor >> 32), np.uint64(factor % 2**32)
    high, low = word >> _HALF, word & _LOW
    middle = f_high * low + ((f_low * low) >> _HALF)
    carry = (f_low * high + (middle & _LOW)) >> _HALF
    return f_high * high + (middle >> _HALF) + carry, word * np.uint64(factor)
