"""What the files of experiments say, before anything is made of it: so listing needs no torch."""

import tomllib
from importlib import resources
from typing import Any

from dualprune.errors import InputError, did_you_mean


def contents() -> dict[str, dict[str, Any]]:
    """Content of the file of every experiment, by its name, in the order of the paper."""
    folder = resources.files("dualprune.experiments") / "tables"
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    return {_name(file.name): tomllib.loads(file.read_text("utf-8")) for file in files}


def _name(file: str) -> str:
    return file.removesuffix(".toml").partition("-")[2]  # the number gives the order


def check_experiment(name: str) -> None:
    """Refuse the name of an experiment that is not there."""
    known = contents()
    if name not in known:
        raise InputError(
            f"there is no experiment {name!r}; `dualprune reproduce` lists all."
            f"{did_you_mean(name, known)}"
        )
