"""features.parquet: the last layer's input for every sample, in the folder of its epoch."""

import re
from hashlib import sha256

import numpy as np
import pyarrow as pa

from dualprune.errors import DamagedError, InputError
from dualprune.files import Place, entries, read_table, reading, write_table
from dualprune.run.part import bit_sum
from dualprune.signatures import Array

_LARGEST = 1e140  # squares of any number of these, and of their differences, can be summed


def write_features(folder: Place, features: Array) -> str:
    """Write float32 features of shape (samples, width), one row per id; gives the file's hash."""
    check_features(features)
    exact = np.ascontiguousarray(features, "<f4")
    rows = pa.FixedSizeListArray.from_arrays(pa.array(exact.reshape(-1)), exact.shape[1])
    table = pa.table({"id": np.arange(len(exact)), "features": rows})
    data = write_table(folder / "features.parquet", table, "none", use_dictionary=False)
    return sha256(data).hexdigest()


def read_features(path: Place, sha: str | None, samples: int) -> Array:
    """Read what `write_features` wrote; in format 1, the file itself states a sum of its bits."""
    table = read_table(path, sha256=sha)
    with reading(path):
        flat: Array = table.column("features").combine_chunks().flatten().to_numpy()
        stated = (table.schema.metadata or {}).get(b"sum", b"")
        if table.num_rows != samples or (sha is None and str(bit_sum(flat)).encode() != stated):
            raise DamagedError(f"{path} is damaged: its features are not what was written")
        return flat.reshape(samples, -1)


def check_features(features: Array) -> None:
    """Refuse features that are not one row of finite numbers per sample, or too large to square.

    >>> check_features(np.array([[0.5], [np.nan]]))
    Traceback (most recent call last):
    dualprune.errors.InputError: the features of 1 of 2 samples are not finite or beyond 1e+140, ...
    """
    if np.ndim(features) != 2 or 0 in np.shape(features):
        raise InputError(f"features must have shape (samples, width), got {np.shape(features)}")
    if float(features.min()) >= -_LARGEST and float(features.max()) <= _LARGEST:
        return
    wrong = np.flatnonzero(~(np.abs(features.astype(np.float64)) <= _LARGEST).all(axis=1))
    raise InputError(
        f"the features of {len(wrong)} of {len(features)} samples are not finite or beyond "
        f"{_LARGEST:g}, first of sample {wrong[0]}; record them again, scale all of them, or "
        "leave these samples out"
    )


def old_features(root: Place) -> dict[int, Place]:
    """Files of features in format 1, by epoch."""
    names = [entry.name for entry in entries(root / "features")]
    matches = filter(None, map(re.compile(r"(\d{6})\.parquet").fullmatch, names))
    return {int(name[1]): root / "features" / name[0] for name in matches}
