"""What the files of experiments say, before anything is made of it: so listing needs no torch."""

import tomllib
from importlib import resources
from typing import Any

from dualprune.errors import InputError, did_you_mean
from dualprune.files import read_rows

NAMES = {
    "fashion-mnist": "Fashion-MNIST",
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "tiny-imagenet": "Tiny-ImageNet",
    "imagenet": "ImageNet-1K",
    "cnn-wide": "a 3-layer CNN",
    "vgg16": "VGG-16",
    "resnet18": "ResNet-18",
    "resnet34": "ResNet-34",
    "resnet50": "ResNet-50",
}  # of data and models; others are called as they are


def contents() -> dict[str, dict[str, Any]]:
    """Content of the file of every experiment, by its name, in the order of the paper."""
    folder = resources.files("dualprune.experiments") / "tables"
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    return {_name(file.name): tomllib.loads(file.read_text("utf-8")) for file in files}


def _name(file: str) -> str:
    return file.removesuffix(".toml").partition("-")[2]  # the number gives the order


def called(ours: str, paper: str) -> str:
    """Say what is used, and what it stands in for if that is another one.

    >>> called("cifar10", "cifar10"), called("fashion-mnist", "cifar100")
    ('CIFAR-10', 'Fashion-MNIST, standing in for CIFAR-100')
    """
    used, meant = NAMES.get(ours, ours), NAMES.get(paper, paper)
    return used if used == meant else f"{used}, standing in for {meant}"


def papers_title(content: dict[str, Any]) -> str:
    """Give the title of an experiment as the paper runs it."""
    setting = read_rows("dualprune.experiments", "settings.toml")[content["scales"]["paper"]]
    rows = [row for row in content.get("rows", {}).values() if isinstance(row, dict)]
    recorded = next((row["recorded"] for row in rows if "recorded" in row), "")
    names = {"data": setting["data"], "model": content.get("model", ""), "recorded": recorded}
    return str(content["title"]).format_map({key: called(n, n) for key, n in names.items()})


def check_experiment(name: str) -> None:
    """Refuse the name of an experiment that is not there."""
    known = contents()
    if name not in known:
        raise InputError(
            f"there is no experiment {name!r}; `dualprune reproduce` lists all."
            f"{did_you_mean(name, known)}"
        )
