"""names.parquet: names of a run's samples, where each was in its source, which are unreadable."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256

import numpy as np
import pyarrow as pa

from dualprune.errors import DamagedError, InputError
from dualprune.files import Place, exists, read_table, reading
from dualprune.run.description import Description
from dualprune.signatures import Array

_TYPES = {"id": pa.int64(), "source": pa.int64(), "name": pa.string(), "unreadable": pa.int32()}


def names_table(names: Sequence[str], source: Array, unreadable: Array | None = None) -> pa.Table:
    """One row per sample; `names` is empty where samples have none. Its digest is metadata.

    `unreadable` holds the label of a sample that cannot be read, -1 for all others.
    """
    if len(names) not in (0, len(source)):
        raise InputError(f"{len(names)} names for {len(source)} samples; give one per sample")
    columns = {"id": np.arange(len(source)), "source": np.asarray(source, np.int64)}
    if unreadable is not None:
        columns["unreadable"] = np.asarray(unreadable, np.int32)
    table = pa.table({**columns, **({"name": pa.array(names, pa.string())} if names else {})})
    return table.replace_schema_metadata({"sha256": _digest(list(names), columns)})


def digest_of(table: pa.Table) -> str:
    """Digest that the table states."""
    return str((table.schema.metadata or {}).get(b"sha256", b"").decode("ascii", "replace"))


def read_names(root: Place, description: Description) -> dict[str, Array]:
    """Columns `source` and, as far as they were given, `name` and `unreadable`; or none.

    Since format 2 the description says whether there are any, and their digest.
    """
    path, digest, samples = root / "names.parquet", description.names, description.samples
    if not digest and not (description.format == 1 and exists(path)):
        return {}
    table = read_table(path)
    with reading(path):
        if any(_TYPES.get(column.name) != column.type for column in table.schema):
            raise DamagedError(f"{path} is damaged: its columns have other types")
        numbers = [name for name in ("source", "unreadable") if name in table.column_names]
        columns = {name: table.column(name).to_numpy() for name in numbers}
        named = "name" in table.column_names
        names = table.column("name").to_pylist() if named else []
        if _digest(names, columns) != (digest or digest_of(table)):
            raise DamagedError(f"{path} is damaged: its names are not what was written")
        if len(table) != samples:
            raise DamagedError(f"{path} names {len(table)} samples, the run has {samples}")
        return columns | ({"name": np.array(names, object)} if names else {})


def _digest(names: list[str], columns: Mapping[str, Array]) -> str:
    content = sha256(json.dumps(names).encode())
    content.update(np.ascontiguousarray(columns["source"], "<i8").data)
    content.update(np.ascontiguousarray(columns.get("unreadable", ()), "<i4").data)
    return content.hexdigest()
