"""Arrays and names as JSON that is safe inside a page."""

import base64
import json
from typing import Any

import numpy as np
from markupsafe import Markup

from dualprune.run import Run
from dualprune.signatures import Array

MISSING = 255  # code among probabilities in bytes, where 254 stands for 1
_MOST_EPOCHS = 60
_LONGEST = 120


def numbers(values: Array, kind: str) -> dict[str, str]:
    """Give an array as base64 of little-endian numbers; `kind` names its JavaScript array.

    >>> numbers(np.array([1, 2]), "Uint8Array")
    {'kind': 'Uint8Array', 'base64': 'AQI='}
    """
    dtype = {"Uint8Array": "u1", "Int32Array": "<i4", "Float32Array": "<f4", "Float64Array": "<f8"}
    data = np.ascontiguousarray(values, dtype[kind]).tobytes()
    return {"kind": kind, "base64": base64.b64encode(data).decode()}


def safe_json(content: Any) -> Markup:
    r"""Give JSON that cannot end the HTML element it is in.

    >>> safe_json({"name": "</script>"})
    Markup('{"name": "\\u003c/script\\u003e"}')
    """
    text = json.dumps(content, allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - nothing in it can end the element


def safe_text(text: str, longest: int = _LONGEST) -> str:
    """Cut a long name in its middle; characters without an encoding become question marks.

    >>> safe_text("a" * 9, longest=5)
    'aa…aa'
    """
    text = _encodable(text)
    if len(text) <= longest:
        return text
    half = (longest - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


def beginning(text: str, longest: int) -> str:
    """Cut a long text at its end; one that was cut to this length before stays as it is.

    >>> beginning("to be or not", longest=5), beginning("to be…", longest=5)
    ('to be…', 'to be…')
    """
    text = _encodable(text)
    return text if len(text) <= longest else f"{text[:longest]}…"


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\0", "�")


def trajectories(run: Run, ids: Array, epochs: int) -> tuple[Array, list[int]]:
    """Give the label's probability for these sorted ids, in bytes, and the epochs it is of."""
    rows = np.unique(np.linspace(0, epochs - 1, min(epochs, _MOST_EPOCHS)).round().astype(int))

    def in_bytes(target_prob: Array) -> Array:
        beliefs: Array = np.nan_to_num(target_prob[rows] * 254, nan=MISSING).round()
        return beliefs.astype(np.uint8)

    beliefs = np.empty((len(ids), len(rows)), np.uint8)
    for block, part in run.map(in_bytes, ["target_prob"], epochs=epochs):
        start, stop = np.searchsorted(ids, [block.start, block.stop])
        beliefs[start:stop] = part[:, ids[start:stop] - block.start].T
    return beliefs, (rows + 1).tolist()
