"""Ids from outside: a list that somebody gives, or a CSV file."""

import io
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyarrow import csv

from dualprune.errors import InputError
from dualprune.files import Place, read
from dualprune.signatures import Array


def read_ids(path: Place, samples: int) -> Array:
    """Give the ids of a CSV file with a column `id`, as the page saves them."""
    content = io.BytesIO(read(path))
    parse = csv.ParseOptions(newlines_in_values=True)
    convert = csv.ConvertOptions(
        include_columns=["id"], column_types={"id": pa.int64()}, null_values=[]
    )
    try:
        table = csv.read_csv(content, parse_options=parse, convert_options=convert)
    except (pa.ArrowException, KeyError) as error:
        raise InputError(
            f"{path} is no CSV file with ids in a column 'id', separated by commas: {error}"
        ) from error
    return check_ids(table.column("id").to_numpy(), samples)


def check_ids(ids: Array | Sequence[int], samples: int) -> Array:
    """Give ids as an array, or refuse those that are not positions among the samples."""
    ids = np.asarray(ids)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise InputError(f"ids must be a list of whole numbers, got {ids.dtype} of {ids.shape}")
    wrong = ids[(ids < 0) | (ids >= samples)]
    if len(wrong):
        raise InputError(f"there is no sample {wrong[0]}: ids are from 0 to {samples - 1}")
    return ids.astype(np.int64)
