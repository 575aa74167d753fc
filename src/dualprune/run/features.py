"""features/EPOCH.parquet: the last layer's input for every sample after that epoch."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from dualprune.errors import DamagedError, InputError, MissingError
from dualprune.files import make_folder, read_table, write_table
from dualprune.run.part import bit_sum
from dualprune.signatures import Array

_LARGEST = 1e140  # squares of any number of these, and of their differences, can be summed


def write_features(root: Path, epoch: int, features: Array) -> None:
    """Write float32 features of shape (samples, width), one row per id."""
    check_features(features)
    exact = np.ascontiguousarray(features, "<f4")
    rows = pa.FixedSizeListArray.from_arrays(pa.array(exact.reshape(-1)), exact.shape[1])
    table = pa.table({"id": np.arange(len(exact)), "features": rows})
    sums = {"sum": str(bit_sum(exact.reshape(-1)))}
    make_folder(root / "features")
    table = table.replace_schema_metadata(sums)
    write_table(features_path(root, epoch), table, "none", use_dictionary=False)


def epochs_with_features(root: Path) -> list[int]:
    """Epochs after which features were written, ascending."""
    return sorted(int(path.stem) for path in (root / "features").glob("[0-9]" * 6 + ".parquet"))


def read_features(root: Path, epoch: int, samples: int) -> Array:
    """Read back what `write_features` wrote."""
    if epoch not in (known := epochs_with_features(root)):
        raise MissingError(
            f"{root} has no features of epoch {epoch}; "
            + (f"it has those of {known}" if known else "record with --features")
        )
    path = features_path(root, epoch)
    try:
        table = read_table(path)
        flat: Array = table.column("features").combine_chunks().flatten().to_numpy()
    except (pa.ArrowException, OSError, KeyError, ValueError, AttributeError) as error:
        raise DamagedError(f"{path} is damaged: {error}") from error
    stated = (table.schema.metadata or {}).get(b"sum", b"")
    if table.num_rows != samples or str(bit_sum(flat)).encode() != stated:
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


def features_path(root: Path, epoch: int) -> Path:
    """File of the features after this epoch."""
    return root / "features" / f"{epoch:06d}.parquet"
