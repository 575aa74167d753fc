"""The one convention: arrays are data, found by name; everything else is a knob with a default."""

import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Optional

import numpy as np
import numpy.typing as npt
import pytest

from dualprune.errors import InputError
from dualprune.signatures import Array, identity_of, inputs, knobs, name_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


def test_every_usual_annotation_of_an_array_means_an_array():
    def fn(  # noqa: PLR0917
        a: np.ndarray,
        b: npt.NDArray[np.float64],
        c: Array,
        d: "np.ndarray",
        e: "npt.NDArray[np.int64]",
        f: "Array",
        g: np.ndarray | None = None,
        h: Optional[npt.NDArray[np.float64]] = None,  # noqa: UP045 - people write it
        i: Array = None,
        *,
        knob: int = 3,
    ): ...

    assert inputs(fn) == dict.fromkeys("abcdef", True) | dict.fromkeys("ghi", False)
    assert knobs(fn).keys() == {"knob"}


def test_strings_of_a_whole_module_are_resolved(tmp_path):
    (tmp_path / "scores.py").write_text("""
from __future__ import annotations
import numpy as np
from numpy.typing import NDArray

def score(target_prob: NDArray[np.float64], labels: np.ndarray | None = None, *, power=1.0):
    return target_prob
""")
    code = (
        "from scores import score; from dualprune.signatures import inputs, knobs; "
        "print(inputs(score), list(knobs(score)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert done.stdout.strip() == "{'target_prob': True, 'labels': False} ['power']"


def test_a_name_that_only_a_type_checker_imports_still_means_an_array():
    def fn(target_prob: "NDArray[np.float64]"): ...

    assert inputs(fn) == {"target_prob": True}


def test_an_annotation_that_cannot_be_read_is_refused_with_its_name():
    def fn(target_prob: "Tensor"): ...  # noqa: F821

    with pytest.raises(InputError, match=r"annotation of fn .*Tensor"):
        inputs(fn)


@pytest.mark.parametrize(
    "fn",
    [lambda probabilities: 0, lambda *probabilities: 0, lambda **probabilities: 0],
    ids=["plain", "several", "by name"],
)
def test_what_is_neither_an_array_nor_has_a_default_is_refused_by_name(fn):
    with pytest.raises(InputError, match=r"'probabilities' of <lambda> is neither an array nor"):
        knobs(fn)


def test_an_edit_of_a_function_is_seen_and_moving_it_is_not():
    def first(loss: Array, *, power: float = 1.0):
        """Say something."""
        return [value in {"a", "b"} for value in loss]

    def moved(loss: Array, *, power: float = 1.0):
        """Say something else."""
        return [value in {"a", "b"} for value in loss]

    def inside(loss: Array, *, power: float = 1.0):
        return [value in {"a", "c"} for value in loss]

    def default(loss: Array, *, power: float = 2.0):
        return [value in {"a", "b"} for value in loss]

    class Callable:
        def __call__(self, loss: Array): ...

    for fn in (moved, inside, default):
        fn.__name__ = "first"
    same = [identity_of(fn) == identity_of(first) for fn in (moved, inside, default)]
    assert same == [True, False, False]
    assert identity_of(partial(first, power=2)) != identity_of(partial(first, power=3))
    assert identity_of(Callable()) == identity_of(Callable())
    assert identity_of(np.mean)[0] == "mean"
    assert identity_of(max) == "max"


def test_a_partial_has_the_name_and_the_arrays_of_what_it_wraps():
    def score(loss: Array, *, power: float = 1.0): ...

    half = partial(score, power=0.5)
    assert name_of(half) == "score"
    assert inputs(half) == {"loss": True}
    assert knobs(half)["power"].default == 0.5
