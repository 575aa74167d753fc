"""The 1,797 handwritten digits that come with scikit-learn: nothing to download."""

from pathlib import Path

import numpy as np

from dualprune.data.images import Images, in_memory
from dualprune.data.split import validation_split
from dualprune.errors import MissingError


def digits(root: Path, fetch: bool) -> tuple[Images, Images]:  # noqa: ARG001 - the same for all named sets
    """Grey images of 8 x 8; a fixed fifth of each class is the test set."""
    try:
        from sklearn import datasets  # noqa: PLC0415 - optional
    except ImportError as error:
        raise MissingError("digits need scikit-learn: pip install 'dualprune[torch]'") from error
    bundled = datasets.load_digits()
    pixels = np.rint(bundled.images * (255 / 16)).astype(np.uint8)[..., None]
    return validation_split(in_memory(pixels, bundled.target, tuple("0123456789")), 0.2, seed=0)
