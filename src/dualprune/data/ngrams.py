"""N-grams of texts in any language as numbers.

A text is case-folded and brought to Unicode's NFKC form. A *token* is a run of letters, marks and
digits; or one character of a script that puts no spaces between words (Chinese, Japanese, Thai,
Lao, Khmer, Burmese, Tibetan); or one punctuation mark, symbol or emoji. The n-grams of a text are
its tokens, pairs of neighbouring tokens, and triples of neighbouring characters of scripts without
spaces.

The hash of a token c_0 ... c_n is mix(sum of mix(c_i) B^i) modulo 2^64, that of a pair of hashes g
and h is mix(g B + h), and a triple is a pair of a pair and a token: the same on every machine. Of
all hashes modulo 2^22, the 2^16 - 1 most frequent that occur at least twice get numbers from 1; the
others are left out.
"""

import unicodedata
from collections.abc import Sequence
from typing import Final

import numpy as np

from dualprune.signatures import Array

HASHES: Final = 2**22
"""Different hashes of n-grams."""

BUCKETS: Final = 2**16
"""Most numbers of n-grams, with 0, which pads."""

MOST_TOKENS: Final = 256
"""Tokens of a text that count, from its beginning."""

_MOST_CHARACTERS = 16 * MOST_TOKENS

_SEPARATOR, _WORD, _ALONE, _SYMBOL = range(4)
_END = "\0"
_BASE = np.uint64(0x9E3779B97F4A7C15)
_INVERSE = np.uint64(pow(0x9E3779B97F4A7C15, -1, 2**64))
_NO_SPACES = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F00, 0x0FFF),  # Tibetan
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # ideographs
    (0x4E00, 0x9FFF),
    (0x20000, 0x3FFFF),
)


def ngrams(texts: Sequence[str]) -> tuple[Array, Array]:
    """Give the hashes (int32) of all n-grams, text by text, and how many each text has.

    >>> hashes, counts = ngrams(["Good film!", "good", "", "好看"])
    >>> counts
    array([5, 1, 0, 3])
    >>> bool(hashes[0] == hashes[5])
    True
    """
    codes = _code_points(texts)
    kinds = _kinds(codes)
    starts, stops = _tokens(kinds)
    text_of = np.cumsum(codes == 0)[starts]
    number_in_text = np.arange(len(starts)) - np.searchsorted(text_of, text_of)
    early = number_in_text < MOST_TOKENS
    starts, stops, text_of = starts[early], stops[early], text_of[early]
    hashes, alone = _hashes(codes, starts, stops), kinds[starts] == _ALONE
    together = text_of[1:] == text_of[:-1]
    pairs = _mixed(hashes[:-1] * _BASE + hashes[1:])
    triple = together[1:] & together[:-1] & alone[:-2] & alone[1:-1] & alone[2:]
    triples = _mixed(pairs[:-1] * _BASE + hashes[2:])
    owners = np.concatenate([text_of, text_of[:-1][together], text_of[:-2][triple]])
    grams = np.concatenate([hashes, pairs[together], triples[triple]])
    order = np.argsort(owners, kind="stable")
    small = (grams[order] % np.uint64(HASHES)).astype(np.int32)
    return small, np.bincount(owners, minlength=len(texts))


def number(parts: list[tuple[Array, Array]]) -> tuple[Array, Array, int]:
    """Give the numbers of n-grams that have one, how many each text has, and how many there are.

    `parts` are results of `ngrams`; the list is emptied, because they can be large.

    >>> hashes, counts = np.array([7, 4, 9, 4, 4, 7]), np.array([3, 0, 3])
    >>> number([(hashes, counts)])
    (array([2, 1, 1, 1, 2], dtype=int32), array([2, 0, 3]), 3)
    """
    uses = np.zeros(HASHES, np.int64)
    for hashes, _ in parts:
        np.add.at(uses, hashes, 1)
    known = np.flatnonzero(uses > 1)
    known = known[np.argsort(-uses[known], kind="stable")][: BUCKETS - 1]
    table = np.zeros(HASHES, np.int32)
    table[known] = np.arange(1, len(known) + 1)
    numbered = []
    while parts:
        hashes, counts = parts.pop(0)
        numbers = table[hashes]
        owners = np.repeat(np.arange(len(counts)), counts)[numbers > 0]
        numbered.append((numbers[numbers > 0], np.bincount(owners, minlength=len(counts))))
    grams, all_counts = map(np.concatenate, zip(*numbered, strict=True))
    return grams, all_counts, len(known) + 1


def _code_points(texts: Sequence[str]) -> Array:
    """Give the code points of all texts, normalised, with a 0 after each text."""
    joined = "".join(text[:_MOST_CHARACTERS].replace(_END, " ") + _END for text in texts)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", joined).casefold())
    return np.frombuffer(folded.encode("utf-32-le"), "<u4")


def _kinds(codes: Array) -> Array:
    table = np.zeros(0x110000, np.uint8)
    present = np.flatnonzero(np.bincount(codes, minlength=1))
    table[present] = [_kind(chr(code)) for code in present.tolist()]
    kinds: Array = table[codes]
    return kinds


def _kind(character: str) -> int:
    category, code = unicodedata.category(character), ord(character)
    if category[0] in "LMN":
        alone = any(first <= code <= last for first, last in _NO_SPACES)
        return _ALONE if alone else _WORD
    return _SYMBOL if category[0] in "PS" else _SEPARATOR


def _tokens(kinds: Array) -> tuple[Array, Array]:
    """Give where tokens begin and end."""
    before, after = np.roll(kinds, 1), np.roll(kinds, -1)  # the last one is a separator
    in_word = kinds == _WORD
    single = kinds > _WORD
    starts = np.flatnonzero(single | (in_word & (before != _WORD)))
    stops = np.flatnonzero(single | (in_word & (after != _WORD))) + 1
    return starts, stops


def _hashes(codes: Array, starts: Array, stops: Array) -> Array:
    """Give the hash of every token: a difference of running sums, moved to the token's start."""
    powers = np.cumprod(np.full(len(codes), _BASE))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_mixed(codes) * powers)])
    inverses = np.cumprod(np.full(len(codes), _INVERSE))
    return _mixed((sums[stops] - sums[starts]) * inverses[starts])


def _mixed(values: Array) -> Array:
    """Spread every bit of a number over all 64 (the finaliser of MurmurHash3)."""
    mixed = values.astype(np.uint64)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed ^= mixed >> np.uint64(33)
        mixed *= np.uint64(factor)
    mixed ^= mixed >> np.uint64(33)
    return mixed
