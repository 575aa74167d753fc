"""What `prune` was asked for, and what can be refused at once."""

import itertools
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from torch import nn

from dualprune.data import Columns, Data
from dualprune.errors import InputError
from dualprune.experiments.search import SHARES
from dualprune.files import Place, exists, refuse_foreign
from dualprune.method import AUTO, Method, at_shares
from dualprune.run import Run
from dualprune.select.budget import Amount
from dualprune.select.candidates import Balance
from dualprune.train import Setup, relabel
from dualprune.workflows.given import name_of
from dualprune.workflows.kept import How, refuse_materialize
from dualprune.workflows.recorded import runs_in, settings_of
from dualprune.workflows.request import check_request

TRIED = "auto"
"""Folder of the trainings by which methods and shares are found."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What `prune` was asked for; the fields are its parameters."""

    data: str | Path | Data
    out: Path
    columns: Columns
    keep: Amount
    prune: Amount
    lose: float | None
    model: str | nn.Module
    recipe: str
    method: str | Method
    epochs: int | Literal["auto"] | None
    size: int | None
    balance: Balance | None
    floor: int | float | None
    run: Place | None
    seed: int
    materialize: How
    labels: Path | None
    download: bool

    @property
    def name(self) -> str:
        return name_of(self.data)

    @property
    def finds_method(self) -> bool:
        return self.method == AUTO

    @property
    def finds_share(self) -> bool:
        return self.keep == AUTO

    @property
    def stops_by_itself(self) -> bool:
        return self.epochs == AUTO

    @property
    def amount(self) -> dict[str, Amount]:
        return {"keep": self.keep, "prune": self.prune}

    def refuse_at_once(self) -> None:
        """Refuse what cannot be, before anything is read."""
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise InputError("prune works in one process; use record under torchrun, then select")
        self._refuse_limits()
        refuse_materialize(self.data, self.materialize)

    def _refuse_limits(self) -> None:
        """Refuse a limit without a share to find, and the other way round."""
        if self.finds_share != (self.lose is not None):
            raise InputError(
                "--keep auto and --lose go together: --lose 0.5 says how many points of accuracy "
                "may be lost against all the data"
            )
        if self.finds_share and self.prune is not None:
            raise InputError("--keep auto finds how much; leave out --prune")
        if self.lose is not None and not 0 <= self.lose < 100:
            raise InputError(f"lose must be from 0 to 100 points of accuracy, got {self.lose}")
        if self.finds_share and self.finds_method:
            raise InputError(
                "--keep auto tries shares with one method, so name it; to find one first, say "
                "--method auto with a share, such as --keep 0.3"
            )

    def refuse_in_the_way(self) -> None:
        """Refuse a folder of other files, unless a coreset is there."""
        if exists(self.out / "card.json"):
            return
        if self.materialize and exists(images := self.out / "images"):
            raise InputError(f"{images} is in the way; choose another folder for --out")
        refuse_foreign(self.out, "run", "coreset.parquet", TRIED)

    def recordings(self) -> list[Run]:
        """Open what is to be chosen from; nothing if that is to be recorded."""
        return [] if self.run is None else runs_in(self.run)

    def refuse_stopping(self, recorded: list[Run]) -> None:
        """Refuse to let a recording stop by itself that cannot."""
        if recorded:
            raise InputError(
                f"{recorded[0].path} is recorded already; leave out epochs to use all of it, or "
                "say a number"
            )
        if self.finds_method:
            raise InputError(
                "--epochs auto watches what one method would keep, so name it; with --method auto "
                "say a number of epochs"
            )
        at_shares(self.method)

    def check(self, epochs: int | Literal["auto"] | None) -> None:
        """Refuse names, amounts and lengths that are none; `epochs` are recorded."""
        amounts = [{"keep": str(part)} for part in SHARES] if self.finds_share else [self.amount]
        check_request(
            *([self.method], amounts, self.model, self.recipe, self.data, self.columns),
            epochs=epochs,
            seed=self.seed,
        )

    def setup(self, recorded: list[Run]) -> Setup:
        """Give what trains on the data, or what was recorded of them."""
        how: dict[str, Any] = {"model": self.model, "recipe": self.recipe, "size": self.size}
        if recorded:
            how = settings_of(recorded[0], **how)
        if isinstance(self.data, str | Path):
            how |= {"download": self.download, "out": self.out}
            return Setup.load(self.data, labels=self.labels, columns=self.columns, **how)
        return Setup.of(relabel(self.data, self.labels), None, **how)

    def again(self) -> str:
        """Give what chooses from the recording, into a folder beside this one.

        A command; a call where the data are in memory.
        """
        method = self.method if isinstance(self.method, str) else self.method.name
        flags: dict[str, Any] = {
            **self.amount,
            "lose": self.lose,
            "method": method,
            "balance": self.balance,
            "labels": self.labels,
        }
        flags |= {"floor": self.floor, "seed": self.seed}
        usual = {"method": "dual+beta", "seed": 0}
        said = {name: value for name, value in flags.items() if value != usual.get(name)}
        free = (self.out.with_name(f"{self.out.name}-{number}") for number in itertools.count(2))
        place = next(path for path in free if not exists(path))
        said |= {"run": self.run or self.out, "out": place}
        if isinstance(self.data, str | Path):
            words = [word for name, value in said.items() for word in (f"--{name}", str(value))]
            return shlex.join(["dualprune", "prune", self.name, *self.columns.flags(), *words])
        columns = {name: value for name, value in vars(self.columns).items() if value}
        values = {n: str(v) if isinstance(v, Path) else v for n, v in (columns | said).items()}
        module = "model=model, " if isinstance(self.model, nn.Module) else ""
        arguments = ", ".join(f"{name}={value!r}" for name, value in values.items())
        return f"prune(data, {module}{arguments})"
