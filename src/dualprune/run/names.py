"""names.parquet: what the samples of a run are called, and where each was in its source."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dualprune.arrays import Array
from dualprune.errors import DamagedError
from dualprune.files import write_table

__all__ = ["read_names", "write_names"]


def write_names(root: Path, names: tuple[str, ...], source: Array) -> None:
    """Write one row per sample; `names` is empty where samples have none."""
    columns = {"id": np.arange(len(source)), "source": np.asarray(source, np.int64)}
    table = pa.table({**columns, **({"name": pa.array(names, pa.string())} if names else {})})
    write_table(root / "names.parquet", table)


def read_names(root: Path, samples: int) -> dict[str, Array]:
    """Give `source` and, where samples have names, `name`; nothing if none were written."""
    path = root / "names.parquet"
    if not path.is_file():
        return {}
    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise DamagedError(f"{path} is damaged: {error}") from error
    if table.num_rows != samples:
        raise DamagedError(f"{path} names {table.num_rows} samples, the run has {samples}")
    return {name: table.column(name).to_numpy() for name in table.column_names if name != "id"}
