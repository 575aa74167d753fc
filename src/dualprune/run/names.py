"""names.parquet: names of a run's samples, and the position of each in its source."""

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa

from dualprune.errors import DamagedError
from dualprune.files import read_table, write_table
from dualprune.signatures import Array


def write_names(root: Path, names: tuple[str, ...], source: Array) -> None:
    """Write one row per sample; `names` is empty where samples have none."""
    columns = {"id": np.arange(len(source)), "source": np.asarray(source, np.int64)}
    table = pa.table({**columns, **({"name": pa.array(names, pa.string())} if names else {})})
    sums = {"sha256": _digest(list(names), columns["source"])}
    write_table(root / "names.parquet", table.replace_schema_metadata(sums))


def read_names(root: Path, samples: int) -> dict[str, Array]:
    """Columns `source` and, if samples have names, `name`; none if no names were written."""
    path = root / "names.parquet"
    if not path.is_file():
        return {}
    try:
        table = read_table(path)
        source = table.column("source").cast(pa.int64()).to_numpy()
        named = "name" in table.column_names
        names = table.column("name").cast(pa.string()).to_pylist() if named else []
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise DamagedError(f"{path} is damaged: {error}") from error
    stated = (table.schema.metadata or {}).get(b"sha256", b"").decode("ascii", "replace")
    if stated != _digest(names, source):
        raise DamagedError(f"{path} is damaged: its names are not what was written")
    if len(source) != samples:
        raise DamagedError(f"{path} names {len(source)} samples, the run has {samples}")
    return {"source": source, **({"name": np.array(names, object)} if names else {})}


def _digest(names: list[str], source: Array) -> str:
    content = sha256(json.dumps(names).encode())
    content.update(np.ascontiguousarray(source, "<i8").data)
    return content.hexdigest()
