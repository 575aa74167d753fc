"""Columns: the rows of an epoch, one tensor per column, filled batch by batch."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from dualprune.run.signals import COLUMNS, all_missing, column_of
from dualprune.signatures import Array


class Columns:
    """Rows of one epoch, on the device they came from.

    Memory for `expected` rows is taken once and used in every epoch; more rows, as where samples
    are seen twice, make it grow.
    """

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._tensors: dict[str, Tensor] = {}
        self._filled = 0

    def __len__(self) -> int:
        return self._filled

    def append(self, rows: Mapping[str, Tensor]) -> None:
        """Add the rows of some batches; nothing has changed if there is no memory for them."""
        stop = self._filled + len(rows["id"])
        tensors = {name: self._with_room(name, values, stop) for name, values in rows.items()}
        for name, values in rows.items():
            tensors[name][self._filled : stop] = values
        self._tensors, self._filled = tensors, stop

    def _with_room(self, name: str, values: Tensor, rows: int) -> Tensor:
        present = self._tensors.get(name)
        if present is not None and len(present) >= rows:
            return present
        room = max(rows, self._expected if present is None else 2 * len(present))
        larger = torch.empty(room, dtype=_type_of(name, values), device=values.device)
        if present is not None:
            larger[: self._filled] = present[: self._filled]
        return larger

    def on_host(self, names: Iterable[str]) -> dict[str, Array]:
        """Give the rows as arrays; on the host these are views."""
        if not self._filled:
            empty = {name: all_missing(name, 0) for name in names}
            return empty | {"finite": empty["id"].astype(bool)}
        return {name: self._tensors[name][: self._filled].cpu().numpy() for name in names}

    def clear(self) -> None:
        self._filled = 0


def _type_of(name: str, values: Tensor) -> torch.dtype:
    """Labels are stored as they come, since they are checked only later."""
    if name in COLUMNS and name != "label":
        return {"<i4": torch.int32, "<i8": torch.int64}.get(column_of(name).dtype, torch.float32)
    return values.dtype
